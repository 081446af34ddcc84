"""The paper, reproduced: its theory, its rivals, its data sets and its experiments.

`algorithm1` is Algorithm 1 in plain NumPy. An experiment is a module of `experiments` with a
``TITLE``, an ``ABOUT`` and four functions: ``pieces`` lists what is computed, and ``claims``,
``figures`` and ``tables`` turn the results into what a reader sees; `run` does the rest, for all
of them alike. ``make reproduce`` runs everything. This folder is part of the repository, not of
the package.
"""

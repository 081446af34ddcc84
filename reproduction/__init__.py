"""The paper, reproduced: its algorithm, theory, rivals, data sets and experiments.

`algorithm1` is Algorithm 1 as printed. An experiment is a module of `experiments`: ``pieces`` lists
what is computed, ``numbers`` turns results into the numbers that `sentences` judges by one rule
(`verdicts`), ``figures`` and ``tables`` into what `report` shows. ``make reproduce`` runs all of
them. This folder is part of the repository, not of the package.
"""

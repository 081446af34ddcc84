"""Section 6 of the paper, run again: its experiments, its figures, and whether its claims hold.

Every experiment is a module with a ``TITLE``, an ``ABOUT`` and four functions: ``pieces`` lists
what there is to compute, and ``claims``, ``figures`` and ``tables`` turn the pieces' results into
what a reader sees. `polyak.paper.reproduction.run` does the rest, for all of them alike.
"""

from polyak.paper.reproduction.run import EXPERIMENTS, reproduce

__all__ = ["EXPERIMENTS", "reproduce"]

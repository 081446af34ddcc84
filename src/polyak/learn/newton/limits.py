"""How far the lane goes: which penalties it tries, and how many features there may be."""

from __future__ import annotations

import math

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""Precisions of the weights beforehand, in rows: features vary by about one where they vary.

Where the scores' variance is v, that of the weights of d features is about v/d, so the best penalty
is near d/v. Large ones are for features that say little; small ones for a few that say all.
"""
SMALL_PENALTIES = (1e-4, 1e-3)
"""For classes that can be told apart without a doubt, and for columns that add up to the target."""
UNPENALISED = 1e-6
"""The penalty, in rows, where none is asked for: it only makes equations definite.

Three textbook tables of 64 to 10,000 rows have statsmodels' weights to 4e-6 of each. Directions in
which rows do not vary have no weight, and classes that can be separated have finite weights.
"""
WIDEST = 1024
"""The most features there may be with one matrix: its products cost a row their square."""
TOO_MANY = "there are too many features"
"""Why the solver leaves the race, as a rule."""


def most_features(
    loss: str, outputs: int, *, intervals: bool = False, together: bool = False
) -> int:
    """Say how many features there may be: the squares of them take memory and time.

    Classes that are learned together have one matrix of all their weights but one class's.

    Examples
    --------
    >>> most_features("squared_error", 10), most_features("log_loss", 100)
    (1024, 102)
    >>> most_features("log_loss", 3, together=True), most_features("log_loss", 10, together=True)
    (511, 112)
    """
    if together:
        return WIDEST // (outputs - 1) - 1
    matrices = (1 if loss == "squared_error" else outputs) + (outputs if intervals else 0)
    return math.isqrt(WIDEST * WIDEST // matrices)

"""The penalties that block Newton steps try by default, and the features they can take."""

from __future__ import annotations

import math

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""Ridge penalties in pseudo-observations at zero, for features in standard units.

Where the scores' variance is v, that of the weights of d features is about v/d, so the best penalty
is near d/v: large for features that predict little, small for a few that predict nearly all.
"""
SMALL_PENALTIES = (1e-4, 1e-3)
"""For classes that are separable, and for columns that add up to the target."""
UNPENALISED = 1e-6
"""The penalty, in pseudo-observations, where none is asked for: it makes equations definite.

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
    """Return the most features there may be: memory and time grow with their square.

    Classes that are learned together have one matrix of the weights of all but one of them.

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

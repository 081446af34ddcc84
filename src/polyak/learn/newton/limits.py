"""How far the lane goes: which penalties it tries, and how many features there may be."""

from __future__ import annotations

import math

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""Precisions of the weights beforehand, in rows: features vary by about one where they vary.

Where the scores' variance is v, that of the weights of d features is about v/d, so the best penalty
is near d/v. Large ones are for features that say little; small ones for a few that say all.
"""
SMALL_PENALTIES = (1e-4, 1e-3)
"""For classes that can be told apart without a doubt, and for columns that add up to the target.

Where intervals are wanted they do not run: intervals are about the weights at the smallest penalty,
which such classes would let grow without end.
"""
WIDEST = 1024
"""How many features there may be, if there is one matrix: its products cost a row their square."""
FIRST_FIT = 8
"""Weights are first found after so many rows, then at every doubling until a block is full."""
MANY_FEATURES, GROWTH, GROWTH_OF_MANY = 256, 2, 4
"""With more features than so many, after four times as many rows: what costs then is to find
weights, and not the rows. 60,000 x 784: a third of a second of two. Where sums are exact a fit is
but to solve for them once."""
FEATURES_A_ROW = 16
"""With more features than so many times as that, they are first found after more rows."""


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


def first_fit(features: int) -> int:
    """Say after how many rows weights are first found.

    Examples
    --------
    >>> first_fit(50), first_fit(800)
    (8, 64)
    """
    return max(FIRST_FIT, 1 << (features // FEATURES_A_ROW).bit_length())


def growth(features: int, *, exact: bool) -> int:
    """Say how many times as many rows there are at the next fit; sums are exact for least squares.

    Examples
    --------
    >>> growth(50, exact=False), growth(800, exact=False), growth(800, exact=True)
    (2, 4, 2)
    """
    return GROWTH if exact or features <= MANY_FEATURES else GROWTH_OF_MANY


def next_fit(rows: int, features: int, *, exact: bool) -> int:
    """Say after how many rows weights are found that were last found after so many.

    Examples
    --------
    >>> next_fit(0, 800, exact=False), next_fit(64, 800, exact=False), next_fit(64, 50, exact=False)
    (64, 256, 128)
    """
    return max(growth(features, exact=exact) * rows, first_fit(features))

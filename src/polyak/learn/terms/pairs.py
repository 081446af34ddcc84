"""Pairs of columns that interact, found from what an additive model leaves unexplained.

Rows are counted in the cells of a grid of two columns: the sum G of the slopes of their losses and
the sum W of their curvatures. A constant added to the scores of a cell would gain G²/2W, so the sum
of G²/W over cells, less that over rows and columns of the grid, which an additive model can have,
tells what an interaction would gain. Without one it is the dispersion times about a chi-squared
with as many degrees of freedom as there are cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.rows.sparse import Rows, SparseRows

Floats = NDArray[np.float64]

BINS = 12
"""Bins of a number; a missing value has one more."""
MOST_LEVELS = 16
"""Levels of a category that have bins of their own; the others share one more."""
CLEARLY = 2.0
"""Standard deviations above what no interaction would gain from which on a pair is taken."""
FUNCTIONS_OF_A_PAIR = (4, 12)
"""The fewest and the most basis functions of each column of a pair."""


class Binned(NamedTuple):
    """A column as bins: the bin of every row, and how many there are."""

    bins: NDArray[np.intp]
    size: int


def bins_of_numbers(values: Floats, missing: NDArray[np.bool_] | None = None) -> Binned:
    """Return quantile bins; each value is in one bin with all that are equal to it."""
    there = values if missing is None else values[~missing]
    cuts = np.unique(np.quantile(there, np.linspace(0, 1, BINS + 1)[1:-1], method="nearest"))
    bins = np.searchsorted(cuts, values, side="left")
    if missing is not None:
        bins[missing] = len(cuts) + 1
    return Binned(bins, len(cuts) + 2)


def bins_of_levels(rows: Rows, levels: tuple[int, ...]) -> Binned:
    """Return a bin for each level, given as features in order, and one for rows without them."""
    bins = np.full(len(rows), len(levels))
    if isinstance(rows, SparseRows):
        features, values = rows.entries()
        own = (values != 0) & np.isin(features, levels)
        bins[rows.entry_rows()[own]] = np.searchsorted(levels, features[own])
    return Binned(bins, len(levels) + 1)


def gain(
    a: Binned, b: Binned, slopes: Floats, curvatures: Floats, dispersion: float
) -> tuple[float, float]:
    """Return what an interaction gains beyond chance, and the standard deviation of chance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = (Binned(rng.integers(0, 4, 9000), 4) for _ in range(2))
    >>> noise = rng.normal(size=9000)
    >>> both = noise + a.bins * b.bins
    >>> of_noise, of_both = (gain(a, b, g, np.ones(9000), 1.0) for g in (noise, both))
    >>> of_noise[0] < 4 * of_noise[1], of_both[0] > 4 * of_both[1]
    (True, True)
    """
    cells = a.bins * b.size + b.bins
    size = a.size * b.size
    shape = (a.size, b.size)
    G = np.bincount(cells, slopes, minlength=size).astype(np.float64).reshape(shape)
    W = np.bincount(cells, curvatures, minlength=size).astype(np.float64).reshape(shape)
    least = max(1e-3 * W.sum() / size, 1e-300)

    def squares(sums: Floats, weights: Floats) -> float:
        return float((sums**2 / np.maximum(weights, least)).sum())

    margins = squares(G.sum(0), W.sum(0)) + squares(G.sum(1), W.sum(1))
    total = float(G.sum()) ** 2 / max(float(W.sum()), least)
    used = least < W
    degrees = int(used.sum()) - int(used.any(0).sum()) - int(used.any(1).sum()) + 1
    if degrees < 1:
        return 0.0, 1.0
    gained = (squares(G, W) - margins + total) / dispersion
    return float(gained - degrees), float(np.sqrt(2.0 * degrees))


class RatedPairs(NamedTuple):
    """All pairs of columns, those that interact most clearly first.

    Attributes
    ----------
    pairs : list of tuples of int
    gains : array
        What each gains beyond chance.
    chances : array
        The standard deviations of what chance gains.
    """

    pairs: list[tuple[int, int]]
    gains: Floats
    chances: Floats

    @property
    def clear(self) -> int:
        """The number of pairs that gain clearly more than chance."""
        return int(np.count_nonzero(self.gains > CLEARLY * self.chances))


def rated_pairs(
    columns: Sequence[tuple[int, Binned]], slopes: Floats, curvatures: Floats, dispersion: float
) -> RatedPairs:
    """Rate all pairs of columns. Slopes and curvatures have a column per output."""
    found = []
    for (i, a), (j, b) in combinations(columns, 2):
        gains = [gain(a, b, g, h, dispersion) for g, h in zip(slopes.T, curvatures.T, strict=True)]
        beyond, chance = max(gains, key=lambda own: own[0] / own[1])
        found.append((-beyond / chance, beyond, chance, (i, j)))
    found.sort()
    rates = np.array([one[1:3] for one in found]).reshape(-1, 2)
    return RatedPairs([one[3] for one in found], rates[:, 0], rates[:, 1])


def sizes_of_pairs(whole: NDArray[np.int64], gains: Floats, room: float) -> NDArray[np.int64]:
    """Return how many functions of each column a pair has; zero if it is left out.

    ``whole`` are the functions that the columns have. A pair has features in proportion to what it
    gains, as far as there is room. One that gains too little for the coarsest grid leaves its room
    to the others.

    Examples
    --------
    >>> whole = np.full((3, 2), 30)
    >>> sizes_of_pairs(whole, np.array([80.0, 20.0, 1.0]), 100.0)
    array([9, 4, 0])
    """
    coarsest, finest = FUNCTIONS_OF_A_PAIR

    sizes, there = np.zeros(len(whole), dtype=np.int64), np.asarray(whole.all(axis=1))
    needs = np.minimum(whole, coarsest).prod(axis=1)
    while there.any():
        low, high = 0.0, (finest + 1) ** 2 / float(gains[there].min())
        for _ in range(50):
            share = 0.5 * (low + high)
            sizes[there] = np.sqrt(share * gains[there]).clip(coarsest, finest)
            fits = np.minimum(whole, sizes[:, None]).prod(axis=1).sum() <= room
            low, high = (share, high) if fits else (low, share)
        worth = np.where(there, gains * high / np.maximum(needs, 1), np.inf)
        if worth.min() >= 1.0:
            sizes[there] = np.sqrt(low * gains[there]).clip(coarsest, finest)
            break
        there[worth.argmin()], sizes[worth.argmin()] = False, 0
    return sizes

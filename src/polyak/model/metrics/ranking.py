"""ROC AUC and average precision in one pass and bounded memory."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_SCORES = 1 << 20
"""The most scores kept exactly; beyond that they are counted in bins."""
BINS = 1 << 16
"""The number of bins, whose edges are quantiles of the scores kept until then."""


class Ranking:
    """The scores of positive and negative rows, exact or in bins.

    Examples
    --------
    >>> ranking = Ranking()
    >>> ranking.add(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]) == 1, np.ones(4))
    >>> ranking.roc_auc(), round(ranking.average_precision(), 4)
    (0.75, 0.8333)
    """

    def __init__(self, most_scores: int = MOST_SCORES) -> None:
        self._most = most_scores
        self._kept: list[tuple[Floats, Floats, Floats]] = []
        self._n_kept = 0
        self._edges: Floats | None = None
        self._counts = np.zeros((2, 0))

    def add(self, scores: Floats, positive: NDArray[np.bool_], weights: Floats) -> None:
        """Add rows."""
        sides = np.where(positive, weights, 0.0), np.where(positive, 0.0, weights)
        if self._edges is not None:
            self._count(scores, *sides)
            return
        self._kept.append((scores, *sides))
        self._n_kept += len(scores)
        if self._n_kept > self._most:
            kept = [np.concatenate(part) for part in zip(*self._kept, strict=True)]
            self._edges = np.unique(np.quantile(kept[0], np.linspace(0.0, 1.0, BINS)))
            self._counts = np.zeros((2, len(self._edges) + 1))
            self._kept = []
            self._count(*kept)

    def roc_auc(self) -> float:
        """Return the probability that a positive row scores above a negative one; ties are half."""
        positive, negative = self._levels()
        pairs = positive.sum() * negative.sum()
        if not pairs > 0:
            return math.nan
        below = np.cumsum(negative) - negative
        return float(positive @ (below + negative / 2.0) / pairs)

    def roc_auc_std_err(self) -> float:
        """Return the standard error of the AUC, by DeLong, DeLong and Clarke-Pearson (1988).

        It follows from two variances: of the share of negative rows below each positive row, and
        of the share of positive rows above each negative row.
        """
        positive, negative = self._levels()
        n, m = positive.sum(), negative.sum()
        if not (n > 1 and m > 1):
            return math.nan
        below = (np.cumsum(negative) - negative / 2.0) / m
        above = (n - np.cumsum(positive) + positive / 2.0) / n
        auc = positive @ below / n
        of_positive = positive @ np.square(below - auc) / (n - 1.0)
        of_negative = negative @ np.square(above - auc) / (m - 1.0)
        return float(math.sqrt(of_positive / n + of_negative / m))

    def average_precision(self) -> float:
        """Return the mean precision over the positive rows, from the highest score down."""
        positive, negative = (side[::-1] for side in self._levels())
        total = positive.sum()
        if not total > 0:
            return math.nan
        above = np.cumsum(positive), np.cumsum(positive + negative)
        precision = np.divide(*above, out=np.zeros(len(positive)), where=above[1] > 0)
        return float(positive @ precision / total)

    def _count(self, scores: Floats, positive: Floats, negative: Floats) -> None:
        assert self._edges is not None
        place = np.searchsorted(self._edges, scores, side="right")
        for side, weights in enumerate((positive, negative)):
            self._counts[side] += np.bincount(place, weights, len(self._edges) + 1)

    def _levels(self) -> tuple[Floats, Floats]:
        """Return the weights of positive and negative rows at each score, in increasing order."""
        if self._edges is not None:
            return self._counts[0], self._counts[1]
        if not self._kept:
            return np.zeros(0), np.zeros(0)
        scores, *sides = (np.concatenate(part) for part in zip(*self._kept, strict=True))
        levels, place = np.unique(scores, return_inverse=True)
        counts = [np.bincount(place, side, len(levels)).astype(np.float64) for side in sides]
        return counts[0], counts[1]

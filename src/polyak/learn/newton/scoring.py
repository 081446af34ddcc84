"""Rows are scored by the weights of the last fit, before they are learned themselves."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.bank.settings import SUMS
from polyak.learn.newton.block.algebra import times
from polyak.learn.newton.block.curvature import with_offsets
from polyak.learn.newton.held_rows import HeldRows
from polyak.learn.newton.information import Information
from polyak.learn.newton.objective import Objective
from polyak.learn.newton.softmax import odds_of_classes, of_classes
from polyak.losses import get_loss
from polyak.losses.softmax import normalised_odds

Floats = NDArray[np.float64]

RATED = SUMS.index("rated")
SEGMENT, SHORTEST_SEGMENT, MOST_SCORES = 8192, 512, 1 << 20
"""Rows whose losses are summed at a time, counted from the last fit; fewer of many models, whose
scores would take more than 8 MiB."""


class _Cache(NamedTuple):
    """Scores of held rows from ``first`` on by the weights ``W``: each is computed once."""

    W: Floats
    first: int
    scores: tuple[Floats, ...]

    @property
    def end(self) -> int:
        """The first row without a score."""
        return self.first + sum(map(len, self.scores))


_EMPTY = _Cache(np.empty(0), 0, ())


class Scorer:
    """The scores of held rows, and the sums of their losses since the last milestone.

    Attributes
    ----------
    totals : array of shape (sums, models)
        Each model's sums since the last milestone, as `polyak.learn.bank.settings.SUMS` lists them.
    recent : array of shape (penalties,)
        The losses of each penalty, a row counting as often as there are rows before it: later
        weights are more to the point.
    counted : int
        The number of held rows that are in the sums.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        penalties = len(objective.penalties)
        self.totals: Floats = np.zeros((len(SUMS), penalties * objective.outputs))
        self.recent: Floats = np.zeros(penalties)
        self.begin_block()

    def begin_block(self) -> None:
        """Forget the scores of held rows."""
        self.counted: int = 0
        self._cache: _Cache = _EMPTY

    @property
    def segment_end(self) -> int:
        """The number of held rows at which the next segment of them is summed."""
        most = MOST_SCORES // int(self.totals.shape[1])
        return self.counted + min(SEGMENT, max(most, SHORTEST_SEGMENT))

    @property
    def best(self) -> int:
        """The place of the penalty with the lowest losses of late; the middle one before any."""
        return int(np.argmin(self.recent)) if self.recent.any() else len(self.recent) // 2

    def scores(self, known: Information, held: HeldRows, begin: int, threads: int) -> Floats:
        """Return the scores of the held rows from ``begin`` on, none of which is in the sums yet.

        Columns that appeared after the last fit have no weights.
        """
        cache, count = self._cache, held.count
        if cache.W is not known.W or not cache.first <= begin <= cache.end <= count:
            cache = _Cache(known.W, begin, ())
        if cache.end < count:
            more = self.products(known, held, cache.end, threads)
            cache = cache._replace(scores=(*cache.scores, more))
        if len(cache.scores) > 1:
            cache = cache._replace(scores=(np.concatenate(cache.scores),))
        self._cache = cache
        if not cache.scores:
            return self.products(known, held, begin, threads)
        return cache.scores[0][begin - cache.first :]

    def products(self, known: Information, held: HeldRows, begin: int, threads: int) -> Floats:
        """Return the scores of the held rows from ``begin`` on by the weights that are known."""
        softmax = self.objective.softmax
        W = of_classes(known.W) if softmax else known.W
        W = W.reshape(len(known), self.totals.shape[1])
        products = times(held.rows(len(known), begin), W, threads)
        scores = with_offsets(products, held.offsets(begin))
        return odds_of_classes(scores, self.objective.outputs) if softmax else scores

    def reaching(self, known: Information, held: HeldRows, threads: int) -> Information:
        """Return what is known, the scores of the held rows within its reach."""
        scores, offsets = self.products(known, held, 0, threads), held.offsets()
        return known.reaching(with_offsets(scores, None if offsets is None else -offsets))

    def count(
        self,
        known: Information,
        held: HeldRows,
        before: int,
        threads: int,
        scores: Floats | None = None,
    ) -> None:
        """Add the held rows that are not in the sums to them.

        ``before`` is the number of rows before the block; ``scores`` are those of the rows, if they
        are known already.
        """
        if scores is None:
            scores = self.scores(known, held, self.counted, threads)
        sums = self._sums_of(scores, known, held, threads)
        self.totals = self.totals + sums
        rated = sums[RATED].reshape(len(self.recent), -1).sum(axis=1)
        self.recent = self.recent + (before + self.counted) * rated
        self.counted = held.count

    def sums(self, known: Information, held: HeldRows, threads: int) -> Floats:
        """Return the sums with those of the rows that are not in them yet."""
        if held.count == self.counted:
            return self.totals.copy()
        scores = self.scores(known, held, self.counted, threads)
        return self.totals + self._sums_of(scores, known, held, threads)

    def _sums_of(self, scores: Floats, known: Information, held: HeldRows, threads: int) -> Floats:
        scores = scores.reshape(-1, len(self.recent), self.objective.outputs)
        scores = known.within_reach(scores, held.offsets(self.counted))
        if self.objective.counts_own_class and not self.objective.softmax:
            scores = normalised_odds(scores)
        begin = self.counted
        own = (held.targets(begin), held.scoring_weights(begin), held.limits(begin))
        return progressive_sums(self.objective, scores, *own, threads)

    def restart(self) -> None:
        """Begin a new interval of the race: its sums are zero."""
        self.totals = np.zeros_like(self.totals)

    def select(self, penalties: Sequence[int]) -> Scorer:
        """Return a copy for only these penalties, by their places."""
        keep, chosen = list(penalties), copy.copy(self)
        totals = self.totals.reshape(len(SUMS), len(self.recent), self.objective.outputs)
        chosen.totals = totals[:, keep].reshape(len(SUMS), -1)
        chosen.recent = self.recent[keep]
        left = self.objective.penalties[keep]
        chosen.objective = replace(self.objective, penalties=left)
        return chosen


def progressive_sums(
    objective: Objective,
    scores: Floats,
    targets: Floats,
    weights: Floats,
    limits: Floats,
    threads: int = 1,
) -> Floats:
    """Return the sums of each model's scores over rows, of shape (SUMS, penalties * outputs).

    ``scores`` has the shape (rows, penalties, outputs), ``targets`` (rows, outputs), ``limits``
    (rows, 2), see `polyak.learn.race.row_limits`. Of classes that are learned ``together`` only the
    row's own loses: what counts is its probability.

    Examples
    --------
    >>> scores, targets = np.array([[[2.0]], [[-1.0]]]), np.array([[3.0], [1.0]])
    >>> limits = np.array([[1.5, 1.0], [1.5, 1.0]])
    >>> progressive_sums(Objective("squared_error"), scores, targets, np.ones(2), limits).T
    array([[2.  , 2.5 , 4.25, 3.  , 0.  , 2.  , 1.  ]])
    """
    rows, penalties, outputs = scores.shape
    sums = np.zeros((len(SUMS), penalties * outputs))
    sums[0] = weights.sum()
    loss = objective.loss
    if loss == "log_loss" and outputs == 1:  # by far the most frequent: the core needs one pass
        flat, own = np.ascontiguousarray(scores[:, :, 0]), np.ascontiguousarray(targets[:, 0])
        found = _core.logistic_sums(flat, own, weights, limits, threads)
        sums[1:4], sums[RATED:] = found[:3], found[3:]
        return sums
    own, kind = targets[:, None, :], get_loss(loss)
    values, slopes = kind.value_and_slope(scores, own)
    if loss == "squared_error":
        error = np.abs(slopes)
    elif kind.classifies:
        error = ((scores > 0) != (own > 0)).astype(np.float64)
    else:
        error = np.abs(kind.predictions(scores) - own)
    if objective.counts_own_class:
        values = np.where(own > 0, values, 0.0)
    flat = values.reshape(rows, -1)
    sums[1] = weights @ flat
    sums[2] = weights @ np.square(flat)
    sums[3] = weights @ error.reshape(rows, -1)
    if objective.one_vs_rest:
        sums[4, ::outputs] = weights @ (scores.argmax(axis=2) != targets.argmax(axis=1)[:, None])
    cap, share = limits.T
    counts_fully = flat <= cap[:, None]  # false for a loss that is not a number
    sums[RATED] = (weights * share) @ np.where(counts_fully, flat, cap[:, None])
    sums[RATED + 1] = (weights > 0) @ ~counts_fully
    return sums

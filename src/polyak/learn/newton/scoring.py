"""Rows are scored by the weights of the last fit, before they are learned themselves."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.learn.bank.merging import SUMS
from polyak.learn.newton.block.algebra import times
from polyak.learn.newton.held_rows import HeldRows
from polyak.learn.newton.information import Information
from polyak.learn.newton.progressive import RATED, progressive_sums
from polyak.learn.newton.softmax import odds_of_classes, of_classes
from polyak.losses.softmax import normalised_odds

Floats = NDArray[np.float64]

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
        Each model's sums since the last milestone, as `polyak.learn.bank.merging.SUMS` lists them.
    recent : array of shape (penalties,)
        The losses of each penalty, a row counting as often as there are rows before it: later
        weights are more to the point.
    counted : int
        The number of held rows that are in the sums.
    """

    def __init__(
        self,
        loss: str,
        penalties: int,
        outputs: int,
        *,
        one_vs_rest: bool,
        softmax: bool,
        together: bool,
    ) -> None:
        self.loss, self.outputs, self.one_vs_rest = loss, outputs, one_vs_rest
        self.softmax, self.together = softmax, together
        self.totals: Floats = np.zeros((len(SUMS), penalties * outputs))
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
            more = self._products(known, held, cache.end, threads)
            cache = cache._replace(scores=(*cache.scores, more))
        if len(cache.scores) > 1:
            cache = cache._replace(scores=(np.concatenate(cache.scores),))
        self._cache = cache
        if not cache.scores:
            return self._products(known, held, begin, threads)
        return cache.scores[0][begin - cache.first :]

    def _products(self, known: Information, held: HeldRows, begin: int, threads: int) -> Floats:
        W = of_classes(known.W) if self.softmax else known.W
        W = W.reshape(len(known), self.totals.shape[1])
        scores = times(held.rows(len(known), begin), W, threads)
        return odds_of_classes(scores, self.outputs) if self.softmax else scores

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
        sums = self._sums_of(scores, held, threads)
        self.totals = self.totals + sums
        rated = sums[RATED].reshape(len(self.recent), -1).sum(axis=1)
        self.recent = self.recent + (before + self.counted) * rated
        self.counted = held.count

    def sums(self, known: Information, held: HeldRows, threads: int) -> Floats:
        """Return the sums with those of the rows that are not in them yet."""
        if held.count == self.counted:
            return self.totals.copy()
        scores = self.scores(known, held, self.counted, threads)
        return self.totals + self._sums_of(scores, held, threads)

    def _sums_of(self, scores: Floats, held: HeldRows, threads: int) -> Floats:
        scores = scores.reshape(-1, len(self.recent), self.outputs)
        if self.together and not self.softmax:
            scores = normalised_odds(scores)
        return progressive_sums(
            self.loss,
            scores,
            held.targets(self.counted),
            held.scoring_weights(self.counted),
            held.limits(self.counted),
            one_vs_rest=self.one_vs_rest,
            together=self.together,
            threads=threads,
        )

    def restart(self) -> None:
        """Begin a new interval of the race: its sums are zero."""
        self.totals = np.zeros_like(self.totals)

    def select(self, penalties: Sequence[int]) -> Scorer:
        """Return a copy for only these penalties, by their places."""
        keep, chosen = list(penalties), copy.copy(self)
        totals = self.totals.reshape(len(SUMS), len(self.recent), self.outputs)
        chosen.totals = totals[:, keep].reshape(len(SUMS), -1)
        chosen.recent = self.recent[keep]
        return chosen

"""How rows are scored before they are learned, and what the scores add up to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import times
from polyak.learn.newton.block.one_thread import one_blas_thread
from polyak.learn.newton.block.penalty import Sparsity
from polyak.learn.newton.cadence import Cadence
from polyak.learn.newton.held_rows import HeldRows
from polyak.learn.newton.information import Information
from polyak.learn.newton.limits import UNPENALISED
from polyak.learn.newton.progressive import RATED, progressive_sums
from polyak.learn.newton.softmax import odds_of_classes, of_classes
from polyak.learn.newton.standardize import Standard
from polyak.losses.softmax import normalised_odds

Floats = NDArray[np.float64]

SEGMENT, SHORTEST_SEGMENT, MOST_SCORES = 8192, 512, 1 << 20
"""Rows whose losses are summed at a time, counted from the last fit; fewer of many models, whose
scores would take more than 8 MiB."""


class Scored(NamedTuple):
    """Scores of held rows by some weights, from one row on; each is worked out once."""

    W: Floats
    first: int
    scores: tuple[Floats, ...]

    @property
    def end(self) -> int:
        """The first row without a score."""
        return self.first + sum(map(len, self.scores))


NOT_SCORED = Scored(np.empty(0), 0, ())


class BlockScoring:
    """The held rows of a block, and the sums of their scores by the weights before it."""

    loss: str
    left: str | None
    exact: bool
    penalties: Floats
    outputs: int
    one_vs_rest: bool
    intervals: bool
    softmax: bool
    together: bool
    sparsity: Sparsity | None
    clock: int
    threads: int
    widest: int
    standard: Standard
    _held: HeldRows
    _known: Information
    _first_block: bool
    _cadence: Cadence
    _bits: int
    _counted: int
    _totals: Floats
    _lately: Floats
    _scored: Scored

    @property
    def for_inference(self) -> bool:
        """Whether the weights themselves are asked for: with intervals, or without a penalty."""
        return self.intervals or (self.sparsity is None and self.penalties.min() <= UNPENALISED)

    @property
    def smallest(self) -> int:
        """The place of the smallest penalty, which intervals are taken at."""
        return int(np.argmin(self.penalties))

    def _segment_end(self) -> int:
        """Give the next number of held rows at which they are scored, or learned."""
        return min(self._counted + self._segment, self._block_end())

    @property
    def _segment(self) -> int:
        each = len(self.penalties) * self.outputs
        return min(SEGMENT, max(MOST_SCORES // each, SHORTEST_SEGMENT))

    def _make_room(self) -> None:
        """Have room for a row more, and if none is held, for a block."""
        before = self.clock - self._held.count
        self._held.make_room(len(self.standard), self.widest, before, self._bits)

    def _signs(self, targets: NDArray[Any]) -> Floats:
        if self.one_vs_rest:
            return np.where(targets[:, None] == np.arange(self.outputs), 1.0, -1.0)
        return np.asarray(targets, dtype=np.float64).reshape(len(targets), self.outputs)

    def _block_end(self) -> int:
        """Return the number of held rows at which weights are refitted, or their block is full."""
        before = self.clock - self._held.count
        due = self._cadence.next_fit(len(self.standard)) - before
        return min(max(due, 1), self._held.block)

    def _scores(self, begin: int) -> Floats:
        """Score held rows from one on, none of which is in the sums yet.

        The weights are those of the columns there were at the last fit: others have none.
        """
        known, count = self._scored, self._held.count
        if known.W is not self._known.W or not known.first <= begin <= known.end <= count:
            known = Scored(self._known.W, begin, ())
        if known.end < count:
            known = known._replace(scores=(*known.scores, self._products(known.end, count)))
        if len(known.scores) > 1:
            known = known._replace(scores=(np.concatenate(known.scores),))
        self._scored = known
        return (
            known.scores[0][begin - known.first :] if known.scores else self._products(begin, count)
        )

    def _products(self, begin: int, end: int) -> Floats:
        columns = len(self._known)
        W = self._class_weights(self._known.W).reshape(columns, len(self.penalties) * self.outputs)
        scores = times(self._held.part(begin, end, columns), W, self.threads)
        return odds_of_classes(scores, self.outputs) if self.softmax else scores

    def _block_scores(self) -> Floats | None:
        """Give the held rows' scores by the weights before their block, for a step from there."""
        if self._first_block or self.softmax:
            return None
        return self._scores(0).reshape(self._held.count, -1, self.outputs)

    def _class_weights(self, W: Floats) -> Floats:
        """Give weights with a column an output, the last axis."""
        return of_classes(W) if self.softmax else W

    def _segment_sums(self, scores: Floats) -> Floats:
        """Return what the held rows that are not in the sums would add to them."""
        scores = scores.reshape(-1, len(self.penalties), self.outputs)
        if self.together and not self.softmax:
            scores = normalised_odds(scores)
        return progressive_sums(
            self.loss,
            scores,
            self._held.targets(self._counted),
            self._held.scoring_weights(self._counted),
            self._held.limits(self._counted),
            one_vs_rest=self.one_vs_rest,
            together=self.together,
            threads=self.threads,
        )

    def _count_segment(self, scores: Floats | None = None) -> None:
        scores = self._scores(self._counted) if scores is None else scores
        sums = self._segment_sums(scores)
        self._totals = self._totals + sums
        # A row counts as often as there are rows before it: later weights are more to the point.
        before = self.clock - self._held.count + self._counted
        rated = sums[RATED].reshape(len(self.penalties), -1).sum(axis=1)
        self._lately = self._lately + before * rated
        self._counted = self._held.count

    def sums(self) -> Floats:
        """Return each model's sums since the last milestone, as `progressive.SUMS` lists them."""
        if self._held.count == self._counted:
            return self._totals.copy()
        with one_blas_thread():
            return self._totals + self._segment_sums(self._scores(self._counted))

    def start_interval(self) -> None:
        """Begin a new interval of the race: its sums are zero."""
        if self.left is None and self._held.count > self._counted:
            with one_blas_thread():
                self._count_segment()
        self._totals = np.zeros_like(self._totals)

    @property
    def lead(self) -> int:
        """The penalty whose curvature all share: the best of late; for intervals the smallest."""
        if self.intervals:
            return self.smallest
        return int(np.argmin(self._lately)) if self._lately.any() else len(self.penalties) // 2

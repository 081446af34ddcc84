"""How rows are scored before they are learned, and what the scores add up to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import WIDE, times
from polyak.learn.newton.block.one_thread import one_blas_thread
from polyak.learn.newton.held_rows import HeldRows
from polyak.learn.newton.information import Information
from polyak.learn.newton.limits import first_fit
from polyak.learn.newton.progressive import progressive_sums
from polyak.learn.newton.softmax import odds_of_classes, of_classes
from polyak.learn.newton.standardize import Standard
from polyak.losses.softmax import normalised_odds

Floats = NDArray[np.float64]

SEGMENT, WIDE_SEGMENT, PRODUCT = 2048, 512, 512
"""So many rows are added up at a time, counted from the last change of weights; fewer of those with
many columns, which are scored anew for every look in between. A product has rows of its own number,
always the same ones: its bits may depend on it."""


class BlockScoring:
    """The held rows of a block, and the sums of their scores by the weights before it."""

    loss: str
    exact: bool
    penalties: Floats
    outputs: int
    one_vs_rest: bool
    intervals: bool
    softmax: bool
    together: bool
    clock: int
    standard: Standard
    _held: HeldRows
    _known: Information
    _first_block: bool
    _solved: int
    _counted: int
    _totals: Floats
    _lately: Floats

    @property
    def smallest(self) -> int:
        """The place of the smallest penalty, which intervals are taken at."""
        return int(np.argmin(self.penalties))

    def _segment_end(self) -> int:
        """Give the next number of held rows at which they are scored, or learned."""
        rows = WIDE_SEGMENT if len(self._known) > WIDE else SEGMENT
        return min(self._counted + rows, self._block_end())

    def _block_end(self) -> int:
        """Give the number of held rows at which weights are found, at every doubling at first.

        The rows of the first block are held all the while, so that each time it is the batch
        optimum of them all. Squared error has sums that say as much, and need hold none of them,
        unless what their slopes spread is to be kept, which is better taken at later weights.
        """
        if self.exact and not self.intervals:
            least = self.clock - self._held.count
        else:
            least = 2 * self._solved if self._first_block else self._held.block
        return min(max(least, first_fit(len(self.standard))), self._held.block)

    def _scores(self, begin: int) -> Floats:
        """Score held rows from one on, none of which is in the sums yet.

        The weights are those of the columns there were at the last fit: others have none.
        """
        columns, end = len(self._known), self._segment_end()
        W = self._class_weights(self._known.W).reshape(columns, -1)
        first = begin - (begin - self._counted) % PRODUCT
        parts = [
            times(self._held.part(place, min(place + PRODUCT, end), columns), W)
            for place in range(first, self._held.count, PRODUCT)
        ]
        scores = np.concatenate(parts)[begin - first : self._held.count - first]
        return odds_of_classes(scores, self.outputs) if self.softmax else scores

    def _class_weights(self, W: Floats) -> Floats:
        """Give weights with a column an output, the last axis."""
        return of_classes(W) if self.softmax else W

    def _segment_sums(self, scores: Floats | None = None) -> tuple[Floats, Floats]:
        """Add up what the held rows that are not in the sums would add to them."""
        scores = self._scores(self._counted) if scores is None else scores
        scores = scores.reshape(-1, len(self.penalties), self.outputs)
        if self.together and not self.softmax:
            scores = normalised_odds(scores)
        return progressive_sums(
            self.loss,
            scores,
            self._held.targets(self._counted),
            self._held.scoring_weights(self._counted),
            one_vs_rest=self.one_vs_rest,
            together=self.together,
        )

    def _count_segment(self, scores: Floats | None = None) -> None:
        sums, lately = self._segment_sums(scores)
        self._totals = self._totals + sums
        # A row counts as often as there are rows before it: later weights are more to the point.
        before = self.clock - self._held.count + self._counted
        self._lately = self._lately + before * lately
        self._counted = self._held.count

    def sums(self) -> Floats:
        """Add up each model's rows, losses and so on, as `progressive.SUMS` lists them."""
        if self._held.count == self._counted:
            return self._totals.copy()
        with one_blas_thread():
            return self._totals + self._segment_sums()[0]

    @property
    def lead(self) -> int:
        """The penalty whose curvature all share: the best of late; for intervals the smallest."""
        if self.intervals:
            return self.smallest
        return int(np.argmin(self._lately)) if self._lately.any() else len(self.penalties) // 2

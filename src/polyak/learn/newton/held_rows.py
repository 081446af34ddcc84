"""Rows that are held until their block is full, in standard units."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.newton.block.algebra import WIDE
from polyak.learn.newton.standardize import Standard
from polyak.rows.taken import SomeRows

Floats = NDArray[np.float64]

BLOCK = 4096
"""Rows of the first block. Up to a few thousand, more rows give better weights; beyond that the
length makes little difference."""
LONG_BLOCK = 16384
"""Rows of the longest block. Sparse weights begin with it: a block's Hessian is that of the weights
at the time, and the sum of few blocks is closer to that of the last weights."""
BLOCKS_BEFORE, MOST_BYTES = 4, 1 << 25
"""A block doubles once there are this many of its size before it, up to 32 MiB: it is fitted in
little more time than a shorter one, and no weights are older by much."""
NO_LIMITS = (np.inf, 1.0)
"""The cap and share of a row where nobody sets limits."""
UNUSUAL = 1e8
"""A row is unusual if its squared norm, in standard units, is so many times the median."""


def usual_weights(Z: NDArray[Any], weights: Floats, threads: int) -> Floats | None:
    """Return the weights of rows in standard units; None where all are one.

    A row ten thousand times as long as most others weighs nothing, as in calibration: one absurd
    row would outweigh millions of others.
    """
    norms = np.empty(len(Z))
    if _core.block_norms(Z, norms, threads) > UNUSUAL:
        median = np.sort(norms)[len(Z) // 2]
        weights = np.where(norms > UNUSUAL * max(median, 1.0), 0.0, weights)
    return None if (weights == 1.0).all() else weights


class HeldRows:
    """Room for a block of rows, some of it taken.

    Attributes
    ----------
    count : int
        How many rows are held.
    block : int
        How many make a block, from the width at its beginning.
    """

    def __init__(
        self,
        outputs: int,
        fit_intercept: bool,
        exact: bool,
        longest: int,
        may_be_coarse: bool,
    ) -> None:
        self.first = int(fit_intercept)  # the column where features begin
        self.exact = exact  # sums of the rows are all there will be: 32 bits will not do
        self.may_be_coarse = may_be_coarse  # where rows come in 32 bits, see `_precision`
        self.count, self.block, self.longest = 0, longest, longest
        self._Z: NDArray[Any] = np.zeros((0, 0))
        self._targets: Floats = np.zeros((longest, outputs))
        self._weights: Floats = np.ones(longest)
        self._fresh: Floats = np.ones(longest)  # zero for rows that were learned before
        self._limits: Floats = np.ones((longest, 2))  # how rows count in comparisons
        self._threads = 1
        self._weighed: tuple[Floats | None] | None = None  # what `weights` gives, once it is known

    @property
    def nbytes(self) -> int:
        """How much memory the rows that are held take."""
        rows, others = self._Z[: self.count], self._targets[: self.count]
        return int(rows.nbytes + others.nbytes)

    def make_room(self, features: int, most: int, before: int, bits: int) -> None:
        """Have room for a block of rows with so many features, of which there may be ``most``.

        ``before`` says how many rows came before the block, ``bits`` how precise the next ones are.
        """
        width = self.first + features
        dtype = self._Z.dtype
        if not self.count:
            dtype = self._precision(width, before, bits)
            self._begin(width, before, dtype.itemsize)
        elif width <= WIDE and bits > 32:
            dtype = np.dtype(np.float64)
        rows, columns = self._Z.shape
        if rows >= self.block and columns >= width and dtype == self._Z.dtype:
            return
        if columns:  # with some to spare: features come one by one
            width = max(min(width + width // 8, self.first + most), columns)
        wider = np.zeros((self.block, width), dtype)
        wider[: self.count, :columns] = self._Z[: self.count]
        self._Z = wider

    def _precision(self, width: int, before: int, bits: int) -> np.dtype[Any]:
        """Say how precise rows are held: with many columns, 32 bits will do.

        Rows that came so are held so with few columns, too: to round them once more, in units of
        their own, adds no more error than they have. Not those of the first block: they are few.
        """
        wide = width > WIDE and not self.exact
        coarse = self.may_be_coarse and before > 0 and bits == 32
        return np.dtype(np.float32 if wide or coarse else np.float64)

    def _begin(self, width: int, before: int, each: int) -> None:
        """Say how many rows the next block has, a number taking so many bytes."""
        self.block = self.longest
        most = min(LONG_BLOCK, MOST_BYTES // (each * max(width, 1)), before // BLOCKS_BEFORE)
        while 2 * self.block <= most:
            self.block *= 2
        if len(self._targets) < self.block:
            self._have_targets(self.block)

    def _have_targets(self, rows: int) -> None:
        self._targets = np.zeros((rows, self._targets.shape[1]))
        self._weights, self._fresh = np.ones((2, rows))
        self._limits = np.ones((rows, 2))

    def add(
        self,
        rows: SomeRows,
        targets: Floats,
        weights: Floats | None,
        limits: Floats | None,
        standard: Standard,
        *,
        fresh: bool,
        threads: int = 1,
    ) -> int:
        """Hold more rows; return how often a feature was left out because it has no column."""
        place = slice(self.count, self.count + len(rows))
        self._weighed, self._threads = None, threads
        self._Z[place, : self.first] = 1.0
        room = self._Z[place, self.first : self.first + len(standard)]
        others = standard.fill(rows, room, threads)
        self._targets[place] = targets
        self._weights[place] = 1.0 if weights is None else weights
        self._fresh[place] = float(fresh)
        self._limits[place] = NO_LIMITS if limits is None else limits
        self.count += len(rows)
        return others

    def forget(self) -> None:
        """Make room for the next block."""
        self.count, self._weighed = 0, None

    def copy(self, *, to_change: bool) -> HeldRows:
        """Give another that holds the same; rows that will not change are shared."""
        other = copy.copy(self)
        if to_change:
            other._Z = self._Z[: self.count].copy()
            for name in ("_targets", "_weights", "_fresh", "_limits"):
                setattr(other, name, getattr(self, name).copy())
        return other

    def part(self, begin: int, end: int, columns: int) -> NDArray[Any]:
        """Give so many columns of some rows, the constant first; there may be none in them yet."""
        return self._Z[begin:end, :columns]

    def rows(self, columns: int) -> NDArray[Any]:
        """Give so many columns of the held rows, the constant first."""
        return self._Z[: self.count, :columns]

    def features(self) -> NDArray[Any]:
        """Give the held rows without the constant, to be changed in place."""
        self._weighed = None
        return self._Z[: self.count, self.first :]

    def targets(self, begin: int = 0) -> Floats:
        """Give the targets of the held rows from one on, a column an output."""
        return self._targets[begin : self.count]

    def weights(self) -> Floats | None:
        """Return the weights of the held rows, where they are not all one: see `usual_weights`."""
        if self._weighed is None:
            held = slice(self.count)
            self._weighed = (usual_weights(self._Z[held], self._weights[held], self._threads),)
        return self._weighed[0]

    def total_weight(self) -> float:
        """Add up the weights of the held rows."""
        weights = self.weights()
        return float(self.count if weights is None else weights.sum())

    def scoring_weights(self, begin: int) -> Floats:
        """Give the weights of rows from one on, zero for those that tell nothing new."""
        return self._weights[begin : self.count] * self._fresh[begin : self.count]

    def limits(self, begin: int) -> Floats:
        """Return how rows from one on count in comparisons: each one's cap and share."""
        return self._limits[begin : self.count]

    def state(self, columns: int) -> dict[str, NDArray[Any]]:
        """Return the rows that are held, as arrays."""
        held = slice(self.count)
        return {
            "held.rows": self._Z[held, :columns].copy(),
            "held.targets": self._targets[held].copy(),
            "held.weights": self._weights[held].copy(),
            "held.fresh": self._fresh[held].copy(),
            "held.limits": self._limits[held].copy(),
        }

    def set_state(self, arrays: dict[str, NDArray[Any]], block: int) -> None:
        """Go on from what ``state`` gave, in a block of so many rows."""
        rows = arrays["held.rows"]
        self.count, self.block, self._weighed = len(rows), block, None
        self._Z = np.zeros((block, rows.shape[1]), rows.dtype)
        if len(self._targets) < block:
            self._have_targets(block)
        self._Z[: self.count] = rows
        self._targets[: self.count] = arrays["held.targets"]
        self._weights[: self.count] = arrays["held.weights"]
        self._fresh[: self.count] = arrays["held.fresh"]
        self._limits[: self.count] = arrays["held.limits"]

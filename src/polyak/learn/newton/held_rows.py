"""Rows that are held until their block is full, in standard units."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.newton.block.algebra import WIDE
from polyak.learn.newton.cadence import Cadence
from polyak.learn.newton.objective import Objective
from polyak.learn.newton.standardize import Standard
from polyak.learn.stored_state import FLOATS, StoredState
from polyak.rows.taken import SomeRows

Floats = NDArray[np.float64]

NO_LIMITS = (np.inf, 1.0)
"""The cap and the share of a row in comparisons, by default."""
UNUSUAL = 1e8
"""A row is unusual if its squared norm, in standard units, is this many times the median."""


def usual_weights(norms: Floats, weights: Floats) -> Floats | None:
    """Return the weights of rows whose squared norms are these; None where all are one.

    A row ten thousand times as long as most others weighs nothing, as in calibration: one absurd
    row would outweigh millions of others.
    """
    if np.fmax.reduce(norms, initial=0.0) > UNUSUAL:
        median = np.sort(norms)[len(norms) // 2]
        weights = np.where(norms > UNUSUAL * max(median, 1.0), 0.0, weights)
    return None if (weights == 1.0).all() else weights


class HeldRows:
    """The rows of a block, with targets, weights, limits and offsets.

    Parameters
    ----------
    objective : Objective
    block : int
        The rows of a block until the first begins.

    Attributes
    ----------
    count : int
        The number of rows held.
    block : int
        The number of rows of the current block.
    """

    def __init__(self, objective: Objective, block: int) -> None:
        self.first = int(objective.fit_intercept)  # the column where features begin
        self.objective = objective
        self.count, self.block = 0, block
        self._Z: NDArray[Any] = np.zeros((0, 0))
        self._targets: Floats = np.zeros((0, objective.outputs))
        self._weights: Floats = np.ones(0)
        self._limits: Floats = np.ones((0, 2))  # each row's cap and share in comparisons
        self._offsets: Floats = np.zeros(0)  # what is added to each row's scores
        self._bits, self._threads = 64, 1  # of the last rows
        self._usual: tuple[Floats | None] | None = None  # what `weights` returns, once computed

    @property
    def nbytes(self) -> int:
        """The memory that the held rows take."""
        rows, others = self._Z[: self.count], self._targets[: self.count]
        return int(rows.nbytes + others.nbytes)

    def allocate(
        self, features: int, most: int, before: int, cadence: Cadence, bits: int | None = None
    ) -> None:
        """Allocate a block of rows with these features, of which there may be ``most`` later.

        ``before`` is the number of rows before the block, ``bits`` the precision of the next ones.
        """
        width = self.first + features
        dtype, self._bits = self._Z.dtype, self._bits if bits is None else bits
        if not self.count:
            dtype = self._precision(width, before)
            self.block = cadence.block_rows(before, dtype.itemsize * width)
        elif width <= WIDE and self._bits > 32:
            dtype = np.dtype(np.float64)
        if len(self._targets) < self.block:
            self._allocate_targets()
        rows, columns = self._Z.shape
        if rows >= self.block and columns >= width and dtype == self._Z.dtype:
            return
        if columns:  # with some to spare: features appear one by one
            width = max(min(width + width // 8, self.first + most), columns)
        if not self.count:
            self._Z = np.zeros((0, columns))  # freed before others are allocated
        wider = np.zeros((self.block, width), dtype)
        wider[: self.count, :columns] = self._Z[: self.count]
        self._Z = wider

    def _precision(self, width: int, before: int) -> np.dtype[Any]:
        """Return the precision in which rows are held: with many columns, 32 bits suffice.

        Not where sums of the rows are all that remains of them. Rows that arrive in 32 bits are
        held so with few columns, too: rounding them once more, in standard units, adds no more
        error than they have. Not those of the first block, which are few.
        """
        own = self.objective
        wide = width > WIDE and not (own.exact or own.term_of)
        plain = own.loss == "log_loss" and not (own.softmax or own.sparsity or own.for_inference)
        coarse = plain and before > 0 and self._bits == 32
        return np.dtype(np.float32 if wide or coarse else np.float64)

    def _allocate_targets(self) -> None:
        self._targets = np.zeros((self.block, self._targets.shape[1]))
        self._weights = np.ones(self.block)
        self._limits = np.ones((self.block, 2))
        self._offsets = np.zeros(self.block)

    def add(
        self,
        rows: SomeRows,
        targets: Floats,
        weights: Floats | None,
        limits: Floats | None,
        offsets: Floats | None,
        standard: Standard,
        threads: int = 1,
    ) -> int:
        """Hold more rows; return the number of values left out because they have no column."""
        place = slice(self.count, self.count + len(rows))
        self._usual, self._threads = None, threads
        self._Z[place, : self.first] = 1.0
        columns = self._Z[place, self.first : self.first + len(standard)]
        left_out = standard.fill(rows, columns, threads)
        self._targets[place] = targets
        self._weights[place] = 1.0 if weights is None else weights
        self._limits[place] = NO_LIMITS if limits is None else limits
        self._offsets[place] = 0.0 if offsets is None else offsets
        self.count += len(rows)
        return left_out

    def take_back(self, rows: int) -> None:
        """Drop the last rows."""
        self.count, self._usual = self.count - rows, None

    def forget(self) -> None:
        """Drop the held rows."""
        self.count, self._usual = 0, None

    def copy(self, *, to_change: bool) -> HeldRows:
        """Return a copy; unless the rows are ``to_change``, they are shared."""
        other = copy.copy(self)
        if to_change:
            other._Z = self._Z[: self.count].copy()
            for name in ("_targets", "_weights", "_limits", "_offsets"):
                setattr(other, name, getattr(self, name).copy())
        return other

    def rows(self, columns: int, begin: int = 0) -> NDArray[Any]:
        """Return the first ``columns`` of held rows from ``begin`` on; the constant is first."""
        return self._Z[begin : self.count, :columns]

    def features(self) -> NDArray[Any]:
        """Return the held rows without the constant, to be changed in place."""
        self._usual = None
        return self._Z[: self.count, self.first :]

    def targets(self, begin: int = 0) -> Floats:
        """Return the targets of the held rows from ``begin`` on, a column per output."""
        return self._targets[begin : self.count]

    def weights(self) -> Floats | None:
        """Return the weights of the held rows; None if all are one: see `usual_weights`."""
        if self._usual is None:
            held, norms = slice(self.count), np.empty(self.count)
            _core.block_norms(self._Z[held], norms, self._threads)
            self._usual = (usual_weights(norms, self._weights[held]),)
        return self._usual[0]

    def total_weight(self) -> float:
        """Return the sum of the weights of the held rows."""
        weights = self.weights()
        return float(self.count if weights is None else weights.sum())

    def scoring_weights(self, begin: int) -> Floats:
        """Return the weights of rows from ``begin`` on, as they came."""
        return self._weights[begin : self.count]

    def limits(self, begin: int) -> Floats:
        """Return the cap and share in comparisons of each row from ``begin`` on."""
        return self._limits[begin : self.count]

    def offsets(self, begin: int = 0) -> Floats | None:
        """Return what is added to the scores of rows from ``begin`` on; None if nothing is."""
        return self._offsets[begin : self.count] if self.objective.has_offsets else None

    def state(self, columns: int) -> dict[str, NDArray[Any]]:
        """Return the held rows as arrays."""
        held = slice(self.count)
        return {
            "held.rows": self._Z[held, :columns].copy(),
            "held.targets": self._targets[held].copy(),
            "held.weights": self._weights[held].copy(),
            "held.limits": self._limits[held].copy(),
            "held.offsets": self._offsets[held].copy(),
        }

    def set_state(self, stored: StoredState, columns: int, block: int) -> None:
        """Restore what ``state`` returned, in a block of ``block`` rows of ``columns`` columns."""
        rows = stored.array("rows", (None, columns), FLOATS, least=-np.inf)
        stored.require(len(rows) < block, "rows", f"cannot be {len(rows)} rows")
        self.count, self.block, self._usual = len(rows), block, None
        self._Z = np.zeros((block, columns), rows.dtype)
        if len(self._targets) < block:
            self._allocate_targets()
        held = slice(self.count)
        self._Z[held] = rows
        shape = (self.count, self._targets.shape[1])
        self._targets[held] = stored.array("targets", shape, least=-np.inf)
        self._weights[held] = stored.array("weights", (self.count,), least=0.0)
        self._limits[held] = stored.array("limits", (self.count, 2))
        self._offsets[held] = stored.array("offsets", (self.count,), least=-np.inf)

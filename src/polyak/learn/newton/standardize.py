"""Centre and spread: rows in units of their own, and exactly back.

A column is measured from its median, in units of the typical distance of the rows that differ from
it. So a column of zeros and ones, however rare the ones, is left as it is; one of continuous values
comes out between -3 and 3 or so; a few absurd values change little; and a column in other units or
counted from elsewhere comes out the same. The map is affine: a linear model of what comes out is a
linear model of what went in.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.stored_state import StoredState
from polyak.rows.huge_values import SMALLEST
from polyak.rows.sparse import Rows, SparseRows, core_rows
from polyak.rows.taken import SomeRows, TakenRows

Floats = NDArray[np.float64]

FAR_BEYOND = 10.0
"""Medians beyond which a value is clipped when a spread is computed."""
ABSURD = 100.0
"""Spreads beyond which a value is clipped in the mean square of its column, which scales penalties.
Few columns have tails that long, and those of money or rates that do are penalised like others."""
ROWS_FOR_SIZE = 1000
"""Rows that differ from the centre after which the mean square of a column is final."""


class Standard:
    """The features seen so far, each with its centre and its spread.

    A feature becomes a column with the first row in which it is not zero. Columns stand in the
    order in which they appeared. The spread is zero as long as a column has not varied: all its
    rows are zero then, and any unit fits them when one is found.

    Parameters
    ----------
    fit_intercept : bool
        Without an intercept nothing could undo a shift, so the centres are zero.
    as_they_are_from : int, optional
        Features from this one on are left as they are: basis functions are centred and have a size
        of their own. Most rows may be next to zero in one that is large for a few values, and in
        units of most rows these would be absurd.

    Examples
    --------
    >>> standard = Standard()
    >>> standard.calibrate(np.array([[1990.0, 0.0], [2000.0, 0.0], [2010.0, 5.0]]))
    >>> out = np.empty((1, 2))
    >>> left_out = standard.fill(np.array([[2020.0, 10.0]]), out)
    >>> out
    array([[2., 2.]])
    >>> coef, intercept = standard.read_out(np.array([[3.0], [20.0], [1.0]]), 2)
    >>> coef, intercept
    (array([[2. , 0.2]]), array([-3997.]))
    """

    def __init__(self, *, fit_intercept: bool = True, as_they_are_from: int | None = None) -> None:
        self.fit_intercept, self.as_they_are_from = fit_intercept, as_they_are_from
        self.features: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.centre: Floats = np.empty(0)
        self.spread: Floats = np.empty(0)
        self.squares: Floats = np.empty(0)  # the sum of squares in standard units
        self.varied: Floats = np.empty(0)  # the number of rows that differed from the centre
        self._sort()

    def __len__(self) -> int:
        return len(self.features)

    @property
    def n_features(self) -> int:
        """One more than the largest feature seen."""
        return int(self.features.max(initial=-1)) + 1

    # -- which columns there are ---------------------------------------------------------------

    def appearing(self, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the features that are new, in the order in which they come, and the row of each.

        A feature comes with the first row in which it is not zero, however rows are stored.
        """
        if not isinstance(rows, SparseRows):
            new = np.flatnonzero(self.places(np.arange(rows.shape[1])) < 0)
            there = rows[:, new] != 0
            new, there = new[there.any(axis=0)], there[:, there.any(axis=0)]
            row = there.argmax(axis=0) if len(rows) else np.zeros(0, dtype=np.int64)
            order = np.argsort(row, kind="stable")
            return new[order], row[order]
        indices, values = rows.entries()
        unknown = np.flatnonzero((self.places(indices) < 0) & (values != 0))
        there = indices[unknown]
        order = np.argsort(there, kind="stable")  # np.unique would import more than it does
        begins = np.flatnonzero(np.diff(there[order], prepend=-1))
        new, first = there[order][begins], order[begins]
        order = np.argsort(first)
        place = rows.indptr[0] + unknown[first[order]]
        row = np.searchsorted(rows.indptr, place, side="right") - 1
        return new[order].astype(np.int64), row

    def add(self, features: NDArray[np.int64]) -> None:
        """Add columns for these features."""
        self.features = np.concatenate([self.features, features])
        self.centre = np.concatenate([self.centre, np.zeros(len(features))])
        known = self.as_they_are_from is not None and features >= self.as_they_are_from
        self.spread = np.concatenate([self.spread, np.zeros(len(features)) + known])
        self.squares = np.concatenate([self.squares, np.zeros(len(features))])
        self.varied = np.concatenate([self.varied, np.zeros(len(features))])
        self._sort()

    def kept(self, places: NDArray[np.int64]) -> Standard:
        """Return a copy with only these columns."""
        fewer = copy.copy(self)
        for name in _ARRAYS:
            setattr(fewer, name, getattr(self, name)[places])
        fewer._sort()
        return fewer

    # -- centre and spread ---------------------------------------------------------------------

    def calibrate(self, rows: Rows) -> None:
        """Compute centres and spreads from the first rows; if there are no columns, add theirs."""
        if not len(self):
            self.add(self.appearing(rows)[0])
        sample = np.empty((len(rows), len(self)))
        self.fill(rows, sample)  # as they are: nothing has a centre yet
        if self.fit_intercept and len(sample):
            median = np.sort(sample, axis=0)[len(sample) // 2]
            self.centre = np.where(self.spread == 0, median, 0.0)
            sample -= self.centre
        self.find_spreads(sample)

    def find_spreads(self, columns: NDArray[Any], threads: int = 1) -> None:
        """Divide each column that varies for the first time by its spread."""
        unknown = np.flatnonzero(self.spread == 0)
        if not len(unknown):
            return
        # Most that have not varied so far do not now.
        unknown = unknown[_core.column_sizes(columns, unknown, ABSURD, threads)[1] > 0]
        sizes = typical_size(columns[:, unknown])
        varies = sizes > SMALLEST
        columns[:, unknown[~varies]] = 0.0
        columns[:, unknown[varies]] /= sizes[varies]
        self.spread[unknown[varies]] = sizes[varies]

    def with_rows(self, columns: NDArray[Any], threads: int = 1) -> Standard:
        """Return a copy with these rows in the mean squares that are not final yet."""
        counted = copy.copy(self)
        rare = np.flatnonzero(self.varied < ROWS_FOR_SIZE)
        if len(rare):
            squares, varied = _core.column_sizes(columns, rare, ABSURD, threads)
            counted.squares, counted.varied = self.squares.copy(), self.varied.copy()
            counted.squares[rare] += squares
            counted.varied[rare] += varied
        return counted

    def without_rows(self) -> Standard:
        """Return the same units, no row counted in the mean squares."""
        fewer = copy.copy(self)
        fewer.squares, fewer.varied = np.zeros(len(self)), np.zeros(len(self))
        return fewer

    def moved(self, shift: Floats) -> Standard:
        """Return a copy with centres moved by ``shift``, in standard units."""
        moved = copy.deepcopy(self)
        moved.centre += shift * self.units
        return moved

    @property
    def mean_squares(self) -> Floats:
        """The mean square of each column over the rows that differ from its centre; else one."""
        return np.where(self.varied > 0, self.squares / np.maximum(self.varied, 1.0), 1.0)

    @property
    def units(self) -> Floats:
        """The spreads, and one where there is none yet."""
        return np.where(self.spread > 0, self.spread, 1.0)

    # -- to standard units and back --------------------------------------------------------------

    def fill(self, rows: SomeRows, out: NDArray[Any], threads: int = 1) -> int:
        """Write rows in standard units; return the number of values that have no column."""
        order = None
        if isinstance(rows, TakenRows):
            order, rows = rows.order, rows.rows
        units = (self.features, self.centre, 1.0 / self.units)
        return _core.fill_standard(core_rows(rows), order, *units, out, threads)

    def read_out(
        self, weights: Floats, n_features: int, dtype: Any = np.float64
    ) -> tuple[NDArray[Any], Floats]:
        """Return the weights, a row per model, and the intercepts for rows in their own units.

        ``weights`` has a column per model; its first row is for the constant, if there is one. The
        intercepts fit the weights as rounded to ``dtype``: at a large centre it matters.
        """
        first = int(self.fit_intercept)
        slopes = (weights[first:] / self.units[:, None]).astype(dtype)
        coef = np.zeros((weights.shape[1], n_features), dtype)
        coef[:, self.features] = slopes.T
        intercept = weights[0] - self.centre @ slopes if first else np.zeros(len(coef))
        return coef, intercept

    def map_from(self, other: Standard) -> Floats:
        """Return the matrix from a row in another's units to the same row in these.

        A column the other does not have was zero in all its rows.
        """
        first = int(self.fit_intercept)
        matrix = np.zeros((first + len(self), first + len(other)))
        theirs = other.places(self.features)
        known = np.flatnonzero(theirs >= 0)
        theirs = theirs[known]
        matrix[first + known, first + theirs] = other.units[theirs] / self.units[known]
        if first:
            matrix[0, 0] = 1.0
            matrix[1:, 0] = -self.centre / self.units
            shift = other.centre[theirs] - self.centre[known]
            matrix[1 + known, 0] = shift / self.units[known]
        return matrix

    def take_in(self, other: Standard, times: float = 1.0) -> None:
        """Add another's columns, with its centres and spreads where none is known.

        Its rows count ``times`` times, which is negative for rows that were counted too often.
        """
        places = self.places(other.features)
        new = places < 0
        before = len(self)
        self.add(other.features[new])
        self.centre[before:], self.spread[before:] = other.centre[new], other.spread[new]
        places = self.places(other.features)
        unknown = self.spread[places] == 0
        self.spread[places[unknown]] = other.spread[unknown]
        per_unit = np.square(other.units / self.units[places])
        self.squares[places] += times * other.squares * per_unit
        self.varied[places] += times * other.varied

    # -- state and lookup ------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays."""
        return {name: getattr(self, name) for name in _ARRAYS}

    def set_state(self, stored: StoredState, n_features: int | None) -> None:
        """Restore what ``state`` returned; features are below ``n_features``."""
        self.features = stored.array("features", (None,), "int64", least=0.0)
        width = len(self.features)
        known = n_features is None or self.features.max(initial=-1) < n_features
        known = known and len(np.unique(self.features)) == width
        stored.require(known, "features", "are not features that the rows can have")
        self.centre = stored.array("centre", (width,), least=-np.inf)
        for name in _ARRAYS[2:]:
            setattr(self, name, stored.array(name, (width,), least=0.0))
        self._sort()

    def _sort(self) -> None:
        self._order = np.argsort(self.features)
        self._sorted = self.features[self._order]

    def places(self, features: NDArray[Any]) -> NDArray[np.int64]:
        """Return the columns of features; -1 where there is none."""
        if not len(self):
            return np.full(len(features), -1)
        place = np.searchsorted(self._sorted, features)
        place[place == len(self)] = 0
        return np.where(self._sorted[place] == features, self._order[place], -1)


_ARRAYS = ("features", "centre", "spread", "squares", "varied")


def typical_size(columns: Floats) -> Floats:
    """Return the root mean square of each column's non-zero values; zero if all are zero.

    Values are clipped at ten times the median: one absurd row must not hide all the others.

    Examples
    --------
    >>> typical_size(np.array([[0.0, 0.0], [0.0, -3.0], [0.0, 4.0], [0.0, 5.0]])).round(3)
    array([0.   , 4.082])
    """
    sizes = np.sort(np.abs(columns), axis=0)
    if not len(sizes):
        return np.zeros(columns.shape[1])
    zeros = np.count_nonzero(sizes == 0, axis=0)
    place = np.minimum(zeros + (len(sizes) - zeros) // 2, len(sizes) - 1)
    median = np.take_along_axis(sizes, place[None], axis=0)[0]
    unit = np.where(median > 0, median, 1.0)
    squares = np.square(np.minimum(sizes / unit, FAR_BEYOND)).sum(axis=0)
    return np.asarray(unit * np.sqrt(squares / np.maximum(len(sizes) - zeros, 1)))

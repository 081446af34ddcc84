"""Centring: features that are hardly ever zero are learned as distances from their first mean.

A year that runs from 1990 to 2024 is, next to the intercept, one more constant: averaged SGD takes
rows without end to tell the two apart. So a feature that is not zero in most of the first rows is
shifted by its mean there, and the shift is undone in the intercept when a model is read out:
w·(x - m) + b = w·x + (b - w·m). Other features stay as they are, and sparse rows stay sparse.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.stored_state import StoredState
from polyak.rows.sparse import Rows, SparseRows, bytes_of, core_rows, take_rows
from polyak.threads import on_threads

Floats = NDArray[np.float64]

MOST_ROWS, MOST_BYTES = 1 << 14, 1 << 24
"""Rows are copied to be shifted, at most this many rows or bytes at a time: the third-level cache
has room for that, and memory of the same size is free again when they have been learned."""
MOST_FEATURES = 1 << 31
"""Feature numbers are below this: their weights would take 17 GB and more."""
NEAR = 0.1
"""A mean of less than this many spreads is no more than chance in a thousand rows, and
a hundredth of the feature's second moment: columns of tables are centred before they come here."""


def rows_at_a_time(rows: Rows) -> int:
    """Return the number of these rows that are copied at a time.

    Examples
    --------
    >>> [rows_at_a_time(np.empty((20_000, width), np.float32)) for width in (30, 784)]
    [16384, 5349]
    """
    each = bytes_of(rows) / max(len(rows), 1)
    return max(int(min(MOST_ROWS, MOST_BYTES / max(each, 1))), 1)


class Centre:
    """The features that are shifted, in rising order, and by how much.

    Examples
    --------
    >>> rows = np.array([[1990.0, 0.0], [2000.0, 0.0], [2010.0, 5.0]])
    >>> centre = Centre.of(rows, np.float64)
    >>> centre.features, centre.means
    (array([0]), array([2000.]))
    >>> centre.shifted(rows)[:, 0]
    array([-10.,   0.,  10.])
    """

    def __init__(self, features: NDArray[np.int64], means: Floats) -> None:
        self.features = features
        self.means = means

    @classmethod
    def from_state(cls, stored: StoredState, n_features: int | None) -> Centre:
        """Return the centre whose features and means were stored."""
        features = stored.array("features", (None,), "int64", least=0.0)
        means = stored.array("means", features.shape, least=-np.inf)
        most = MOST_FEATURES if n_features is None else n_features
        fits = (np.diff(features) > 0).all() and features.max(initial=-1) < most
        stored.require(bool(fits), "features", f"must rise and be below {most}")
        return cls(features, means)

    def __len__(self) -> int:
        return len(self.features)

    def is_as(self, other: Centre) -> bool:
        """Whether rows are shifted alike."""
        return np.array_equal(self.features, other.features) and np.array_equal(
            self.means, other.means
        )

    @classmethod
    def of(cls, rows: Rows, dtype: Any) -> Centre:
        """Take the means, of features that are not zero in most of these rows, that matter."""
        with np.errstate(over="ignore", invalid="ignore"):
            features, means, squares = _moments_of_frequent(rows)
            spreads = np.sqrt(np.maximum(squares - means * means, 0.0))
            matter = np.isfinite(means) & (np.abs(means) > NEAR * spreads)
        means = means.astype(dtype).astype(np.float64)  # what is subtracted is what is undone
        return cls(features[matter], means[matter])

    def shifted(self, rows: Rows, order: NDArray[np.int64] | None = None, threads: int = 1) -> Rows:
        """Return a copy of rows, or of some in an order, with these features shifted.

        Dense rows are taken and shifted in one pass of the core.
        """
        if not len(self) or isinstance(rows, SparseRows):
            rows = rows if order is None else take_rows(rows, order)
        if not len(self):
            return rows
        width = max(rows.shape[1], int(self.features[-1]) + 1)
        if isinstance(rows, SparseRows):
            moved = _core.shift_rows(core_rows(rows), self.features, self.means)
            return SparseRows(*moved, width)
        if width > rows.shape[1]:
            rows = np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
        dense, count = rows, len(rows) if order is None else len(order)
        shifted = np.empty((count, width), rows.dtype)
        means = np.zeros(width)
        means[self.features] = self.means
        units = np.arange(width), means, np.ones(width)

        def fill(some: slice) -> None:
            taken, which = (dense[some], None) if order is None else (dense, order[some])
            _core.fill_standard(core_rows(taken), which, *units, shifted[some])

        ends = [len(shifted) * part // threads for part in range(threads + 1)]
        on_threads(fill, [slice(*span) for span in pairwise(ends) if span[0] < span[1]], threads)
        return shifted

    def undone(self, coef: NDArray[Any], intercept: Floats) -> Floats:
        """Return the intercepts for rows that are not shifted; ``coef`` has a row per model."""
        return np.asarray(intercept - coef[:, self.features].astype(np.float64) @ self.means)

    def moved_from(self, other: Centre, coef: NDArray[Any]) -> Floats:
        """Return the rise of the intercepts of models that were learned about another centre."""
        nothing = np.zeros(len(coef))
        return other.undone(coef, nothing) - self.undone(coef, nothing)


def _moments_of_frequent(rows: Rows) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return the features that most rows have, their means and their mean squares.

    Means are taken about a first value, so that what never varies comes out exactly: a remainder
    of rounding, in units of itself, would be one more constant, whose weight says nothing but is
    huge as soon as the feature does vary.
    """
    count = max(len(rows), 1)
    if not isinstance(rows, SparseRows):
        features = np.flatnonzero(2 * np.count_nonzero(rows, axis=0) > len(rows))
        values = rows[:, features].astype(np.float64)
        first = values[:1].sum(axis=0)
        means = first + (values - first).sum(axis=0) / count
        return features, means, np.square(values).sum(axis=0) / count
    places, values = rows.entries()
    places, values = places.astype(np.intp), values.astype(np.float64)
    names = None
    if len(places) and int(places.max()) > 2 * len(places):  # else counting is faster than sorting
        names, places = np.unique(places, return_inverse=True)
    numbers = np.bincount(places)
    often = 2 * numbers > len(rows)
    of_often = often[places]  # of wide rows none, or nearly none
    places, values = places[of_often], values[of_often]
    first = np.zeros(len(numbers))
    first[places[::-1]] = values[::-1]
    away = np.bincount(places, values - first[places], len(numbers))
    squares = np.bincount(places, values**2, len(numbers))
    means = first * (numbers / count) + away / count
    features = np.flatnonzero(often) if names is None else names[often].astype(np.int64)
    return features, means[often], squares[often] / count


NOTHING = Centre(np.empty(0, dtype=np.int64), np.empty(0))
"""The centre of rows that are learned as they come."""

"""Centring: features that are hardly ever zero are learned as distances from their first mean.

A year that runs from 1990 to 2024 is, next to the intercept, one more constant: averaged SGD takes
rows without end to tell the two apart. So a feature that is not zero in most of the first rows is
shifted by its mean there, and the shift is undone in the intercept when a model is read out:
w·(x - m) + b = w·x + (b - w·m). Other features stay as they are, and sparse rows stay sparse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.rows.sparse import Rows, SparseRows, take_rows

Floats = NDArray[np.float64]

ROWS_AT_A_TIME = 1 << 14
"""Rows are copied to be shifted, so many at a time."""


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
        self._places = np.full(int(features.max(initial=-1)) + 2, -1, dtype=np.int64)
        self._places[features] = np.arange(len(features))

    def __len__(self) -> int:
        return len(self.features)

    def is_as(self, other: Centre) -> bool:
        """Tell whether rows are shifted alike."""
        return np.array_equal(self.features, other.features) and np.array_equal(
            self.means, other.means
        )

    @classmethod
    def of(cls, rows: Rows, dtype: Any) -> Centre:
        """Take the means of the features that are not zero in most of these rows."""
        if isinstance(rows, SparseRows):
            span = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
            there, values = rows.indices[span], rows.values[span].astype(np.float64)
            order = np.argsort(there, kind="stable")
            begins = np.flatnonzero(np.diff(there[order], prepend=-1))
            found = there[order][begins].astype(np.int64)
            counts = np.diff(begins, append=len(there))
            often = 2 * counts > len(rows)
            features = found[often]
            own = np.searchsorted(features, there)
            own[own == len(features)] = 0
            wanted = features[own] == there if len(features) else np.zeros(len(there), bool)
            sums = np.bincount(own[wanted], values[wanted], minlength=len(features))
        else:
            features = np.flatnonzero(2 * np.count_nonzero(rows, axis=0) > len(rows))
            sums = rows[:, features].sum(axis=0, dtype=np.float64)
        means = sums / max(len(rows), 1)
        means = means.astype(dtype).astype(np.float64)  # what is subtracted is what is undone
        sound = np.isfinite(means) & (means != 0)
        return cls(features[sound], means[sound])

    def shifted(self, rows: Rows) -> Rows:
        """Give a copy of rows with these features shifted."""
        if not len(self):
            return rows
        if isinstance(rows, SparseRows):
            return self._shifted_sparse(rows)
        width = max(rows.shape[1], int(self.features[-1]) + 1)
        wide = np.zeros((len(rows), width), rows.dtype)
        wide[:, : rows.shape[1]] = rows
        wide[:, self.features] = (wide[:, self.features] - self.means).astype(rows.dtype)
        return wide

    def _shifted_sparse(self, rows: SparseRows) -> SparseRows:
        span = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
        indptr = rows.indptr.astype(np.int64) - span.start
        indices, values = rows.indices[span], rows.values[span].copy()
        place = self._places[np.minimum(indices, len(self._places) - 1)]
        hits = np.flatnonzero(place >= 0)
        values[hits] = (values[hits] - self.means[place[hits]]).astype(values.dtype)
        width = max(rows.n_features, int(self.features[-1]) + 1)
        if len(hits) < len(rows) * len(self):  # where one is absent, it is as far from its mean
            there = np.zeros((len(rows), len(self)), dtype=bool)
            row = np.repeat(np.arange(len(rows)), np.diff(indptr))
            there[row[hits], place[hits]] = True
            of_row, absent = np.nonzero(~there)
            feature = self.features[absent]
            at = np.searchsorted(row * width + indices, of_row * width + feature)
            indices = np.insert(indices, at, feature.astype(indices.dtype))
            values = np.insert(values, at, (-self.means[absent]).astype(values.dtype))
            added = np.cumsum(np.bincount(of_row, minlength=len(rows)))
            indptr = indptr + np.concatenate([[0], added])
        return SparseRows(indptr, indices, values, width)

    def take(
        self,
        rows: Rows,
        targets: NDArray[Any],
        weights: Floats | None,
        order: NDArray[np.int64] | None,
    ) -> tuple[Rows, NDArray[Any], Floats | None]:
        """Give the rows that are to be learned, shifted, with their targets and weights."""
        if order is not None:
            rows, targets = take_rows(rows, order), targets[order]
            weights = None if weights is None else weights[order]
        return self.shifted(rows), targets, weights

    def undone(self, coef: NDArray[Any], intercept: Floats) -> Floats:
        """Give the intercepts for rows that are not shifted; ``coef`` has a row a model."""
        return np.asarray(intercept - coef[:, self.features].astype(np.float64) @ self.means)

    def moved_from(self, other: Centre, coef: NDArray[Any]) -> Floats:
        """Say by how much the intercepts of models rise that were learned about another centre."""
        nothing = np.zeros(len(coef))
        return other.undone(coef, nothing) - self.undone(coef, nothing)


NOTHING = Centre(np.empty(0, dtype=np.int64), np.empty(0))
"""The centre of rows that are learned as they come."""

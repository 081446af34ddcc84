"""Rows of features, in the two forms the core reads: dense arrays and compressed sparse rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SparseRows:
    """Compressed sparse rows without scipy: row ``i`` owns ``indptr[i]:indptr[i + 1]``.

    Attributes
    ----------
    indptr : array of int32 or int64, one longer than the number of rows
    indices : array of int32 or int64
    values : array of float32 or float64
    n_features : int
        The width, if it is known; otherwise one more than the largest index seen.

    Examples
    --------
    >>> rows = SparseRows(np.array([0, 1, 3]), np.array([2, 0, 1]), np.array([1.0, 2.0, 3.0]), 3)
    >>> rows.shape
    (2, 3)
    >>> rows[1:].indices
    array([0, 1])
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any]
    n_features: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self.indptr) - 1, self.n_features

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, part: slice) -> SparseRows:
        start, stop, step = part.indices(len(self))
        if step != 1:
            raise ValueError("rows can be sliced with a step of one only")
        # The indices and values stay whole: indptr need not begin at zero.
        return SparseRows(
            self.indptr[start : max(start, stop) + 1], self.indices, self.values, self.n_features
        )


Rows = SparseRows | NDArray[Any]
"""What the core learns from: sparse rows, or a two-dimensional array."""


def as_rows(X: Any) -> Rows:
    """Give ``X`` a form the core reads, without copying where its types allow.

    Takes arrays, anything scipy calls sparse, and rows that are rows already.

    Examples
    --------
    >>> as_rows([[1, 2], [3, 4]]).dtype
    dtype('float64')
    """
    if isinstance(X, SparseRows):
        return X
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        values = _as_float(X.data)
        return SparseRows(X.indptr, X.indices, values, int(X.shape[1]))
    X = _as_float(np.asarray(X))
    if X.ndim != 2:
        raise ValueError(f"rows must be two-dimensional, not of shape {X.shape}")
    if X.shape[1] > 1 and X.strides[1] != X.itemsize:
        X = np.ascontiguousarray(X)
    return X


def _as_float(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype in (np.float32, np.float64):
        return values
    return values.astype(np.float64)


def core_arrays(
    rows: Rows,
) -> tuple[NDArray[Any] | None, NDArray[Any] | None, NDArray[Any]]:
    """Spell rows as the core's functions take them: indptr, indices, values."""
    if isinstance(rows, SparseRows):
        return rows.indptr, rows.indices, rows.values
    return None, None, rows

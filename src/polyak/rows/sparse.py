"""Rows of features in the two forms the core reads: dense arrays and compressed sparse rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak._core import CheckedRows
from polyak.errors import DataError
from polyak.rows.labels import distinct
from polyak.rows.tensors import concatenated, first_not_finite, is_tensor, take

HALF_ROWS = 1 << 13
"""Rows of float16 are converted in blocks of this size."""


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """Compressed sparse rows without scipy: row ``i`` owns ``indptr[i]:indptr[i + 1]``.

    Attributes
    ----------
    indptr : array of int32 or int64, one longer than the number of rows
    indices : array of int32 or int64
    values : array of float32 or float64
    n_features : int
        The width, if it is known; otherwise one more than the largest index.
    checked : CheckedRows or None
        The same rows in the core's validated form, if one of polyak's parsers made them; they
        cannot have been modified and need not be validated again.

    Examples
    --------
    >>> rows = SparseRows(np.array([0, 1, 3]), np.array([2, 0, 1]), np.array([1.0, 2.0, 3.0]), 3)
    >>> rows.shape
    (2, 3)
    >>> len(rows[1:])
    1
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any]
    n_features: int
    checked: CheckedRows | None = field(default=None, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self.indptr) - 1, self.n_features

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, part: slice) -> SparseRows:
        start, stop, step = part.indices(len(self))
        if step != 1:
            raise ValueError("rows can only be sliced with a step of one")
        # The indices and values are not sliced: indptr need not begin at zero.
        stop = max(start, stop)
        return SparseRows(
            self.indptr[start : stop + 1],
            self.indices,
            self.values,
            self.n_features,
            None if self.checked is None else self.checked[start:stop],
        )

    def entries(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the indices and values of these rows alone: a slice shares those of all rows."""
        own = slice(int(self.indptr[0]), int(self.indptr[-1]))
        return self.indices[own], self.values[own]

    def entry_rows(self) -> NDArray[np.int64]:
        """Return the row of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy, or rows from another process, are not the memory that the core validated.
        return SparseRows, (self.indptr, self.indices, self.values, self.n_features)


Rows = SparseRows | NDArray[Any]
"""Rows for the core: sparse rows, or a two-dimensional array."""


def as_rows(X: Any) -> Rows:
    """Return ``X`` in a form the core reads, without a copy where its dtype allows.

    ``X`` is an array, a tensor, a scipy sparse matrix or `SparseRows`.

    Examples
    --------
    >>> as_rows([[1, 2], [3, 4]]).dtype
    dtype('float64')
    """
    if isinstance(X, SparseRows):
        return X
    if is_tensor(X):
        return X  # type: ignore[no-any-return]
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        values = _as_float(X.data)
        return SparseRows(X.indptr, X.indices, values, int(X.shape[1]))
    rows = _as_float(np.asarray(X))
    if rows.ndim != 2:
        raise ValueError(f"rows must be two-dimensional, not of shape {rows.shape}")
    if not rows.flags.aligned or (rows.shape[1] > 1 and rows.strides[1] != rows.itemsize):
        rows = np.require(rows, requirements=["C", "A"])
    return rows


def _as_float(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind == "c":
        raise ValueError(f"rows must be real numbers, not {values.dtype}")
    return values.astype(float_type(values.dtype), copy=False)


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which the core reads values: 32 bits for floats of 16 or 32, else 64.

    Examples
    --------
    >>> float_type(np.dtype(np.float16)), float_type(np.dtype(np.int8))
    (dtype('float32'), dtype('float64'))
    """
    return np.dtype(np.float32 if dtype in (np.float16, np.float32) else np.float64)


def is_half(X: Any) -> bool:
    """Whether ``X`` is an array of float16."""
    return isinstance(X, np.ndarray) and X.dtype == np.float16


def half_blocks(X: Any) -> Iterator[Any]:
    """Yield ``X``; an array of float16 in blocks, so that no copy of it all in 32 bits is made.

    Examples
    --------
    >>> [block.shape for block in half_blocks(np.zeros((10_000, 2), np.float16))]
    [(8192, 2), (1808, 2)]
    """
    if not is_half(X) or len(X) <= HALF_ROWS:
        yield X
        return
    for begin in range(0, len(X), HALF_ROWS):
        yield X[begin : begin + HALF_ROWS]


def core_arrays(
    rows: Rows,
) -> tuple[NDArray[Any] | None, NDArray[Any] | None, NDArray[Any]]:
    """Return indptr of 64 bits, indices of 32, and values; dense rows have only the last."""
    rows = in_core_types(rows)
    if not isinstance(rows, SparseRows):
        return None, None, rows
    return rows.indptr, rows.indices, rows.values


def in_core_types(rows: Rows) -> Rows:
    """Return sparse rows as the core reads them: offsets of 64 bits, indices of 32."""
    if not isinstance(rows, SparseRows) or rows.checked is not None:
        return rows
    if rows.indices.dtype == np.int64 and len(rows.indptr):
        rows = _with_narrow_indices(rows)
    indptr = rows.indptr.astype(np.int64) if rows.indptr.dtype == np.int32 else rows.indptr
    indices, values = _in_one_piece(rows.indices), _in_one_piece(rows.values)
    return SparseRows(_in_one_piece(indptr), indices, values, rows.n_features)


def _with_narrow_indices(rows: SparseRows) -> SparseRows:
    """Return a copy of rows with indices of 32 bits, the only ones that the core reads."""
    indices, values = rows.entries()
    narrow = indices.astype(np.int32)
    wrong = np.flatnonzero(narrow != indices)
    if len(wrong):
        row = int(np.searchsorted(rows.indptr, rows.indptr[0] + wrong[0], side="right")) - 1
        raise ValueError(
            f"row {row} has the feature index {indices[wrong[0]]}, but indices are at least 0 and "
            "below 2^31"
        )
    return SparseRows(rows.indptr - rows.indptr[0], narrow, values, rows.n_features)


def core_rows(X: Any) -> _core.Rows:
    """Return rows as the functions of the core take them; validated rows stay validated."""
    if isinstance(X, CheckedRows):
        return X
    rows = as_rows(X)
    if isinstance(rows, SparseRows) and rows.checked is not None:
        return rows.checked
    return _core.Rows(*core_arrays(rows))


def _in_one_piece(array: NDArray[Any]) -> NDArray[Any]:
    flags = array.flags  # ten times as fast as np.require for arrays that are in order
    if flags.c_contiguous and flags.aligned:
        return array
    return np.require(array, requirements=["C", "A"])


def take_rows(rows: Rows, order: NDArray[np.int64]) -> Rows:
    """Copy the rows of these indices, in this order.

    Examples
    --------
    >>> take_rows(np.array([[1.0], [2.0], [3.0]]), np.array([2, 0])).ravel()
    array([3., 1.])
    """
    if not isinstance(rows, SparseRows):
        return take(rows, order) if is_tensor(rows) else rows[order]
    begin = rows.indptr[:-1][order].astype(np.int64)
    length = rows.indptr[1:][order].astype(np.int64) - begin
    indptr = np.concatenate([[0], np.cumsum(length)])
    source = np.repeat(begin - indptr[:-1], length)
    source += np.arange(len(source))
    indices, values = rows.indices.take(source), rows.values.take(source)
    return SparseRows(indptr, indices, values, rows.n_features)


def row_widths(rows: Rows) -> NDArray[np.int64]:
    """Return one more than the largest feature index of each row.

    Examples
    --------
    >>> sparse = SparseRows(np.array([0, 1, 1, 3]), np.array([7, 2, 0]), np.ones(3), 100)
    >>> row_widths(sparse), row_widths(np.eye(2))
    (array([8, 0, 3]), array([2, 2]))
    """
    if not isinstance(rows, SparseRows):
        return np.full(len(rows), rows.shape[1], dtype=np.int64)
    widths = np.zeros(len(rows), dtype=np.int64)
    filled = np.flatnonzero(np.diff(rows.indptr))
    if len(filled):  # for an empty row, reduceat returns the first entry of the next
        stored = rows.indices[: rows.indptr[-1]]
        widths[filled] = np.maximum.reduceat(stored, rows.indptr[filled]).astype(np.int64) + 1
    return widths


def features_of(rows: Rows) -> int:
    """Return the number of different features that rows have; of dense rows that of the columns.

    Examples
    --------
    >>> features_of(SparseRows(np.array([0, 2, 3]), np.array([7, 2, 7]), np.ones(3), 100))
    2
    """
    if not isinstance(rows, SparseRows):
        return int(rows.shape[1])
    features = rows.entries()[0]
    if rows.n_features > 4 * len(features):  # sorting is faster than counting
        return len(distinct(features))
    there = np.zeros(rows.n_features, dtype=bool)
    there[features] = True
    return int(np.count_nonzero(there))


def bytes_of(rows: Rows) -> int:
    """Return the bytes of the stored values and indices of rows."""
    if not isinstance(rows, SparseRows):
        return int(rows.nbytes)
    stored = int(rows.indptr[-1]) - int(rows.indptr[0])
    return stored * (rows.indices.itemsize + rows.values.itemsize)


def check_rows(rows: Rows, n_features: int | None) -> None:
    """Raise ValueError for rows with a value that is not finite, or an index out of range.

    Examples
    --------
    >>> check_rows(np.array([[1.0], [np.nan]]), None)
    Traceback (most recent call last):
    ValueError: row 1 has the value nan for feature 0
    """
    if is_tensor(rows):
        if (found := first_not_finite(rows)) is not None:
            row, feature, value = found
            raise ValueError(f"row {row} has the value {value} for feature {feature}")
    else:
        _core.squared_norms(core_rows(rows))
    widths = row_widths(rows)
    if n_features is not None and widths.max(initial=0) > n_features:
        row = int(np.argmax(widths > n_features))
        raise ValueError(
            f"row {row} has the feature index {widths[row] - 1}, but there are only "
            f"{n_features} features"
        )


def join_rows(parts: Iterable[Rows]) -> Rows:
    """Concatenate rows; the result is dense if every part is.

    Sparse parts are copied before the next is asked for, so that an iterator of them never takes
    the memory of two copies.

    Examples
    --------
    >>> join_rows([np.eye(2), np.ones((1, 2))]).shape
    (3, 2)
    """
    dense: list[NDArray[Any]] = []
    sparse: _GrowingRows | None = None
    for part in parts:
        if isinstance(part, SparseRows):
            sparse = sparse or _GrowingRows()
            sparse.add(part)
        elif sparse is not None:
            sparse.add(dense_as_sparse(part))
        else:
            dense.append(part)
    if sparse is None:
        widths = sorted({part.shape[1] for part in dense})
        if len(widths) > 1:
            raise DataError(f"some rows have {widths[0]} features and others {widths[-1]}")
        joined: NDArray[Any] = concatenated(dense)
        return joined
    return sparse.rows() if not dense else join_rows([*map(dense_as_sparse, dense), sparse.rows()])


class _GrowingRows:
    """Sparse rows that grow at their end, in place where the system can."""

    def __init__(self) -> None:
        self._lengths: list[NDArray[np.int64]] = []
        self._indices: NDArray[Any] = np.empty(0, np.int32)
        self._values: NDArray[Any] = np.empty(0, np.float32)
        self._width = 0

    def add(self, rows: SparseRows) -> None:
        """Add copies of rows."""
        indices, values = rows.entries()
        self._lengths.append(np.diff(rows.indptr))
        self._indices = _grown(self._indices, indices)
        self._values = _grown(self._values, values)
        self._width = max(self._width, rows.n_features)

    def rows(self) -> SparseRows:
        """Return all rows that were added."""
        indptr = np.zeros(1 + sum(map(len, self._lengths)), np.int64)
        np.cumsum(np.concatenate(self._lengths), out=indptr[1:])
        return SparseRows(indptr, self._indices, self._values, self._width)


def _grown(array: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Return an array that nothing else refers to, with more at its end."""
    array = array.astype(np.promote_types(array.dtype, more.dtype), copy=False)
    array.resize(len(array) + len(more), refcheck=False)
    array[len(array) - len(more) :] = more
    return array


def dense_as_sparse(rows: NDArray[Any]) -> SparseRows:
    """Return a dense matrix as sparse rows that store every value, zeros too."""
    n, width = rows.shape
    indices = np.tile(np.arange(width, dtype=np.int32), n)
    return SparseRows(np.arange(n + 1, dtype=np.int64) * width, indices, rows.ravel(), width)

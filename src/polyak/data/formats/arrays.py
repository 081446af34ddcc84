"""Rows from arrays, in memory or mapped from a file."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.data.feature_origin import hashing_of
from polyak.data.options import ReadOptions
from polyak.data.position import Cursor, Position
from polyak.data.random_order import Pieces, Unmixed, Window, by_window
from polyak.errors import DataError
from polyak.rows.batch import Batch
from polyak.rows.huge_values import huge_value
from polyak.rows.sparse import Rows, SparseRows, float_type

PIECE_BYTES = 1 << 17
"""About how much a span of rows takes that is read in any order."""


ROWS_TO_TELL = 1000
"""First rows of an array that show whether values are missing; schemas look at the same."""

Spans = Iterable[tuple[int, int]]
"""First rows and ends of parts of arrays."""


class ArrayReader:
    """Cuts arrays into batches, and checks them.

    Parameters
    ----------
    rows, y, weights : arrays, of which ``y`` and ``weights`` may be None
        Several labels or numbers to predict are the columns of ``y``.
    options : ReadOptions
    format, name : str
    bytes_total : int, optional
        The size on the disk.
    visit : function
        Yields spans, given those to be read and the number of all rows, and raises DataError if
        the file that the arrays are mapped from is damaged.
    origin : dict, optional
        What `polyak.data.feature_origin` says of the source that the arrays were made of.
    """

    def __init__(
        self,
        rows: Rows,
        y: Any,
        weights: Any,
        options: ReadOptions,
        *,
        format: str = "arrays",
        name: str = "the array",
        bytes_total: int | None = None,
        visit: Callable[[Spans, int], Iterator[tuple[int, int]]] = lambda spans, rows: iter(spans),
        origin: dict[str, int] | None = None,
    ) -> None:
        self.format = format
        self.name = name
        self.bytes_total = bytes_total
        width = int(rows.shape[1])
        origin = origin or {}
        self.hashing = hashing_of(origin)
        self._place: Position = {"format": format}
        if "first_id" in origin:
            self._place["base"] = origin["first_id"]
        self._rows = rows
        self._targets = self._one_each(y, "targets")
        self._weights = self._one_each(weights, "weights")
        several = self._targets is not None and self._targets.ndim == 2
        self.outputs = int(self._targets.shape[1]) if several else 1
        self._batch_rows = options.batch_rows
        self._dtype = options.dtype
        self._visit = visit
        if options.n_features is not None and options.n_features < width:
            raise DataError(
                f"{name} has {width} features, more than the {options.n_features} given"
            )
        if options.n_features is not None and isinstance(rows, SparseRows):
            width = options.n_features
        self._width = width
        self.n_features: int | None = width

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def is_dense(self) -> bool:
        """Whether every value is stored."""
        return not isinstance(self._rows, SparseRows)

    def has_missing_values(self) -> bool:
        """Whether the first of dense rows have a NaN."""
        first = np.asarray(self.part(0, min(ROWS_TO_TELL, len(self))).rows)
        return bool(np.isnan(first).any())

    def fingerprint(self) -> str:
        """Return a text that identifies this data: its shape, and up to 64 MiB of its rows."""
        import hashlib

        digest = hashlib.sha256(f"{self._rows.shape}".encode())
        spans = self.pieces().every
        for i in np.unique(np.linspace(0, len(spans) - 1, min(len(spans), 512)).astype(int)):
            batch = self.part(*spans[i])
            rows = batch.rows
            parts = (
                [rows.indptr, rows.indices, rows.values] if isinstance(rows, SparseRows) else [rows]
            )
            for part in [*parts, batch.targets, batch.weights]:
                if part is not None and part.dtype != object:
                    digest.update(np.ascontiguousarray(part).data)
                else:
                    digest.update(repr(part if part is None else part.tolist()).encode())
        return digest.hexdigest()[:32]

    def begin(self, start: Position | None) -> Cursor:
        """Return the cursor where reading begins."""
        if start is None:
            return Cursor(self._place | {"rows": 0})
        if start.get("format") != self.format or start["rows"] > len(self._rows):
            raise DataError(f"the place to go on from is not one in {self.name}")
        return self._cursor(start["rows"])

    def read(self, cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        """Yield batches from a cursor on, each with the cursor behind it."""
        for begin, end in self.spans(cursor.rows, self._batch_rows):
            yield self._checked(begin, end), self._cursor(end)

    def spans(self, begin: int, step: int) -> Iterator[tuple[int, int]]:
        """Yield the first row and the end of spans of ``step`` rows, while the file is sound."""
        n = len(self._rows)
        return self._visit(((at, min(at + step, n)) for at in range(begin, n, step)), n)

    def _checked(self, begin: int, end: int) -> Batch:
        batch = replace(self.part(begin, end), where=partial(self._where, begin))
        check_batch(batch, self.name, begin)
        return batch

    def can_read_pieces(self) -> bool:
        """Whether rows can be read from the middle on, which is so for all arrays."""
        return True

    def pieces(self) -> Pieces:
        """Cut the rows into spans."""
        step = self.rows_in(PIECE_BYTES)
        n = len(self._rows)
        return Pieces.apart([(at, min(at + step, n)) for at in range(0, n, step)], PIECE_BYTES)

    def rows_in(self, size: int) -> int:
        """Return about how many rows ``size`` bytes hold."""
        rows, n = self._rows, max(len(self._rows), 1)
        stored = len(rows.indices) if isinstance(rows, SparseRows) else n * self._width
        return max(1, size * n // (8 * max(stored, 1)))

    def read_windows(self, windows: Sequence[Window], cursor: Cursor) -> Generator[Unmixed]:
        """Read windows one after the other."""
        return by_window(self._read_spans, windows, cursor)

    def _read_spans(
        self, spans: Iterator[tuple[int, int]], cursor: Cursor
    ) -> Generator[tuple[Batch, Cursor]]:
        rows = cursor.rows
        for begin, end in self._visit(spans, len(self._rows)):
            rows += end - begin
            yield self._checked(begin, end), self._cursor(rows)

    def _where(self, begin: int, row: int) -> tuple[str, int, str]:
        return self.name, begin + row, "row"  # counted from zero, as in NumPy

    def _cursor(self, rows: int) -> Cursor:
        share = rows / max(len(self._rows), 1)
        return Cursor(self._place | {"rows": rows}, rows, round((self.bytes_total or 0) * share))

    def part(self, begin: int, end: int) -> Batch:
        """Return some of the rows as they are, unchecked."""
        part = slice(begin, end)
        return Batch(
            self._part_of_rows(begin, end),
            None if self._targets is None else _as_learned(self._targets[part]),
            None if self._weights is None else _as_learned(self._weights[part]),
        )

    def _part_of_rows(self, begin: int, end: int) -> Rows:
        if not isinstance(self._rows, SparseRows):
            return _aligned(self._rows[begin:end], self._float(self._rows))
        indptr = _aligned(self._rows.indptr[begin : end + 1])
        first, last = int(indptr[0]), int(indptr[-1])
        indices, values = self._rows.indices[first:last], self._rows.values[first:last]
        wide = indices.dtype not in (np.int32, np.int64)
        rows = SparseRows(
            indptr - first,
            _aligned(indices, np.dtype(np.int64) if wide else None),
            _aligned(values, self._float(values)),
            self._width,
        )
        # The core trusts these; a damaged file must not make it read out of bounds.
        if np.any(np.diff(rows.indptr) < 0) or len(rows.indices) != last - first:
            raise DataError(f"{self.name} is damaged: its indptr does not fit its indices")
        if len(indices) and not (indices.min() >= 0 and indices.max() < self._width):
            raise DataError(f"{self.name} has a feature beyond its {self._width} columns")
        return rows

    def _float(self, values: NDArray[Any]) -> np.dtype[Any]:
        return float_type(values.dtype) if self._dtype is None else np.dtype(self._dtype)

    def _one_each(self, numbers: Any, what: str) -> Any:
        """Return an array of one weight, or of one target or several, per row; or None."""
        if numbers is None:
            return None
        array = np.asarray(numbers)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        several = what == "targets" and array.ndim == 2 and array.shape[1] > 1
        if array.shape[:1] != (len(self._rows),) or (array.ndim > 1 and not several):
            raise DataError(
                f"{self.name} has {len(self._rows)} rows, but {what} of shape {array.shape}"
            )
        wanted = "numbers" if several or what == "weights" else "numbers or strings"
        if array.dtype.kind not in ("biuf" if wanted == "numbers" else "biufUO"):
            raise DataError(f"the {what} of {self.name} must be {wanted}, not {array.dtype}")
        return array


def _aligned(array: NDArray[Any], dtype: np.dtype[Any] | None = None) -> NDArray[Any]:
    # An array mapped from the middle of a file may begin at any byte.
    return np.require(array, dtype or array.dtype.newbyteorder("="), ["ALIGNED", "C_CONTIGUOUS"])


def _as_learned(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return targets or weights with floats of 32 or 64 bits."""
    return _aligned(numbers, float_type(numbers.dtype) if numbers.dtype.kind == "f" else None)


def check_batch(batch: Batch, name: str, begin: int) -> None:
    """Raise DataError for rows that cannot be learned from; ``begin`` is the first row's number."""
    rows: Any = batch.rows
    is_sparse = isinstance(rows, SparseRows)
    values = rows.values if is_sparse else rows.reshape(-1)
    bad = _first_not_finite(values)
    if bad is not None:
        row = np.searchsorted(rows.indptr, bad, "right") - 1 if is_sparse else bad // rows.shape[1]
        what = f"a value is not finite: {values[bad]:g}"
        if np.isnan(values[bad]) and not is_sparse:
            what = (
                f"a value is missing (NaN), but none of the first {ROWS_TO_TELL} rows has one "
                "missing; shuffle the rows, or fill it in"
            )
        raise DataError(f"{name}, row {begin + row}: {what}")
    for what, numbers in ("target", batch.targets), ("weight", batch.weights):
        if numbers is not None and numbers.dtype.kind == "f":
            bad = _first_not_finite(numbers.reshape(-1))
            if bad is not None:
                row = begin + bad // (numbers.size // len(numbers))
                value = numbers.flat[bad]
                raise DataError(f"{name}, row {row}: the {what} is not finite: {value:g}")
    if batch.weights is not None and np.any(batch.weights < 0):
        bad = int(np.argmax(batch.weights < 0))
        raise DataError(f"{name}, row {begin + bad}: the weight is negative")
    huge = huge_value(rows, batch.targets)
    if huge is not None:
        raise DataError(f"{name}, row {begin + huge[0]}: {huge[1]}")


def _first_not_finite(numbers: NDArray[Any]) -> int | None:
    with np.errstate(over="ignore", invalid="ignore"):
        # One sum is faster than a test of each value; it may overflow though all are finite.
        if np.isfinite(np.sum(numbers)):
            return None
        finite = np.isfinite(numbers)
    return None if finite.all() else int(np.argmin(finite))

"""Tables in memory: pandas and polars frames, Arrow tables and batches."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from polyak.data.options import ReadOptions
from polyak.data.position import BadLine
from polyak.data.tables.advice import FRAME
from polyak.data.tables.inference import SAMPLE_ROWS
from polyak.data.tables.reader import TableReader
from polyak.data.tables.source import Piece
from polyak.errors import DataError
from polyak.model.schema import Schema
from polyak.optional_imports import pyarrow
from polyak.rows.label_text import label_text

BATCH_ROWS = 1 << 14


def is_frame(source: Any) -> bool:
    """Tell whether something is a table in memory, without importing any library of tables.

    Examples
    --------
    >>> is_frame([[1, 2], [3, 4]])
    False
    """
    if hasattr(source, "__arrow_c_stream__"):
        return hasattr(source, "columns") or hasattr(source, "schema")
    pandas = sys.modules.get("pandas")
    return (pandas is not None and isinstance(source, pandas.DataFrame)) or hasattr(
        source, "__arrow_c_array__"
    )


def as_table(frame: Any, schema: Schema | None = None) -> Any:
    """Give a frame as an Arrow table, its memory shared where that is possible.

    Objects of mixed types are words; so are those that were words in the frame of the schema.
    """
    pa = pyarrow()
    if isinstance(frame, pa.Table):
        return frame
    pandas = sys.modules.get("pandas")
    columns = () if schema is None else schema.columns
    words = {column.name for column in columns if column.kind == "category"}
    try:
        if pandas is not None and isinstance(frame, pandas.DataFrame):
            return _of_pandas(frame.rename(columns=str), words)
        if any(str(kind) == "Object" for kind in getattr(frame, "dtypes", ())):
            return _of_polars(frame)
        if hasattr(frame, "to_arrow") and not hasattr(pa.types, "is_string_view"):
            return frame.to_arrow()  # by itself polars gives views, which pyarrow 15 cannot read
        return pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        what = "; ".join(map(str, error.args)).split("\n")[0]
        raise DataError(f"the frame cannot be read: {what}") from error


def columns_of(X: Any, schema: Schema) -> Any:
    """Return an array as an Arrow table of the schema's columns, in their order."""
    names = [column.name for column in schema.columns]
    rows = None if hasattr(X, "tocsr") else np.asarray(X)
    if rows is None or rows.ndim != 2:
        what = "sparse rows" if rows is None else f"an array of shape {rows.shape}"
        raise DataError(f"a model of a table reads frames or arrays of its columns, not {what}")
    if rows.shape[1] != len(names):
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        raise DataError(
            f"the rows have {rows.shape[1]} columns, and the table of the model has {len(names)}: "
            f"{shown}"
        )
    pa = pyarrow()
    try:
        return pa.table({name: rows[:, place].tolist() for place, name in enumerate(names)})
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"the array cannot be read: {error}") from error


def _of_pandas(frame: Any, words: set[str]) -> Any:
    pa = pyarrow()
    mixed = [name in words and _is_not_all_words(column) for name, column in frame.items()]
    if not any(mixed):
        try:
            return pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.ArrowException, TypeError):
            mixed = [_is_mixed(column) for _, column in frame.items()]
            if not any(mixed):
                raise
    arrays = [
        _words(column) if is_mixed else pa.array(column, from_pandas=True)
        for is_mixed, (_, column) in zip(mixed, frame.items(), strict=True)
    ]
    return pa.Table.from_arrays(arrays, list(frame.columns))


def _is_not_all_words(column: Any) -> bool:
    from pandas.api.types import infer_dtype

    return str(column.dtype) == "object" and infer_dtype(column) not in ("string", "empty")


def _is_mixed(column: Any) -> bool:
    """Tell objects of which Arrow can make no column."""
    pa = pyarrow()
    try:
        if str(column.dtype) == "object":
            pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError):
        return True
    return False


def _of_polars(frame: Any) -> Any:
    """Make words of objects, which polars would hand over as addresses."""
    pa = pyarrow()
    plain = {
        name: _words(frame[name]) if str(kind) == "Object" else frame[name].to_arrow()
        for name, kind in zip(frame.columns, frame.dtypes, strict=True)
    }
    return pa.table(plain)


def _words(values: Iterable[Any]) -> Any:
    """Write objects as words; numbers as people do."""
    return pyarrow().array([_word(value) for value in values], pyarrow().string())


def _word(value: Any) -> str | None:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float) and value != value:
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else label_text(value)


def open_frame(frame: Any, options: ReadOptions) -> TableReader:
    """Read a frame."""
    table = as_table(frame, options.schema)
    if options.y is not None:
        table = _with_target(table, options.y)
        if options.schema is None:
            options = replace(options, columns=replace(options.columns, target=TARGET))
    return TableReader(FrameSource(table), options)


TARGET = "target"
"""The name of the column that targets given apart become."""


def _with_target(table: Any, y: Any) -> Any:
    pa = pyarrow()
    if TARGET in table.column_names:
        raise DataError(f"the frame has a column {TARGET} already; name it as the target")
    column = y if isinstance(y, (pa.Array, pa.ChunkedArray)) else pa.array(y)
    if len(column) != table.num_rows:
        raise DataError(f"the frame has {table.num_rows} rows, but there are {len(column)} targets")
    return table.append_column(TARGET, column)


class FrameSource:
    """Cuts a table into batches."""

    format = "frame"
    name = FRAME
    bytes_total: int | None = None

    def __init__(self, table: Any) -> None:
        # A frame joined of many small ones has as many chunks, each of which would be a batch.
        few = table.num_rows <= BATCH_ROWS
        self._table = table.combine_chunks() if few else table
        self._columns: list[str] = table.column_names

    def fingerprint(self) -> str:
        """Tell this data from other data: the shape, the first rows and the last."""
        import hashlib

        table = self._table
        ends = [table.slice(0, 64), table.slice(max(0, table.num_rows - 64))]
        text = f"{table.schema} {table.num_rows} {[end.to_pydict() for end in ends]}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def sample(self) -> Any:
        """Give the first rows."""
        return self._table.slice(0, SAMPLE_ROWS)

    def can_read_again(self) -> bool:
        """Say that it stays where it is."""
        return True

    def plan(self, types: dict[str, str], columns: list[str]) -> None:
        """Hear which columns to read."""
        self._columns = columns

    def pieces(self, place: dict[str, Any]) -> Generator[Piece]:
        """Cut the table into batches."""
        row = int(place.get("row", 0))
        table = self._table.select(self._columns).slice(row)
        for batch in table.to_batches(max_chunksize=BATCH_ROWS):
            begin, row = row, row + batch.num_rows
            yield Piece((batch, begin), {"row": row})

    def batch(self, piece: Piece, bad: list[BadLine]) -> Any:
        """Give the batch."""
        return piece.data[0]

    def kept(self, piece: Piece, table: Any, names: list[str]) -> Any:
        """Give columns as they are."""
        return table.select(names)

    def where(self, piece: Piece, row: int) -> tuple[str, int, str]:
        """Name a row."""
        return self.name, piece.data[1] + row + 1, "row"

    def numbers(self, piece: Piece, rows: int) -> Any:
        """Give the numbers of the rows."""
        first = self.where(piece, 0)[1]
        return np.arange(first, first + rows)

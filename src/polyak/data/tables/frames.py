"""In-memory tables: pandas and polars frames, Arrow tables and record batches."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from polyak.data.options import ReadOptions
from polyak.data.tables.advice import FRAME
from polyak.data.tables.flatten import is_nested
from polyak.data.tables.inference import SAMPLE_ROWS
from polyak.data.tables.reader import TableReader
from polyak.data.tables.source import Parsed, Piece, RowNumbers
from polyak.errors import DataError
from polyak.model.schema import Schema
from polyak.optional_imports import pyarrow
from polyak.rows.label_text import label_text

BATCH_ROWS = 1 << 14


def is_frame(source: Any) -> bool:
    """Whether ``source`` is an in-memory table of pandas, polars or pyarrow, or a record batch.

    No library is imported: that of a frame is there already.

    Examples
    --------
    >>> is_frame([[1, 2], [3, 4]])
    False
    """
    kinds = [getattr(sys.modules.get(library), name, None) for library, name in _FRAMES]
    if isinstance(source, tuple(kind for kind in kinds if kind is not None)):
        return True
    is_stream = hasattr(source, "__arrow_c_stream__")
    return hasattr(source, "__arrow_c_array__") and not is_stream


_FRAMES = (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table"))


def as_table(frame: Any, schema: Schema | None = None) -> Any:
    """Return a frame as an Arrow table, without copying where that is possible.

    Object columns of mixed types become strings; so do object columns that are categories in the
    schema.
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
            # Through the C interface polars exports string views, which pyarrow 15 cannot read.
            return frame.to_arrow()
        return pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        what = "; ".join(map(str, error.args)).split("\n")[0]
        raise DataError(f"the frame cannot be read: {what}") from error


def columns_of(X: Any, schema: Schema) -> Any:
    """Return the array ``X`` as an Arrow table of the schema's columns, in their order."""
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
    """Whether Arrow cannot convert this object column."""
    pa = pyarrow()
    try:
        if str(column.dtype) == "object":
            pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError):
        return True
    return False


def _of_polars(frame: Any) -> Any:
    """Convert a polars frame, with objects as strings: polars would export them as addresses."""
    pa = pyarrow()
    plain = {
        name: _words(frame[name]) if str(kind) == "Object" else frame[name].to_arrow()
        for name, kind in zip(frame.columns, frame.dtypes, strict=True)
    }
    return pa.table(plain)


def _words(values: Iterable[Any]) -> Any:
    """Format objects as strings; numbers as by `label_text`."""
    return pyarrow().array([_word(value) for value in values], pyarrow().string())


def _word(value: Any) -> str | None:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float) and value != value:
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else label_text(value)


def open_frame(frame: Any, options: ReadOptions) -> TableReader:
    """Return a reader of a frame."""
    table = as_table(frame, options.schema)
    if options.schema is not None:  # of CSV, names are read without the blanks around them
        absent = {column.name for column in options.schema.columns} - {*table.column_names}
        named = {name: name for name in absent}  # the first of several takes it
        table = table.rename_columns([named.pop(n.strip(), n) for n in table.column_names])
    if options.y is not None:
        table = _with_target(table, options.y)
        if options.schema is None:
            options = replace(options, columns=replace(options.columns, target=TARGET))
    return TableReader(FrameSource(table), options)


TARGET = "target"
"""The name of the column that holds targets passed separately as ``y``."""


def _with_target(table: Any, y: Any) -> Any:
    pa = pyarrow()
    if TARGET in table.column_names:
        raise DataError(f"the frame has a column {TARGET} already; name it as the target")
    column = y if isinstance(y, (pa.Array, pa.ChunkedArray)) else pa.array(y)
    if len(column) != table.num_rows:
        raise DataError(f"the frame has {table.num_rows} rows, but there are {len(column)} targets")
    return table.append_column(TARGET, column)


class FrameSource:
    """Slices an Arrow table into batches."""

    format = "frame"
    name = FRAME
    bytes_total: int | None = None

    def __init__(self, table: Any) -> None:
        # A frame concatenated from many small ones has a chunk for each, which would each become a
        # batch of few rows.
        few = table.num_rows <= BATCH_ROWS
        self._table = table.combine_chunks() if few else table
        self._columns: list[str] = table.column_names

    def fingerprint(self) -> str:
        """Return a hash of the schema, the number of rows, and 32 rows at 16 places."""
        import hashlib

        table, last = self._table, max(0, self._table.num_rows - 32)
        parts = [table.slice(last * i // 15, 32).to_pydict() for i in range(16)]
        text = f"{table.schema} {table.num_rows} {parts}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def sample(self) -> Any:
        """Return all rows, or the first if they have nested columns, which are flattened."""
        if any(map(is_nested, set(self._table.schema.types))):
            return self._table.slice(0, SAMPLE_ROWS)
        return self._table

    def plan(self, types: dict[str, str], columns: list[str], keep: list[str]) -> None:
        """Set the columns to read."""
        self._columns = columns

    def pieces(self, place: dict[str, Any]) -> Generator[Piece]:
        """Yield the table in batches, from the row of ``place`` on."""
        row = int(place.get("row", 0))
        table = self._table.select(self._columns).slice(row)
        for batch in table.to_batches(max_chunksize=BATCH_ROWS):
            begin, row = row, row + batch.num_rows
            yield Piece((batch, begin), {"row": row})

    def parse(self, piece: Piece) -> Parsed:
        """Return the record batch of a piece."""
        batch, begin = piece.data
        return Parsed(batch, RowNumbers(self.name, "row", begin + 1))

"""Opening arrays: as they are, or as a table where values are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyak.data.formats.arrays import ArrayReader
from polyak.data.options import ReadOptions
from polyak.errors import DataError
from polyak.rows.sparse import as_rows

if TYPE_CHECKING:
    from polyak.data.tables.reader import TableReader


def open_arrays(source: Any, options: ReadOptions) -> ArrayReader | TableReader:
    """Read ``X``, ``(X, y)`` or ``(X, y, weights)``."""
    X, *more = source if isinstance(source, tuple) else (source,)
    if len(more) > 2:
        raise DataError("arrays are given as X, (X, y) or (X, y, weights)")
    y, weights = [*more, None, None][:2]
    try:
        rows = as_rows(X)
    except (TypeError, ValueError) as error:
        raise DataError(f"the source is neither a file nor an array of rows: {error}") from error
    reader = ArrayReader(rows, options.y if y is None else y, weights, options)
    return rows_or_table(reader, options)


def rows_or_table(reader: ArrayReader, options: ReadOptions) -> ArrayReader | TableReader:
    """Return a reader of a table for dense rows that have a schema or, early, a missing value.

    Rows whose width is given are no table, since a table has more features than columns.
    """
    if not reader.is_dense:
        return reader
    if options.schema is None and (options.n_features or not reader.has_missing_values()):
        return reader
    from polyak.data.formats.array_tables import open_array_table

    return open_array_table(reader, options)

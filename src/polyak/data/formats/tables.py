"""Tables in files: which reader each format has."""

from __future__ import annotations

from collections.abc import Sequence

from polyak.data.options import ReadOptions
from polyak.data.sources.files import File, Pipe
from polyak.data.stream import Reader
from polyak.data.tables.reader import TableReader
from polyak.data.tables.source import Source
from polyak.optional_imports import pyarrow


def open_table(files: Sequence[File | Pipe], options: ReadOptions) -> Reader:
    """Open files of a format of tables; Parquet may also hold rows that were converted."""
    format = str(options.format)
    if holds_rows(format, files):
        from polyak.data.formats.row_parquet import RowParquetReader

        return RowParquetReader(files, options)
    return TableReader(open_source(format, files, options), options)


def holds_rows(format: str, files: Sequence[File | Pipe]) -> bool:
    """Tell files of rows, as they are converted to, from tables."""
    pyarrow()
    if format != "parquet":
        return False
    from polyak.data.formats.row_parquet import is_row_file

    return is_row_file(files[0])


def open_source(format: str, files: Sequence[File | Pipe], options: ReadOptions) -> Source:
    """Open the columns of tables as they are."""
    pyarrow()
    if format in ("parquet", "arrow"):
        from polyak.data.tables.parquet import BinarySource

        return BinarySource(files, format, options)
    from polyak.data.tables.text.csv import CsvFormat
    from polyak.data.tables.text.jsonl import JsonFormat
    from polyak.data.tables.text.source import TextSource

    text = JsonFormat() if format == "jsonl" else CsvFormat(format, options.whole_dialect())
    return TextSource(files, text, options)

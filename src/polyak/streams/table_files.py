"""Tables in files: which reader each format has."""

from __future__ import annotations

from collections.abc import Sequence

from polyak.streams.arrow_types import pyarrow
from polyak.streams.files import File, Pipe
from polyak.streams.options import Options
from polyak.streams.stream import Reader
from polyak.streams.tables import Source, TableReader


def open_table(format: str, files: Sequence[File | Pipe], options: Options) -> Reader:
    """Open files of a format of tables; Parquet may also hold rows that were converted."""
    if holds_rows(format, files):
        from polyak.streams.row_parquet import RowParquetReader

        return RowParquetReader(files, options)
    return TableReader(open_source(format, files, options), options)


def holds_rows(format: str, files: Sequence[File | Pipe]) -> bool:
    """Tell files of rows, as they are converted to, from tables."""
    pyarrow()
    if format != "parquet":
        return False
    from polyak.streams.row_parquet import is_row_file

    return is_row_file(files[0])


def open_source(format: str, files: Sequence[File | Pipe], options: Options) -> Source:
    """Open the columns of tables as they are."""
    pyarrow()
    if format in ("parquet", "arrow"):
        from polyak.streams.arrow_files import BinarySource

        return BinarySource(files, format, options)
    from polyak.streams.csv_text import CsvFormat
    from polyak.streams.json_text import JsonFormat
    from polyak.streams.text_tables import TextSource

    text = JsonFormat() if format == "jsonl" else CsvFormat(format)
    return TextSource(files, text, options)

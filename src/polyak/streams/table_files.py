"""Tables in files: which reader each format has."""

from __future__ import annotations

from collections.abc import Sequence

from polyak.streams.arrow_types import pyarrow
from polyak.streams.files import File, Pipe
from polyak.streams.options import Options
from polyak.streams.tables import TableReader


def open_table(format: str, files: Sequence[File | Pipe], options: Options) -> TableReader:
    """Open files of a format of tables."""
    pyarrow()
    if format in ("parquet", "arrow"):
        from polyak.streams.arrow_files import BinarySource

        return TableReader(BinarySource(files, format, options), options)
    from polyak.streams.csv_text import CsvFormat
    from polyak.streams.json_text import JsonFormat
    from polyak.streams.text_tables import TextSource

    text = JsonFormat() if format == "jsonl" else CsvFormat(format)
    return TableReader(TextSource(files, text, options), options)

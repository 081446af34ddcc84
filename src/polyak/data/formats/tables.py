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
    """Open files in one of the table formats."""
    return TableReader(open_source(str(options.format), files, options), options)


def open_source(format: str, files: Sequence[File | Pipe], options: ReadOptions) -> Source:
    """Open the columns of tables as they are."""
    pyarrow()
    if format in ("parquet", "arrow"):
        from polyak.data.tables.parquet import BinarySource

        return BinarySource(files, format, options)
    from polyak.data.tables.text.csv import CsvFormat
    from polyak.data.tables.text.jsonl import JsonFormat
    from polyak.data.tables.text.source import TextSource

    if format == "jsonl":
        return TextSource(files, JsonFormat(), options)
    asked, schema = options.columns, options.schema
    known = [asked.target, asked.weight, asked.exposure, asked.offset, *asked.drop, *asked.only]
    known += [*asked.categorical, *asked.numeric, *asked.text, *options.keep]
    if schema is not None:
        target = None if schema.target is None else schema.target.name
        known += [target, schema.weight, schema.exposure]
        known += [column.name for column in schema.columns]
    return TextSource(files, CsvFormat(format, options.whole_dialect(), known), options)

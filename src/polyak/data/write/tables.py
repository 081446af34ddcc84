"""Tables as they are: every column with its type, so that a schema finds in them what it would."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from polyak.data.formats.tables import open_source
from polyak.data.options import ReadOptions
from polyak.data.position import BadLine, Cursor, Position
from polyak.data.readahead import ordered_map
from polyak.data.sources.files import File, Pipe
from polyak.data.stream import Stream
from polyak.data.tables.arrow_types import stored_as
from polyak.data.tables.encoding import bad_lines, odd_values, plain_values, warn_once
from polyak.data.tables.inference import formats_to_learn
from polyak.data.tables.source import Parsed, Piece
from polyak.data.write.prediction_tables import table_sink
from polyak.errors import DataError
from polyak.model.dialect import TRUTHS
from polyak.rows.batch import Batch


def open_columns(files: Sequence[File | Pipe], format: str, options: ReadOptions) -> Stream:
    """Open tables as batches that have no features, and all columns in ``Batch.kept``."""
    return Stream(ColumnReader(files, format, options), warn_if_sorted=False)


@contextmanager
def parquet_writer(
    stream: Stream, path: str, unlabelled: bool = False
) -> Iterator[Callable[[Batch], None]]:
    """Open a Parquet file for the columns of a table; yields the function that writes a batch."""
    with table_sink(path, "parquet") as sink:

        def write(batch: Batch) -> None:
            if batch.kept is None:
                raise DataError(f"{stream.name} has no columns, which Parquet needs: write .npz")
            sink(batch.kept)

        yield write


class ColumnReader:
    """Reads all columns of tables, each of the type that the first rows show."""

    def __init__(self, files: Sequence[File | Pipe], format: str, options: ReadOptions) -> None:
        self._source = open_source(format, files, options)
        self.format = format
        self.name = self._source.name
        self.bytes_total = self._source.bytes_total
        self.n_features: int | None = 0
        self._threads = options.number_of_threads()
        sample = self._source.sample()
        self._missing = options.dialect.missing
        self._skip = options.skip_bad_lines
        text = getattr(self._source, "plain_text", None)
        formats = formats_to_learn(sample, options.columns, options.dialect, self.name, text)
        # Booleans stay words, since the target may be one of them.
        self._formats = {name: how for name, how in formats.items() if how not in TRUTHS}
        kinds = dict(zip(sample.column_names, map(stored_as, sample.schema.types), strict=True))
        types = {name: "number" for name, kind in kinds.items() if kind == "number"}
        # Columns to be read as words must not become numbers on the way: 007 is not 7.
        words = (*options.columns.categorical, *options.columns.text, *formats)
        self._source.plan(types | dict.fromkeys(words, "string"), sample.column_names, [])
        self._schema: Any = None
        self._odd: set[str] = set()

    def fingerprint(self) -> str:
        """Return a text that identifies this data."""
        return self._source.fingerprint()

    def begin(self, start: Position | None) -> Cursor:
        """Return the cursor where reading begins."""
        return Cursor({"format": self.format, "rows": 0})

    def read(self, cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        """Yield batches from a cursor on, each with the cursor behind it."""
        pieces = self._source.pieces({})
        for piece, parsed, bad in ordered_map(self._parse, pieces, self._threads):
            warn_once(odd_values(parsed, {}), self._odd)
            table = self._alike(parsed)
            rows, all_bad = cursor.rows + len(table), (*cursor.first_bad_lines, *bad)[:10]
            position = {"format": self.format, "rows": rows}
            bad_lines = cursor.bad_lines + len(bad)
            cursor = Cursor(position, rows, piece.bytes_read, bad_lines, all_bad)
            yield Batch(np.empty((len(table), 0)), kept=table), cursor

    def _parse(self, piece: Piece) -> tuple[Piece, Parsed, list[BadLine]]:
        parsed = self._source.parse(piece)
        parsed, _ = plain_values(parsed, None, self._missing, self._formats)
        bad = bad_lines(parsed, self._skip)
        if parsed.wrong:
            rows = np.setdiff1d(np.arange(parsed.table.num_rows), list(parsed.wrong))
            parsed.table = parsed.table.take(rows)
        return piece, parsed, bad

    def _alike(self, parsed: Parsed) -> Any:
        """Return the batch with the column types of the first batch."""
        table = parsed.table
        self._schema = table.schema if self._schema is None else self._schema
        for mine, first in zip(table.schema, self._schema, strict=True):
            if mine.type != first.type:
                raise DataError(
                    f"{parsed.where.file}: the column {mine.name} holds {mine.type}, but it was "
                    f"{first.type} before"
                )
        return type(table).from_arrays(table.columns, schema=self._schema)

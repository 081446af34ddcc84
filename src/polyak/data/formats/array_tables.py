"""Dense arrays as tables: their columns are called x0, x1, ..., and a NaN is missing."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np

from polyak.data.formats.arrays import ArrayReader
from polyak.data.options import ReadOptions
from polyak.data.tables.frames import BATCH_ROWS, TARGET, FrameSource
from polyak.data.tables.inference import SAMPLE_ROWS
from polyak.data.tables.reader import TableReader
from polyak.data.tables.source import Parsed, Piece, RowNumbers
from polyak.errors import DataError
from polyak.optional_imports import pyarrow

WEIGHT = "weight"
"""The name of the column of weights."""


def open_array_table(reader: ArrayReader, options: ReadOptions) -> TableReader:
    """Read arrays by a schema, which is inferred from the first rows if there is none yet."""
    if reader.outputs > 1:
        raise DataError(
            f"{reader.name} has missing values, and rows with missing values have one target each: "
            "fill them in, or learn the targets one by one"
        )
    source = ArraySource(reader)
    if options.schema is None:
        names = source.sample().column_names
        target, weight = (name if name in names else None for name in (TARGET, WEIGHT))
        options = replace(options, columns=replace(options.columns, target=target, weight=weight))
    return TableReader(source, options)


class ArraySource(FrameSource):
    """Cuts arrays into batches of columns."""

    def __init__(self, reader: ArrayReader) -> None:
        self._reader = reader
        self.format = reader.format
        self.name = reader.name
        self.bytes_total = reader.bytes_total
        self._columns = self.sample().column_names

    def fingerprint(self) -> str:
        """Return what tells this data from other data."""
        return self._reader.fingerprint()

    def sample(self) -> Any:
        """Return the first rows."""
        return pyarrow().table(self._part(0, min(SAMPLE_ROWS, len(self._reader))))

    def pieces(self, place: dict[str, Any]) -> Generator[Piece]:
        """Cut the arrays into batches."""
        rows = len(self._reader)
        for begin, end in self._reader.spans(int(place.get("row", 0)), BATCH_ROWS):
            columns = self._part(begin, end)
            batch = pyarrow().record_batch({name: columns[name] for name in self._columns})
            yield Piece((batch, begin), {"row": end}, (self.bytes_total or 0) * end // rows)

    def parse(self, piece: Piece) -> Parsed:
        """Return the record batch of a piece; rows are counted from zero, as in NumPy."""
        batch, begin = piece.data
        return Parsed(batch, RowNumbers(self.name, "row", begin))

    def _part(self, begin: int, end: int) -> dict[str, Any]:
        pa, batch = pyarrow(), self._reader.part(begin, end)
        rows = np.asarray(batch.rows)
        columns = {f"x{place}": pa.array(column) for place, column in enumerate(rows.T)}
        for name, numbers in (TARGET, batch.targets), (WEIGHT, batch.weights):
            if numbers is not None:
                columns[name] = pa.array(numbers)
        return columns

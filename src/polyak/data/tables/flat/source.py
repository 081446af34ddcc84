"""A source with nested columns, read as one with flat columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from polyak.data.position import BadLine
from polyak.data.random_order import Pieces
from polyak.data.tables.advice import FRAME
from polyak.data.tables.flat.columns import Layout, flattened, is_nested
from polyak.data.tables.inference import no_such_column
from polyak.data.tables.source import Piece, Source, SourceInPieces
from polyak.errors import DataError


def flat_source(
    source: Source, lists: dict[str, int], skip_bad_lines: bool
) -> tuple[Source, Any, Layout]:
    """Return a source of flat columns, its first rows, and the layout of nested columns.

    A source without nested columns is returned unchanged.
    """
    sample = source.sample()
    if not any(map(is_nested, set(sample.schema.types))):
        return source, sample, Layout()
    sample, layout = flattened(sample, lists)
    advice = "" if lists or source.name == FRAME else "; drop= leaves a column out"
    return FlatSource(source, layout, advice, skip_bad_lines), sample, layout


class FlatSource:
    """Flattens the nested columns of another source."""

    def __init__(self, source: Source, layout: Layout, advice: str, skip_bad_lines: bool) -> None:
        self.format = source.format
        self.name = source.name
        self.bytes_total = source.bytes_total
        self._source = source
        self._layout = layout
        self._advice = advice
        self._skip = skip_bad_lines
        self._columns: list[str] = []
        self._parts_of_one = 1

    def fingerprint(self) -> str:
        """Return a string that identifies this data."""
        return self._source.fingerprint()

    def sample(self) -> Any:
        """Return the first rows, flattened."""
        return self._layout.flatten(self._source.sample())[0]

    def can_read_again(self) -> bool:
        """Whether the source can be read more than once."""
        return self._source.can_read_again()

    def plan(self, types: dict[str, str], columns: list[str]) -> None:
        """Set the flat columns to read; the wrapped source reads the columns they come from."""
        origins = self._layout.origins
        self._columns = columns
        raw = list(dict.fromkeys(origins.get(name, name) for name in columns))
        self._parts_of_one = max(1, len(columns) // max(1, len(raw)))
        plain = {name: kind for name, kind in types.items() if origins.get(name, name) == name}
        self._source.plan(plain, raw)

    def pieces(self, place: dict[str, Any]) -> Iterator[Piece]:
        """Yield the pieces from ``place`` on."""
        return self._source.pieces(place)

    def batch(self, piece: Piece, bad: list[BadLine]) -> Any:
        """Return a flattened piece; rows whose lists have another length are invalid."""
        piece.rows = None
        table, wrong = self._layout.flatten(self._source.batch(piece, bad))
        there = set(table.schema.names)
        for name in self._columns:
            if name not in there:
                raise no_such_column(name, table.schema.names, self._source.where(piece, 0)[0])
        for row, reason in sorted(wrong.items()):
            file, number, unit = self._source.where(piece, row)
            if not self._skip:
                raise DataError(f"{file}, {unit} {number}: {reason}{self._advice}")
            bad.append(BadLine(file, number, "", reason))
        table = table.select(self._columns)
        if wrong:
            rows = np.setdiff1d(np.arange(table.num_rows), list(wrong))
            table, piece.rows = table.take(rows), rows
        return table

    def kept(self, piece: Piece, table: Any, names: list[str]) -> Any:
        """Return the columns ``names`` of ``table``."""
        return table.select(names)

    def where(self, piece: Piece, row: int) -> tuple[str, int, str]:
        """Return the file of a row, its number there, and the unit of that number."""
        return self._source.where(piece, row if piece.rows is None else int(piece.rows[row]))

    def numbers(self, piece: Piece, rows: int) -> Any:
        """Return the row numbers, or line numbers, of all rows of a piece."""
        if piece.rows is None:
            return self._source.numbers(piece, rows)
        return self._source.numbers(piece, int(piece.rows.max(initial=-1)) + 1)[piece.rows]

    # -- in any order --------------------------------------------------------------------------

    def can_read_pieces(self) -> bool:
        """Whether the pieces can be read in any order."""
        return isinstance(self._source, SourceInPieces) and self._source.can_read_pieces()

    def cut(self) -> Pieces:
        """Cut the source into pieces."""
        return self._in_pieces().cut()

    def read_pieces(self, pieces: Iterator[Any], bytes_before: int) -> Iterator[Piece]:
        """Yield the pieces in the order given."""
        return self._in_pieces().read_pieces(pieces, bytes_before)

    def rows_in(self, size: int) -> int:
        """Return an estimate of the number of rows in ``size`` bytes."""
        rows = self._source.rows_in(size) if isinstance(self._source, SourceInPieces) else 0
        return rows if self.format == "jsonl" else rows // self._parts_of_one

    def _in_pieces(self) -> SourceInPieces:
        assert isinstance(self._source, SourceInPieces)
        return self._source

"""Rows from tables: batches of columns, encoded on several threads, delivered in order."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from polyak._core import TableEncoder
from polyak.data.options import ReadOptions
from polyak.data.position import BadLine, Cursor, Position
from polyak.data.random_order import Mixed, Pieces, Window, mixed_windows
from polyak.data.readahead import ordered_map
from polyak.data.tables.arrow_types import core_form, is_core_form, stored_as
from polyak.data.tables.bad_values import without_odd_text
from polyak.data.tables.inference import choose_schema, no_such_column, written_here
from polyak.data.tables.look import TableLook, look_at
from polyak.data.tables.targets import numbers_of, read_targets
from polyak.data.tables.written import Plain, with_plain_values, without_missing
from polyak.errors import DataError
from polyak.model.schema import Column, Schema
from polyak.optional_imports import pyarrow
from polyak.rows.batch import Batch
from polyak.rows.labels import label_text
from polyak.rows.sparse import SparseRows, take_rows


@dataclass(slots=True)
class Piece:
    """Some rows of a table, perhaps not yet parsed.

    Attributes
    ----------
    data : object
        Whatever the source needs to make a record batch of it.
    place : dict
        Where it ends: what JSON can hold, for the source to go on from.
    bytes_read : int
        How much of the source was read up to there.
    again : function, optional
        Reads the data once more, which then is let go once there are rows of it.
    """

    data: Any
    place: dict[str, Any]
    bytes_read: int = 0
    again: Callable[[], Any] | None = None

    def read(self) -> Any:
        """Give the data, reading it again if need be."""
        return self.data if self.again is None or self.data is not None else self.again()


class Source(Protocol):
    """What a format of tables provides."""

    format: str
    name: str
    bytes_total: int | None

    def fingerprint(self) -> str:
        """Tell this data from other data."""

    def sample(self) -> Any:
        """Give the first rows of all columns, as a pyarrow.Table."""

    def plan(self, types: dict[str, str], columns: list[str]) -> None:
        """Hear which columns will be read, and what some of them have to be stored as."""

    def pieces(self, place: dict[str, Any]) -> Iterator[Piece]:
        """Read on from a place; an empty one is the beginning."""

    def batch(self, piece: Piece, bad: list[BadLine]) -> Any:
        """Make a record batch of a piece; may be called by several threads.

        Rows that cannot be read are left out and added to ``bad``, if that is wanted.
        """

    def kept(self, piece: Piece, table: Any, names: list[str]) -> Any:
        """Give columns of a piece as its user knows them; ``table`` is what `batch` gave."""

    def where(self, piece: Piece, row: int) -> tuple[str, int, str]:
        """Name a row of a piece: the file, the number, and what is numbered."""


@runtime_checkable
class SourceInPieces(Source, Protocol):
    """What a format of tables provides that can be read in any order."""

    def can_read_pieces(self) -> bool:
        """Say whether these files can be read so."""

    def cut(self) -> Pieces:
        """Cut the source into pieces, in the same way every time."""

    def read_pieces(self, pieces: Iterator[Any], bytes_before: int) -> Iterator[Piece]:
        """Read pieces in the order given."""

    def rows_in(self, size: int) -> int:
        """Say about how many rows have so many bytes; 0 if nobody knows before it is read."""


@dataclass(slots=True)
class _Encoded:
    batch: Batch
    piece: Piece
    bad: list[BadLine]
    without_target: int


class TableReader:
    """Encodes the batches of a source by a schema, which it finds if there is none yet."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self.format = source.format
        self.name = source.name
        self.bytes_total = source.bytes_total
        self._source = source
        self._options = options
        sample = without_odd_text(source.sample())[0]
        if not sample.num_columns or not sample.num_rows:
            raise DataError(f"{source.name} has no rows")
        self._learning = options.schema is None
        text: Any = source if source.format in ("csv", "tsv") else None
        self._dialect = options.whole_dialect()
        sample = without_missing(sample, self._dialect.missing)
        schema = options.schema or choose_schema(
            sample, options.columns, source.name, self._dialect, text
        )
        self._written = schema.written
        if not self._learning:
            self._written = written_here(sample, schema, self._dialect, source.name, text)
        self._plain = Plain(self._written, options.skip_bad_lines)
        self._sample: Any = sample  # let go once reading begins: it may be wide
        self._text = text
        self.schema: Schema = schema
        self.n_features: int | None = schema.n_features
        self._target = self._role(
            None if schema.target is None else schema.target.name, sample, "target "
        )
        self._weight = self._role(schema.weight, sample, "weight ")
        if not self._learning:
            self._check_columns(sample)
        everything = list(options.keep) == ["*"]
        self._keep = list(sample.column_names if everything else options.keep)
        for name in self._keep:
            if name not in sample.column_names:
                raise no_such_column(name, sample.column_names, self.name)
        types = {column.name: _stored(column) for column in schema.columns}
        if schema.target is not None and schema.target.kind == "class":
            types[schema.target.name] = "string"
        types |= dict.fromkeys(self._written, "string")
        roles = [name for name in (self._target, self._weight) if name is not None]
        self._read = list(
            dict.fromkeys([*(column.name for column in schema.columns), *roles, *self._keep])
        )
        source.plan(types, self._read)
        numbers = {column.name: number for number, column in enumerate(schema.columns)}
        self._encoder = TableEncoder(
            [
                (column.name, column.kind, first, column.offset, column.scale)
                for column, first in zip(schema.columns, schema.first_features(), strict=True)
            ],
            [[numbers[name] for name in crossed] for crossed in schema.interactions],
            schema.hashed_begin,
            schema.bits,
            schema.ngrams,
            np.dtype(options.dtype or np.float32) == np.float64,
            options.columns.names,
        )

    def look(self) -> TableLook:
        """Describe the columns as the first rows have them, and say what looks wrong.

        To be asked for before reading begins.
        """
        words = None if self._text is None else self._text.sample_words
        sample = with_plain_values(self._sample, self._written, words)
        return look_at(sample, self.schema)

    def names(self) -> dict[int, bytes]:
        """Give the names of hashed features seen so far, if they were to be remembered."""
        found: dict[int, bytes] = self._encoder.names()
        return found

    def fingerprint(self) -> str:
        """Tell this data from other data."""
        return self._source.fingerprint()

    def begin(self, start: Position | None) -> Cursor:
        """Say where reading begins."""
        if start is None:
            return Cursor({"format": self.format, "rows": 0, "without_target": 0, "place": {}})
        if start.get("format") != self.format or "place" not in start:
            raise DataError(f"the place to go on from is not one in {self.name}")
        bad = tuple(BadLine(*line) for line in start.get("first_bad_lines", ()))
        return Cursor(
            start, start["rows"], start.get("bytes_read", 0), start.get("bad_lines", 0), bad
        )

    def read(self, cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        """Read on from a cursor."""
        yield from self._read_all(self._source.pieces(cursor.position["place"]), cursor)

    def can_read_pieces(self) -> bool:
        """Say whether the source can be read in any order."""
        return isinstance(self._source, SourceInPieces) and self._source.can_read_pieces()

    def pieces(self) -> Pieces:
        """Cut the source into pieces."""
        return self._in_pieces().cut()

    def read_windows(self, windows: list[Window], cursor: Cursor) -> Generator[Mixed]:
        """Read windows one after the other."""
        source = self._in_pieces()

        def read(pieces: Iterator[Any], cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
            return self._read_all(source.read_pieces(pieces, cursor.bytes_read), cursor)

        return mixed_windows(read, windows, cursor, self._options.number_of_threads())

    def rows_in(self, size: int) -> int:
        """Say about how many rows have so many bytes."""
        return self._source.rows_in(size) if isinstance(self._source, SourceInPieces) else 0

    # -- inside --------------------------------------------------------------------------------

    def _in_pieces(self) -> SourceInPieces:
        assert isinstance(self._source, SourceInPieces)
        return self._source

    def _read_all(self, pieces: Iterator[Piece], cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        self._sample = None
        encoded = ordered_map(self._encode, pieces, self._options.number_of_threads())
        try:
            for part in encoded:
                cursor = self._moved(cursor, part)
                yield part.batch, cursor
        finally:
            encoded.close()
        self._check_targets(cursor)

    def _moved(self, cursor: Cursor, part: _Encoded) -> Cursor:
        rows = cursor.rows + len(part.batch)
        bad_lines = cursor.bad_lines + len(part.bad)
        bad = sorted(part.bad, key=lambda line: line.line)
        first_bad = (*cursor.first_bad_lines, *bad)[:10]
        position = {
            "format": self.format,
            "rows": rows,
            "without_target": cursor.position["without_target"] + part.without_target,
            "first_target": cursor.position.get("first_target"),
            "target_varies": cursor.position.get("target_varies", False),
            "place": part.piece.place,
            "bytes_read": part.piece.bytes_read,
            "bad_lines": bad_lines,
            "first_bad_lines": [list(line) for line in first_bad],
        }
        targets = part.batch.targets
        if targets is not None and len(targets) and not position["target_varies"]:
            if position["first_target"] is None:
                position["first_target"] = targets[0].item()
            position["target_varies"] = bool(np.any(targets != position["first_target"]))
        return Cursor(position, rows, part.piece.bytes_read, bad_lines, first_bad)

    def _encode(self, piece: Piece) -> _Encoded:
        bad: list[BadLine] = []
        table = self._source.batch(piece, bad)
        table, not_text = self._without_odd_text(table, piece, bad)
        table = without_missing(table, self._dialect.missing)
        if self._written:
            as_read = table
            table, odd = self._plain.values(table, lambda row: self._source.where(piece, row), bad)
            not_text += odd
        else:
            as_read = table
        targets = there = None
        without = 0
        if self._target is not None and self.schema.target is not None:
            targets, there = read_targets(table.column(self._target), self.schema.target)
            without = len(there) - int(np.count_nonzero(there))
            if not without:
                there = None
        schema, data = self._for_core(table, piece).__arrow_c_array__()
        choice = None if there is None else there.view(np.uint8)
        indptr, indices, values, wrong = self._encoder.encode(schema, data, choice)
        rows = SparseRows(indptr, indices, values, self.schema.n_features)
        chosen = np.arange(table.num_rows) if there is None else np.flatnonzero(there)
        out = [*not_text, *(self._left_out(wrong, piece, bad) if wrong else ())]
        if out:
            left = np.isin(chosen, out, invert=True)
            rows = take_rows(rows, np.flatnonzero(left))  # type: ignore[assignment]
            chosen = chosen[left]
        encoded = self._with_targets(as_read, table, rows, targets, chosen, piece, bad, without)
        if piece.again is not None:  # many may wait to be mixed, with no need for their data
            piece.data = None
        return encoded

    def _without_odd_text(
        self, table: Any, piece: Piece, bad: list[BadLine]
    ) -> tuple[Any, list[int]]:
        """Take out what is not UTF-8, and give the rows that have such; or raise for the first."""
        if self.format in ("csv", "tsv", "jsonl"):  # whose own readers have looked
            return table, []
        table, odd = without_odd_text(table)
        for row, name in sorted(odd.items()):
            file, number, unit = self._source.where(piece, row)
            if not self._options.skip_bad_lines:
                raise DataError(f"{file}, {unit} {number}: the column {name} is not UTF-8")
            bad.append(BadLine(file, number, "", f"the column {name} is not UTF-8"))
        return table, list(odd)

    def _left_out(self, wrong: Any, piece: Piece, bad: list[BadLine]) -> list[int]:
        """Name the rows that cannot be read, or raise the error that the first of them is."""
        rows: list[int] = []
        for row, number, text, reason in wrong:
            column = self.schema.columns[number]
            file, line, unit = self._source.where(piece, row)
            value = text.decode(errors="replace")
            if not self._options.skip_bad_lines:
                raise DataError(
                    f"{file}, {unit} {line}: {value!r} in column {column.name} {reason}"
                    f"{_advice(column)}"
                )
            if row not in rows:
                bad.append(BadLine(file, line, value, f"a value of column {column.name} {reason}"))
                rows.append(row)
        return rows

    def _for_core(self, table: Any, piece: Piece) -> Any:
        """Give the features' columns in the types that the core reads."""
        columns = self.schema.columns
        chosen = table.select([column.name for column in columns])
        # There may be thousands of columns, but not of types.
        types = dict.fromkeys(
            (kind, column.kind) for kind, column in zip(chosen.schema.types, columns, strict=True)
        )
        if all(is_core_form(kind, wanted) for kind, wanted in types):
            return chosen
        arrays = [self._converted(table, column, piece) for column in columns]
        return pyarrow().RecordBatch.from_arrays(arrays, names=chosen.schema.names)

    def _converted(self, table: Any, column: Column, piece: Piece) -> Any:
        array = table.column(column.name)
        stored = stored_as(array.type)
        if not pyarrow().types.is_null(array.type) and (stored is None or not column.fits(stored)):
            file, _, _ = self._source.where(piece, 0)
            raise DataError(
                f"{file}: the column {column.name} holds {array.type}, but it was "
                f"{_in_words(column)} before"
            )
        return core_form(array, column.kind)

    def _with_targets(
        self,
        as_read: Any,
        table: Any,
        rows: SparseRows,
        targets: Any,
        chosen: NDArray[np.int64],
        piece: Piece,
        bad: list[BadLine],
        without: int,
    ) -> _Encoded:
        """Add the targets and weights of the chosen rows."""
        everything = len(chosen) == table.num_rows
        weights = kept = None
        if self._weight is not None:
            weights = self._weights(table.column(self._weight), piece)
        if self._keep:
            kept = self._source.kept(piece, as_read, self._keep)
        if not everything:
            targets = None if targets is None else targets[chosen]
            weights = None if weights is None else weights[chosen]
            kept = None if kept is None else kept.take(pyarrow().array(chosen))
        batch = Batch(
            rows,
            targets,
            weights,
            kept,
            where=lambda row: self._source.where(piece, int(chosen[row])),
        )
        return _Encoded(batch, piece, bad, without)

    def _weights(self, array: Any, piece: Piece) -> Any:
        weights = numbers_of(array)
        wrong = ~(np.isfinite(weights) & (weights >= 0))
        if wrong.any():
            row = int(np.argmax(wrong))
            file, number, unit = self._source.where(piece, row)
            what = "missing" if np.isnan(weights[row]) else label_text(weights[row])
            raise DataError(f"{file}, {unit} {number}: the weight is {what}")
        return weights

    def _role(self, name: str | None, sample: Any, role: str) -> str | None:
        """Give the column to read in this role, or None if there is nothing to read."""
        if name is None or not self._options.targets:
            return None
        if name not in sample.column_names:
            raise no_such_column(name, sample.column_names, self.name, role)
        return name

    def _check_columns(self, sample: Any) -> None:
        there = set(sample.column_names)
        for column in self.schema.columns:
            if column.name in there:
                continue
            if self.format == "jsonl" and sample.num_columns:
                continue  # a field may be absent where it is missing
            raise no_such_column(column.name, sample.column_names, self.name)

    def _check_targets(self, cursor: Cursor) -> None:
        """Refuse, in the end, what there was nothing to learn from."""
        if self._target is None or not self._learning or not self.schema.target:
            return
        without = cursor.position["without_target"]
        if cursor.rows == 0 and without:
            raise DataError(
                f"the target column {self._target} of {self.name} is missing in all {without} rows"
            )
        if cursor.rows > 1 and not cursor.position["target_varies"]:
            value = label_text(cursor.position["first_target"])
            raise DataError(
                f"the target column {self._target} of {self.name} is {value} in all {cursor.rows} "
                "rows: there is nothing to learn"
            )


def _stored(column: Column) -> str:
    """Say what a column has to be stored as where its text alone does not tell."""
    return "string" if column.kind in ("category", "date", "time", "text") else column.stored


def _in_words(column: Column) -> str:
    return {
        "number": "a number",
        "boolean": "true or false",
        "category": "a word" if column.stored == "string" else f"a {column.stored}",
        "text": "text",
        "bag": "a list of words",
        "date": "a date",
        "time": "a time",
        "clock": "a time of day",
    }[column.kind]


def _advice(column: Column) -> str:
    if column.kind in ("date", "time"):
        return f", as the first rows have it; categorical={column.name} reads it as words"
    return ""

"""Read rows from tables: record batches, encoded on several threads, delivered in order."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from polyak.data.options import ReadOptions
from polyak.data.position import Cursor, Position
from polyak.data.random_order import Mixed, Pieces, Window, mixed_windows
from polyak.data.readahead import ordered_map
from polyak.data.tables.bad_values import without_odd_text
from polyak.data.tables.encoding import Encoded, PieceEncoder, Roles
from polyak.data.tables.flat.source import flat_source
from polyak.data.tables.inference import choose_schema, no_such_column, written_here
from polyak.data.tables.look import TableLook, look_at
from polyak.data.tables.source import Piece, Source, SourceInPieces
from polyak.data.tables.written import with_plain_values, without_missing
from polyak.errors import DataError
from polyak.model.schema import Column, Schema
from polyak.rows.batch import Batch
from polyak.rows.label_text import label_text
from polyak.storage.feature_names import FeatureNames


class TableReader:
    """Encodes the batches of a source by a schema, which is inferred if none is given."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self.format = source.format
        self.name = source.name
        self.bytes_total = source.bytes_total
        self._options = options
        lists = {} if options.schema is None else options.schema.lists
        text = source
        source, sample, layout = flat_source(source, lists, options.skip_bad_lines)
        self._source = source
        sample = without_odd_text(sample)[0]
        if not sample.num_columns or not sample.num_rows:
            raise DataError(f"{source.name} has no rows")
        self._learning = options.schema is None
        self._text: Any = source if source.format in ("csv", "tsv") else None
        dialect = options.whole_dialect()
        sample = without_missing(sample, dialect.missing)
        about = (source.name, dialect, self._text)
        columns = layout.named(options.columns)
        schema = options.schema or choose_schema(sample, columns, *about, layout.lists)
        written = schema.written if self._learning else written_here(sample, schema, *about)
        first = sample.num_rows - getattr(text, "late_rows", 0)
        # Released when reading begins, since a sample of many columns takes much memory.
        self._sample: Any = sample.slice(0, first)
        target = None if schema.target is None else schema.target.name
        self._roles = Roles(
            target=self._role(target, sample, "target "),
            weight=self._role(schema.weight, sample, "weight "),
            exposure=self._role(schema.exposure, sample, "exposure "),
            keep=self._to_keep(sample),
            written=written,
        )
        self._absent: list[str] = [] if self._learning else self._not_there(sample, schema)
        self.read_as(schema, options.dtype)

    def read_as(self, schema: Schema, dtype: DTypeLike | None) -> None:
        """Set another ``schema`` of the same columns and a ``dtype``; only before reading."""
        self.schema = schema
        self.n_features: int | None = schema.n_features
        roles = self._roles
        types = {column.name: _stored(column) for column in schema.columns}
        if schema.target is not None and schema.target.kind == "class":
            types[schema.target.name] = "string"
        types |= dict.fromkeys(roles.written, "string")
        others = [n for n in (roles.target, roles.weight, roles.exposure) if n is not None]
        columns = [*(column.name for column in schema.columns), *others, *roles.keep]
        absent = set(self._absent)
        there = [name for name in dict.fromkeys(columns) if name not in absent]
        self._source.plan({n: kind for n, kind in types.items() if n not in absent}, there)
        self._encoder = PieceEncoder(
            self._source, schema, roles, replace(self._options, dtype=dtype), self._absent
        )

    def look(self) -> TableLook:
        """Return a summary of the columns in the first rows, with warnings about suspicious ones.

        Only valid before reading begins.
        """
        words = None if self._text is None else self._text.sample_words
        sample = with_plain_values(self._sample, self._roles.written, words)
        return look_at(sample, self.schema)

    def names(self) -> FeatureNames:
        """Return the names of hashed features seen so far, if the options ask to keep them."""
        return self._encoder.names()

    def fingerprint(self) -> str:
        """Return a string that identifies this data."""
        return self._source.fingerprint()

    def begin(self, start: Position | None) -> Cursor:
        """Return the cursor for position ``start``, or for the beginning if it is None."""
        if start is None:
            return Cursor({"format": self.format, "rows": 0, "without_target": 0, "place": {}})
        if start.get("format") != self.format or "place" not in start:
            raise DataError(f"the place to go on from is not one in {self.name}")
        return Cursor.at(start)

    def read(self, cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        """Yield batches from ``cursor`` on, each with the cursor after it."""
        yield from self._read_all(self._source.pieces(cursor.position["place"]), cursor)

    def can_read_pieces(self) -> bool:
        """Whether the pieces of the source can be read in any order."""
        return isinstance(self._source, SourceInPieces) and self._source.can_read_pieces()

    def pieces(self) -> Pieces:
        """Cut the source into pieces."""
        return self._in_pieces().cut()

    def read_windows(self, windows: Sequence[Window], cursor: Cursor) -> Generator[Mixed]:
        """Yield the shuffled rows of windows, one window after the other."""
        source = self._in_pieces()

        def read(pieces: Iterator[Any], cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
            return self._read_all(source.read_pieces(pieces, cursor.bytes_read), cursor)

        return mixed_windows(read, windows, cursor, self._options.number_of_threads())

    def rows_in(self, size: int) -> int:
        """Return an estimate of the number of rows in ``size`` bytes."""
        return self._source.rows_in(size) if isinstance(self._source, SourceInPieces) else 0

    # -- inside --------------------------------------------------------------------------------

    def _in_pieces(self) -> SourceInPieces:
        assert isinstance(self._source, SourceInPieces)
        return self._source

    def _read_all(self, pieces: Iterator[Piece], cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        self._sample = None
        encoded = ordered_map(self._encoder.encode, pieces, self._options.number_of_threads())
        try:
            for part in encoded:
                cursor = self._moved(cursor, part)
                yield part.batch, cursor
        finally:
            encoded.close()
        self._check_targets(cursor)

    def _moved(self, cursor: Cursor, part: Encoded) -> Cursor:
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

    def _role(self, name: str | None, sample: Any, role: str) -> str | None:
        """Return the column to read in this role; None if it has none or targets are not read."""
        if name is None or not self._options.targets:
            return None
        if name not in sample.column_names:
            raise no_such_column(name, sample.column_names, self.name, role)
        return name

    def _to_keep(self, sample: Any) -> list[str]:
        there = sample.column_names
        keep = list(self._options.keep)
        if keep == ["*"]:
            return list(there)
        for name in keep:
            if name not in there:
                raise no_such_column(name, there, self.name)
        return keep

    def _not_there(self, sample: Any, schema: Schema) -> list[str]:
        """Return the model's columns that this table lacks; they are read as null in all rows."""
        there = set(sample.column_names)
        absent = [column.name for column in schema.columns if column.name not in there]
        if not absent:
            return []
        if self.format == "frame":
            # scikit-learn's conventions demand an error for missing features.
            raise no_such_column(absent[0], sample.column_names, self.name)
        is_json = self.format == "jsonl"
        if len(absent) == len(schema.columns):
            raise DataError(
                f"{self.name} has none of the columns that the model was learned from: it has "
                f"{_first_of(sample.column_names)}; the model has {_first_of(absent)}"
            )
        within = f"the first rows of {self.name} do" if is_json else f"{self.name} does"
        said = (
            f"{within} not have {_first_of(absent)}, which the model was learned from: "
            "read as missing"
        )
        common = [column.name for column in schema.columns if column.name in there]
        if len(common) < len(absent):
            said += (
                f"; of the model's {len(schema.columns)} columns there {_is_or_are(common)}: "
                "predictions may be poor; is it the right table?"
            )
        warnings.warn(said, stacklevel=4)
        # A JSON field may still occur after the first rows, so it is not declared absent.
        return [] if is_json else absent

    def _check_targets(self, cursor: Cursor) -> None:
        """Raise `DataError` if the target was missing or constant in all rows."""
        target = self._roles.target
        if target is None or not self._learning or not self.schema.target:
            return
        without = cursor.position["without_target"]
        if cursor.rows == 0 and without:
            raise DataError(
                f"the target column {target} of {self.name} is missing in all {without} rows"
            )
        if cursor.rows > 1 and not cursor.position["target_varies"]:
            value = label_text(cursor.position["first_target"])
            raise DataError(
                f"the target column {target} of {self.name} is {value} in all {cursor.rows} "
                "rows: there is nothing to learn"
            )


def _first_of(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _is_or_are(names: list[str]) -> str:
    return f"is only {names[0]}" if len(names) == 1 else f"are only {_first_of(names)}"


def _stored(column: Column) -> str:
    """Return the type that a text format has to parse a column as."""
    return "string" if column.kind in ("category", "date", "time", "text") else column.stored

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
from polyak.data.random_order import Pieces, Unmixed, Window, by_window
from polyak.data.readahead import ordered_map
from polyak.data.tables.arrow_types import stored_as
from polyak.data.tables.bad_values import without_odd_text
from polyak.data.tables.encoding import Encoded, PieceEncoder, Roles, warn_once
from polyak.data.tables.flatten import Layout
from polyak.data.tables.inference import (
    SAMPLE_ROWS,
    choose_schema,
    formats_to_read,
    no_such_column,
)
from polyak.data.tables.look import TableLook, doubts, look_at
from polyak.data.tables.number_formats import PlainText, with_values, without_missing
from polyak.data.tables.source import Piece, Source, SourceInPieces
from polyak.errors import DataError
from polyak.model.dialect import PLAIN
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
        self.advice: str = getattr(source, "advice", "")
        self._options = options
        self._source = source
        self._layout = Layout({} if options.schema is None else dict(options.schema.lists))
        dialect = options.whole_dialect()
        sample = self._layout.flatten(source.sample())[0]
        sample = without_missing(without_odd_text(sample)[0], dialect.missing)
        if not sample.num_columns or not sample.num_rows:
            raise DataError(f"{source.name} has no rows")
        self._learning = options.schema is None
        self._text: PlainText | None = getattr(source, "plain_text", None)
        about = (source.name, dialect, self._text)
        columns = self._layout.named(options.columns)
        schema = options.schema or choose_schema(sample, columns, *about, self._layout.lists)
        # Released when reading begins, since a sample of many columns takes much memory.
        self._sample: Any = sample
        target = None if schema.target is None else schema.target.name
        self._roles = Roles(
            target=self._role(target, sample, "target "),
            weight=self._role(schema.weight, sample, "weight "),
            exposure=self._role(schema.exposure, sample, "exposure "),
            keep=self._to_keep(sample),
            formats=formats_to_read(sample, schema, *about),
        )
        is_json = source.format == "jsonl"
        names = [column.name for column in schema.columns]
        if schema.offset is not None and schema.offset not in sample.column_names:
            raise no_such_column(schema.offset, sample.column_names, source.name, "offset ")
        absent = [] if self._learning else absent_columns(names, sample, source.name, is_json)
        # A JSON field may still occur after the first rows, so it is not declared absent.
        self._absent = [] if is_json else absent
        roles = self._roles.target, self._roles.weight, self._roles.exposure
        self._plain_roles = [n for n in roles if n and stored_as(sample.column(n).type) == "number"]
        self._odd: set[str] = set()
        self.read_as(schema, options.dtype)
        if self._learning:
            for doubt in doubts(self._first_rows(), schema):
                warnings.warn(doubt, stacklevel=2)

    def read_as(self, schema: Schema, dtype: DTypeLike | None) -> None:
        """Set another ``schema`` of the same columns and a ``dtype``; only before reading."""
        self.schema = schema
        self.n_features: int | None = schema.n_features
        roles = self._roles
        types = {column.name: _stored(column) for column in schema.columns}
        types |= dict.fromkeys(self._plain_roles, "number")
        # The core parses plain numbers of CSV itself; other formats are strings first.
        is_plain = [n for n, format in roles.formats.items() if self._text and format == PLAIN]
        types |= dict.fromkeys(roles.formats, "written") | dict.fromkeys(is_plain, "number")
        if schema.target is not None and schema.target.kind == "class":
            types[schema.target.name] = "string"
        others = filter(None, (roles.target, roles.weight, roles.exposure))
        columns = [*(column.name for column in schema.columns), *others, *roles.keep]
        absent = set(self._absent)
        there = [name for name in dict.fromkeys(columns) if name not in absent]
        origins = self._layout.origins
        raw = list(dict.fromkeys(origins.get(name, name) for name in there))
        in_source = set(raw)
        plain = {name: kind for name, kind in types.items() if name in in_source}
        self._parts_of_one = max(1, len(there) // max(1, len(raw)))
        keep = [name for name in roles.keep if name in in_source]
        self._source.plan(plain, raw, keep if len(keep) == len(roles.keep) else [])
        self._encoder = PieceEncoder(
            self._source,
            self._layout,
            schema,
            roles,
            replace(self._options, dtype=dtype),
            self._absent,
        )

    def look(self) -> TableLook:
        """Return a summary of the columns in the sample; only before reading begins."""
        return look_at(self._first_rows(self._sample.num_rows), self.schema)

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

    def read_windows(self, windows: Sequence[Window], cursor: Cursor) -> Generator[Unmixed]:
        """Read windows one after the other."""
        source = self._in_pieces()

        def read(pieces: Iterator[Any], cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
            return self._read_all(source.read_pieces(pieces, cursor.bytes_read), cursor)

        return by_window(read, windows, cursor)

    def rows_in(self, size: int) -> int:
        """Return an estimate of the number of rows in ``size`` bytes."""
        if not isinstance(self._source, SourceInPieces):
            return 0
        parts = 1 if self.format == "jsonl" else self._parts_of_one
        return self._source.rows_in(size) // parts

    # -- inside --------------------------------------------------------------------------------

    def _first_rows(self, most: int = SAMPLE_ROWS) -> Any:
        first = self._sample.slice(0, most)
        return with_values(first, self._roles.formats, self._text)

    def _in_pieces(self) -> SourceInPieces:
        assert isinstance(self._source, SourceInPieces)
        return self._source

    def _read_all(self, pieces: Iterator[Piece], cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        self._sample = None
        encoded = ordered_map(self._encoder.encode, pieces, self._options.number_of_threads())
        try:
            for part in encoded:
                cursor = self._moved(cursor, part)
                warn_once(part.odd, self._odd)
                yield part.batch, cursor
        finally:
            encoded.close()
        self._check_targets(cursor)

    def _moved(self, cursor: Cursor, part: Encoded) -> Cursor:
        rows = cursor.rows + len(part.batch)
        bad_lines = cursor.bad_lines + len(part.bad)
        first_bad = (*cursor.first_bad_lines, *part.bad)[:10]
        position = {
            "format": self.format,
            "rows": rows,
            "without_target": cursor.position["without_target"] + part.without_target,
            "first_target": cursor.position.get("first_target"),
            "target_varies": cursor.position.get("target_varies", False),
            "place": part.place,
            "bytes_read": part.bytes_read,
            "bad_lines": bad_lines,
            "first_bad_lines": [list(line) for line in first_bad],
        }
        targets = part.batch.targets
        if targets is not None and len(targets) and not position["target_varies"]:
            if position["first_target"] is None:
                position["first_target"] = targets[0].item()
            position["target_varies"] = bool(np.any(targets != position["first_target"]))
        return Cursor(position, rows, part.bytes_read, bad_lines, first_bad)

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


def absent_columns(
    names: list[str], table: Any, source: str, is_beginning: bool = False
) -> list[str]:
    """Return those of a model's columns that a table lacks, and warn: they are read as missing.

    Raises
    ------
    DataError
        If the table has none of them.
    """
    there = table.column_names
    known = set(there)
    absent = [name for name in names if name not in known]
    if not absent:
        return []
    if len(absent) == len(names):
        raise DataError(
            f"{source} has none of the columns that the model was learned from: it has "
            f"{_first_of(there)}; the model has {_first_of(absent)}"
        )
    within = f"the first rows of {source} do" if is_beginning else f"{source} does"
    said = f"{within} not have {_first_of(absent)}, which the model was learned from: "
    said += "read as missing"
    common = [name for name in names if name in known]
    if len(common) < len(absent):
        said += (
            f"; of the model's {len(names)} columns there {_is_or_are(common)}: "
            "predictions may be poor; is it the right table?"
        )
    warnings.warn(said, stacklevel=2)
    return absent


def _first_of(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _is_or_are(names: list[str]) -> str:
    return f"is only {names[0]}" if len(names) == 1 else f"are only {_first_of(names)}"


def _stored(column: Column) -> str:
    """Return the type that a text format has to parse a column as."""
    return "string" if column.kind in ("category", "text") else column.stored

"""Encode a piece of a table as rows: features by the schema, targets and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from polyak._core import TableEncoder
from polyak.data.options import ReadOptions
from polyak.data.position import BadLine
from polyak.data.tables.advice import about_word
from polyak.data.tables.arrow_types import (
    MISSING_WORDS,
    core_form,
    is_core_form,
    stored_as,
    with_column,
)
from polyak.data.tables.bad_values import without_odd_text
from polyak.data.tables.source import Piece, Source
from polyak.data.tables.targets import numbers_of, read_targets
from polyak.data.tables.written import Plain, without_missing
from polyak.errors import DataError
from polyak.model.schema import Column, Schema
from polyak.optional_imports import pyarrow
from polyak.rows.batch import Batch
from polyak.rows.label_text import label_text
from polyak.rows.sparse import SparseRows, take_rows
from polyak.storage.feature_names import FeatureNames, names_to_see


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns to read besides the features.

    ``written`` maps string columns that hold numbers, booleans or dates to their text format.
    """

    target: str | None
    weight: str | None
    exposure: str | None
    keep: list[str]
    written: dict[str, str]


@dataclass(slots=True)
class Encoded:
    """The rows of a piece, with the invalid ones and the number of those without a target."""

    batch: Batch
    piece: Piece
    bad: list[BadLine]
    without_target: int


class PieceEncoder:
    """Encodes pieces as rows; safe for use by several threads at once."""

    def __init__(
        self,
        source: Source,
        schema: Schema,
        roles: Roles,
        options: ReadOptions,
        absent: Sequence[str] = (),
    ) -> None:
        self._source = source
        # Columns of the schema that the source lacks: read as null.
        self._absent = absent
        self._schema = schema
        self._roles = roles
        self._options = options
        self._missing = options.whole_dialect().missing
        self._plain = Plain(roles.written, options.skip_bad_lines)
        self._n_features = schema.n_features
        numbers = {column.name: number for number, column in enumerate(schema.columns)}
        self._core = TableEncoder(
            [
                (column.name, column.kind, first, column.offset, column.scale)
                for column, first in zip(schema.columns, schema.first_features(), strict=True)
            ],
            [[numbers[name] for name in crossed] for crossed in schema.interactions],
            schema.hashed_begin,
            schema.bits,
            schema.ngrams,
            np.dtype(options.dtype or np.float32) == np.float64,
            names_to_see(options.columns.names_to_keep),
        )

    def names(self) -> FeatureNames:
        """Return the names of hashed features seen so far, if the options ask to keep them."""
        return FeatureNames(*self._core.names()).shifted(self._schema.hashed_begin)

    def encode(self, piece: Piece) -> Encoded:
        """Encode a piece as rows."""
        bad: list[BadLine] = []
        table = self._source.batch(piece, bad)
        table, not_text = self._without_odd_text(table, piece, bad)
        table = without_missing(table, self._missing)
        as_read = table
        if self._roles.written:
            table, odd = self._plain.values(table, lambda row: self._source.where(piece, row), bad)
            not_text += odd
        targets = there = None
        without = 0
        if self._roles.target is not None and self._schema.target is not None:
            targets, there = read_targets(table.column(self._roles.target), self._schema.target)
            without = len(there) - int(np.count_nonzero(there))
            if not without:
                there = None
        schema, data = self._for_core(table, piece).__arrow_c_array__()
        choice = None if there is None else there.view(np.uint8)
        indptr, indices, values, wrong = self._core.encode(schema, data, choice)
        rows = SparseRows(indptr, indices, values, self._n_features)
        chosen = np.arange(table.num_rows) if there is None else np.flatnonzero(there)
        out = [*not_text, *(self._left_out(wrong, piece, bad) if wrong else ())]
        if out:
            left = np.isin(chosen, out, invert=True)
            rows = take_rows(rows, np.flatnonzero(left))  # type: ignore[assignment]
            chosen = chosen[left]
        encoded = self._with_targets(as_read, table, rows, targets, chosen, piece, bad, without)
        if bad and self._options.gaps:
            numbers = self._source.numbers(piece, table.num_rows)[chosen]
            gaps = np.searchsorted(numbers, np.unique([line.line for line in bad]))
            encoded.batch = replace(encoded.batch, gaps=gaps)
        if piece.again is not None:
            # Many encoded pieces may wait to be shuffled; free the data that can be read again.
            piece.data = None
        return encoded

    def _without_odd_text(
        self, table: Any, piece: Piece, bad: list[BadLine]
    ) -> tuple[Any, list[int]]:
        """Replace text that is not UTF-8 by null and return the rows affected.

        Raises `DataError` for the first such row unless bad lines are skipped.
        """
        # The parsers of text formats have validated their strings already.
        if self._source.format in ("csv", "tsv", "jsonl"):
            return table, []
        table, odd = without_odd_text(table)
        for row, name in sorted(odd.items()):
            file, number, unit = self._source.where(piece, row)
            if not self._options.skip_bad_lines:
                raise DataError(f"{file}, {unit} {number}: the column {name} is not UTF-8")
            bad.append(BadLine(file, number, "", f"the column {name} is not UTF-8"))
        return table, list(odd)

    def _left_out(self, wrong: Any, piece: Piece, bad: list[BadLine]) -> list[int]:
        """Return the rows with invalid values, or raise `DataError` for the first of them."""
        rows: list[int] = []
        for row, number, text, reason in wrong:
            column = self._schema.columns[number]
            file, line, unit = self._source.where(piece, row)
            value = text.decode(errors="replace")
            if not self._options.skip_bad_lines:
                raise DataError(
                    f"{file}, {unit} {line}: {value!r} in column {column.name} {reason}"
                    f"{_advice(file, column, value)}"
                )
            if row not in rows:
                bad.append(BadLine(file, line, value, f"a value of column {column.name} {reason}"))
                rows.append(row)
        return rows

    def _for_core(self, table: Any, piece: Piece) -> Any:
        """Return the feature columns, converted to the types that the core reads."""
        columns = self._schema.columns
        for name in self._absent:
            table = with_column(table, table.num_columns, name, pyarrow().nulls(table.num_rows))
        chosen = table.select([column.name for column in columns])
        # There may be thousands of columns, but only a few distinct types to check.
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
    ) -> Encoded:
        """Return the rows with the targets, weights and kept columns of the ``chosen`` rows."""
        everything = len(chosen) == table.num_rows
        weights = kept = None
        if self._roles.weight is not None:
            weights = self._weights(table.column(self._roles.weight), piece)
        if self._roles.exposure is not None and targets is not None:
            exposures = self._exposures(table.column(self._roles.exposure), piece, chosen)
            targets = targets / exposures
            weights = exposures if weights is None else weights * exposures
        if self._roles.keep:
            kept = self._source.kept(piece, as_read, self._roles.keep)
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
        return Encoded(batch, piece, bad, without)

    def _weights(self, array: Any, piece: Piece) -> Any:
        weights = numbers_of(array)
        wrong = ~(np.isfinite(weights) & (weights >= 0))
        if wrong.any():
            self._refuse("weight", array, weights, int(np.argmax(wrong)), piece)
        return weights

    def _exposures(self, array: Any, piece: Piece, chosen: NDArray[np.int64]) -> Any:
        exposures = numbers_of(array)
        right = np.isfinite(exposures) & (exposures > 0)
        if not right[chosen].all():
            row = int(chosen[np.argmin(right[chosen])])
            self._refuse("exposure", array, exposures, row, piece)
        return np.where(right, exposures, 1.0)

    def _refuse(self, role: str, array: Any, numbers: Any, row: int, piece: Piece) -> NoReturn:
        """Raise `DataError` for an invalid weight or exposure in ``row``."""
        file, line, unit = self._source.where(piece, row)
        value, what = array[row].as_py(), label_text(numbers[row])
        if np.isnan(numbers[row]):
            is_word = isinstance(value, str) and value not in MISSING_WORDS
            what = f"{value!r}, which is no number" if is_word else "missing"
        elif role == "exposure":
            what += ", not above zero"
        raise DataError(f"{file}, {unit} {line}: the {role} is {what}")


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


def _advice(file: str, column: Column, value: str) -> str:
    if column.kind in ("date", "time"):
        return f", as the first rows have it{about_word(file, column.name, value)}"
    return ""

"""Encode a piece of a table as rows: features by the schema, targets and weights."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak._core import TableEncoder
from polyak.data.options import ReadOptions
from polyak.data.position import BadLine, short
from polyak.data.tables.advice import about_word
from polyak.data.tables.arrow_types import (
    MISSING_WORDS,
    core_form,
    is_core_form,
    stored_as,
    with_column,
)
from polyak.data.tables.bad_values import without_odd_text
from polyak.data.tables.flatten import Layout
from polyak.data.tables.number_formats import parse_words, without_missing
from polyak.data.tables.source import Parsed, Piece, RowNumbers, Source
from polyak.data.tables.targets import numbers_of, read_targets
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

    ``formats`` maps string columns that hold numbers, booleans or dates to their text format.
    """

    target: str | None
    weight: str | None
    exposure: str | None
    keep: list[str]
    formats: dict[str, str]


@dataclass(slots=True)
class Encoded:
    """The rows of a piece, with what was left out of them.

    Attributes
    ----------
    batch : Batch
    place, bytes_read
        Those of the piece.
    bad : list of BadLine
    without_target : int
        The number of rows without a target.
    odd : list of tuples
        Values read as missing since they do not fit their column: its name, and a sentence.
    """

    batch: Batch
    place: dict[str, Any]
    bytes_read: int
    bad: list[BadLine]
    without_target: int
    odd: list[tuple[str, str]]


class PieceEncoder:
    """Encodes pieces as rows; safe for use by several threads at once."""

    def __init__(
        self,
        source: Source,
        layout: Layout,
        schema: Schema,
        roles: Roles,
        options: ReadOptions,
        absent: Sequence[str] = (),
    ) -> None:
        self._source = source
        self._layout = layout
        # Columns of the schema that the source lacks: read as null.
        self._absent = absent
        self._schema = schema
        self._roles = roles
        self._options = options
        self._missing = options.whole_dialect().missing
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
        parsed, as_read = plain_values(
            self._source.parse(piece), self._layout, self._missing, self._roles.formats
        )
        table = parsed.table
        targets = there = None
        without = 0
        if self._roles.target is not None and self._schema.target is not None:
            targets, there = read_targets(table.column(self._roles.target), self._schema.target)
            without = len(there) - int(np.count_nonzero(there))
            if not without:
                there = None
        schema, data = self._for_core(table, parsed).__arrow_c_array__()
        choice = None if there is None else there.view(np.uint8)
        indptr, indices, values, too_large = self._core.encode(schema, data, choice)
        rows = SparseRows(indptr, indices, values, self._n_features)
        chosen = np.arange(table.num_rows) if there is None else np.flatnonzero(there)
        for row, number, text in too_large:
            name = self._schema.columns[number].name
            parsed.wrong.setdefault(row, f"{text.decode()!r} in column {name} is too large")
        bad = bad_lines(parsed, self._options.skip_bad_lines)
        if parsed.wrong:
            left = np.isin(chosen, list(parsed.wrong), invert=True)
            rows = take_rows(rows, np.flatnonzero(left))  # type: ignore[assignment]
            chosen = chosen[left]
        batch = self._with_targets(as_read, parsed, rows, targets, chosen)
        if bad and self._options.gaps:
            numbers = parsed.where.of(chosen)
            gaps = np.searchsorted(numbers, np.unique([line.line for line in bad]))
            batch = replace(batch, gaps=gaps)
        columns = self._schema.columns if parsed.odd else ()  # there may be a hundred thousand
        odd = odd_values(parsed, {column.name: _in_words(column) for column in columns})
        return Encoded(batch, piece.place, piece.bytes_read, bad, without, odd)

    def _for_core(self, table: Any, parsed: Parsed) -> Any:
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
        arrays = [self._converted(table, column, parsed) for column in columns]
        return pyarrow().RecordBatch.from_arrays(arrays, names=chosen.schema.names)

    def _converted(self, table: Any, column: Column, parsed: Parsed) -> Any:
        array = table.column(column.name)
        stored = stored_as(array.type)
        if column.is_unknown and stored is not None and not column.fits(stored):
            there = array.is_valid().to_numpy(zero_copy_only=False)
            for row in np.flatnonzero(there)[:1].tolist():
                parsed.odd.append((row, column.name, str(array[row].as_py())))
            array = pyarrow().nulls(len(array))
        if not pyarrow().types.is_null(array.type) and (stored is None or not column.fits(stored)):
            raise DataError(
                f"{parsed.where.file}: the column {column.name} holds {array.type}, but it was "
                f"{_in_words(column)} before"
            )
        return core_form(array, column.kind)

    def _with_targets(
        self,
        as_read: Any,
        parsed: Parsed,
        rows: SparseRows,
        targets: Any,
        chosen: NDArray[np.int64],
    ) -> Batch:
        """Return the rows with the targets, weights and kept columns of the ``chosen`` rows."""
        table, where = parsed.table, parsed.where
        everything = len(chosen) == table.num_rows
        weights = kept = None
        if self._roles.weight is not None:
            weights = _amounts("weight", table.column(self._roles.weight), where, chosen)
        if self._roles.exposure is not None and targets is not None:
            exposures = _amounts("exposure", table.column(self._roles.exposure), where, chosen)
            targets = targets / exposures
            weights = exposures if weights is None else weights * exposures
        if self._schema.offset is not None:  # read as a feature, but none may be missing
            _amounts("offset", table.column(self._schema.offset), where, chosen)
        if self._roles.keep:
            kept = parsed.kept or as_read.select(self._roles.keep)
        if not everything:
            targets = None if targets is None else targets[chosen]
            weights = None if weights is None else weights[chosen]
            kept = None if kept is None else kept.take(pyarrow().array(chosen))
        return Batch(rows, targets, weights, kept, where=lambda row: where(int(chosen[row])))


def _amounts(
    role: str, array: Any, where: RowNumbers, chosen: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return weights, exposures or offsets; raise `DataError` if a ``chosen`` row has none."""
    is_text = stored_as(array.type) == "string"
    amounts = np.full(len(array), np.nan) if is_text else numbers_of(array)
    right = np.isfinite(amounts)
    if role != "offset":
        right &= amounts > 0 if role == "exposure" else amounts >= 0
    if right[chosen].all():
        return np.where(right, amounts, 1.0)
    row = int(chosen[np.argmin(right[chosen])])
    value, what = array[row].as_py(), label_text(amounts[row])
    if np.isnan(amounts[row]):
        is_word = isinstance(value, str) and value not in MISSING_WORDS
        what = f"{value!r}, which is no number" if is_word else "missing"
    elif role == "exposure":
        what += ", not above zero"
    file, line, unit = where(row)
    raise DataError(f"{file}, {unit} {line}: the {role} is {what}")


def _in_words(column: Column) -> str:
    if column.is_unknown:
        return "missing"
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


def plain_values(
    parsed: Parsed, layout: Layout | None, missing: tuple[str, ...], formats: dict[str, str]
) -> tuple[Parsed, Any]:
    """Return the rows as numbers and plain strings, and their columns as the source has them.

    Nested columns are flattened if there is a ``layout``, strings that are not UTF-8 and values of
    ``missing`` become null, and strings are parsed by their ``formats``.
    """
    table = parsed.table
    if layout is not None:
        table, wrong = layout.flatten(table)
        parsed.wrong |= wrong
    if parsed.where.unit != "line":
        # The parsers of text formats have validated their strings already.
        table, not_text = without_odd_text(table)
        for row, name in not_text.items():
            parsed.wrong.setdefault(row, f"the column {name} is not UTF-8")
    as_read = table = without_missing(table, missing)
    for name, format in formats.items():
        place = table.schema.get_field_index(name)
        if place < 0 or stored_as(table.column(place).type) != "string":
            continue
        words = table.column(place)
        values, odd = parse_words(words, format)
        table = with_column(table, place, name, values)
        parsed.odd += [(row, name, words[row].as_py()) for row in odd[:1].tolist()]
    parsed.table = table
    return parsed, as_read


def odd_values(parsed: Parsed, was: dict[str, str]) -> list[tuple[str, str]]:
    """Return the columns that have values of another type, with a warning for each.

    ``was`` describes what columns held so far; those not in it held numbers.
    """
    found: dict[str, str] = {}
    for row, name, value in parsed.odd:
        if name not in found:
            file, number, unit = parsed.where(row)
            found[name] = (
                f"{file}, {unit} {number}: {short(value)!r} in column {name}, which was "
                f"{was.get(name, 'a number')} so far, is read as missing, as are all such values"
                f"{about_word(file, name, value)}"
            )
    return list(found.items())


def warn_once(odd: list[tuple[str, str]], known: set[str]) -> None:
    """Warn about columns of ``odd`` that are not ``known`` yet, and add them."""
    for name, sentence in odd:
        if name not in known:
            known.add(name)
            warnings.warn(sentence, stacklevel=6)


def bad_lines(parsed: Parsed, skip: bool) -> list[BadLine]:
    """Return the lines and rows that cannot be used; raise `DataError` for the first unless skip.

    Messages about a row quote its value, those about a line its text.
    """
    bad = parsed.bad + [
        BadLine(*parsed.where(row)[:2], "", reason) for row, reason in parsed.wrong.items()
    ]
    bad.sort(key=lambda line: line.line)
    if bad and not skip:
        first = bad[0]
        shown = f": {first.text!r}" if first.text else ""
        unit = parsed.where.unit
        raise DataError(f"{first.file}, {unit} {first.line}: {first.reason}{shown}")
    return bad

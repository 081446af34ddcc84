"""Text formats of numbers, dates and booleans: their detection and their parsing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak._core import column_numbers, written_dates, written_numbers
from polyak.data.position import BadLine
from polyak.data.tables.advice import FRAME, about_word
from polyak.data.tables.arrow_types import (
    MISSING_WORDS,
    arrow_numbers,
    arrow_words,
    codes_of,
    core_form,
    in_one_piece,
    single_column,
    stored_as,
    with_column,
)
from polyak.data.tables.bad_values import short
from polyak.errors import DataError
from polyak.model.dialect import DATES, NUMBERS, TRUTHS, Dialect
from polyak.optional_imports import pyarrow

MISSING = list(MISSING_WORDS)


def plain_values(array: Any, written: str) -> tuple[Any, NDArray[np.int64]]:
    """Return the values of strings in the format ``written``, and the rows in another format.

    Examples
    --------
    >>> import pyarrow as pa
    >>> values, wrong = plain_values(pa.array(["1.234,5", "12 %", "?", "many"]), "1.234,5")
    >>> values.to_pylist(), wrong.tolist()
    ([1234.5, 12.0, None, None], [3])
    """
    pa = pyarrow()
    if pa.types.is_dictionary(array.type):
        # Parse each distinct string once.
        values, wrong = plain_values(array.dictionary, written)
        codes = codes_of(array, -1)
        return values.take(array.indices), np.flatnonzero(np.isin(codes, wrong))
    words = core_form(array, "category")
    if written in TRUTHS:
        return _truths(words, written)
    schema, data = words.__arrow_c_array__()
    if written in NUMBERS:
        decimal, thousands = NUMBERS[written]
        numbers, wrong = written_numbers(schema, data, decimal, thousands, MISSING)
        return arrow_numbers(numbers), wrong
    times, wrong, has_clock = written_dates(schema, data, DATES[written], MISSING)
    moments = times.view("datetime64[us]")
    return arrow_numbers(moments if has_clock else moments.astype("datetime64[D]")), wrong


def _truths(words: Any, written: str) -> tuple[Any, NDArray[np.int64]]:
    import pyarrow.compute as pc

    pa = pyarrow()
    yes, no = written.split("/")
    lower = pc.utf8_lower(pc.utf8_trim_whitespace(words))
    is_yes, is_no = (pc.equal(lower, word) for word in arrow_words([yes, no]))
    nothing = pc.is_in(
        lower, value_set=arrow_words([word.lower() for word in MISSING]).cast(lower.type)
    )
    values = pc.if_else(pc.or_(is_yes, is_no), is_yes, pa.scalar(None, pa.bool_()))
    wrong = pc.and_not(pc.is_null(values), pc.or_(pc.is_null(words), nothing))
    return values, np.flatnonzero(wrong.to_numpy(zero_copy_only=False)).astype(np.int64)


class Found:
    """Detects the text formats of columns from a table's first rows.

    Parameters
    ----------
    sample : pyarrow.Table
    names : iterable of str
        The columns to check.
    dialect : Dialect
    delimiter : str, optional
        The delimiter of a CSV table. Without one, strings are not parsed as numbers, since the
        format has a numeric type.
    as_words : function, optional
        Returns numeric columns of the sample as unconverted strings.
    """

    def __init__(
        self,
        sample: Any,
        names: Iterable[str],
        dialect: Dialect,
        delimiter: str | None = None,
        as_words: Callable[[list[str]], Any] | None = None,
    ) -> None:
        self._sample = sample
        self._names = list(names)
        self._dialect = dialect
        self._delimiter = delimiter
        self._as_words = as_words
        self.written: dict[str, str] = {}

    def find(self, known: dict[str, str], target: str | None, source: str) -> dict[str, str]:
        """Return the text formats of columns; those of ``known`` where they fit."""
        types = dict(zip(self._sample.column_names, self._sample.schema.types, strict=True))
        words = [name for name in self._names if stored_as(types[name]) == "string"]
        texts = {name: in_one_piece(self._sample.column(name)) for name in words}
        texts = {n: a for n, a in texts.items() if a.null_count != len(a)}
        self.written = {n: known[n] for n, a in texts.items() if n in known and fits(a, known[n])}
        left = {name: array for name, array in texts.items() if name not in self.written}
        self._find_truths({name: array for name, array in left.items() if name != target})
        left = {name: a for name, a in left.items() if name not in self.written and _digits(a)}
        left = {name: array for name, array in left.items() if not _is_iso(array)}
        self._find_dates({n: a for n, a in left.items() if n != target}, source)
        if self._delimiter is not None:
            self._find_numbers({n: a for n, a in left.items() if n not in self.written}, source)
        return self.written

    def _find_truths(self, texts: dict[str, Any]) -> None:
        for name, array in texts.items():
            words = set(array.to_pylist())
            if len(words) > 8:
                continue
            there = {(word or "").strip().lower() for word in words}
            for written in TRUTHS:
                pair = set(written.split("/"))
                # One word of the pair alone may mean anything.
                if pair <= there and fits(array, written):
                    self.written[name] = written

    def _find_dates(self, texts: dict[str, Any], source: str) -> None:
        unsure = []
        orders = [self._dialect.dates] if self._dialect.dates else ["d/m/y", "m/d/y"]
        for name, array in texts.items():
            possible = [written for written in (*orders, "y/m/d") if fits(array, written)]
            if possible:
                self.written[name] = possible[0]
            if len(possible) > 1:
                unsure.append(name)
        sure = {self.written[n] for n in texts if n in self.written and n not in unsure}
        for name in unsure:
            if len(sure & {"d/m/y", "m/d/y"}) == 1:
                self.written[name] = next(iter(sure & {"d/m/y", "m/d/y"}))
                continue
            slashes = "/" in (_first(texts[name]) or "")
            self.written[name] = "m/d/y" if slashes else "d/m/y"
            other = "d/m/y" if slashes else "m/d/y"
            use = "convert them beforehand" if source == FRAME else f"use dates={other!r}"
            warnings.warn(
                f"the dates in column {name} of {source} are read as {self.written[name]}, but in "
                f"the first rows they could also be {other}: if so, {use}",
                stacklevel=2,
            )

    def _find_numbers(self, texts: dict[str, Any], source: str) -> None:
        possible = {
            name: [written for written in NUMBERS if fits(array, written)]
            for name, array in texts.items()
        }
        possible = {name: several for name, several in possible.items() if several}
        decimal = self._decimal(possible, source)
        for name, several in possible.items():
            right = [written for written in several if NUMBERS[written][0] == decimal]
            if right or self._delimiter != ",":
                self.written[name] = (right or several)[0]
        if decimal == "," and self._as_words is not None:
            self._read_again()

    def _decimal(self, possible: dict[str, list[str]], source: str) -> str:
        """Return the decimal separator of all columns, from those with only one valid reading."""
        if self._dialect.decimal is not None:
            return self._dialect.decimal
        if self._delimiter == ",":
            return "."
        ways = [{NUMBERS[written][0] for written in several} for several in possible.values()]
        sure = {point for points in ways if len(points) == 1 for point in points}
        if len(sure) == 1:
            return str(sure.pop())
        unsure = [name for name, points in zip(possible, ways, strict=True) if len(points) > 1]
        unsure = [name for name in unsure if _has_mark(self._sample.column(name))]
        if not unsure:
            return "."
        decimal = "," if self._delimiter == ";" else "."
        warnings.warn(
            f"the numbers in column {unsure[0]} of {source} are read with the decimal point "
            f"{decimal!r}, which the first rows do not show: set it with decimal=",
            stacklevel=2,
        )
        return decimal

    def _read_again(self) -> None:
        """Read numeric columns with decimal commas too, except those with decimal points.

        With decimal commas 1.234 is more than a thousand, and a column of integers in the sample
        may have 12,5 in later rows.
        """
        assert self._as_words is not None
        numbers = [n for n in self._names if stored_as(self._sample.column(n).type) == "number"]
        words = self._as_words(numbers)
        for name in numbers:
            array = in_one_piece(words.column(name))
            if fits(array, "1.234,5") and array.null_count < len(array):
                self.written[name] = "1.234,5"


def with_plain_values(table: Any, written: dict[str, str], words: Any = None) -> Any:
    """Return ``table`` with the columns of ``written`` parsed; all their strings must fit."""
    for name, how in written.items():
        place = table.column_names.index(name)
        column = table.column(name)
        if stored_as(column.type) != "string":
            column = words([name]).column(name)
            # The sample may have rows of several files, ``words`` has those of the first.
            table = table.slice(0, len(column))
        table = with_column(table, place, name, plain_values(in_one_piece(column), how)[0])
    return table


class Plain:
    """Parses string columns by their text formats; skips rows that do not fit, or raises."""

    def __init__(self, written: dict[str, str], skip_bad_lines: bool) -> None:
        self._written = written
        self._skip = skip_bad_lines

    def values(
        self, table: Any, where: Callable[[int], tuple[str, int, str]], bad: list[BadLine]
    ) -> tuple[Any, list[int]]:
        """Return ``table`` with parsed columns, and the rows that do not fit their format."""
        odd: dict[int, tuple[str, str]] = {}
        for name, written in self._written.items():
            place = table.schema.get_field_index(name)
            if place < 0 or stored_as(table.column(place).type) != "string":
                continue
            words = table.column(place)
            values, wrong = plain_values(words, written)
            table = with_column(table, place, name, values)
            for row in wrong.tolist():
                odd.setdefault(row, (name, words[row].as_py()))
        for row, (name, value) in sorted(odd.items()):
            file, number, unit = where(row)
            reason = f"the column {name} was {_in_words(self._written[name])} so far"
            if not self._skip:
                raise DataError(
                    f"{file}, {unit} {number}: {reason}, but here it is {short(value)!r}"
                    f"{about_word(file, name, value)}"
                )
            bad.append(BadLine(file, number, short(value), reason))
        return table, list(odd)


def _in_words(written: str) -> str:
    kind = "a number such as " if written in NUMBERS else "a date " if written in DATES else ""
    return kind + written


def without_missing(table: Any, missing: tuple[str, ...]) -> Any:
    """Return ``table`` with the values listed in ``missing`` replaced by null."""
    for place, name in enumerate(table.schema.names if missing else ()):
        column = table.column(place)
        table = with_column(table, place, name, without_words(column, missing))
    return table


def without_words(array: Any, missing: tuple[str, ...]) -> Any:
    """Return ``array`` with strings in ``missing``, or numbers equal to these, replaced by null.

    Examples
    --------
    >>> import pyarrow as pa
    >>> without_words(pa.array([1.0, -999.0]), ("-999", "unknown")).to_pylist()
    [1.0, None]
    """
    import pyarrow.compute as pc

    pa = pyarrow()
    stored = stored_as(array.type)
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    words: list[Any] = list(missing)
    if stored == "number" and not pa.types.is_null(kind):
        words = [number for word in words if (number := number_of(word)) is not None]
        if pa.types.is_integer(kind):
            words = [int(number) for number in words if number == int(number)]
    if stored not in ("string", "number") or not words or pa.types.is_null(kind):
        return array
    is_nothing = pc.is_in(array, value_set=pa.array(words).cast(kind))
    return pc.if_else(is_nothing, pa.scalar(None, array.type), array)


def number_of(word: str) -> float | None:
    """Return the finite number that ``word`` denotes in Python's syntax; None if it is none."""
    try:
        number = float(word)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def fits(array: Any, written: str) -> bool:
    """Whether all strings of ``array`` are in the format ``written``."""
    return len(plain_values(array, written)[1]) == 0


def _is_iso(array: Any) -> bool:
    return bool(column_numbers(*single_column(core_form(array, "date")))[1])


def _first(array: Any) -> str | None:
    """Return the first string that is not missing; None if all are."""
    for word in array.to_pylist():
        if word is not None and word.strip() not in MISSING_WORDS:
            return str(word)
    return None


def _digits(array: Any) -> bool:
    """Whether the first string has a digit; without one it is neither a number nor a date."""
    return any(letter.isdecimal() for letter in _first(array) or "")


def _has_mark(array: Any) -> bool:
    return any("," in (word or "") or "." in (word or "") for word in array.to_pylist())

"""Text formats of numbers, dates, times and booleans: their detection and their parsing.

A format is named by an example, such as ``1.234,5`` or ``d/m/y``. Columns of strings are parsed by
the format that fits all of them, in every source of tables. Strings of plain numbers stay strings:
a source that has types could have stored numbers, and the parser of CSV, which has none, does.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak._core import written_dates, written_numbers
from polyak.data.tables.advice import FRAME
from polyak.data.tables.arrow_types import (
    MISSING_WORDS,
    arrow_numbers,
    arrow_words,
    codes_of,
    core_form,
    in_one_piece,
    is_category,
    stored_as,
    with_column,
)
from polyak.model.dialect import CLOCK, DATES, NUMBERS, PLAIN, TRUTHS, Dialect
from polyak.optional_imports import pyarrow

MISSING = list(MISSING_WORDS)
TIMES = {"date": "y/m/d", "time": "y/m/d", "clock": CLOCK}
STANDARD = {"number": PLAIN, "boolean": "true/false", **TIMES}
"""The formats of text columns of these kinds unless the schema names another."""
MANY_WORDS, NEARLY_ALL = 50, 0.9
"""A column of this number of distinct words, of which this share is in one format, is suspected to
be of numbers or dates."""
FIRST_WORDS = 1000
"""Words that must fit before all others are tried, to give up early."""


class PlainText(NamedTuple):
    """The text of a CSV table, which has no types.

    Attributes
    ----------
    delimiter : str
    words : function
        Returns columns of the sample as strings.
    """

    delimiter: str
    words: Callable[[list[str]], Any]


def parse_words(array: Any, format: str) -> tuple[Any, NDArray[np.int64]]:
    """Return the values of strings in ``format``, and the rows of those in another.

    Examples
    --------
    >>> import pyarrow as pa
    >>> values, wrong = parse_words(pa.array(["1.234,5", "12 %", "?", "many"]), "1.234,5")
    >>> values.to_pylist(), wrong.tolist()
    ([1234.5, 12.0, None, None], [3])
    """
    pa = pyarrow()
    if pa.types.is_dictionary(array.type):
        # Parse each distinct string once.
        values, wrong = parse_words(array.dictionary, format)
        codes = codes_of(array, -1)
        return values.take(array.indices), np.flatnonzero(np.isin(codes, wrong))
    words = core_form(array, "category")
    if format in TRUTHS:
        return _truths(words, format)
    schema, data = words.__arrow_c_array__()
    if format in NUMBERS:
        decimal, thousands = NUMBERS[format]
        numbers, wrong = written_numbers(schema, data, decimal, thousands, MISSING)
        return arrow_numbers(numbers), wrong
    times, wrong, has_clock = written_dates(schema, data, DATES[format], MISSING)
    moments = times.view("datetime64[us]")
    if format == CLOCK:
        return arrow_numbers(moments).view(pa.time64("us")), wrong
    return arrow_numbers(moments if has_clock else moments.astype("datetime64[D]")), wrong


def _truths(words: Any, format: str) -> tuple[Any, NDArray[np.int64]]:
    import pyarrow.compute as pc

    pa = pyarrow()
    yes, no = format.split("/")
    lower = pc.utf8_lower(pc.utf8_trim_whitespace(words))
    is_yes, is_no = (pc.equal(lower, word) for word in arrow_words([yes, no]))
    nothing = pc.is_in(
        lower, value_set=arrow_words([word.lower() for word in MISSING]).cast(lower.type)
    )
    values = pc.if_else(pc.or_(is_yes, is_no), is_yes, pa.scalar(None, pa.bool_()))
    wrong = pc.and_not(pc.is_null(values), pc.or_(pc.is_null(words), nothing))
    return values, np.flatnonzero(wrong.to_numpy(zero_copy_only=False)).astype(np.int64)


def fits(array: Any, format: str) -> bool:
    """Whether all strings of ``array`` are in ``format``."""
    parts = array.slice(0, FIRST_WORDS), array.slice(FIRST_WORDS)
    return all(len(parse_words(part, format)[1]) == 0 for part in parts)


def fits_some(array: Any, format: str) -> bool:
    """Whether any string of ``array`` is in ``format``, or all are missing."""
    values, wrong = parse_words(array, format)
    return len(wrong) == 0 or values.null_count < len(values)


def best_format(array: Any, formats: Iterable[str]) -> str:
    """Return the format that most strings of ``array`` are in."""
    return min(formats, key=lambda format: len(parse_words(array, format)[1]))


def any_values(words: Collection[str]) -> bool:
    """Whether any word is a number or a date, or all are numbers with a unit."""
    array = arrow_words(list(words))
    have_units = all(map(_WITH_UNIT.fullmatch, words))
    return have_units or any(
        len(parse_words(array, format)[1]) < len(array) for format in (*NUMBERS, *DATES)
    )


def odd_words(words: list[str], text: PlainText | None) -> list[str]:
    """Return those of distinct words that are no numbers or dates, if nearly all others are."""
    if len(words) < MANY_WORDS:
        return []
    distinct = arrow_words(words)
    formats = [format for format in (*NUMBERS, *DATES) if text is not None or format != PLAIN]
    odd = parse_words(distinct, best_format(distinct, formats))[1].tolist()
    return [words[n] for n in odd] if 0 < len(odd) <= (1.0 - NEARLY_ALL) * len(words) else []


def common_unit(words: list[str]) -> str | None:
    """Return the unit of many distinct numbers that all have the same; None for other words.

    A letter before the digits, as in ``B12``, makes a code.

    Examples
    --------
    >>> common_unit([f"{x} kg" for x in range(60)]), common_unit([f"B{x}" for x in range(60)])
    ('kg', None)
    """
    found = {_WITH_UNIT.fullmatch(word) for word in words}
    if len(words) < MANY_WORDS or None in found:
        return None
    units = {match.group(1, 2) for match in found if match is not None}
    return "".join(*units).strip() if len(units) == 1 else None


_WITH_UNIT = re.compile(r"(|[^\W\d]+ +)[-+]?\d[\d.,']*( *[^\d.,']*)")


def find_formats(
    texts: dict[str, Any],
    dialect: Dialect,
    source: str,
    *,
    target: str | None = None,
    text: PlainText | None = None,
    numbers: Sequence[str] = (),
) -> dict[str, str]:
    """Return the formats of the string columns ``texts`` that hold numbers, dates or booleans.

    The target is never a boolean or a date. ``numbers`` are the columns of a CSV table, its
    ``text``, that hold plain numbers: with decimal commas they have a format, too.
    """
    # Not by distinct words: that would import pyarrow.compute, which takes 50 ms.
    words = {name: core_form(array, "category") for name, array in texts.items()}
    words = {name: array for name, array in words.items() if _first(array) is not None}
    found = {
        name: format
        for name, array in words.items()
        if name != target and (format := _truth_format(array))
    }
    left = {n: array for n, array in words.items() if n not in found and _has_digits(array)}
    found |= _date_formats({n: a for n, a in left.items() if n != target}, dialect, source)
    left = {name: array for name, array in left.items() if name not in found}
    return found | _number_formats(left, dialect, source, text, numbers)


def string_columns(sample: Any, names: list[str], values: Sequence[str]) -> dict[str, Any]:
    """Return those columns of ``sample`` that are strings; of categories only those of values."""
    types = dict(zip(sample.column_names, sample.schema.types, strict=True))
    some = [n for n in names if stored_as(types[n]) == "string"]
    some = [n for n in some if n in values or not is_category(types[n])]
    return {name: in_one_piece(sample.column(name)) for name in some}


def _truth_format(array: Any) -> str | None:
    first = set(array.slice(0, FIRST_WORDS).to_pylist())
    if len(first) > 8:
        return None
    there = {(word or "").strip().lower() for word in first}
    for format in TRUTHS:
        # One word of the pair alone may mean anything.
        if set(format.split("/")) <= there and fits(array, format):
            return format
    return None


def _date_formats(texts: dict[str, Any], dialect: Dialect, source: str) -> dict[str, str]:
    found, unsure = {}, []
    orders = [dialect.dates] if dialect.dates else ["d/m/y", "m/d/y"]
    for name, array in texts.items():
        possible = [format for format in (*orders, "y/m/d", CLOCK) if fits(array, format)]
        if possible:
            found[name] = possible[0]
        if len(possible) > 1:
            unsure.append(name)
    sure = {found[name] for name in found if name not in unsure} & {"d/m/y", "m/d/y"}
    for name in unsure:
        if len(sure) == 1:
            (found[name],) = sure
            continue
        slashes = "/" in (_first(texts[name]) or "")
        found[name], other = ("m/d/y", "d/m/y") if slashes else ("d/m/y", "m/d/y")
        use = "convert them beforehand" if source == FRAME else f"use dates={other!r}"
        warnings.warn(
            f"the dates in column {name} of {source} are read as {found[name]}, but in the first "
            f"rows they could also be {other}: if so, {use}",
            stacklevel=2,
        )
    return found


def _number_formats(
    texts: dict[str, Any],
    dialect: Dialect,
    source: str,
    text: PlainText | None,
    numbers: Sequence[str],
) -> dict[str, str]:
    delimiter = None if text is None else text.delimiter
    possible = {
        name: [format for format in NUMBERS if format != PLAIN and fits(array, format)]
        for name, array in texts.items()
        if not fits(array, PLAIN)
    }
    possible = {name: formats for name, formats in possible.items() if formats}
    decimal = dialect.decimal or ("." if delimiter == "," else _decimal(possible))
    if decimal is None:
        unsure = [name for name in possible if _has_mark(texts[name])]
        decimal = "," if unsure and delimiter == ";" else "."
        if unsure:
            warnings.warn(
                f"the numbers in column {unsure[0]} of {source} are read with the decimal point "
                f"{decimal!r}, which the first rows do not show: set it with decimal=",
                stacklevel=2,
            )
    found = {}
    for name, formats in possible.items():
        right = [format for format in formats if NUMBERS[format][0] == decimal]
        if right or delimiter != ",":
            found[name] = (right or formats)[0]
    if decimal == "," and text is not None and numbers:
        # 1.234 is more than a thousand then, and whole numbers may have decimals in later rows.
        words = text.words(list(numbers))
        commas = [name for name in numbers if fits(in_one_piece(words.column(name)), "1.234,5")]
        found |= dict.fromkeys(commas, "1.234,5")
    return found


def _decimal(possible: dict[str, list[str]]) -> str | None:
    """Return the decimal point of all columns, from those with only one valid reading."""
    ways = [{NUMBERS[format][0] for format in formats} for formats in possible.values()]
    sure = {point for points in ways if len(points) == 1 for point in points}
    return str(sure.pop()) if len(sure) == 1 else None


def with_values(table: Any, formats: dict[str, str], text: PlainText | None = None) -> Any:
    """Return ``table``, rows of the sample of ``text``, with the columns of ``formats`` parsed."""
    for name, format in formats.items():
        place = table.schema.get_field_index(name)
        if place < 0:
            continue
        column = table.column(place)
        if stored_as(column.type) != "string":
            if text is None:
                continue
            column = text.words([name]).column(name).slice(0, table.num_rows)
        values = parse_words(in_one_piece(column), format)[0]
        table = with_column(table, place, name, values)
    return table


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


def loses_digits(words: Any) -> bool:
    """Whether integers such as ids lose digits as floats: leading zeros, or beyond 2^53.

    Examples
    --------
    >>> import pyarrow as pa
    >>> loses_digits(pa.array(["12", "-3", "0", "0.5"]))
    False
    >>> loses_digits(pa.array(["007"])), loses_digits(pa.array(["9007199254740993"]))
    (True, True)
    """
    for word in words.to_pylist():
        digits = (word or "").strip().lstrip("+-")
        if digits.isdecimal() and (digits != str(int(digits)) or int(float(digits)) != int(digits)):
            return True
    return False


def _first(array: Any) -> str | None:
    """Return the first string that is not missing; None if all are."""
    for scalar in array:
        word = scalar.as_py()
        if word is not None and word.strip() not in MISSING_WORDS:
            return str(word)
    return None


def _has_digits(array: Any) -> bool:
    """Whether the first string has a digit; without one it is neither a number nor a date."""
    return any(letter.isdecimal() for letter in _first(array) or "")


def _has_mark(array: Any) -> bool:
    first = array.slice(0, FIRST_WORDS).to_pylist()
    return any("," in (word or "") or "." in (word or "") for word in first)

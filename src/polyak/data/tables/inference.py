"""Schema inference: which columns are features, and of which kind, from a table's first rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak._core import number_matrix
from polyak.data.options import Columns
from polyak.data.tables.advice import FRAME
from polyak.data.tables.arrow_types import (
    MISSING_WORDS,
    core_form,
    in_one_piece,
    is_category,
    is_core_form,
    stored_as,
)
from polyak.data.tables.look import numbers_rows
from polyak.data.tables.number_formats import (
    STANDARD,
    TIMES,
    PlainText,
    any_values,
    best_format,
    common_unit,
    find_formats,
    fits,
    fits_some,
    odd_words,
    string_columns,
    with_values,
)
from polyak.data.tables.targets import numbers_of, values_in, words_of
from polyak.errors import DataError
from polyak.model.dialect import NUMBERS, Dialect
from polyak.model.schema import DAYS_A_YEAR, Column, Schema, Target
from polyak.optional_imports import pyarrow
from polyak.rows.label_text import label_text

SAMPLE_ROWS = 1000
"""The number of rows that the schema is inferred from: the first ones of the table."""


def choose_schema(
    sample: Any,
    wanted: Columns,
    source: str,
    dialect: Dialect | None = None,
    text: PlainText | None = None,
    lists: dict[str, int] | None = None,
) -> Schema:
    """Return the schema inferred from ``sample``, the first rows of all columns.

    The formats of strings are those that fit all rows of the sample, everything else is inferred
    from the first ``SAMPLE_ROWS``. ``text`` is that of a CSV or TSV table; ``lists`` holds the
    lengths of the lists that were flattened into columns.
    """
    names = list(sample.column_names)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{source} has two columns called {twice}")
    _check_names(names, wanted, source)
    dialect = dialect or Dialect()
    formats = formats_to_learn(sample, wanted, dialect, source, text)
    whole, sample = sample, with_values(_first_values(sample), formats, text)
    target = None
    if wanted.target is not None:
        target = _target(sample.column(wanted.target), wanted, source)
        if target.kind == "class" and target.positive is None:
            doubt = _doubt_about_words(target.name, whole, source, text, is_target=True)
            if doubt is not None:
                said = f"the target column {target.name} of {source} is read as classes{doubt}"
                warnings.warn(said, stacklevel=2)
    if wanted.exposure is not None and (target is None or target.kind == "class"):
        raise DataError("an exposure needs a target that is a number")
    taken = {wanted.target, wanted.weight, wanted.exposure, wanted.offset, *wanted.drop}
    only = set(wanted.only)
    chosen = [name for name in names if name not in taken and (not only or name in only)]
    chosen = _without_index(sample, chosen, {*only, *wanted.categorical}, source)
    columns = _columns(sample, chosen, wanted, source)
    for column in columns:
        if column.kind == "category" and column.name not in wanted.categorical:
            doubt = _doubt_about_words(column.name, whole, source, text)
            if doubt is not None:
                warnings.warn(f"the column {column.name} is read as words{doubt}", stacklevel=2)
    if not columns:
        raise DataError(f"{source} has no column left to learn from")
    return Schema(
        columns=(*columns, *_offset(sample, wanted.offset, source)),
        target=target,
        weight=wanted.weight,
        exposure=wanted.exposure,
        offset=wanted.offset,
        bits=wanted.slot_bits,
        ngrams=wanted.ngrams,
        interactions=_interactions(columns, wanted, source),
        written={n: format for n, format in formats.items() if format not in STANDARD.values()},
        dialect=dialect,
        lists=lists or {},
    )


def schema_of_array(X: NDArray[Any], names: list[str], offset: str | None = None) -> Schema:
    """Return the schema of an array of numbers, that of a table with these columns.

    Examples
    --------
    >>> schema_of_array(np.array([[2000.0], [2010.0]]), ["year"]).columns[0].offset
    2005.0
    """
    looked = _offsets_and_scales(np.ascontiguousarray(X[:SAMPLE_ROWS].T, dtype=np.float64))
    columns = [Column(n, "number", "number", *s) for n, s in zip(names, looked, strict=True)]
    if offset is not None:
        columns[-1] = Column(offset, "number", "number")
    return Schema(tuple(columns), offset=offset)


def unique_names(names: list[str], source: str) -> list[str]:
    """Return ``names`` with a number after those that occur again, and warn of them.

    Examples
    --------
    >>> with warnings.catch_warnings(action="ignore"):
    ...     unique_names(["a", "b", "a", "a.1"], "t.csv")
    ['a', 'b', 'a.2', 'a.1']
    """
    if len(set(names)) == len(names):
        return names
    unique: list[str] = []
    for name in names:
        numbered = (f"{name}.{number}" for number in count(1))
        again = (other for other in numbered if other not in (*names, *unique))
        unique.append(name if name not in unique else next(again))
    old, new = next(pair for pair in zip(names, unique, strict=True) if pair[0] != pair[1])
    warnings.warn(
        f"{source} has two columns of the name {old!r}: the second is called {new!r}", stacklevel=2
    )
    return unique


def _doubt_about_words(
    name: str, whole: Any, source: str, text: PlainText | None, is_target: bool = False
) -> str | None:
    """Return why a column of words may be none, and what to do; None if it looks like words."""
    array = in_one_piece(whole.column(name))
    if stored_as(array.type) != "string":
        return None
    array = core_form(array, "category")
    first = array.slice(0, SAMPLE_ROWS)
    different = set(first.to_pylist()) - {None, *MISSING_WORDS}
    if any_values(different):
        # Only then all words: `unique` imports pyarrow.compute, which takes 65 ms.
        words = sorted(word for word in array.unique().to_pylist() if word is not None)
        odd = odd_words(words, text)[:3]
        if odd:
            use = f"missing={tuple(odd)!r} reads these as missing values"
            row = f" in row {array.to_pylist().index(odd[0]) + 1}" if is_target else ""
            return (
                f" because of {', '.join(map(repr, odd))}{row}, though nearly all of it is numbers "
                f"or dates: {'replace these by None' if source == FRAME else use}"
            )
        if unit := common_unit(words):
            return f", though all are numbers with {unit!r}: remove that to learn from numbers"
    if not is_target and LEAST_ROWS <= len(first) < len(different) / NEARLY_ALL:
        return (
            f", and nearly every row has its own: drop={(name,)!r} leaves it out, if it is no "
            "number or date to convert"
        )
    return None


LEAST_ROWS, NEARLY_ALL = 50, 0.9
"""A column of at least this many rows, of which this share has a word of its own, may be an id."""


def _first_values(sample: Any) -> Any:
    """Return the first ``SAMPLE_ROWS`` rows; of columns that are null there the first values."""
    head = sample.slice(0, SAMPLE_ROWS)
    for place, (name, column) in enumerate(zip(head.column_names, head.columns, strict=True)):
        whole = sample.column(place) if column.null_count == head.num_rows else column
        if whole.null_count < len(whole) and whole is not column:
            values = in_one_piece(whole).drop_null().slice(0, head.num_rows)
            padding = pyarrow().nulls(head.num_rows - len(values), values.type)
            head = head.set_column(place, name, pyarrow().chunked_array([values, padding]))
    return head


def _columns(sample: Any, chosen: list[str], wanted: Columns, source: str) -> list[Column]:
    """Return the feature columns, without those of types that cannot be learned from."""
    types = dict(zip(sample.column_names, sample.schema.types, strict=True))
    categories = [name for name in chosen if is_category(types[name])]
    kinds = dict.fromkeys(categories, "categorical") | dict.fromkeys(wanted.numeric)
    kinds |= dict.fromkeys(wanted.categorical, "categorical")
    kinds |= dict.fromkeys(wanted.text, "text")
    numbers = [n for n in chosen if stored_as(types[n]) == "number" and not kinds.get(n)]
    scales = _look_at_numbers(sample, numbers)
    columns = []
    for name in chosen:
        if name in scales:
            columns.append(Column(name, "number", "number", *scales[name]))
            continue
        column = _column(name, sample.column(name), kinds.get(name), source)
        if column is not None:
            columns.append(column)
    return columns


def formats_to_learn(
    sample: Any, wanted: Columns, dialect: Dialect, source: str, text: PlainText | None
) -> dict[str, str]:
    """Return the formats of string columns to learn from that hold numbers, booleans or dates."""
    words = {*wanted.categorical, *wanted.text, *wanted.drop}
    roles = {wanted.target, wanted.weight, wanted.exposure, wanted.offset}
    names = [name for name in sample.column_names if name not in words]
    names = [name for name in names if not wanted.only or name in (*wanted.only, *roles)]
    texts = string_columns(sample, names, wanted.numeric)
    numbers = [name for name in names if name not in texts]
    found = find_formats(
        texts, dialect, source, target=wanted.target, text=text, numbers=_plain(numbers, text)
    )
    asked = {name: texts[name] for name in wanted.numeric if name in texts}
    return found | {n: best_format(a, NUMBERS) for n, a in asked.items() if n not in found}


def formats_to_read(
    sample: Any, schema: Schema, source: str, dialect: Dialect, text: PlainText | None
) -> dict[str, str]:
    """Return the formats of this table, which may differ from those of the training table."""
    kinds = {column.name: column.kind for column in schema.columns if column.kind in STANDARD}
    if schema.target is not None and schema.target.kind != "class":
        kinds[schema.target.name] = "number"
    kinds |= dict.fromkeys(filter(None, (schema.weight, schema.exposure)), "number")
    # pyarrow builds `column_names` anew on every access.
    there = set(sample.column_names)
    names = [name for name in kinds if name in there]
    texts = string_columns(sample, names, names)
    usual = {n: schema.written.get(n) or STANDARD[kind] for n, kind in kinds.items()}
    # Whatever is not a time is missing among times, also in a field of JSON that comes later.
    times = {name: usual[name] for name, kind in kinds.items() if kind in TIMES}
    usual = {n: usual[n] for n in texts if fits_some(texts[n], usual[n])}
    left = {n: a for n, a in texts.items() if n not in usual or not fits(a, usual[n])}
    numbers = _plain([name for name in names if name not in texts], text)
    known = {name: schema.written[name] for name in numbers if name in schema.written}
    numbers = [name for name in numbers if name not in known]
    found = find_formats(left, dialect, source, text=text, numbers=numbers)
    return times | usual | known | found


def _plain(names: list[str], text: PlainText | None) -> list[str]:
    """Return the columns of a CSV table that are plain numbers, other tables have none."""
    return [] if text is None else names


def _without_index(sample: Any, names: list[str], wanted: set[str], source: str) -> list[str]:
    """Leave out an index written by pandas: an unnamed column of increasing whole numbers.

    The numbers may have gaps, as when the table is a subset of a larger one.
    """
    for name in names:
        if (
            name in ("", "Unnamed: 0")
            and name not in wanted
            and numbers_rows(in_one_piece(sample.column(name)))
        ):
            called = f"called {name}" if name else "without a name"
            warnings.warn(
                f"the column {called} of {source} numbers the rows; it is left out", stacklevel=3
            )
            return [other for other in names if other != name]
    return names


def no_such_column(name: str, names: Sequence[str], source: str, role: str = "") -> DataError:
    """Return the error for a column that does not exist, with those that do and the closest one."""
    from difflib import get_close_matches

    lower = {other.lower(): other for other in names}
    near = get_close_matches(name.lower(), list(lower), n=1, cutoff=0.6)
    meant = f"; did you mean {lower[near[0]]}?" if near else ""
    shown = ", ".join(names[:30]) + (", …" if len(names) > 30 else "")
    return DataError(f"{source} has no {role}column {name}{meant or ';'} it has {shown}")


def _check_names(names: list[str], wanted: Columns, source: str) -> None:
    crossed = [part for pair in wanted.interact for part in pair.split(":")]
    roles: dict[str, Sequence[str | None]] = {
        "target ": [wanted.target],
        "weight ": [wanted.weight],
        "exposure ": [wanted.exposure],
        "offset ": [wanted.offset],
        "": [*wanted.drop, *wanted.only, *wanted.categorical, *wanted.numeric, *wanted.text],
        "crossed ": crossed,
    }
    there = set(names)
    for role, asked in roles.items():
        for name in asked:
            if name is not None and name not in there:
                raise no_such_column(name, names, source, role)


def _offset(sample: Any, name: str | None, source: str) -> list[Column]:
    """Return the column of offsets, if there is one, neither shifted nor scaled."""
    if name is None:
        return []
    if stored_as(kind := sample.column(name).type) != "number":
        raise DataError(f"{source}: the offset column {name} holds {kind}, not numbers")
    return [Column(name, "number", "number")]


def _target(array: Any, wanted: Columns, source: str) -> Target:
    stored = stored_as(array.type)
    name = str(wanted.target)
    if stored in (None, "strings"):
        raise DataError(f"{source}: the target column {name} holds {array.type}, not numbers")
    kind = "class" if stored == "string" else "number"
    if wanted.positive is None:
        return Target(name, kind, values=values_in(array))
    seen = {word for word in words_of(array)[0].tolist() if word is not None}
    others = sorted(seen - {wanted.positive})
    negative = label_text(others[0]) if len(others) == 1 else f"not {wanted.positive}"
    return Target(name, kind, wanted.positive, negative, len(seen))


def _column(name: str, array: Any, wanted: str | None, source: str) -> Column | None:
    stored = stored_as(array.type)
    if stored is None:
        warnings.warn(
            f"the column {name} of {source} holds {array.type}, which cannot be learned from; it "
            "is left out",
            stacklevel=2,
        )
        return None
    if wanted == "text":
        if stored != "string":
            raise DataError(f"{source}: the column {name} holds {array.type}, not text")
        return Column(name, "text", stored)
    if stored == "strings":
        return Column(name, "bag", stored)
    if stored == "string" or wanted == "categorical":
        return Column(name, "category", stored)
    if stored == "boolean":
        return Column(name, stored, stored)
    if stored == "clock":
        return Column(name, stored, stored, 0.5, 1.0)
    numbers = numbers_of(in_one_piece(array))
    known = numbers[np.isfinite(numbers)]
    mean = float(known.sum()) / len(known) if len(known) else 0.0
    spread = float(f"{known.std():.6g}") if len(known) else 0.0
    scale = DAYS_A_YEAR if len(known) else 1.0
    return Column(name, stored, stored, float(round(mean)), scale, spread)


def _look_at_numbers(sample: Any, names: list[str]) -> dict[str, tuple[float, float, float]]:
    """Return the offset, scale and standard deviation of each numeric column.

    There may be thousands of columns, so they are processed in batches of ``_TOGETHER``.
    """
    scales: dict[str, tuple[float, float, float]] = {}
    for begin in range(0, len(names), _TOGETHER):
        some = names[begin : begin + _TOGETHER]
        chosen = sample.select(some)
        if not all(is_core_form(kind, "number") for kind in set(chosen.schema.types)):
            arrays = [core_form(array, "number") for array in chosen.columns]
            chosen = pyarrow().Table.from_arrays(arrays, some)
        (batch,) = chosen.combine_chunks().to_batches()
        table = number_matrix(*batch.__arrow_c_array__())
        scales.update(zip(some, _offsets_and_scales(table), strict=True))
    return scales


_TOGETHER = 1024


def _offsets_and_scales(table: NDArray[np.float64]) -> Iterator[tuple[float, float, float]]:
    """Yield a rounded offset, a rounded scale and the standard deviation of each row of ``table``.

    A column far from zero, such as a year, is nearly collinear with the intercept, so an offset is
    subtracted. The scale makes columns of different magnitudes take steps of similar size. In a
    sorted file (by time or place) the first rows vary less than all rows do; so the scale is never
    below half the absolute mean, nor below 4 for whole numbers, which are often days or hours.
    """
    known = np.isfinite(table)
    counts = np.maximum(known.sum(axis=1), 1)
    values = np.where(known, table, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        means = values.sum(axis=1) / counts
        apart = np.where(known, values - means[:, None], 0.0)
        spreads = np.sqrt(np.einsum("ij,ij->i", apart, apart) / counts)
        scales = np.maximum(spreads, np.abs(means) / 2)
    is_flag = (spreads > 0) & ((values == 0.0) | (values == 1.0)).all(axis=1)
    is_whole = (values == np.floor(values)).all(axis=1)
    scales = np.where(is_whole & ~is_flag, np.maximum(scales, 4.0), scales)
    scales[~known.any(axis=1)] = 0.0
    firsts = values[np.arange(len(table)), known.argmax(axis=1)]
    each = zip(means.tolist(), spreads.tolist(), scales.tolist(), firsts.tolist(), strict=True)
    for mean, spread, scale, first in each:
        if not 0.0 < scale < 1e300:
            yield 0.0, 1.0, 0.0
        else:
            offset = _rounded(mean, spread) if spread > 0 else first
            yield offset, _rounded(scale, scale), float(f"{spread:.6g}")


def _rounded(x: float, spread: float) -> float:
    """Return ``x`` rounded to the second significant digit of ``spread``."""
    return float(round(x, 1 - math.floor(math.log10(spread))))


def _interactions(
    columns: list[Column], wanted: Columns, source: str
) -> tuple[tuple[str, ...], ...]:
    kinds = {column.name: column.kind for column in columns}
    found = []
    for crossed in wanted.interact:
        parts = tuple(crossed.split(":"))
        for part in parts:
            if part not in kinds:
                raise DataError(f"the column {part} of {source} is left out; it cannot be crossed")
            if kinds[part] in ("text", "bag"):
                raise DataError(
                    f"the column {part} of {source} holds lists of words, which cannot be crossed"
                )
        found.append(parts)
    return tuple(found)

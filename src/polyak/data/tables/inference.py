"""From the first rows of a table to its schema: which columns are features, and of which kind."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak._core import column_numbers
from polyak.data.options import Columns
from polyak.data.tables.arrow_types import core_form, single_column, stored_as
from polyak.data.tables.targets import numbers_of, words_of
from polyak.errors import DataError
from polyak.model.schema import DAYS_A_YEAR, Column, Schema, Target
from polyak.rows.labels import label_text

SAMPLE_ROWS = 1000
"""How many rows are looked at: the table's first ones, however they are stored."""


def choose_schema(sample: Any, wanted: Columns, source: str) -> Schema:
    """Say what each column means, from the first rows of all columns."""
    names = list(sample.column_names)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{source} has two columns called {twice}")
    _check_names(names, wanted, source)
    arrays = {name: sample.column(name) for name in names}
    target = None if wanted.target is None else _target(arrays[wanted.target], wanted, source)
    taken = {wanted.target, wanted.weight, *wanted.drop}
    only = set(wanted.only)
    chosen = [name for name in names if name not in taken and (not only or name in only)]
    if wanted.target is not None:
        chosen = _without_copies(chosen, arrays, wanted.target, source)
    kinds = dict.fromkeys(wanted.categorical, "categorical") | dict.fromkeys(wanted.text, "text")
    columns = [
        column
        for name in chosen
        if (column := _column(name, arrays[name], kinds.get(name), source)) is not None
    ]
    if not columns:
        raise DataError(f"{source} has no column left to learn from")
    return Schema(
        columns=tuple(columns),
        target=target,
        weight=wanted.weight,
        bits=wanted.bits,
        ngrams=wanted.ngrams,
        interactions=_interactions(columns, wanted, source),
    )


def no_such_column(name: str, names: Sequence[str], source: str, role: str = "") -> DataError:
    """Say that a column is not there, which are, and which may have been meant."""
    from difflib import get_close_matches

    lower = {other.lower(): other for other in names}
    near = get_close_matches(name.lower(), list(lower), n=1, cutoff=0.5)
    meant = f"; did you mean {lower[near[0]]}?" if near else ""
    shown = ", ".join(names[:30]) + (", …" if len(names) > 30 else "")
    return DataError(f"{source} has no {role}column {name}{meant or ';'} it has {shown}")


def _check_names(names: list[str], wanted: Columns, source: str) -> None:
    crossed = [part for pair in wanted.interact for part in pair.split(":")]
    roles: dict[str, list[str | None]] = {
        "target ": [wanted.target],
        "weight ": [wanted.weight],
        "": [*wanted.drop, *wanted.only, *wanted.categorical, *wanted.text, *crossed],
    }
    there = set(names)
    for role, asked in roles.items():
        for name in asked:
            if name is not None and name not in there:
                raise no_such_column(name, names, source, role)


def _target(array: Any, wanted: Columns, source: str) -> Target:
    stored = stored_as(array.type)
    name = str(wanted.target)
    if stored in (None, "strings"):
        raise DataError(f"{source}: the target column {name} holds {array.type}, not numbers")
    kind = "class" if stored == "string" else "number"
    seen = {word for word in words_of(array)[0].tolist() if word is not None}
    if wanted.positive is None:
        return Target(name, kind, values=len(seen))
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
    if wanted == "categorical":
        return Column(name, "bag" if stored == "strings" else "category", stored)
    if stored == "strings":
        return Column(name, "bag", stored)
    kind = stored
    if stored == "number":
        numbers = numbers_of(_whole(array))
    else:
        one = single_column(core_form(_whole(array), stored))
        numbers, is_time, has_clock = column_numbers(*one)
    if stored == "string":
        if not is_time:
            return Column(name, "category", stored)
        kind = "time" if has_clock else "date"
    if kind == "boolean":
        return Column(name, kind, stored)
    # A time is a time, whether it is stored as one or as words: the schemas are the same.
    return Column(name, kind, kind, *_offset_and_scale(numbers, kind))


def _offset_and_scale(numbers: NDArray[np.float64], kind: str) -> tuple[float, float]:
    """Find where a column's values lie and how far they spread, in round numbers.

    A column far from zero, such as a year, can hardly be told from the intercept, so its offset is
    taken off. Its scale is for large and small columns to move alike. The first rows of a file in
    order (of time, of place) spread less than all rows will; so the scale is never below half the
    mean, nor below 4 for whole numbers, which are often days or hours, and dates count in years.
    """
    known = numbers[np.isfinite(numbers)]
    if not len(known):
        return 0.0, 1.0
    mean = float(known.sum()) / len(known)
    apart = known - mean  # np.std takes five times as long for so few, and columns may be many
    spread = math.sqrt(float(apart @ apart) / len(known))
    if kind in ("date", "time"):
        return float(round(mean)), DAYS_A_YEAR
    if kind == "clock":
        return 0.5, 1.0
    scale = max(spread, abs(mean) / 2)
    is_flag = spread > 0 and np.all((known == 0.0) | (known == 1.0))
    if not is_flag and np.all(known == np.floor(known)):
        scale = max(scale, 4.0)
    if not 0.0 < scale < 1e300:
        return 0.0, 1.0
    offset = _rounded(mean, spread) if spread > 0 else float(known[0])
    return offset, _rounded(scale, scale)


def _rounded(x: float, spread: float) -> float:
    """Round to two digits of a number that is as large as the spread."""
    return float(round(x, 1 - math.floor(math.log10(spread))))


def _without_copies(
    names: list[str], arrays: dict[str, Any], target: str, source: str
) -> list[str]:
    """Leave columns out that equal the target: they would be the answer itself."""
    answers = words_of(arrays[target])[0]
    is_plain = stored_as(arrays[target].type) in _PLAIN
    numbers = numbers_of(_whole(arrays[target])) if is_plain else None
    if len({word for word in answers.tolist() if word is not None}) < 2:
        return names
    left = []
    for name in names:
        if stored_as(arrays[name].type) in (None, "strings"):
            left.append(name)
            continue
        if _equal(arrays[name], answers, numbers):
            warnings.warn(
                f"the column {name} of {source} equals the target {target} in the first rows; it "
                "is left out",
                stacklevel=2,
            )
        else:
            left.append(name)
    return left


_PLAIN = ("number", "boolean")  # true is 1, and 1 is 1.0


def _equal(column: Any, answers: NDArray[Any], numbers: NDArray[np.float64] | None) -> bool:
    """Compare a column with the target, given as words, and as numbers if it is plain."""
    if numbers is not None and stored_as(column.type) in _PLAIN:
        return np.array_equal(numbers_of(_whole(column)), numbers, equal_nan=True)
    return np.array_equal(words_of(column)[0], answers)


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


def _whole(array: Any) -> Any:
    """Give a chunked array in one piece."""
    combined = array.combine_chunks() if hasattr(array, "combine_chunks") else array
    if hasattr(combined, "num_chunks"):  # dictionaries may stay apart
        combined = combined.unify_dictionaries().chunk(0)
    return combined

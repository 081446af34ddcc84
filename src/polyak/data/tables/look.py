"""A summary of the columns, one line each, with warnings about suspicious ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.data.tables.arrow_types import MISSING_WORDS, in_one_piece, stored_as
from polyak.data.tables.targets import numbers_of, words_of
from polyak.model.schema import Schema
from polyak.optional_imports import pyarrow

READ_AS = {
    "number": "number",
    "boolean": "boolean",
    "category": "words",
    "text": "text",
    "bag": "lists of words",
    "date": "date",
    "time": "time",
    "clock": "time of day",
}
LEAST_ROWS = 50
"""The least number of rows that the sample needs for columns to be checked."""
MOST_SHOWN, MOST_DOUBTED = 40, 400
"""The largest numbers of columns that are described and that are checked."""


class ColumnLook(NamedTuple):
    """A column of the first rows: what it is read as, its values, and the share of missing ones."""

    name: str
    read_as: str
    values: str
    missing: float

    def cells(self) -> tuple[str, str, str, str]:
        """Return the cells of the line that describes the column."""
        missing = f"{self.missing:.0%} missing" if self.missing else ""
        return self.name or "(no name)", self.read_as, self.values, missing


class TableLook(NamedTuple):
    """The first columns in the first ``rows`` rows, and the number of ``others`` not described."""

    columns: list[ColumnLook]
    others: int
    rows: int


def look_at(sample: Any, schema: Schema) -> TableLook:
    """Return a summary of the columns of ``sample`` in their order, including the target."""
    shown = _together(sample.column_names, schema.lists)
    others = max(0, len(shown) - MOST_SHOWN)
    looks = _looks(sample, shown, schema)
    return TableLook(looks, others, sample.num_rows)


def _together(names: list[str], lists: dict[str, int]) -> dict[str, list[str]]:
    """Return the columns of each line to show; the items of a list share one line.

    Examples
    --------
    >>> _together(["a", "e[0]", "e[1]", "b"], {"e": 2})
    {'a': ['a'], 'e[0] … e[1]': ['e[0]', 'e[1]'], 'b': ['b']}
    """
    parts = {f"{name}[{n}]": name for name, size in lists.items() for n in range(size)}
    shown: dict[str, list[str]] = {}
    for name in names:
        mine = parts.get(name)
        line = name if mine is None else f"{mine}[0] … {mine}[{lists[mine] - 1}]"
        shown.setdefault(line, []).append(name)
    return shown


def _looks(sample: Any, shown: dict[str, list[str]], schema: Schema) -> list[ColumnLook]:
    kinds = {column.name: column.kind for column in schema.columns}
    looks = []
    for line, names in list(shown.items())[:MOST_SHOWN]:
        name = names[0]
        chunks = [chunk for each in names for chunk in sample.column(each).chunks]
        array = in_one_piece(pyarrow().chunked_array(chunks, sample.column(name).type))
        read_as = READ_AS[kinds[name]] if name in kinds else "left out"
        if schema.target is not None and name == schema.target.name:
            read_as = "target"
        elif name == schema.weight:
            read_as = "weight"
        elif name == schema.exposure:
            read_as = "exposure"
        elif name == schema.offset:
            read_as = "offset"
        written = schema.written.get(name)
        read_as = f"{read_as} {written}" if written else read_as
        values, missing = _values(array, kinds.get(name, ""))
        looks.append(ColumnLook(line, read_as, values, missing))
    return looks


def _values(array: Any, kind: str) -> tuple[str, float]:
    """Return the range or the number of distinct values, as text, and the share missing."""
    is_a = pyarrow().types
    rows = max(len(array), 1)
    stored = stored_as(array.type)
    if stored is None or stored == "strings":
        return str(array.type), array.null_count / rows
    is_time = is_a.is_temporal(array.type) and not is_a.is_duration(array.type)
    if kind == "category" or stored == "string" or is_time:
        words = [word for word in array.to_pylist() if word not in (None, *MISSING_WORDS)]
        missing = 1.0 - len(words) / rows
        if kind == "category" or not is_time or not words:
            return f"{len(set(words)):,} different", missing
        ends = str(min(words)), str(max(words))
        first, last = (end.removesuffix(":00").removesuffix(" 00:00") for end in ends)
        return f"{first} to {last}", missing
    numbers = numbers_of(array)
    known = numbers[~np.isnan(numbers)]
    missing = 1.0 - len(known) / rows
    if not len(known):
        return "", missing
    if stored == "boolean":
        return f"{known.mean():.0%} true", missing
    return f"{known.min():.6g} to {known.max():.6g}", missing


def doubts(sample: Any, schema: Schema) -> list[str]:
    """Return a sentence for each suspicious column."""
    if len(sample) < LEAST_ROWS:
        return []
    answers = _answers(sample, schema)
    found = []
    for column in schema.columns[:MOST_DOUBTED]:
        array = in_one_piece(sample.column(column.name))
        if column.kind == "number" and counts_rows(array):
            found.append(
                f"the column {column.name} counts the rows: drop={(column.name,)!r} leaves it out"
            )
        elif answers is not None and _tells(array, column.kind, answers):
            target = "" if schema.target is None else f" {schema.target.name}"
            found.append(
                f"the column {column.name} alone predicts the target{target} perfectly in the "
                f"first rows: if it is not known beforehand, drop={(column.name,)!r} leaves it out"
            )
    return found


def counts_rows(array: Any) -> bool:
    """Whether the values count the rows from 0 or 1, as a default pandas index does."""
    if stored_as(array.type) != "number" or len(array) < 2:
        return False
    numbers = numbers_of(array)
    return bool((np.diff(numbers) == 1).all() and numbers[0] in (0, 1))


def numbers_rows(array: Any) -> bool:
    """Whether the values may be row numbers: whole, and strictly increasing.

    Examples
    --------
    >>> pa = pyarrow()
    >>> numbers_rows(pa.array([1, 2, 5])), numbers_rows(pa.array([1, 2, 2]))
    (True, False)
    """
    if stored_as(array.type) != "number" or len(array) < 2:
        return False
    numbers = numbers_of(array)
    return bool((np.diff(numbers) >= 1).all() and (numbers == np.floor(numbers)).all())


def _answers(sample: Any, schema: Schema) -> NDArray[Any] | None:
    if schema.target is None:
        return None
    array = in_one_piece(sample.column(schema.target.name))
    if schema.target.kind == "number" and stored_as(array.type) in ("number", "boolean"):
        return numbers_of(array)
    return words_of(array)[0]


def _tells(array: Any, kind: str, answers: NDArray[Any]) -> bool:
    """Whether a column determines the target, or is almost perfectly correlated with it."""
    if kind in ("category", "boolean"):
        pairs = list(zip(array.to_pylist(), answers.tolist(), strict=True))
        words, values = {word for word, _ in pairs}, {value for _, value in pairs}
        few = len(words) <= len(pairs) // 10 and 2 <= len(values) <= len(words)
        return few and len(set(pairs)) == len(words)
    if kind != "number" or answers.dtype.kind != "f":
        return False
    numbers = numbers_of(array)
    both = np.isfinite(numbers) & np.isfinite(answers)
    x, y = numbers[both], answers[both]
    if len(x) < LEAST_ROWS or not np.ptp(x) or not np.ptp(y):
        return False
    with np.errstate(all="ignore"):
        return bool(abs(np.corrcoef(x, y)[0, 1]) > 0.9999)

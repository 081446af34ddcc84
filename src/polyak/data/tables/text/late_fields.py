"""Fields of JSON that first come up after the first rows: found by reading all lines once before.

Only names are looked at, which takes a fraction of the time of parsing. A pipe cannot be read
twice: its first megabytes are held in memory, and what comes up later is passed over.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from polyak._core import json_others
from polyak.data.sources.blocks import Block
from polyak.data.tables.arrow_types import stored_as
from polyak.data.tables.flat.columns import is_nested
from polyak.data.tables.inference import SAMPLE_ROWS
from polyak.errors import DataError
from polyak.optional_imports import pyarrow

MOST_ROWS = 1000
"""How many rows that have a field say of what type it is."""
LOOK_AHEAD = 1 << 20
"""How much of a pipe is looked at before learning begins: more would keep slow ones waiting."""
MOST_FIELDS = 1000
"""Where more fields than that come up late, names are data; these then are no columns."""


class LateFields:
    """Collects values of fields whose names are not known yet."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = set(known)
        self._spelled = spelled(self._known)
        self.values: dict[str, list[Any]] = {}

    @property
    def are_too_many(self) -> bool:
        """Whether names are data rather than fields."""
        return len(self.values) > MOST_FIELDS

    def look_at(self, text: memoryview) -> None:
        """Look at some whole lines."""
        places = json_others(text, self._spelled).reshape(-1, 2)
        for begin, end in places.tolist():
            if self.are_too_many:
                return
            self._add(bytes(text[begin:end]))

    def _add(self, line: bytes) -> None:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):  # reported when the line is parsed
            return
        if not isinstance(row, dict):
            return
        for name, value in row.items():
            if value is None or name in self._known:
                continue
            seen = self.values.setdefault(name, [])
            seen.append(value)
            if len(seen) == MOST_ROWS:  # enough
                self._known.add(name)
                self._spelled += spelled([name])

    def columns(self, infer: Callable[[memoryview], Any], source: str) -> dict[str, Any]:
        """Give the values as columns, but for those that can be none."""
        if self.are_too_many:
            _warn(
                f"more than {MOST_FIELDS:,} fields of {source} first come",
                "none of them is learned",
            )
            return {}
        found = {}
        for name, values in self.values.items():
            rows = "\n".join(json.dumps({name: value}) for value in values)
            try:
                column = infer(memoryview(rows.encode())).column(name)
            except DataError:
                what = "it has values of different kinds, and is left out"
                _warn(f"the column {name} of {source} first comes", what)
                continue
            if stored_as(column.type) is not None or is_nested(column.type):
                found[name] = column
        return found


def late_in(blocks: Iterator[Block], known: Iterable[str]) -> LateFields:
    """Look at blocks of lines, as long as names are fields."""
    late = LateFields(known)
    while not late.are_too_many and (block := next(blocks, None)) is not None:
        late.look_at(block.text)
    return late


_LAST: dict[str, LateFields] = {}


def looked_at_once(look: Callable[[], LateFields], how: Any, paths: list[str]) -> LateFields:
    """Look at files, unless they were the last to be looked at like this, and are the same."""
    try:
        states = [os.stat(path) for path in paths]
    except OSError:  # a store, say
        return look()
    key = repr((how, [(state.st_mtime_ns, state.st_size) for state in states]))
    found = _LAST.get(key)
    if found is None:
        found = look()
        _LAST.clear()
        _LAST[key] = found
    return found


def _warn(what: str, therefore: str) -> None:
    warnings.warn(f"{what} up after the first {SAMPLE_ROWS:,} rows: {therefore}", stacklevel=4)


def with_late_rows(table: Any, found: dict[str, Any]) -> tuple[Any, int]:
    """Add late columns to the first rows, and rows that have nothing else; and say how many."""
    rows = max(map(len, found.values()), default=0)
    if not found:
        return table, 0
    pa = pyarrow()
    padded = {
        name: pa.chunked_array([*column.chunks, pa.nulls(rows - len(column), column.type)])
        for name, column in found.items()
    }
    return pa.concat_tables([table, pa.table(padded)], promote_options="default"), rows


def spelled(names: Iterable[str]) -> list[str]:
    r"""Spell names as JSON may have them: with nothing but ASCII, or without escapes.

    Examples
    --------
    >>> spelled(["age", "größe"])
    ['age', 'age', 'gr\\u00f6\\u00dfe', 'größe']
    """
    return [json.dumps(name, ensure_ascii=ascii)[1:-1] for name in names for ascii in (True, False)]


class LateWatch:
    """Warns once of a field that comes up late where there is no reading twice."""

    def __init__(self, known: Iterable[str], source: str) -> None:
        self._names = spelled(known)
        self._source = source
        self._is_done = False

    def look_at(self, text: memoryview) -> None:
        """Look at some whole lines."""
        if self._is_done or not len(places := json_others(text, self._names)):
            return
        self._is_done = True
        late = LateFields(json.loads(f'"{name}"') for name in self._names)
        late.look_at(text[places[0] : places[1]])
        for name in list(late.values)[:1]:
            warnings.warn(
                f"the column {name} of {self._source} first comes up after the first megabyte of a "
                "pipe: not learned, from a file it would be",
                stacklevel=4,
            )

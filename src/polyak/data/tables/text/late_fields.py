"""JSON fields that first occur after the sampled rows, found by a scan of all lines before reading.

The scan compares names only, which takes a fraction of the time of parsing. A pipe cannot be read
twice: its first megabyte is buffered in memory, and fields that first occur later are ignored.
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
"""The number of values that the type of a late field is inferred from."""
LOOK_AHEAD = 1 << 20
"""The bytes of a pipe scanned before training begins: more would delay slow pipes."""
MOST_FIELDS = 1000
"""The largest number of late fields. With more, the names are data, and none becomes a column."""


class LateFields:
    """Collects the values of fields whose names are not in ``known``."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = set(known)
        self._spelled = spelled(self._known)
        self.values: dict[str, list[Any]] = {}

    @property
    def are_too_many(self) -> bool:
        """Whether there are more than ``MOST_FIELDS`` fields: names are data."""
        return len(self.values) > MOST_FIELDS

    def look_at(self, text: memoryview) -> None:
        """Collect values from ``text``, which consists of whole lines."""
        places = json_others(text, self._spelled).reshape(-1, 2)
        for begin, end in places.tolist():
            if self.are_too_many:
                return
            self._add(bytes(text[begin:end]))

    def _add(self, line: bytes) -> None:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            # Reported when the line is parsed.
            return
        if not isinstance(row, dict):
            return
        for name, value in row.items():
            if value is None or name in self._known:
                continue
            seen = self.values.setdefault(name, [])
            seen.append(value)
            if len(seen) == MOST_ROWS:
                # Enough values to infer the type from, so ignore the field from now on.
                self._known.add(name)
                self._spelled += spelled([name])

    def columns(self, infer: Callable[[memoryview], Any], source: str) -> dict[str, Any]:
        """Return the values as columns, without those of mixed or unsupported types."""
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
    """Return the late fields of ``blocks``; stop if there are too many."""
    late = LateFields(known)
    while not late.are_too_many and (block := next(blocks, None)) is not None:
        late.look_at(block.text)
    return late


_LAST: dict[str, LateFields] = {}


def looked_at_once(look: Callable[[], LateFields], how: Any, paths: list[str]) -> LateFields:
    """Return the result of ``look``, cached for the last files, which must be unchanged.

    ``how`` holds the options that the result depends on.
    """
    try:
        states = [os.stat(path) for path in paths]
    except OSError:
        # Not local files, such as objects in a remote store.
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
    """Return ``table`` with rows appended that hold only the late columns, and their number."""
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
    r"""Return both JSON spellings of each name: escaped to ASCII, and without escapes.

    Examples
    --------
    >>> spelled(["age", "größe"])
    ['age', 'age', 'gr\\u00f6\\u00dfe', 'größe']
    """
    return [json.dumps(name, ensure_ascii=ascii)[1:-1] for name in names for ascii in (True, False)]


class LateWatch:
    """Warns once about a late field in a pipe, which cannot be read twice."""

    def __init__(self, known: Iterable[str], source: str) -> None:
        self._names = spelled(known)
        self._source = source
        self._is_done = False

    def look_at(self, text: memoryview) -> None:
        """Warn if ``text``, which consists of whole lines, has a late field."""
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

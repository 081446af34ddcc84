"""Parse blocks of JSON lines into columns by pyarrow's parser."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyak._core import json_rows
from polyak.data.position import BadLine
from polyak.data.sources.blocks import LineEnds
from polyak.data.tables.text.jsonl_bad_lines import (
    DEEPEST,
    TOO_DEEP,
    Sorting,
    not_utf8_rows,
    parse_json,
)
from polyak.data.tables.text.lines import Lines, leave_out
from polyak.errors import DataError
from polyak.optional_imports import pyarrow

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class JsonFormat:
    """The JSON lines format: one object per line, without newlines inside."""

    name = "jsonl"

    def ends(self, delimiter: str) -> LineEnds:
        """Return a finder of row ends: every newline ends a row."""
        return LineEnds()

    def header(self, text: memoryview, file: str) -> tuple[list[str], int, str]:
        """Return no names, the offset after a byte order mark, and no delimiter."""
        return [], 3 if bytes(text[:3]) == _BYTE_ORDER_MARK else 0, ""

    def rows(self, lines: Lines) -> Any:
        """Return begin and end offset, line and number of objects of each row, as four arrays."""
        return json_rows(lines.text)

    def infer(self, lines: Lines, skip_bad_lines: bool) -> Any:
        """Parse lines and infer the types of the columns."""
        pa = pyarrow()
        table = self._read(lines, None, [], skip_bad_lines)
        other = {f.name: kind for f in table.schema if (kind := _settled(f.type)) != f.type}
        again = {name: kind for name, kind in other.items() if not pa.types.is_floating(kind)}
        if again:
            words = self._read(lines, pa.schema(list(again.items())), [], skip_bad_lines)
        columns = {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name in again:
                column = words.column(name)
            elif name in other:
                column = column.cast(pa.float64(), safe=False)
            columns[name] = column
        return pa.table(columns)

    def parse(
        self, lines: Lines, types: dict[str, Any], bad: list[BadLine], skip_bad_lines: bool
    ) -> Any:
        """Parse lines into the columns of ``types``; fields that a line lacks are null.

        Nested columns have an Arrow type in ``types``, others the name of a storage class.
        """
        pa = pyarrow()
        known = {
            "number": pa.float64(),
            "boolean": pa.bool_(),
            "strings": pa.list_(pa.string()),
        }

        def arrow_type(kind: Any) -> Any:
            return known.get(kind, pa.string()) if isinstance(kind, str) else kind

        schema = pa.schema([(name, arrow_type(kind)) for name, kind in types.items()])
        return self._read(lines, schema, bad, skip_bad_lines)

    def _read(self, lines: Lines, schema: Any, bad: list[BadLine], skip: bool) -> Any:
        # Repeats only without a schema, to infer the types again after bad lines were removed.
        while True:
            table, error = _parsed_at_once(lines, schema)
            if table is not None:
                return table
            sorting = Sorting(lines, schema, error)
            if sorting.bad:
                leave_out(lines, sorting.bad, bad, skip, sorting.cause)
            elif error is not None:
                what = str(error).split("\n")[0]
                raise DataError(f"{lines.file}, from line {lines.first_line} on: {what}") from error
            if sorting.table is not None:
                return sorting.table


def _settled(kind: Any) -> Any:
    """Return the type to read a column as, given the inferred one, recursively.

    Integers become floats, since later rows may have fractions; times become strings, from which
    they are inferred as in every other format.
    """
    pa = pyarrow()
    is_a = pa.types
    if is_a.is_integer(kind):
        return pa.float64()
    if is_a.is_temporal(kind):
        return pa.string()
    if is_a.is_struct(kind):
        inner = [(field.name, _settled(field.type)) for field in kind]
        return pa.struct([(name, pa.string() if is_a.is_null(t) else t) for name, t in inner])
    return pa.list_(_settled(kind.value_type)) if is_a.is_list(kind) else kind


def _parsed_at_once(lines: Lines, schema: Any) -> tuple[Any, Any]:
    """Return the parsed lines if all are valid; otherwise None, and pyarrow's error if it ran."""
    n_lines = _count_lines(lines)
    if n_lines is None:
        return None, None
    try:
        table = parse_json(lines.text, schema)
    except pyarrow().ArrowInvalid as error:
        return None, error
    return (None if table.num_rows != n_lines or not_utf8_rows(table) else table), None


def _count_lines(lines: Lines) -> int | None:
    """Count the lines that are not blank; None if pyarrow might crash on one of them.

    It crashes on text without any object, and on values nested 100,000 deep. If all lines begin
    and end with a brace, there is at least one object per line: none can span two lines, since
    they would have to be separated by a comma.
    """
    characters = np.frombuffer(lines.text, np.uint8)
    newlines = np.flatnonzero(characters == ord("\n"))
    begins = np.concatenate([[0], newlines + 1])
    ends = np.concatenate([newlines, [len(characters)]])
    there = ends > begins
    begins, ends = begins[there], ends[there]
    ends = ends - ((characters[ends - 1] == ord("\r")) & (ends > begins + 1))
    braces = (characters[begins] == ord("{")) & (characters[ends - 1] == ord("}"))
    brackets = np.flatnonzero((characters == ord("[")) | (characters == ord("{")))
    line = np.searchsorted(newlines, brackets)
    may_be_deep = (line[DEEPEST:] == line[:-DEEPEST]).any()
    if not braces.all() or (may_be_deep and (json_rows(lines.text)[3] == TOO_DEEP).any()):
        return None
    return len(begins)

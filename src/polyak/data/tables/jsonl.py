"""JSON lines: a block of objects to columns, by pyarrow's parser; its errors in our words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from polyak._core import json_rows
from polyak.data.position import BadLine
from polyak.data.sources.blocks import LineEnds
from polyak.data.tables.bad_values import not_utf8
from polyak.data.tables.text_rows import OLD_LINE_ENDS, BadRow, Lines, has_old_line_ends, leave_out
from polyak.errors import DataError
from polyak.optional_imports import pyarrow

_ROW = re.compile(r"in row (\d+)")
_CHANGED = re.compile(
    r"Column\(/?(.*?)\) (?:changed from|was specified to be) (.+?) (?:to|but|was)", re.DOTALL
)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NO_OBJECT = "it is not an object in braces"
SHOWN = 10
WINDOW, WIDEST_WINDOW = 128, 4096
"""How many lines are parsed at a time to find those that cannot be: behind one of them few, since
pyarrow goes through them all, then ever more, since each call costs as much as dozens of lines."""


class JsonFormat:
    """How JSON lines are read: an object a line, without line breaks inside."""

    name = "jsonl"

    def ends(self, delimiter: str) -> LineEnds:
        """Every newline ends a line."""
        return LineEnds()

    def header(self, text: memoryview, file: str) -> tuple[list[str], int, str]:
        """There is none."""
        return [], 3 if bytes(text[:3]) == _BYTE_ORDER_MARK else 0, ""

    def rows(self, lines: Lines) -> Any:
        """Say where rows begin and end, on which lines, and how many objects each is."""
        return json_rows(lines.text)

    def infer(self, lines: Lines, skip_bad_lines: bool) -> Any:
        """Parse lines, finding the types of columns out."""
        pa = pyarrow()
        table = self._read(lines, None, [], skip_bad_lines)
        is_a = pa.types
        times = [f.name for f in table.schema if is_a.is_temporal(f.type)]
        if times:  # they are found in words, as in every other format
            words = self._read(
                lines, pa.schema([(name, pa.string()) for name in times]), [], skip_bad_lines
            )
        columns = {}
        for field, column in zip(table.schema, table.columns, strict=True):
            if is_a.is_temporal(field.type):
                column = words.column(field.name)
            elif is_a.is_integer(field.type):
                column = column.cast(pa.float64(), safe=False)
            columns[field.name] = column
        return pa.table(columns)

    def parse(
        self, lines: Lines, types: dict[str, str], bad: list[BadLine], skip_bad_lines: bool
    ) -> Any:
        """Parse lines into these columns; what a line does not have is missing."""
        pa = pyarrow()
        known = {
            "number": pa.float64(),
            "boolean": pa.bool_(),
            "strings": pa.list_(pa.string()),
        }
        schema = pa.schema([(name, known.get(kind, pa.string())) for name, kind in types.items()])
        return self._read(lines, schema, bad, skip_bad_lines)

    def _read(self, lines: Lines, schema: Any, bad: list[BadLine], skip: bool) -> Any:
        pa = pyarrow()
        while True:  # once, or once more; more often only if types are still to be found
            cause = None
            n_lines, rows = _count_lines(lines)
            if rows and not skip:
                rows = _bad_rows(lines, schema)  # of all that is wrong, the first is named
            if not rows:
                try:
                    table = _parsed(lines.text, schema)
                    is_whole = table.num_rows == n_lines
                    rows = _not_utf8(lines, table) if is_whole else _bad_rows(lines, schema)
                    if is_whole and not rows:
                        return table
                except pa.ArrowInvalid as error:
                    cause = error
                    rows = _bad_rows(lines, schema) or _named_by(error, lines)
            if not rows:
                what = str(cause).split("\n")[0]
                raise DataError(f"{lines.file}, from line {lines.first_line} on: {what}") from cause
            leave_out(lines, rows, bad, skip, cause)


def _parsed(text: memoryview, schema: Any, more: bool = False) -> Any:
    from pyarrow import json as arrow

    pa = pyarrow()
    if not bytes(text[:4096]).strip() and not bytes(text).strip():
        return (schema or pa.schema([])).empty_table()
    parse = arrow.ParseOptions(
        explicit_schema=schema,
        unexpected_field_behavior="infer" if schema is None or more else "ignore",
    )
    read = arrow.ReadOptions(use_threads=False, block_size=len(text) + 16)
    return arrow.read_json(
        pa.BufferReader(pa.py_buffer(text)), read_options=read, parse_options=parse
    )


def _count_lines(lines: Lines) -> tuple[int, list[BadRow]]:
    """Count the lines that are not blank, and find those among them that are no object each.

    Where all begin and end with a brace, a parser finds the rest out: no object can be on two of
    them, since a comma would have to stand between, so there are as many objects as lines or more.
    Others must not come before pyarrow, which crashes where there is no object at all.
    """
    characters = np.frombuffer(lines.text, np.uint8)
    newlines = np.flatnonzero(characters == ord("\n"))
    begins = np.concatenate([[0], newlines + 1])
    ends = np.concatenate([newlines, [len(characters)]])
    there = ends > begins
    begins, ends = begins[there], ends[there]
    ends = ends - ((characters[ends - 1] == ord("\r")) & (ends > begins + 1))
    braces = (characters[begins] == ord("{")) & (characters[ends - 1] == ord("}"))
    if braces.all():
        return len(begins), []
    return len(json_rows(lines.text)[0]), _no_objects(lines)


def _no_objects(lines: Lines) -> list[BadRow]:
    found: list[BadRow] = []
    rows = json_rows(lines.text)
    for place in np.flatnonzero(rows[3] != 1).tolist():
        begin, end, line, objects = (int(part[place]) for part in rows)
        # Only the first are ever shown, and asking pyarrow takes as long as parsing ten lines.
        text = bytes(lines.text[begin:end])
        reason = _not_one_object(text, objects) if len(found) < SHOWN else NO_OBJECT
        found.append(BadRow(begin, end, line, reason))
    return found


def _bad_rows(lines: Lines, schema: Any) -> list[BadRow]:
    """Find all lines that are not an object each, or not one of the schema's types."""
    found = _no_objects(lines)
    text = bytearray(lines.text)
    for row in found:
        text[row.begin : row.end] = b" " * (row.end - row.begin)
    begins, ends, numbers, parts = json_rows(lines.text)
    left = np.flatnonzero(parts == 1)
    types = _Types(schema)
    width = WINDOW
    first, last = 0, len(left) if found else width  # perhaps that was all
    while first < len(left):
        last = min(last, len(left))
        window = memoryview(text)[begins[left[first]] : ends[left[last - 1]]]
        place, reason = types.check(window, last - first)
        if place is None:
            width = min(2 * width, WIDEST_WINDOW)
            first, last = last, last + width
        elif place < 0:
            last = (first + last) // 2
        else:
            n = left[first + place]
            found.append(BadRow(int(begins[n]), int(ends[n]), int(numbers[n]), reason))
            width = WINDOW
            first, last = first + place + 1, first + place + 1 + width
    return found


class _Types:
    """The types of columns: those of a schema, or those seen so far if there is none."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._is_known = schema is not None

    def check(self, window: memoryview, rows: int) -> tuple[int | None, str]:
        """Find the first line that cannot be parsed; -1 if pyarrow does not tell which of many."""
        pa = pyarrow()
        try:
            table = _parsed(window, self._schema, more=not self._is_known)
        except pa.ArrowInvalid as error:
            message = str(error).split("\n")[0]
            found = _ROW.search(message)
            if found is None and rows > 1:
                return -1, ""
            return 0 if found is None else int(found.group(1)), _explained(message)
        if not self._is_known:
            self._schema = pa.schema([f for f in map(_broad, table.schema) if f is not None])
        return None, ""


def _broad(field: Any) -> Any:
    """Give the type that inference could still make of a column, None if that is open."""
    pa = pyarrow()
    is_a = pa.types
    if is_a.is_integer(field.type) or is_a.is_floating(field.type):
        return field.with_type(pa.float64())
    if is_a.is_temporal(field.type) or is_a.is_string(field.type):
        return field.with_type(pa.string())
    return field if is_a.is_boolean(field.type) else None


def _not_utf8(lines: Lines, table: Any) -> list[BadRow]:
    found: dict[int, str] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        before = 0
        for chunk in column.chunks:
            for row in not_utf8(chunk).tolist():
                found.setdefault(before + row, f"the column {name} is not UTF-8")
            before += len(chunk)
    if not found:
        return []
    begins, ends, numbers, _ = json_rows(lines.text)
    return [
        BadRow(int(begins[row]), int(ends[row]), int(numbers[row]), reason)
        for row, reason in found.items()
    ]


def _named_by(error: Any, lines: Lines) -> list[BadRow]:
    """Give the line that pyarrow names; all lines are objects, so they are its rows."""
    message = str(error).split("\n")[0]
    row = _ROW.search(message)
    if row is None:
        return []
    begins, ends, numbers, _ = (part[int(row.group(1))] for part in json_rows(lines.text))
    return [BadRow(int(begins), int(ends), int(numbers), _explained(message))]


def _not_one_object(line: bytes, objects: int) -> str:
    if objects > 1:
        several = f"it holds {objects} objects where one is expected"
        return OLD_LINE_ENDS if has_old_line_ends(line) else several
    try:
        if line.lstrip().startswith(b"{"):
            _parsed(memoryview(line), None)
    except pyarrow().ArrowInvalid as error:
        return _explained(str(error).split("\n")[0])
    return NO_OBJECT


def _explained(message: str) -> str:
    """Say in our words what pyarrow found wrong."""
    changed = _CHANGED.search(message)
    if "Number too big" in message:
        return "a number is too large"
    if changed is None:
        what = _ROW.sub("", message.removeprefix("JSON parse error: ")).strip().rstrip(".")
        return f"it is not JSON: {what}"
    name, was = changed.groups()
    was = {"number": "a number", "string": "a word", "boolean": "true or false"}.get(was, was)
    return f"the column {name} was {was} so far, but here it is not"

"""JSON lines with invalid ones among them: parse the valid lines and explain the others."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from polyak._core import json_misfits, json_rows
from polyak.data.tables.bad_values import not_utf8
from polyak.data.tables.text.lines import OLD_LINE_ENDS, BadRow, Lines, has_old_line_ends
from polyak.optional_imports import pyarrow

_ROW = re.compile(r"in row (\d+)")
_CHANGED = re.compile(
    r"Column\(/?(.*?)\) (?:changed from|was specified to be) (.+?) (?:to|but|was)", re.DOTALL
)
NO_OBJECT = "it is not an object in braces"
DEEPEST = 100
"""The largest depth of nested values; equal to `kDeepest` of the core."""
TOO_DEEP = -2
"""The count of objects that `json_rows` returns for a line nested too deep."""
KINDS = {"number": "a number", "string": "a word", "boolean": "true or false", "list": "a list"}
KINDS |= {"object": "an object"}
SHOWN = 10
WINDOW = 128
"""The number of lines parsed at a time after an invalid line whose row pyarrow does not name. It
doubles with each valid window, since each call costs as much as parsing dozens of lines."""


def parse_json(text: memoryview, schema: Any, more: bool = False) -> Any:
    """Parse lines by pyarrow with the types of ``schema``.

    Other columns are inferred if ``more`` is set or ``schema`` is None, and ignored otherwise.
    """
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


class Sorting:
    """Separates valid lines from those that are not one object, or not of the schema's types.

    The core finds the errors that are cheap to detect. For the others, pyarrow parses all
    remaining lines and stops at the first invalid one, whose row its message may name. It returns
    no columns then, so the lines before that one are parsed again.

    Attributes
    ----------
    bad : list of BadRow
    table : pyarrow.Table or None
        The valid lines, unless their types have to be inferred again without the invalid ones.
    cause : Exception or None
        The first error of pyarrow.
    """

    def __init__(self, lines: Lines, schema: Any, error: Any) -> None:
        rows = json_rows(lines.text)
        self._begins, self._ends, self._numbers, objects = rows
        self._text = bytearray(lines.text)
        self._left = np.flatnonzero(objects == 1)
        self._types = _Types(schema)
        self.bad = _no_objects(lines, rows)
        for row in self.bad:
            self._blank(row)
        self.cause = error
        if schema is not None:
            self._leave_out(_misfits(self._text, schema))
        tables = self._parse()
        if schema is not None:
            tables = [pyarrow().concat_tables([schema.empty_table(), *tables]).combine_chunks()]
        tables = self._without_bad_characters(tables)
        place = _row_of(error)
        if place is not None and not self.bad:
            # All lines are objects, so row numbers in the message are indices of lines.
            self._leave_out([(place, _explained(error))])
        self.table = tables[0] if schema is not None or not self.bad else None

    def _parse(self) -> list[Any]:
        tables = []
        first, last, width = 0, len(self._left), len(self._left)
        while first < len(self._left):
            begin, end = self._begins[self._left[first]], self._ends[self._left[last - 1]]
            table, error = self._types.parse(memoryview(self._text)[begin:end])
            self.cause = self.cause or error
            if error is None:
                tables.append(table)
                first, width = last, 2 * width
            elif (place := _row_of(error)) is not None and first + place < last:
                self._leave_out([(first + place, _explained(error))])
                last = first + place
            elif last == first + 1:
                self._leave_out([(first, _explained(error))])
                last, width = first, WINDOW
            else:
                last = (first + last) // 2
            if last == first:
                last = min(first + width, len(self._left))
        return tables

    def _without_bad_characters(self, tables: list[Any]) -> list[Any]:
        """Return the tables without rows that have strings which are not UTF-8."""
        wrong: list[tuple[int, str]] = []
        good = []
        before = 0
        for table in tables:
            found = not_utf8_rows(table)
            wrong += [(before + row, reason) for row, reason in found.items()]
            before += table.num_rows
            if found:
                table = table.take(np.delete(np.arange(table.num_rows), list(found)))
            good.append(table)
        self._leave_out(wrong)
        return good

    def _leave_out(self, wrong: list[tuple[int, str]]) -> None:
        for place, reason in wrong:
            n = self._left[place]
            line = int(self._numbers[n])
            row = BadRow(int(self._begins[n]), int(self._ends[n]), line, reason)
            self.bad.append(row)
            self._blank(row)
        self._left = np.delete(self._left, [place for place, _ in wrong])

    def _blank(self, row: BadRow) -> None:
        self._text[row.begin : row.end] = b" " * (row.end - row.begin)


class _Types:
    """The types of columns: those of a schema, or those inferred so far if it is None."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._is_known = schema is not None

    def parse(self, window: memoryview) -> tuple[Any, Any]:
        """Return the parsed lines and None, or None and pyarrow's error."""
        pa = pyarrow()
        try:
            table = parse_json(window, self._schema, more=not self._is_known)
        except pa.ArrowInvalid as error:
            return None, error
        if not self._is_known:
            self._schema = pa.schema([f for f in map(_broad, table.schema) if f is not None])
        return table, None


def _broad(field: Any) -> Any:
    """Return the field with the widest type that later lines may have; None if that is open."""
    pa = pyarrow()
    is_a = pa.types
    if is_a.is_integer(field.type) or is_a.is_floating(field.type):
        return field.with_type(pa.float64())
    if is_a.is_temporal(field.type) or is_a.is_string(field.type):
        return field.with_type(pa.string())
    return field if is_a.is_boolean(field.type) else None


def _misfits(text: bytearray, schema: Any) -> list[tuple[int, str]]:
    """Return the rows with a value of another JSON type than its column, with the reason."""
    is_a = pyarrow().types
    tests = {"number": is_a.is_floating, "boolean": is_a.is_boolean, "list": is_a.is_list}
    tests |= {"object": is_a.is_struct}
    kinds = [next((k for k, test in tests.items() if test(t)), "string") for t in schema.types]
    rows, columns = json_misfits(text, schema.names, "".join(kind[0] for kind in kinds))
    return [
        (row, _changed(schema.names[column], kinds[column]))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    ]


def _row_of(error: Any) -> int | None:
    """Return the row number in pyarrow's error message; None if it has none."""
    found = _ROW.search(str(error).split("\n")[0])
    return None if found is None else int(found.group(1))


def not_utf8_rows(table: Any) -> dict[int, str]:
    """Return the rows with a string that is not UTF-8, with a reason that names the column."""
    found: dict[int, str] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        before = 0
        for chunk in column.chunks:
            for row in not_utf8(chunk).tolist():
                found.setdefault(before + row, f"the column {name} is not UTF-8")
            before += len(chunk)
    return found


def _no_objects(lines: Lines, rows: Any) -> list[BadRow]:
    found: list[BadRow] = []
    for place in np.flatnonzero(rows[3] != 1).tolist():
        begin, end, line, objects = (int(part[place]) for part in rows)
        # Only the first lines are shown, and pyarrow's explanation of one takes as long as parsing
        # ten.
        text = bytes(lines.text[begin:end])
        reason = _not_one_object(text, objects) if len(found) < SHOWN else NO_OBJECT
        found.append(BadRow(begin, end, line, reason))
    return found


def _not_one_object(line: bytes, objects: int) -> str:
    if objects == TOO_DEEP:
        return f"values are nested more than {DEEPEST} deep"
    if objects > 1:
        several = f"it holds {objects} objects where one is expected"
        return OLD_LINE_ENDS if has_old_line_ends(line) else several
    try:
        if line.lstrip().startswith(b"{"):
            parse_json(memoryview(line), None)
    except pyarrow().ArrowInvalid as error:
        return _explained(error)
    return NO_OBJECT


def _explained(error: Any) -> str:
    """Return the reason of pyarrow's error in the wording of our messages."""
    message = str(error).split("\n")[0]
    changed = _CHANGED.search(message)
    if "Number too big" in message:
        return "a number is too large"
    if changed is None:
        what = _ROW.sub("", message.removeprefix("JSON parse error: ")).strip().rstrip(".")
        return f"it is not JSON: {what}"
    return _changed(*changed.groups())


def _changed(name: str, was: str) -> str:
    was = KINDS.get(was, was)
    # pyarrow separates the names of nested columns by slashes.
    name = name.replace("/[]", "[]").replace("/", ".")
    return f"the column {name or 'without a name'} was {was} so far, but here it is not"

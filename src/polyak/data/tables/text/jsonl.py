"""Parse blocks of JSON lines into columns.

pyarrow parses them. A block that it refuses is parsed again by Python's own parser, a line at a
time, which names the bad lines and converts values of another type than their column has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from polyak.data.position import BadLine
from polyak.data.sources.blocks import LineEnds
from polyak.data.sources.line_pieces import BYTE_ORDER_MARK
from polyak.data.tables.arrow_types import MISSING_WORDS, is_list
from polyak.data.tables.bad_values import is_utf8
from polyak.data.tables.source import Parsed
from polyak.data.tables.text.lines import OLD_LINE_ENDS, Heading, Lines, has_old_line_ends
from polyak.optional_imports import pyarrow
from polyak.rows.label_text import label_text

LINE_BYTES = 1 << 16
"""The bytes at the end of a block that are searched for its last line."""
DEEPEST = 100
"""The depth of nested values beyond which a line is bad: pyarrow's parser crashes at 100,000."""
TOO_DEEP = f"values are nested more than {DEEPEST} deep"


class JsonFormat:
    """The JSON lines format: one object per line, without newlines inside."""

    name = "jsonl"

    def ends(self, delimiter: str) -> LineEnds:
        """Return a finder of row ends: every newline ends a row."""
        return LineEnds()

    def header(self, text: memoryview, file: str) -> Heading:
        """Return an empty header; a byte order mark is before its end."""
        return Heading([], end=len(BYTE_ORDER_MARK) if text[:3] == BYTE_ORDER_MARK else 0)

    def __init__(self) -> None:
        self._types: dict[str, Any] = {}
        self.mixed: list[str] = []

    def sample(self, texts: list[Lines], bad: list[BadLine]) -> Any:
        """Parse the first rows; the type of a column is one that all its values have.

        Lines that are not rows are added to ``bad``, and columns that become strings, though they
        have none, to ``mixed``.
        """
        pa = pyarrow()
        rows = [[row for _, row in _objects(lines, bad)] for lines in texts]
        names = dict.fromkeys(name for some in rows for row in some for name in row)
        found = {name: [row.get(name) for some in rows for row in some] for name in names}
        self._types = {name: _type_of(values) for name, values in found.items()}
        kinds = {n: {_kind(v) for v in values if v is not None} for n, values in found.items()}
        self.mixed = [n for n, some in kinds.items() if len(some) > 1 and "string" not in some]
        columns = {name: _column(values, self._types[name])[0] for name, values in found.items()}
        table = pa.table(columns)
        parts, begin = [], 0
        for lines, some in zip(texts, rows, strict=True):
            parts.append(lines.with_keys(table.slice(begin, len(some))))
            begin += len(some)
        return pa.concat_tables(parts)

    def late_field(self, text: memoryview) -> str | None:
        """Return a field of the last line that the sample does not have; None if there is none."""
        last = bytes(text[-LINE_BYTES:]).rstrip().rpartition(b"\n")[2]
        try:
            row = json.loads(last)
        except (ValueError, RecursionError):
            return None
        late = (name for name in row if name not in self._types) if type(row) is dict else ()
        return next(iter(late), None)

    def kept_types(self, keep: list[str]) -> dict[str, str]:
        """Return nothing: the values have types."""
        return {}

    def parse(self, lines: Lines, types: dict[str, Any], keep: list[str]) -> Parsed:
        """Parse lines into the columns ``types``; fields that a line lacks are null."""
        pa = pyarrow()
        schema = pa.schema([(name, self._arrow_type(name, kind)) for name, kind in types.items()])
        numbers = _line_numbers(lines.text)
        if numbers is not None:
            try:
                table = _parse_quickly(lines.text, schema)
            except pa.ArrowInvalid:
                table = None
            has_all = table is not None and table.num_rows == len(numbers)
            if has_all and all(is_utf8(chunk) for column in table for chunk in column.chunks):
                (batch,) = table.combine_chunks().to_batches() or [_empty(schema)]
                return Parsed(batch, lines.where(numbers))
        return _parse_carefully(lines, schema)

    def _arrow_type(self, name: str, kind: str) -> Any:
        pa = pyarrow()
        own = self._types.get(name, pa.string())
        if kind in ("number", "boolean") and own in (pa.float64(), pa.bool_()):
            return own
        known = {"number": pa.float64(), "boolean": pa.bool_(), "strings": pa.list_(pa.string())}
        return pa.string() if kind == "string" else known.get(kind, own)


def _parse_quickly(text: memoryview, schema: Any) -> Any:
    from pyarrow import json as arrow

    return arrow.read_json(
        pyarrow().BufferReader(pyarrow().py_buffer(text)),
        read_options=arrow.ReadOptions(use_threads=False, block_size=len(text) + 16),
        parse_options=arrow.ParseOptions(
            explicit_schema=schema, unexpected_field_behavior="ignore"
        ),
    )


def _parse_carefully(lines: Lines, schema: Any) -> Parsed:
    bad: list[BadLine] = []
    found = list(_objects(lines, bad))
    numbers = np.array([line for line, _ in found], np.int64)
    arrays, odd = [], []
    for field in schema:
        array, wrong = _column([row.get(field.name) for _, row in found], field.type)
        arrays.append(array)
        odd += [(row, field.name, value) for row, value in wrong]
    batch = pyarrow().RecordBatch.from_arrays(arrays, schema=schema)
    if not arrays:
        batch = _empty(schema)
    return Parsed(batch, lines.where(numbers), bad=bad, odd=sorted(odd))


def _empty(schema: Any) -> Any:
    return pyarrow().RecordBatch.from_pylist([], schema=schema)


def _objects(lines: Lines, bad: list[BadLine]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number, from zero, and the object of each line; add the others to ``bad``."""
    for number, line in enumerate(bytes(lines.text).split(b"\n")):
        if not line.strip():
            continue
        try:
            row = _DECODER.decode(line.decode())
            reason = "" if isinstance(row, dict) else "it is not an object in braces"
            if b"\\u" in line:
                json.dumps(row, ensure_ascii=False).encode()
            if line.count(b"[") + line.count(b"{") > DEEPEST and _depth(row) > DEEPEST:
                reason = TOO_DEEP
        except UnicodeDecodeError:
            reason = "it is not UTF-8"
        except UnicodeEncodeError:
            reason = "it has half of a pair of surrogates, which is no character"
        except RecursionError:
            reason = TOO_DEEP
        except ValueError as error:
            what = str(error).partition(": line")[0]
            reason = OLD_LINE_ENDS if has_old_line_ends(line) else f"it is not JSON: {what}"
        if reason:
            bad.append(lines.bad(number, line, reason))
        else:
            yield number, row


_DECODER = json.JSONDecoder(parse_constant=lambda name: None if name == "NaN" else float(name))
"""Python and others write NaN for what is missing, also among words and booleans."""


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def _type_of(values: list[Any]) -> Any:
    """Return the Arrow type of JSON values: a string if they are of several kinds, or all null."""
    pa = pyarrow()
    kinds = {_kind(value) for value in values if value is not None}
    if kinds == {"object"}:
        rows = [value for value in values if value is not None]
        names = dict.fromkeys(name for row in rows for name in row)
        return pa.struct([(name, _type_of([row.get(name) for row in rows])) for name in names])
    if kinds == {"list"}:
        return pa.list_(_type_of([item for value in values for item in value or ()]))
    if kinds == {"number"}:
        return pa.float64()
    return pa.bool_() if kinds == {"boolean"} else pa.string()


def _kind(value: Any) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "list"}
    return names.get(type(value), "object")


def _column(values: list[Any], kind: Any) -> tuple[Any, list[tuple[int, str]]]:
    """Return values as an Arrow array, and the rows and values that do not fit, which are null."""
    odd: list[tuple[int, str]] = []
    found = []
    for row, value in enumerate(values):
        try:
            found.append(_converted(value, kind))
        except ValueError:
            found.append(None)
            if value not in MISSING_WORDS:
                odd.append((row, _word(value)))
    return pyarrow().array(found, kind), odd


def _converted(value: Any, kind: Any) -> Any:
    """Return a JSON value as one of an Arrow type; raise ValueError if it is of another kind."""
    is_a = pyarrow().types
    if value is None:
        return None
    if is_a.is_string(kind):
        return _word(value)
    is_kind = _kind(value)
    if is_a.is_floating(kind) and is_kind == "number":
        return float(value)
    if is_a.is_boolean(kind) and is_kind == "boolean":
        return value
    if is_list(kind) and is_kind == "list":
        return [_converted(item, kind.value_type) for item in value]
    if is_a.is_struct(kind) and is_kind == "object":
        return {field.name: _converted(value.get(field.name), field.type) for field in kind}
    raise ValueError(value)


def _word(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return label_text(value)
    return json.dumps(value)


def _line_numbers(text: memoryview) -> Any:
    """Return the numbers of the lines that are not blank; None if pyarrow might crash on one.

    It crashes on text without any object, and on values nested 100,000 deep. If all lines begin
    and end with a brace, there is at least one object per line: none can span two lines, since
    they would have to be separated by a comma.
    """
    characters = np.frombuffer(text, np.uint8)
    newlines = np.flatnonzero(characters == ord("\n"))
    begins = np.concatenate([[0], newlines + 1])
    ends = np.concatenate([newlines, [len(characters)]])
    numbers = np.flatnonzero(ends > begins)
    begins, ends = begins[numbers], ends[numbers]
    ends = ends - ((characters[ends - 1] == ord("\r")) & (ends > begins + 1))
    braces = (characters[begins] == ord("{")) & (characters[ends - 1] == ord("}"))
    brackets = np.flatnonzero((characters == ord("[")) | (characters == ord("{")))
    line = np.searchsorted(newlines, brackets)
    may_be_deep = (line[DEEPEST:] == line[:-DEEPEST]).any()
    return numbers if len(numbers) and braces.all() and not may_be_deep else None

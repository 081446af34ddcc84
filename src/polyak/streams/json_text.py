"""JSON lines: a block of objects to columns, by pyarrow's parser; its errors in our words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from polyak.errors import DataError
from polyak.streams.arrow_types import pyarrow
from polyak.streams.stream import BadLine

if TYPE_CHECKING:
    from polyak.streams.text_tables import Lines

_ROW = re.compile(r"in row (\d+)")
_CHANGED = re.compile(
    r"Column\(/?(.*?)\) (?:changed from|was specified to be) (.+?) (?:to|but|was)", re.DOTALL
)


class JsonFormat:
    """How JSON lines are read: an object a line, without line breaks inside."""

    is_quoted = False
    name = "jsonl"

    def header(self, text: memoryview, file: str) -> tuple[list[str], int]:
        """There is none."""
        return [], 0

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
            if field.name in times:
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

    def _read(self, lines: Lines, schema: Any, bad: list[BadLine], skip_bad_lines: bool) -> Any:
        from pyarrow import json as arrow

        pa = pyarrow()
        text = lines.text
        taken_out: list[BadLine] = []
        while True:
            if not bytes(text[:4096]).strip() and not bytes(text).strip():
                return (schema or pa.schema([])).empty_table()
            parse = arrow.ParseOptions(
                explicit_schema=schema,
                unexpected_field_behavior="infer" if schema is None else "ignore",
            )
            read = arrow.ReadOptions(use_threads=False, block_size=len(text) + 16)
            try:
                table = arrow.read_json(
                    pa.BufferReader(pa.py_buffer(text)), read_options=read, parse_options=parse
                )
                break
            except pa.ArrowInvalid as error:
                place, line, sentence = self._explained(error, text, lines)
                if not skip_bad_lines or place is None:
                    raise DataError(sentence) from None
                text, shown = without_line(text, place)
                taken_out.append(BadLine(lines.file, line, shown, sentence.split(": ", 1)[1]))
        bad.extend(taken_out)
        return table

    def _explained(self, error: Any, text: memoryview, lines: Lines) -> tuple[int | None, int, str]:
        """Say which line of the text is wrong, its number in the file, and what is."""
        message = str(error).split("\n")[0]
        row = _ROW.search(message)
        if row is None:
            return None, 0, f"{lines.file}, from line {lines.first_line} on: {message}"
        place = _line_of_row(text, int(row.group(1)))
        line = lines.first_line + place
        changed = _CHANGED.search(message)
        what = message.removeprefix("JSON parse error: ")
        if changed is not None:
            name, was = changed.groups()
            was = {"number": "a number", "string": "a word", "boolean": "true or false"}.get(
                was, was
            )
            what = f"the column {name} was {was} so far, but here it is not"
        else:
            what = f"it is not JSON: {_ROW.sub('', what).strip().rstrip('.')}"
        return place, line, f"{lines.file}, line {line}: {what}"


def without_line(text: memoryview, place: int) -> tuple[memoryview, str]:
    """Leave a line empty, so that those after it keep their numbers; and show what it was."""
    rows = bytes(text).split(b"\n")
    shown = rows[place].decode(errors="replace")
    rows[place] = b""
    return memoryview(b"\n".join(rows)), shown if len(shown) <= 60 else shown[:59] + "…"


def _line_of_row(text: memoryview, row: int) -> int:
    """Find the line, from zero, of a row; a JSON text never breaks inside quotation marks."""
    rows = -1
    for number, line in enumerate(bytes(text).split(b"\n")):
        if line.strip():
            rows += 1
            if rows == row:
                return number
    return 0

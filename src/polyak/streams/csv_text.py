"""CSV and TSV: a block of lines to columns, by pyarrow's parser; its errors in our words."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from polyak.errors import DataError
from polyak.streams.arrow_types import MISSING_WORDS, pyarrow
from polyak.streams.json_text import without_line
from polyak.streams.stream import BadLine

if TYPE_CHECKING:
    from polyak.streams.text_tables import Lines

_CONVERSION = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to ([^:]+): (.*)", re.DOTALL
)
_VALUE = re.compile(r"invalid value '(.*)'", re.DOTALL)


class CsvFormat:
    """How CSV is read; a TSV has tabs."""

    is_quoted = True

    def __init__(self, name: str) -> None:
        self.name = name
        self._delimiter = "\t" if name == "tsv" else ","

    def header(self, text: memoryview, file: str) -> tuple[list[str], int]:
        """Read the names of the columns, and say where the lines after them begin."""
        head = bytes(text[: 1 << 20])
        end = head.find(b"\n") + 1 or len(head)
        while head[:end].count(b'"') % 2 and head.find(b"\n", end) > 0:
            end = head.find(b"\n", end) + 1
        try:
            line = head[:end].decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError:
            raise DataError(f"{file}, line 1: the header is not UTF-8") from None
        if self.name == "csv" and "," not in line:  # as where a comma is the decimal point
            self._delimiter = ";" if ";" in line else "\t" if "\t" in line else ","
        names = [name.strip() for name in next(csv.reader([line], delimiter=self._delimiter), [])]
        if not any(names):
            raise DataError(f"{file} is empty: it has no header")
        if all(_is_number(name) for name in names):
            raise DataError(
                f"{file} has no header: its first line is numbers, not the names of columns"
            )
        for name in names:
            if names.count(name) > 1:
                raise DataError(f"{file} has two columns called {name!r}")
        return names, end

    def infer(self, lines: Lines, skip_bad_lines: bool) -> Any:
        """Parse lines, finding the types of columns out."""
        from pyarrow import csv as arrow

        pa = pyarrow()
        # Dates and times are found in words, as in every other format.
        convert = arrow.ConvertOptions(
            strings_can_be_null=True, timestamp_parsers=["%no such format%"]
        )
        table = self._read(lines, convert, [], skip_bad_lines)
        # Words that are not UTF-8 are taken for bytes; as words, they say on which line they are.
        words_after_all = [name for name, kind in _kinds(table) if pa.types.is_binary(kind)]
        if words_after_all:
            convert.column_types = dict.fromkeys(words_after_all, pa.string())
            table = self._read(lines, convert, [], skip_bad_lines)
        columns: list[Any] = []
        for column in table.columns:
            is_a = pa.types
            kind = column.type
            if is_a.is_temporal(kind):
                columns.append(None)
            elif is_a.is_integer(kind):
                columns.append(column.cast(pa.float64(), safe=False))
            else:
                columns.append(column)
        again = [
            name for name, column in zip(table.column_names, columns, strict=True) if column is None
        ]
        if again:
            types = dict.fromkeys([*again, *words_after_all], "string")  # so the same lines are bad
            words = self.parse(lines, types, [], skip_bad_lines)
            columns = [
                words.column(name) if column is None else column
                for name, column in zip(table.column_names, columns, strict=True)
            ]
        return pa.table(dict(zip(table.column_names, columns, strict=True)))

    def parse(
        self, lines: Lines, types: dict[str, str], bad: list[BadLine], skip_bad_lines: bool
    ) -> Any:
        """Parse lines into these columns."""
        from pyarrow import csv as arrow

        pa = pyarrow()
        arrow_types = {"number": pa.float64(), "boolean": pa.bool_()}
        convert = arrow.ConvertOptions(
            column_types={name: arrow_types.get(kind, pa.string()) for name, kind in types.items()},
            include_columns=list(types),
            null_values=[*arrow.ConvertOptions().null_values, *MISSING_WORDS],
        )
        return self._read(lines, convert, bad, skip_bad_lines)

    def _read(self, lines: Lines, convert: Any, bad: list[BadLine], skip_bad_lines: bool) -> Any:
        text = lines.text
        found: list[BadLine] = []
        while True:
            wrong: list[Any] = []
            try:
                table = self._read_once(text, lines.names, convert, wrong, skip_bad_lines)
                break
            except pyarrow().ArrowInvalid as error:
                place, reason = self._explained(error, text, lines, wrong, convert)
                if not skip_bad_lines or place is None or wrong:
                    where = "" if place is None else f", line {lines.first_line + place}"
                    raise DataError(f"{lines.file}{where}: {reason}") from None
            text, shown = without_line(text, place)
            found.append(BadLine(lines.file, lines.first_line + place, shown, reason))
        for row in wrong:
            line = lines.first_line + row.number - 1
            found.append(BadLine(lines.file, line, _short(row.text), _fields(row)))
        bad.extend(sorted(found, key=lambda line: line.line))
        return table

    def _read_once(
        self, text: memoryview, names: list[str], convert: Any, wrong: list[Any], skip: bool
    ) -> Any:
        from pyarrow import csv as arrow

        pa = pyarrow()

        def note(row: Any) -> str:
            wrong.append(row)
            return "skip" if skip else "error"

        if not len(text):
            text = memoryview(b"\n")
        parse = arrow.ParseOptions(
            delimiter=self._delimiter,
            newlines_in_values=bool(np.any(np.frombuffer(text, np.uint8) == ord('"'))),
            invalid_row_handler=note,
        )
        read = arrow.ReadOptions(use_threads=False, block_size=len(text) + 16, column_names=names)
        return arrow.read_csv(
            pa.BufferReader(pa.py_buffer(text)),
            read_options=read,
            parse_options=parse,
            convert_options=convert,
        )

    def _explained(
        self, error: Any, text: memoryview, lines: Lines, wrong: list[Any], convert: Any
    ) -> tuple[int | None, str]:
        """Say which line of the text is wrong, from zero, and what is."""
        from polyak.streams.text_tables import line_of_row

        if wrong:
            row = wrong[-1]
            return (row.number or 1) - 1, f"{_fields(row)}: {_short(row.text)!r}"
        found = _CONVERSION.search(str(error))
        if found is None:
            return None, str(error).split("\n")[0]
        number, row_number, kind, what = found.groups()
        name = lines.names[int(number)]
        place = None if row_number is None else line_of_row(text, int(row_number) - 1)
        if "UTF8" in what:
            return place, f"the column {name} is not UTF-8"
        value = _VALUE.search(what)
        shown = repr(_short(value.group(1))) if value else what
        was = "a number" if kind == "double" else "true or false" if kind == "bool" else f"a {kind}"
        return place, (
            f"the column {name} was {was} so far, but here it is {shown}; "
            f"categorical={name} reads it as words"
        )


def _kinds(table: Any) -> Iterator[tuple[str, Any]]:
    return zip(table.column_names, table.schema.types, strict=True)


def _fields(row: Any) -> str:
    more = "too many" if row.actual_columns > row.expected_columns else "too few"
    return f"{row.actual_columns} fields where the header has {row.expected_columns}, {more}"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"

"""Parse blocks of CSV and TSV lines into columns, with errors that name the line."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak._core import csv_columns, csv_end, csv_rows
from polyak.data.position import BadLine
from polyak.data.sources.blocks import LineEnds
from polyak.data.tables.advice import about_word
from polyak.data.tables.arrow_types import MISSING_WORDS
from polyak.data.tables.bad_values import not_among, not_numbers, not_utf8, short
from polyak.data.tables.text.lines import (
    OLD_LINE_ENDS,
    BadRow,
    Lines,
    has_old_line_ends,
    leave_out,
    without,
)
from polyak.errors import DataError
from polyak.model.dialect import Dialect
from polyak.optional_imports import pyarrow

_QUOTED = 2
"""The state that `csv_end` returns for text that ends inside a quoted field."""


class CsvEnds(LineEnds):
    """Finds where rows end: at newlines outside quoted fields."""

    def __init__(self, format: CsvFormat, delimiter: str) -> None:
        self._format = format
        self._delimiter = delimiter
        self._state = 0

    @property
    def is_open(self) -> bool:  # type: ignore[override]
        """Whether the text so far ends inside a quoted field."""
        return self._state == _QUOTED

    def begin_file(self, head: memoryview) -> None:
        """Detect the delimiter from the beginning of a file."""
        self._delimiter = self._format.first_line(head)[2]

    def begin_block(self) -> None:
        """Reset the state to the beginning of a row."""
        self._state = 0

    def last(self, text: memoryview) -> int:
        """Return the offset after the last row that ends in ``text``; 0 if none does."""
        end, self._state = csv_end(text, self._delimiter, self._state)
        return end


class CsvFormat:
    """The CSV format, or TSV with ``name="tsv"``."""

    def __init__(self, name: str, dialect: Dialect | None = None) -> None:
        self.name = name
        self._dialect = dialect or Dialect()
        self._missing = [*_missing(), *self._dialect.missing]

    def ends(self, delimiter: str) -> LineEnds:
        """Return a finder of row ends, which ignores newlines inside quoted fields."""
        return CsvEnds(self, delimiter)

    def header(self, text: memoryview, file: str) -> tuple[list[str], int, str]:
        """Return the names of the columns, the offset of the first row, and the delimiter."""
        head, end, delimiter = self.first_line(text)
        if has_old_line_ends(head):
            raise DataError(f"{file}, line 1: {OLD_LINE_ENDS}")
        try:
            line = head.decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{file}, line 1: the header is not UTF-8; encoding='cp1252' may read it"
            ) from error
        names = [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
        if not any(names):
            raise DataError(f"{file} is empty: it has no header")
        if not self._dialect.header:
            return [f"column_{number + 1}" for number in range(len(names))], 0, delimiter
        if all(_is_number(name) for name in names):
            raise DataError(
                f"{file} has no header: its first line is numbers, not the names of columns; "
                "header=False reads it as rows"
            )
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise DataError(f"{file} has two columns called {name!r}")
            seen.add(name)
        return names, end, delimiter

    def first_line(self, text: memoryview) -> tuple[bytes, int, str]:
        """Return the header line, the offset of its end, and the delimiter."""
        comment = (self._dialect.comment or "\n").encode()
        head = bytes(text[: 1 << 16])
        if b"\n" not in head:
            head = bytes(text)
        begin = 0
        while head[begin : begin + 1] in (comment, b"\n") and begin < len(head):
            begin = head.find(b"\n", begin) + 1 or len(head)
        end = head.find(b"\n", begin) + 1 or len(head)
        while head[begin:end].count(b'"') % 2 and head.find(b"\n", end) > 0:
            end = head.find(b"\n", end) + 1
        line = head[begin:end]
        delimiter = self._dialect.delimiter or _delimiter_of(line, self.name)
        return line, end, delimiter

    def without_comments(self, text: memoryview) -> memoryview:
        r"""Return ``text`` with comment lines replaced by blank ones.

        Examples
        --------
        >>> text = memoryview(b"1,2\n# three\n4,5\n")
        >>> bytes(CsvFormat("csv", Dialect(comment="#")).without_comments(text))
        b'1,2\n\n4,5\n'
        """
        if self._dialect.comment is None:
            return text
        comment = self._dialect.comment.encode()
        lines = bytes(text).split(b"\n")
        return memoryview(b"\n".join(b"" if x.startswith(comment) else x for x in lines))

    def rows(self, lines: Lines) -> Any:
        """Return begin and end offset, line and number of fields of each row, as four arrays."""
        return csv_rows(lines.text, lines.delimiter)

    def infer(self, lines: Lines, skip_bad_lines: bool) -> Any:
        """Parse lines and infer the types of the columns."""

        def others(names: list[str]) -> Any:
            return self._inferred(lines, names, skip_bad_lines)

        return self._together(lines, lines.names, lines.names, [], others, or_missing=False)

    def _inferred(self, lines: Lines, names: list[str], skip: bool) -> Any:
        from pyarrow import csv as arrow

        pa = pyarrow()
        # Dates and times are inferred from strings by `polyak.data.tables.inference`, as in every
        # other format, so pyarrow gets a timestamp format that matches nothing.
        convert = arrow.ConvertOptions(
            strings_can_be_null=True,
            timestamp_parsers=["%no such format%"],
            include_columns=names,
            null_values=self._missing,
        )
        table = self._read(lines, {}, convert, [], skip)
        # pyarrow infers binary columns from strings that are not UTF-8. Parsing these as strings
        # fails with an error that names the line.
        words_after_all = [name for name, kind in _kinds(table) if pa.types.is_binary(kind)]
        if words_after_all:
            convert.column_types = dict.fromkeys(words_after_all, pa.string())
            types = dict.fromkeys(words_after_all, "string")
            table = self._read(lines, types, convert, [], skip)
        # Read dates and integers as strings too: dates are left to inference, and hexadecimal
        # values such as 0x1F, which pyarrow infers as integers, stay strings.
        odd = [n for n, k in _kinds(table) if pa.types.is_temporal(k) or pa.types.is_integer(k)]
        words = self.parse(lines, dict.fromkeys(odd, "string"), [], False) if odd else {}
        columns: dict[str, Any] = {}
        for (name, kind), column in zip(_kinds(table), table.columns, strict=True):
            if pa.types.is_temporal(kind) or (name in odd and _is_hexadecimal(words[name])):
                column = words[name]
            elif pa.types.is_integer(kind):
                column = column.cast(pa.float64(), safe=False)
            columns[name] = column
        return pa.table(columns)

    def parse(
        self, lines: Lines, types: dict[str, str], bad: list[BadLine], skip_bad_lines: bool
    ) -> Any:
        """Parse lines into the columns of ``types``; skipped rows are added to ``bad``."""
        from pyarrow import csv as arrow

        pa = pyarrow()
        arrow_types = {"number": pa.float64(), "boolean": pa.bool_()}

        def others(names: list[str]) -> Any:
            chosen = {name: types[name] for name in names}
            convert = arrow.ConvertOptions(
                column_types={n: arrow_types.get(kind, pa.string()) for n, kind in chosen.items()},
                include_columns=names,
                null_values=self._missing,
                strings_can_be_null=bool(self._dialect.missing),
            )
            return self._read(lines, chosen, convert, bad, skip_bad_lines)

        numbers = [name for name, kind in types.items() if kind == "number"]
        words = [name for name, kind in types.items() if kind not in arrow_types]
        return self._together(lines, list(types), numbers, words, others, or_missing=True)

    def _together(
        self,
        lines: Lines,
        names: list[str],
        numbers: list[str],
        words: list[str],
        others: Callable[[list[str]], Any],
        or_missing: bool,
    ) -> Any:
        """Parse the columns ``names``: plain ones by the core, the rest by pyarrow via ``others``.

        The core takes half the time of pyarrow, and a tenth with thousands of columns.
        """
        pa = pyarrow()

        def plain(numbers: list[str], words: list[str]) -> Any:
            may_miss = bool(self._dialect.missing)
            form = (lines.text, lines.delimiter, lines.names)
            return csv_columns(*form, numbers, words, self._missing, or_missing, may_miss)

        # The core would parse a missing marker such as -999 as a number.
        if any(map(_is_number, self._dialect.missing)):
            return others(names)
        ours = plain(numbers, words) if numbers or words else None
        known = [] if ours is None else ours.names
        read = set(known)
        rest = [name for name in names if name not in read]
        table = pa.Table.from_batches([pa.record_batch(ours)]) if known else None
        if not rest and table is not None:
            return table
        text = lines.text
        theirs = others(rest)
        if table is None:
            return theirs
        if lines.text is not text:
            # Bad rows were removed from the text, so the core has to parse it again.
            own = ([name for name in some if name in read] for some in (numbers, words))
            table = pa.Table.from_batches([pa.record_batch(plain(*own))])
        if table.num_rows != theirs.num_rows or table.column_names != known:
            return others(names)
        arrays = [*table.columns, *theirs.columns]
        return pa.Table.from_arrays(arrays, [*table.column_names, *rest]).select(names)

    def _read(
        self, lines: Lines, types: dict[str, str], convert: Any, bad: list[BadLine], skip: bool
    ) -> Any:
        """Parse lines; if that fails, remove the invalid rows and parse again."""
        pa = pyarrow()
        try:
            return _parsed(lines.text, lines, convert)
        except pa.ArrowInvalid as error:
            rows = _bad_rows(lines, types, convert)
            if rows:
                leave_out(lines, rows, bad, skip, error)
            try:
                return _parsed(lines.text, lines, convert)
            except pa.ArrowInvalid as again:
                what = str(again).split("\n")[0]
                raise DataError(f"{lines.file}, from line {lines.first_line} on: {what}") from again


@cache
def _missing() -> list[str]:
    """Return the strings that denote a missing number: pyarrow's and ``MISSING_WORDS``."""
    from pyarrow import csv as arrow

    return list({*arrow.ConvertOptions().null_values, *MISSING_WORDS})


def _delimiter_of(line: bytes, format: str) -> str:
    r"""Return the delimiter of a header: the most frequent candidate outside quoted fields.

    Examples
    --------
    >>> [_delimiter_of(header, "csv") for header in (b"a;b,c;d", b'"a;b;c",d', b"a|b")]
    [';', ',', '|']
    """
    if format == "tsv":
        return "\t"
    outside = b"".join(line.split(b'"')[::2])
    counts = {letter: outside.count(letter.encode()) for letter in ",;\t|"}
    # On a tie, `max` returns the first candidate.
    return max(counts, key=counts.__getitem__)


def _parsed(text: memoryview, lines: Lines, convert: Any) -> Any:
    from pyarrow import csv as arrow

    pa = pyarrow()
    if not len(text):
        text = memoryview(b"\n")
    parse = arrow.ParseOptions(
        delimiter=lines.delimiter,
        newlines_in_values=bool(np.any(np.frombuffer(text, np.uint8) == ord('"'))),
    )
    read = arrow.ReadOptions(use_threads=False, block_size=len(text) + 16, column_names=lines.names)
    return arrow.read_csv(
        pa.BufferReader(pa.py_buffer(text)),
        read_options=read,
        parse_options=parse,
        convert_options=convert,
    )


def _bad_rows(lines: Lines, types: dict[str, str], convert: Any) -> list[BadRow]:
    """Return all rows with a wrong number of fields or with values of a wrong type."""
    begins, ends, numbers, fields = csv_rows(lines.text, lines.delimiter)

    def row(place: int, reason: str, show: bool) -> BadRow:
        return BadRow(int(begins[place]), int(ends[place]), int(numbers[place]), reason, show)

    expected = len(lines.names)
    uneven = np.flatnonzero(fields != expected).tolist()
    found = [row(place, _fields(int(fields[place]), expected), True) for place in uneven]
    even = np.flatnonzero(fields == expected)
    reasons: dict[int, tuple[str, bool]] = {}
    if types and len(even):
        text = without(lines.text, found)
        table = _words(text, lines, types)
        if table.num_rows != len(even):
            # pyarrow splits the text into other rows, so the caller reports its error.
            return found
        for name, kind in types.items():
            (column,) = table.column(name).chunks
            for place in _wrong_values(column, kind, convert).tolist():
                if place not in reasons:
                    reasons[place] = _reason(lines.file, name, kind, column[place].as_py())
    return found + [row(int(even[place]), *reason) for place, reason in reasons.items()]


def _words(text: memoryview, lines: Lines, types: dict[str, str]) -> Any:
    """Parse columns as unconverted bytes."""
    from pyarrow import csv as arrow

    binary = pyarrow().binary()
    convert = arrow.ConvertOptions(
        column_types=dict.fromkeys(types, binary), include_columns=list(types)
    )
    return _parsed(text, lines, convert).combine_chunks()


def _wrong_values(column: Any, kind: str, convert: Any) -> NDArray[np.int64]:
    missing = {word.encode() for word in convert.null_values}
    if kind == "number":
        return not_numbers(column, missing)
    if kind == "boolean":
        known = (*convert.true_values, *convert.false_values)
        return not_among(column, missing | {word.encode() for word in known})
    return not_utf8(column)


def _reason(file: str, name: str, kind: str, value: bytes) -> tuple[str, bool]:
    """Return the reason why a value is invalid, and whether to show the row with it."""
    if kind not in ("number", "boolean"):
        return f"the column {name} is not UTF-8; encoding='cp1252' may read it", True
    was = "a number" if kind == "number" else "true or false"
    word = value.decode(errors="replace")
    return (
        f"the column {name} was {was} so far, but here it is {short(word)!r}"
        f"{about_word(file, name, word)}",
        False,
    )


def _is_hexadecimal(words: Any) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring(words, "0x", ignore_case=True)).as_py())


def _kinds(table: Any) -> Iterator[tuple[str, Any]]:
    return zip(table.column_names, table.schema.types, strict=True)


def _fields(there: int, expected: int) -> str:
    if there < 0:
        return "a quotation mark opens a field that is not closed"
    more = "too many" if there > expected else "too few"
    return f"{there} fields where the header has {expected}, {more}"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True

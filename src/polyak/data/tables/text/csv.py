"""CSV and TSV: a block of lines to columns, by pyarrow's parser; its errors in our words."""

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
"""The core's state of a text that ends inside quotation marks."""


class CsvEnds(LineEnds):
    """Finds where rows end: at newlines that are not inside quotation marks."""

    def __init__(self, format: CsvFormat, delimiter: str) -> None:
        self._format = format
        self._delimiter = delimiter
        self._state = 0

    @property
    def is_open(self) -> bool:  # type: ignore[override]
        """Whether the text so far ends inside quotation marks."""
        return self._state == _QUOTED

    def begin_file(self, head: memoryview) -> None:
        """Look at how a file begins."""
        self._delimiter = self._format.first_line(head)[2]

    def begin_block(self) -> None:
        """Expect the beginning of a row."""
        self._state = 0

    def last(self, text: memoryview) -> int:
        """Give the end of the last row that ends in the next bytes; 0 if none does."""
        end, self._state = csv_end(text, self._delimiter, self._state)
        return end


class CsvFormat:
    """How CSV is read; a TSV has tabs."""

    def __init__(self, name: str, dialect: Dialect | None = None) -> None:
        self.name = name
        self._dialect = dialect or Dialect()
        self._missing = [*_missing(), *self._dialect.missing]

    def ends(self, delimiter: str) -> LineEnds:
        """Line breaks inside quotation marks end no row."""
        return CsvEnds(self, delimiter)

    def header(self, text: memoryview, file: str) -> tuple[list[str], int, str]:
        """Read the names of the columns; say where the rows begin, and what is between fields."""
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
        """Give the header, where it ends, and what stands between its fields."""
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
        r"""Make lines blank that begin with the character of comments.

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
        """Say where rows begin and end, on which lines, and how many fields each has."""
        return csv_rows(lines.text, lines.delimiter)

    def infer(self, lines: Lines, skip_bad_lines: bool) -> Any:
        """Parse lines, finding the types of columns out."""

        def others(names: list[str]) -> Any:
            return self._inferred(lines, names, skip_bad_lines)

        return self._together(lines, lines.names, lines.names, [], others, or_missing=False)

    def _inferred(self, lines: Lines, names: list[str], skip: bool) -> Any:
        from pyarrow import csv as arrow

        pa = pyarrow()
        # Dates and times are found in words, as in every other format.
        convert = arrow.ConvertOptions(
            strings_can_be_null=True,
            timestamp_parsers=["%no such format%"],
            include_columns=names,
            null_values=self._missing,
        )
        table = self._read(lines, {}, convert, [], skip)
        # Words that are not UTF-8 are taken for bytes; as words, they say on which line they are.
        words_after_all = [name for name, kind in _kinds(table) if pa.types.is_binary(kind)]
        if words_after_all:
            convert.column_types = dict.fromkeys(words_after_all, pa.string())
            types = dict.fromkeys(words_after_all, "string")
            table = self._read(lines, types, convert, [], skip)
        # Dates and whole numbers, the latter since to pyarrow 0x1F is one: to others it is a word.
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
        """Parse lines into these columns."""
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
        """Read columns: those that are plain by the core, the others by pyarrow.

        It takes half the time that pyarrow does, with thousands of columns a tenth.
        """
        pa = pyarrow()

        def plain(numbers: list[str], words: list[str]) -> Any:
            may_miss = bool(self._dialect.missing)
            form = (lines.text, lines.delimiter, lines.names)
            return csv_columns(*form, numbers, words, self._missing, or_missing, may_miss)

        if any(map(_is_number, self._dialect.missing)):  # the core would take them for numbers
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
        if lines.text is not text:  # which bad rows were taken out of
            own = ([name for name in some if name in read] for some in (numbers, words))
            table = pa.Table.from_batches([pa.record_batch(plain(*own))])
        if table.num_rows != theirs.num_rows or table.column_names != known:
            return others(names)
        arrays = [*table.columns, *theirs.columns]
        return pa.Table.from_arrays(arrays, [*table.column_names, *rest]).select(names)

    def _read(
        self, lines: Lines, types: dict[str, str], convert: Any, bad: list[BadLine], skip: bool
    ) -> Any:
        """Parse lines; where that fails, once more without those that cannot be read."""
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
    """List the words for a missing number: pyarrow's, which are more than ours."""
    from pyarrow import csv as arrow

    return list({*arrow.ConvertOptions().null_values, *MISSING_WORDS})


def _delimiter_of(line: bytes, format: str) -> str:
    r"""Tell what stands between the fields of a header.

    Examples
    --------
    >>> [_delimiter_of(header, "csv") for header in (b"a;b,c;d", b'"a;b;c",d', b"a|b")]
    [';', ',', '|']
    """
    if format == "tsv":
        return "\t"
    outside = b"".join(line.split(b'"')[::2])
    counts = {letter: outside.count(letter.encode()) for letter in ",;\t|"}
    return max(counts, key=counts.__getitem__)  # of as many, the first


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
    """Find all rows with too many or too few fields, or with values that are not of their type."""
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
        if table.num_rows != len(even):  # then pyarrow sees other rows: its own error must do
            return found
        for name, kind in types.items():
            (column,) = table.column(name).chunks
            for place in _wrong_values(column, kind, convert).tolist():
                if place not in reasons:
                    reasons[place] = _reason(lines.file, name, kind, column[place].as_py())
    return found + [row(int(even[place]), *reason) for place, reason in reasons.items()]


def _words(text: memoryview, lines: Lines, types: dict[str, str]) -> Any:
    """Parse columns as the bytes that they are written in."""
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
    """Say what is wrong, and whether that still leaves the row to be shown."""
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

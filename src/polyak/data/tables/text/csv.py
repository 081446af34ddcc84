"""Parse blocks of CSV and TSV lines into columns, with errors that name the line."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import Any

from polyak._core import csv_columns, csv_end
from polyak.data.position import BadLine
from polyak.data.sources.blocks import LineEnds, count_newlines
from polyak.data.sources.line_pieces import BYTE_ORDER_MARK
from polyak.data.tables.arrow_types import MISSING_WORDS, in_one_piece
from polyak.data.tables.inference import SAMPLE_ROWS, unique_names
from polyak.data.tables.number_formats import fits, loses_digits, number_of
from polyak.data.tables.source import Parsed
from polyak.data.tables.text.lines import OLD_LINE_ENDS, Heading, Lines, has_old_line_ends
from polyak.errors import DataError
from polyak.model.dialect import PLAIN, Dialect
from polyak.optional_imports import pyarrow

_QUOTED = 2
"""The state that `csv_end` returns for text that ends inside a quoted field."""


class CsvEnds(LineEnds):
    """Finds where rows end: at newlines outside quoted fields."""

    def __init__(self, format: CsvFormat, delimiter: str) -> None:
        self._format = format
        self._delimiter = delimiter

    def begin_file(self, head: memoryview) -> None:
        """Detect the delimiter from the beginning of a file."""
        self._delimiter = self._format.first_line(head)[2]

    def last(self, text: memoryview) -> tuple[int, bool]:
        """Return the end of the last row that ends in ``text``, and whether a field is open."""
        end, state = csv_end(text, self._delimiter)
        return end, state == _QUOTED


class CsvFormat:
    """The CSV format, or TSV with ``name="tsv"``."""

    def __init__(self, name: str, dialect: Dialect | None = None, known: Sequence[Any] = ()):
        self.name = name
        self.dialect = dialect or Dialect()
        # Names of columns: a line of numbers that has one of these is a header.
        self._known = frozenset(known)
        self.mixed: Sequence[str] = ()  # values of text have no kinds
        self._sampled: list[Lines] = []
        self._no_numbers: set[str] = set()

    def ends(self, delimiter: str) -> LineEnds:
        """Return a finder of row ends, which ignores newlines inside quoted fields."""
        return CsvEnds(self, delimiter)

    def header(self, text: memoryview, file: str) -> Heading:
        """Read the header from the beginning of a file."""
        head, end, delimiter = self.first_line(text)
        if has_old_line_ends(head):
            raise DataError(f"{file}, line 1: {OLD_LINE_ENDS}")
        try:
            line = head.decode("utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{file}, line 1: the header is not UTF-8; encoding='cp1252' may read it"
            ) from error
        if "\0" in line:
            raise DataError(
                f"{file}, line 1: the header has a NUL character; if it is UTF-16 without a byte "
                "order mark, encoding='utf-16-le' may read it"
            )
        names = next(csv.reader([line], delimiter=delimiter), [])
        # A frame keeps blanks around names, so those of its model, or asked for, have them here.
        names = [name if name in self._known else name.strip() for name in names]
        if not any(names):
            raise DataError(f"{file} is empty: it has no header")
        if not self.dialect.header:
            return Heading([f"column_{number + 1}" for number in range(len(names))], delimiter)
        if self._known.isdisjoint(names) and all(number_of(n) is not None for n in names):
            raise DataError(
                f"{file} has no header: its first line is numbers, not the names of columns; "
                "header=False reads it as rows"
            )
        return Heading(unique_names(names, file), delimiter, end, count_newlines(text[:end]))

    def first_line(self, text: memoryview) -> tuple[bytes, int, str]:
        """Return the header line, the offset of its end, and the delimiter."""
        comment = (self.dialect.comment or "\n").encode()
        head = bytes(text[: 1 << 16])
        if b"\n" not in head:
            head = bytes(text)
        begin = 0
        for _ in range(self.dialect.skip_rows):
            begin = head.find(b"\n", begin) + 1 or len(head)
        while head[begin : begin + 1] in (comment, b"\n") and begin < len(head):
            begin = head.find(b"\n", begin) + 1 or len(head)
        end = head.find(b"\n", begin) + 1 or len(head)
        named = head[begin:end].rstrip(b"\r\n")
        if named.removeprefix(BYTE_ORDER_MARK)[:4].lower() == b"sep=" and named[-1:] != b"=":
            # Excel names the delimiter in a line above the header.
            begin, end = end, head.find(b"\n", end) + 1 or len(head)
            return head[begin:end], end, self.dialect.delimiter or named[-1:].decode("latin-1")
        while head[begin:end].count(b'"') % 2 and head.find(b"\n", end) > 0:
            end = head.find(b"\n", end) + 1
        line = head[begin:end]
        following = head[end:].partition(b"\n")[0]
        delimiter = self.dialect.delimiter or _delimiter_of(line, following, self.name)
        return bytes(_with_single_blanks(line)) if delimiter == " " else line, end, delimiter

    def sample(self, texts: list[Lines], bad: list[BadLine]) -> Any:
        """Parse the first rows: columns of plain numbers as such, all others as strings.

        Lines that are not rows are added to ``bad``. Lines of later files are left out if one of
        them lacks a column.
        """
        names = texts[0].heading.names
        needed = {*names, *texts[0].keys}
        alike = [lines for lines in texts if needed <= {*lines.heading.names, *lines.keys}]
        self._sampled = alike if len(alike) == len(texts) else texts[:1]
        # With thousands of columns, one pass for all of them is what is fast.
        numbers = self._sample_as("number", names, bad)
        words = {name for name in names if numbers.column(name).null_count == numbers.num_rows}
        words |= self._no_numbers
        if not words:
            return numbers
        strings = self._sample_as("string", [name for name in names if name in words], [])
        columns = {n: (strings if n in words else numbers).column(n) for n in numbers.column_names}
        return pyarrow().table(columns)

    def sample_words(self, names: list[str]) -> Any:
        """Return columns of the sample as strings."""
        return self._sample_as("string", names, [])

    def _sample_as(self, kind: str, names: list[str], bad: list[BadLine]) -> Any:
        found = []
        for lines in self._sampled:
            parsed = self.parse(lines, dict.fromkeys(names, kind), [])
            bad += parsed.bad
            self._no_numbers |= {name for _, name, _ in parsed.odd}
            found.append(lines.with_keys(parsed.table))
        return pyarrow().Table.from_batches(found)

    def kept_types(self, keep: list[str]) -> dict[str, str]:
        """Return whether columns to keep are numbers, or strings since numbers lose digits."""
        if not keep:
            return {}
        words = self.sample_words([name for name in keep if name in self._sampled[0].heading.names])
        kept = {n: in_one_piece(words.column(n).slice(0, SAMPLE_ROWS)) for n in words.column_names}
        return {
            name: "number" if fits(words, PLAIN) and not loses_digits(words) else "string"
            for name, words in kept.items()
        }

    def parse(self, lines: Lines, types: dict[str, Any], keep: list[str]) -> Parsed:
        """Parse the columns ``types``: those of numbers as such, all others as strings."""
        pa = pyarrow()
        numbers = [name for name, kind in types.items() if kind == "number"]
        words = [name for name, kind in types.items() if kind != "number"]
        missing = [*MISSING_WORDS, *self.dialect.missing]
        names, delimiter = lines.heading.names, lines.heading.delimiter
        text = self._without_comments(lines.text)
        text = _with_single_blanks(text) if delimiter == " " else text
        found = csv_columns(text, delimiter, names, numbers, words, missing)
        parsed = Parsed(pa.record_batch(found).select(list(types)), lines.where(found.lines))
        for begin, end, line, cells in found.bad_rows:
            parsed.bad.append(lines.bad(line, bytes(text[begin:end]), _cells(cells, len(names))))
        for row, name in found.no_text:
            reason = f"the column {name} is not UTF-8; encoding='cp1252' may read it"
            parsed.wrong.setdefault(row, reason)
        parsed.odd += [(r, name, v.decode(errors="replace")) for r, name, v in found.no_numbers]
        if keep:
            parsed.kept = pa.record_batch(csv_columns(text, delimiter, names, [], keep, []))
        return parsed

    def _without_comments(self, text: memoryview) -> memoryview:
        """Return ``text`` with comment lines replaced by blank ones."""
        if self.dialect.comment is None:
            return text
        comment = self.dialect.comment.encode()
        lines = bytes(text).split(b"\n")
        return memoryview(b"\n".join(b"" if x.startswith(comment) else x for x in lines))


def _with_single_blanks(text: bytes | memoryview) -> memoryview:
    r"""Return text with one blank between fields, and none around lines; quoted text as it is.

    Examples
    --------
    >>> bytes(_with_single_blanks(b'  a   "b  c" \n1  2'))
    b'a "b  c"\n1 2'
    """
    return memoryview(_BLANKS.sub(rb"\1", bytes(text)))


_BLANKS = re.compile(rb'("[^"]*")|^ +| +(?=\r?$)|(?<= ) +', re.MULTILINE)


def _delimiter_of(line: bytes, following: bytes, format: str) -> str:
    r"""Return the delimiter of a header: the most frequent candidate outside quoted fields.

    Without any, it is the blank if that gives the line that follows as many fields.

    Examples
    --------
    >>> [_delimiter_of(header, b"1", "csv") for header in (b"a;b,c;d", b'"a;b;c",d', b"a|b")]
    [';', ',', '|']
    >>> _delimiter_of(b"a  b", b"1 2", "csv"), _delimiter_of(b"house price", b"12", "csv")
    (' ', ',')
    """
    if format == "tsv":
        return "\t"
    outside = b"".join(line.split(b'"')[::2])
    counts = {letter: outside.count(letter.encode()) for letter in ",;\t|"}
    if not any(counts.values()) and 1 < len(line.split()) == len(following.split()):
        return " "
    # On a tie, `max` returns the first candidate.
    return max(counts, key=counts.__getitem__)


def _cells(there: int, expected: int) -> str:
    if there < 0:
        return "a quotation mark opens a field that is not closed"
    more = "too many" if there > expected else "too few"
    return f"{there} fields where the header has {expected}, {more}"

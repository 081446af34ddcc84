"""Lines of a text table, and the invalid ones among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from polyak.data.position import BadLine
from polyak.data.tables.bad_values import short
from polyak.errors import DataError


@dataclass(slots=True)
class Lines:
    """Some whole lines of a file, without its header.

    Attributes
    ----------
    text : memoryview
        The lines; parsing replaces invalid rows by blank lines.
    file : str
    names : list of str
        The column names of the header; empty for JSON.
    keys : dict
        The partition keys of the file's path.
    first : int, or function
        The number of the first line in its file, or a function that computes it on demand.
    delimiter : str
        The character between fields.
    """

    text: memoryview
    file: str
    names: list[str]
    keys: dict[str, str | None]
    first: int | Callable[[], int]
    delimiter: str = ","

    @property
    def first_line(self) -> int:
        """The number of the first line in its file."""
        return self.first if isinstance(self.first, int) else self.first()

    def bad_line(self, row: BadRow) -> BadLine:
        """Return the record of an invalid row, with its line number and text."""
        shown = short(bytes(self.text[row.begin : row.end]).decode(errors="replace"))
        return BadLine(self.file, self.first_line + row.line, shown, row.reason)


class BadRow(NamedTuple):
    """An invalid row: its offsets in the text, its line counted from zero, and the reason."""

    begin: int
    end: int
    line: int
    reason: str
    show: bool = True
    """Whether to show the text of the row, because the reason does not quote the value."""


def leave_out(lines: Lines, rows: list[BadRow], bad: list[BadLine], skip: bool, cause: Any) -> None:
    """Add ``rows`` to ``bad`` and blank them in ``lines``.

    Raises `DataError` for the first of them unless ``skip`` is set.
    """
    rows = sorted(rows)
    if not skip:
        first = lines.bad_line(rows[0])
        shown = f": {first.text!r}" if rows[0].show else ""
        raise DataError(f"{first.file}, line {first.line}: {first.reason}{shown}") from cause
    bad.extend(lines.bad_line(row) for row in rows)
    lines.text = without(lines.text, rows)


def without(text: memoryview, rows: list[BadRow]) -> memoryview:
    r"""Return ``text`` without ``rows`` but with their newlines, which keeps line numbers valid.

    Examples
    --------
    >>> bytes(without(memoryview(b'a\n"b\nc"\nd\n'), [BadRow(2, 7, 1, "")]))
    b'a\n\n\nd\n'
    """
    parts: list[Any] = []
    place = 0
    for row in rows:
        inside = bytes(text[row.begin : row.end]).count(b"\n")
        parts += [text[place : row.begin], b"\n" * inside]
        place = row.end
    return memoryview(b"".join([*parts, text[place:]]))


OLD_LINE_ENDS = (
    "it has carriage returns inside: where lines end with these alone, as on old Macs, turn them "
    "into newlines first, as tr '\\r' '\\n' does"
)
"""The error message for text whose lines end with carriage returns alone."""


def has_old_line_ends(head: bytes) -> bool:
    r"""Whether the lines of a text that begins with ``head`` end with carriage returns alone.

    Examples
    --------
    >>> has_old_line_ends(b"a,b\r1,2\r"), has_old_line_ends(b"a,b\r\n1,2\r\n")
    (True, False)
    """
    return b"\r" in head.rstrip(b"\r\n") and b"\n" not in head


def loses_digits(words: Any) -> bool:
    """Whether integers such as ids lose digits as floats: leading zeros, or beyond 2^53.

    Examples
    --------
    >>> import pyarrow as pa
    >>> loses_digits(pa.array(["12", "-3", "0", "0.5"]))
    False
    >>> loses_digits(pa.array(["007"])), loses_digits(pa.array(["9007199254740993"]))
    (True, True)
    """
    for word in words.to_pylist():
        digits = (word or "").strip().lstrip("+-")
        if digits.isdecimal() and (digits != str(int(digits)) or int(float(digits)) != int(digits)):
            return True
    return False

"""Lines of a text table, and those of them that cannot be read."""

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
        Once they are parsed, what could not be read is blank.
    file : str
    names : list of str
        The columns as the header names them; nothing for JSON.
    keys : dict
        The columns that the folder's name gives.
    first : int, or function
        The number of the first line in its file, or what finds it, should it be asked for.
    delimiter : str
        What stands between fields.
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
        """Name a row by its line."""
        shown = short(bytes(self.text[row.begin : row.end]).decode(errors="replace"))
        return BadLine(self.file, self.first_line + row.line, shown, row.reason)


class BadRow(NamedTuple):
    """A row that cannot be read: where it is in the text, on which line from zero, and why."""

    begin: int
    end: int
    line: int
    reason: str
    show: bool = True
    """Whether the reason alone does not show what stands there."""


def leave_out(lines: Lines, rows: list[BadRow], bad: list[BadLine], skip: bool, cause: Any) -> None:
    """Note bad rows and make them blank; or, if none is to be skipped, raise what the first is."""
    rows = sorted(rows)
    if not skip:
        first = lines.bad_line(rows[0])
        shown = f": {first.text!r}" if rows[0].show else ""
        raise DataError(f"{first.file}, line {first.line}: {first.reason}{shown}") from cause
    bad.extend(lines.bad_line(row) for row in rows)
    lines.text = without(lines.text, rows)


def without(text: memoryview, rows: list[BadRow]) -> memoryview:
    r"""Take rows out of a text, but for their newlines: the lines after them keep their numbers.

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
"""What to say of text whose lines end with carriage returns alone."""


def has_old_line_ends(head: bytes) -> bool:
    r"""Tell from how a text begins whether its lines end with carriage returns alone.

    Examples
    --------
    >>> has_old_line_ends(b"a,b\r1,2\r"), has_old_line_ends(b"a,b\r\n1,2\r\n")
    (True, False)
    """
    return b"\r" in head.rstrip(b"\r\n") and b"\n" not in head


def loses_digits(words: Any) -> bool:
    """Tell whether ids written like these are not what they are once they are numbers.

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

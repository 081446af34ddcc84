"""Where the reading of a source stands, and the lines it left out."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

Position = dict[str, Any]
"""Where a batch ended: what JSON can hold, and only the reader that made it understands."""


class BadLine(NamedTuple):
    """A line that could not be read and was skipped."""

    file: str
    line: int
    text: str
    reason: str

    def __str__(self) -> str:
        shown = f": {self.text!r}" if self.text else ""
        return f"{self.file}, line {self.line}: {self.reason}{shown}"


def short(text: str) -> str:
    """Return ``text`` truncated to 60 characters."""
    return text if len(text) <= 60 else text[:59] + "…"


class Cursor(NamedTuple):
    """Where the reading stands at the end of a batch."""

    position: Position
    rows: int = 0
    bytes_read: int = 0
    bad_lines: int = 0
    first_bad_lines: tuple[BadLine, ...] = ()

    @classmethod
    def at(cls, position: Position) -> Self:
        """Return the cursor of an earlier position, with its counts."""
        read, bad = position.get("bytes_read", 0), position.get("bad_lines", 0)
        first = tuple(BadLine(*line) for line in position.get("first_bad_lines", ()))
        return cls(position, position["rows"], read, bad, first)

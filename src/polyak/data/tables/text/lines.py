"""Lines of a text table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.data.position import BadLine, short
from polyak.data.tables.partitions import with_keys
from polyak.data.tables.source import RowNumbers


class Heading(NamedTuple):
    """The header of a file: column names, delimiter, the offset of its end, and its lines."""

    names: list[str]
    delimiter: str = ""
    end: int = 0
    lines: int = 0


class Lines(NamedTuple):
    """Some whole lines of a file, without its header.

    Attributes
    ----------
    text : memoryview
    file : str
    heading : Heading
    keys : dict
        The values of the partition columns of the file's path.
    first : int, or function
        The number of the first line in its file, or a function that returns those of lines counted
        from it.
    """

    text: memoryview
    file: str
    heading: Heading
    keys: dict[str, Any]
    first: int | Callable[[NDArray[np.int64]], NDArray[np.int64]]

    def where(self, lines: NDArray[np.int64]) -> RowNumbers:
        """Return the numbers of rows that begin at ``lines``, counted from the first line."""
        return RowNumbers(self.file, "line", self.first, lines)

    def bad(self, line: int, text: bytes, reason: str) -> BadLine:
        """Return a bad line, numbered from the first."""
        file, number, _ = RowNumbers(self.file, "line", self.first)(line)
        return BadLine(file, number, short(text.decode(errors="replace")), reason)

    def with_keys(self, batch: Any) -> Any:
        """Return ``batch`` with the partition columns."""
        return with_keys(batch, self.keys)


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

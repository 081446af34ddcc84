"""Some of a file's lines: so that several readers can share one large file of text."""

from __future__ import annotations

import io
import os

from polyak.data.sources.files import File, Opened, reason
from polyak.errors import DataError


class Span(File):
    r"""The lines of a file that begin at a byte or after it, and before another.

    So spans that follow each other have every line once, wherever they are cut. The file must not
    be compressed.

    Attributes
    ----------
    path : str
    first, last : int
        Where the first of the lines begins, and the line after the last.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "some.svm")
    >>> _ = open(path, "w").write("1 1:1\n-1 2:1\n1 3:1\n")
    >>> [(span.first, span.last) for span in (Span(path, 0, 9), Span(path, 9, 20))]
    [(0, 13), (13, 19)]
    """

    def __init__(self, path: str, begin: int, end: int) -> None:
        super().__init__(path)
        self.path = path
        if not os.path.isfile(path):
            raise DataError(f"{path} cannot be read in parts: it is not a file on a disk")
        with self.raw() as raw:
            self.first, self.last = (self._line_after(raw, place) for place in (begin, end))
        self.size = self.last - self.first
        self._lines_before: int | None = None

    def lines_before(self) -> int:
        """Count the lines of the file that come before: only asked to say where an error is."""
        if self._lines_before is None:
            self._lines_before, left = 0, self.first
            with self.raw() as raw:
                while left and (block := raw.read(min(left, 1 << 20))):
                    self._lines_before += block.count(b"\n")
                    left -= len(block)
        return self._lines_before

    def is_plain(self) -> bool:
        """Return False, since the core reads plain files whole."""
        return False

    def open(self) -> Opened:
        """Begin to read."""
        raw = self.raw()
        raw.seek(self.first)
        return Opened(self.name, raw, None, self.size)

    def _line_after(self, raw: io.FileIO, place: int) -> int:
        """Find where the first line begins that begins at a byte or after it."""
        if place <= 0:
            return 0
        try:
            place = raw.seek(place - 1)
            while block := raw.read(1 << 16):
                found = block.find(b"\n")
                if found >= 0:
                    return place + found + 1
                place += len(block)
            return raw.seek(0, io.SEEK_END)
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {reason(error)}") from error

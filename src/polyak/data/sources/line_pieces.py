"""Plain files of lines, cut into pieces that can be read in any order."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from polyak.data.sources.blocks import too_long
from polyak.data.sources.files import File, Opened, Pipe

SMALLEST, LARGEST = 1 << 13, 1 << 17
"""Limits on the bytes of a piece: reading a smaller one would take longer than parsing it, and too
few larger ones would fit into a window."""
PIECES = 1 << 12
"""Number of pieces that small files are cut into, so that there are enough to mix."""
HEAD_PIECES, HEAD_BYTES = 1 << 8, 1 << 14
"""Number of pieces that are read first where pieces are large, and their bytes."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class LinePiece(NamedTuple):
    """The lines of a file that begin at a byte or after it, and before another."""

    file: int
    begin: int
    end: int

    @property
    def size(self) -> int:
        """The approximate number of bytes."""
        return self.end - self.begin


class ManyPieces(Sequence[LinePiece]):
    """Pieces stored as three numbers each, in a tenth of the memory of `LinePiece` objects."""

    def __init__(self, numbers: ArrayLike) -> None:
        self.numbers = np.asarray(numbers, np.int64).reshape(-1, 3)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, place: Any) -> Any:
        return LinePiece(*self.numbers[place].tolist())


def together(some: Sequence[ManyPieces]) -> ManyPieces:
    """Concatenate the pieces of several files."""
    return ManyPieces(
        np.concatenate([np.empty((0, 3), np.int64), *(pieces.numbers for pieces in some)])
    )


def are_plain(files: Sequence[File | Pipe]) -> bool:
    """Whether all files can be read from any byte on: neither pipes nor compressed."""
    return all(file.is_plain() for file in files)


def has_quotes(path: str, begin: int) -> bool:
    """Whether there is a quotation mark in a file, from a byte on."""
    block = bytearray(1 << 18)  # fits into the cache
    with open(path, "rb", buffering=0) as file:
        file.seek(begin)
        while count := file.readinto(block):
            if block.find(b'"', 0, count) >= 0:
                return True
    return False


def lines_in(files: Sequence[File | Pipe], size: int) -> int:
    """Estimate from the first lines how many lines ``size`` bytes hold; 0 for a pipe."""
    if not all(file.is_regular for file in files):
        return 0
    opened = files[0].open()
    try:
        head = bytearray(1 << 16)
        filled = opened.fill(memoryview(head))
    finally:
        opened.close()
    return size * max(head.count(b"\n"), 1) // max(filled, 1)


class LinePieces:
    """The pieces of plain files, which have every line once.

    The cuts depend only on the sizes of the files; ``times`` multiplies the size of a piece. Bytes
    appended to a file later are not read.
    """

    def __init__(self, files: Sequence[Any], longest: int, times: int = 1) -> None:
        self._files: Sequence[File] = files
        self._longest = longest
        self.size = min(max(sum(file.size for file in files) // PIECES, SMALLEST), LARGEST) * times
        self._lock = threading.RLock()
        self._open: tuple[int, Opened] | None = None  # the file that was read last

    def cut(self, size: int | None = None) -> ManyPieces:
        """Cut all files into pieces of about the same number of bytes."""
        every = range(len(self._files))
        return together([self.cut_file(file, 0, size) for file in every])

    def cut_file(self, file: int, begin: int, size: int | None = None) -> ManyPieces:
        """Cut one file, from a byte on."""
        step, end = size or self.size, self._files[file].size
        begins = np.arange(begin, end, step)
        ends = np.minimum(begins + step, end)
        return ManyPieces(np.column_stack([np.full_like(begins, file), begins, ends]))

    def with_head(self, pieces: ManyPieces) -> tuple[Sequence[LinePiece], ManyPieces]:
        """Cut the beginnings of some pieces off, from all over the files; give these, and all."""
        if self.size < 4 * HEAD_BYTES:
            return (), pieces
        file, begin, end = pieces.numbers.T
        cut = np.arange(len(pieces)) % max(1, len(pieces) // HEAD_PIECES) == 0
        cut &= end - begin > HEAD_BYTES
        borders = np.where(cut, begin + HEAD_BYTES, begin)
        head = np.column_stack([file, begin, borders])[cut]
        return ManyPieces(head), ManyPieces(np.column_stack([file, borders, end]))

    def text(self, pieces: Sequence[LinePiece]) -> bytes:
        """Read the lines of pieces, one piece after the other; every line ends with a newline."""
        return b"".join(map(self._read, pieces))

    def where(self, pieces: Sequence[LinePiece], line: int) -> tuple[str, int, str]:
        """Return the file of a line of the pieces' text, its number there, and ``"line"``."""
        for piece in pieces:
            lines = bytes(self._read(piece)).count(b"\n")
            if line < lines:
                break
            line -= lines
        return self._files[piece.file].name, self.lines_before(piece) + line + 1, "line"

    def lines_before(self, piece: LinePiece) -> int:
        """Count the lines of its file before a piece: only needed to report where a line is."""
        newlines = self._files[piece.file].newlines_before(piece.begin)
        return newlines + (piece.begin > 0 and self._bytes(piece.file, piece.begin - 1, 1) != b"\n")

    def _read(self, piece: LinePiece) -> memoryview:
        """Return the lines that begin in a piece, the last of which may end behind it."""
        size = self._files[piece.file].size
        at = max(piece.begin - 1, 0)  # of the newline before the first line, if it is there
        end = piece.end - at
        text = self._bytes(piece.file, at, min(end + _MARGIN, size - at))
        first = 3 if text.startswith(BYTE_ORDER_MARK) and at == 0 else 0
        if piece.begin:
            first = text.find(b"\n", 0, end) + 1 or end
        if first >= end:
            return memoryview(b"")
        looked = end - 1
        while (last := text.find(b"\n", looked) + 1) == 0 and at + len(text) < size:
            looked = len(text)
            if looked - end > self._longest:
                line = self._files[piece.file].newlines_before(piece.end) + 1
                raise too_long(self._files[piece.file].name, line, self._longest)
            text += self._bytes(piece.file, at + looked, min(looked, size - at - looked))
        if not last:  # the last line of the file
            text += b"\n"
            last = len(text)
        if last - first > self._longest:
            self._check_lengths(piece, text[first:last])
        return memoryview(text)[first:last]

    def _bytes(self, file: int, begin: int, count: int) -> bytearray:
        """Read ``count`` bytes of a file."""
        text = bytearray(count)
        with self._lock:
            if self._open is None or self._open[0] != file:
                self.close()
                self._open = file, self._files[file].open()
            opened = self._open[1]
            opened.skip(begin - opened.bytes_read)
            opened.fill(memoryview(text))
        return text

    def close(self) -> None:
        """Close the file that was read last; what asks for a row's place opens it again."""
        with self._lock:
            if self._open is not None:
                self._open[1].close()
                self._open = None

    def _check_lengths(self, piece: LinePiece, text: bytes | bytearray) -> None:
        """Raise `DataError` for a line that is too long, as when reading in the files' order."""
        for number, line in enumerate(text.split(b"\n"), 1):
            if len(line) > self._longest:
                name = self._files[piece.file].name
                raise too_long(name, self.lines_before(piece) + number, self._longest)


_MARGIN = 1 << 12
"""Bytes behind a piece that are read with it, since its last line mostly ends there."""

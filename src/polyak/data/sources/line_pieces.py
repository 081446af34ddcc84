"""Plain files of lines, cut into pieces that can be read in any order."""

from __future__ import annotations

import io
import os
import threading
from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyak._core import PADDING, line_places
from polyak.data.sources.blocks import LongLineError
from polyak.data.sources.files import File, Pipe, reason
from polyak.errors import DataError

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


class LinesOfPieces(NamedTuple):
    """The lines of some pieces.

    Attributes
    ----------
    text : array of bytes
        The text that contains them; every line ends with a newline.
    places : array of two numbers a line
        Where each begins and ends there.
    firsts : array of int
        The number of the first line of each piece, and of all lines.
    """

    text: NDArray[np.uint8]
    places: NDArray[np.int64]
    firsts: NDArray[np.int64]

    def without_text(self) -> LinesOfPieces:
        """Return what is needed to number the lines."""
        return LinesOfPieces(_NO_TEXT, _NO_PLACES, self.firsts)


def together(some: Sequence[ManyPieces]) -> ManyPieces:
    """Concatenate the pieces of several files."""
    return ManyPieces(
        np.concatenate([np.empty((0, 3), np.int64), *(pieces.numbers for pieces in some)])
    )


_NO_TEXT = np.empty(0, np.uint8)
_NO_PLACES = np.empty((0, 2), np.int64)


def are_plain(files: Sequence[File | Pipe]) -> bool:
    """Whether all files can be read from any byte on: neither pipes nor compressed."""
    return all(isinstance(file, File) and file.is_plain() for file in files)


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
    if not all(getattr(file, "is_regular", False) for file in files):
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

    def __init__(self, files: Sequence[File | Pipe], longest: int, times: int = 1) -> None:
        self._names = [file.name for file in files]
        self._sizes = [file.size or 0 for file in files]
        self._longest = longest
        self.size = min(max(sum(self._sizes) // PIECES, SMALLEST), LARGEST) * times
        self._known: list[list[tuple[int, int]]] = [[(0, 0)] for _ in files]
        self._counting = threading.Lock()
        self._rooms: list[_Room] = []
        self._open: tuple[int, io.FileIO] | None = None

    def cut(self, size: int | None = None) -> ManyPieces:
        """Cut all files into pieces of about the same number of bytes."""
        every = range(len(self._names))
        return together([self.cut_file(file, 0, size) for file in every])

    def cut_file(self, file: int, begin: int, size: int | None = None) -> ManyPieces:
        """Cut one file, from a byte on."""
        step, end = size or self.size, self._sizes[file]
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

    def text(self, piece: LinePiece) -> memoryview:
        """Read the lines of a piece."""
        room = _Room(piece.size)
        begin, end = self._read(piece, room, 0)
        return memoryview(room.text)[begin:end]  # type: ignore[arg-type]

    def lines(self, pieces: Sequence[LinePiece]) -> LinesOfPieces:
        """Read the lines of pieces, to be taken in any order."""
        room = self._rooms.pop() if self._rooms else _Room(0)
        room.grow(0, sum(piece.size + 1 for piece in pieces) + 4 * _MARGIN)
        found = [np.empty((0, 2), np.int64)]
        end = 0
        for piece in pieces:
            begin, end = self._read(piece, room, end)
            found.append(line_places(room.text, begin, end))
        firsts = np.cumsum([len(places) for places in found])
        return LinesOfPieces(room.text, np.concatenate(found), firsts)

    def give_back(self, text: NDArray[np.uint8]) -> None:
        """Release these lines: their memory is used for the next."""
        self._rooms.append(_Room(0, text))

    def lines_before(self, piece: LinePiece) -> int:
        """Count the lines of its file before the first of a piece: only to say where a line is."""
        newlines = self._newlines(piece.file, piece.begin)
        with open(self._names[piece.file], "rb") as raw:
            raw.seek(max(piece.begin - 1, 0))
            return newlines + (piece.begin > 0 and raw.read(1) != b"\n")

    def where(self, pieces: Sequence[LinePiece], firsts: NDArray[np.int64], line: int) -> _Where:
        """Name one of the lines of some pieces: by its file and its number there."""
        number = int(np.searchsorted(firsts, line, side="right")) - 1
        piece = pieces[number]
        before = self.lines_before(piece) + line - int(firsts[number])
        return self._names[piece.file], before + 1, "line"

    def _read(self, piece: LinePiece, room: _Room, at: int) -> tuple[int, int]:
        """Read a piece into a text, behind a place; give where its lines begin and end."""
        before = max(piece.begin - 1, 0)  # the newline before the first line, if it is there
        last = at + piece.end - before
        try:
            raw = self._opened(piece.file)
            # With what comes behind it, where its last line ends.
            more = min(self._sizes[piece.file] - piece.end, _MARGIN)
            self._fill(raw, room, at, last - at + more, before, piece)
            first = at
            if piece.begin:
                first = room.newline(at, last) + 1 or last
            elif room.text[at : at + 3].tobytes() == BYTE_ORDER_MARK:
                first += 3
            if first >= last:
                return at, at
            end = self._end_of_line(raw, room, last, more, piece)
        except OSError as error:
            raise DataError(f"{self._names[piece.file]} cannot be read: {reason(error)}") from error
        self._check_lengths(piece, room.text[first:end])
        return first, end

    def _end_of_line(
        self, raw: io.FileIO, room: _Room, last: int, more: int, piece: LinePiece
    ) -> int:
        """Find the end of the line behind a piece's last byte; read on if it is not there yet.

        The last line of a file is given one if it has none.
        """
        size, here, looked = self._sizes[piece.file], piece.end + more, last - 1
        last += more
        while (found := room.newline(looked, last)) < 0:
            if here - piece.end > self._longest:
                raise self._too_long(piece.file, self._newlines(piece.file, piece.end) + 1)
            if here == size:
                room.grow(last, 1)
                room.text[last] = ord("\n")
                return last + 1
            more = min(size - here, here - piece.begin)
            self._fill(raw, room, last, more, here, piece)
            looked, last, here = last, last + more, here + more
        return found + 1

    def _opened(self, file: int) -> io.FileIO:
        """Open a file, or give the one that is open: this is called by one thread at a time."""
        if self._open is None or self._open[0] != file:
            self.close()
            self._open = file, io.FileIO(self._names[file])
        return self._open[1]

    def close(self) -> None:
        """Close the file that was read last."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def _fill(
        self, raw: io.FileIO, room: _Room, at: int, length: int, begin: int, piece: LinePiece
    ) -> None:
        """Read bytes of a file into a text."""
        room.grow(at, length)
        raw.seek(begin)
        view = memoryview(room.text)[at : at + length]  # type: ignore[arg-type]
        while len(view):
            count = raw.readinto(view) or 0
            if not count:
                raise DataError(
                    f"{self._names[piece.file]} became shorter while it was read: it had "
                    f"{self._sizes[piece.file]} bytes, and now has {os.fstat(raw.fileno()).st_size}"
                )
            view = view[count:]

    def _newlines(self, file: int, end: int) -> int:
        """Count the newlines before a byte.

        What was counted is remembered, so however often that is asked, no byte is counted twice.
        """
        with self._counting, open(self._names[file], "rb", buffering=0) as raw:
            known = self._known[file]
            at, lines = known[bisect_right(known, (end, 1 << 62)) - 1]
            raw.seek(at)
            while at < end and (block := raw.read(min(end - at, 1 << 20))):
                at += len(block)
                lines += block.count(b"\n")
                insort(known, (at, lines))
        return lines

    def _check_lengths(self, piece: LinePiece, text: NDArray[np.uint8]) -> None:
        """Refuse a line that is too long, as wherever lines are read one after the other."""
        if len(text) <= self._longest:
            return
        places = line_places(text, 0, len(text))
        lengths = places[:, 1] - places[:, 0] - 1
        if lengths.max() > self._longest:
            line = int(np.argmax(lengths > self._longest))
            raise self._too_long(piece.file, self.lines_before(piece) + line + 1)

    def _too_long(self, file: int, line: int) -> DataError:
        return DataError(LongLineError(file).sentence(self._names[file], line, self._longest))


class _Room:
    """Memory for text, with room for what a parser reads behind it."""

    def __init__(self, size: int, text: NDArray[np.uint8] | None = None) -> None:
        self.text = np.empty(size + _MARGIN + PADDING, np.uint8) if text is None else text

    def grow(self, at: int, length: int) -> None:
        """Have room for so much behind a place."""
        if at + length + PADDING > len(self.text):
            text = np.empty(max(at + length + PADDING, len(self.text) * 5 // 4), np.uint8)
            text[:at] = self.text[:at]
            self.text = text

    def newline(self, begin: int, end: int) -> int:
        """Find the first newline between two places; -1 if there is none."""
        while begin < end:
            part = self.text[begin : min(begin + _MARGIN, end)].tobytes()
            found = part.find(b"\n")
            if found >= 0:
                return begin + found
            begin += _MARGIN
        return -1


_MARGIN = 1 << 12
"""How much is read first to find the end of the last line of a piece."""
_Where = tuple[str, int, str]
Naming = Callable[[int], _Where]

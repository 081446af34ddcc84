"""Blocks of whole lines: what a parser is given at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from polyak.data.sources.files import File, Opened, Pipe
from polyak.data.text import LONGEST_LINE
from polyak.errors import DataError


class Block(NamedTuple):
    """Some whole lines of one file.

    Attributes
    ----------
    text : memoryview
    file : int
        Which of the files.
    end : int
        Where the block ends in the file's uncompressed bytes.
    bytes_read : int
        How much of all files was taken from the disk so far.
    """

    text: memoryview
    file: int
    end: int
    bytes_read: int


MOST_PARTS = 8
"""How many times as large as others a block of few lines becomes."""


class LongLineError(Exception):
    """A line has more bytes than one may have; who counts lines knows which it is."""

    def __init__(self, file: int) -> None:
        super().__init__(file)
        self.file = file

    def sentence(self, file: str, line: int, longest: int) -> str:
        """Return the message: which line it is, and what to do."""
        return (
            f"{file}, line {line}: the line has more than {longest} bytes, the most that "
            f"longest_line={longest} allows"
        )


class LineEnds:
    """Finds where lines end: at newlines."""

    is_open = False
    """Whether the text so far ends inside quotation marks."""

    def begin_file(self, head: memoryview) -> None:
        """Look at how a file begins."""

    def begin_block(self) -> None:
        """Expect the beginning of a line."""

    def last(self, text: memoryview) -> int:
        """Return the end of the last line that ends in the next bytes; 0 if none does."""
        end = len(text)
        while end > 0:
            begin = max(0, end - 4096)
            found = bytes(text[begin:end]).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
        return 0


def read_blocks(
    files: Sequence[File | Pipe],
    size: int,
    file: int = 0,
    offset: int = 0,
    *,
    longest: int = LONGEST_LINE,
    least: int = 0,
    ends: LineEnds | None = None,
) -> Generator[Block]:
    """Cut files into blocks, from an offset in one of them.

    A block begins where the previous one ended and holds all whole lines that fit into ``size``
    bytes. If the first line does not fit, or the block has fewer than ``least`` lines, the limit
    is a multiple of ``size``: the smallest that suffices, for ``least`` at most eight. So a block
    depends only on the offset where it begins, and reading can resume from the end of any block.
    ``ends`` finds the ends of lines, if these are not at every newline; a line that does not end
    within ``longest`` bytes ends at its first newline.
    """
    ends = ends or LineEnds()
    before = sum(earlier.size or 0 for earlier in files[:file])
    for i in range(file, len(files)):
        opened = files[i].open()
        try:
            opened.skip(offset)
            cutter = _Cutter(opened, min(size, longest), longest, least, ends, offset > 0)
            while (text := cutter.next()) is not None:
                offset += len(text)
                yield Block(text, i, offset, before + opened.bytes_read)
            before += opened.bytes_read
            offset = 0
        except _NoEndError:
            raise LongLineError(i) from None
        finally:
            opened.close()


def blocks_from(
    file: int, offset: int, held: Sequence[Block], rest: Iterable[Block], name: str
) -> Generator[Block]:
    """Go on from an offset in blocks of which some were read already, as of a pipe."""
    here = (0, 0)
    for block in chain(held, rest):
        here = (block.file, block.end)
        if here > (file, offset):
            known = len(block.text) - (block.end - offset) if block.file == file else 0
            yield block._replace(text=block.text[max(known, 0) :])
    if here < (file, offset):
        raise DataError(f"{name} ends before the place to go on from")


class _NoEndError(Exception):
    pass


class _Cutter:
    """Cuts what a file still holds into blocks of whole lines."""

    def __init__(
        self,
        opened: Opened,
        size: int,
        longest: int,
        least: int,
        ends: LineEnds,
        is_begun: bool,
    ) -> None:
        self._opened = opened
        self._size = size
        self._longest = longest
        self._least = least
        self._ends = ends
        self._is_begun = is_begun
        self._rest: deque[memoryview] = deque()

    def next(self) -> memoryview | None:
        """Return the next block; None after the last."""
        ends = self._ends
        parts: list[memoryview] = []
        length = end = 0
        is_enough = at_end = False
        ends.begin_block()
        while not (is_enough or at_end or length > self._longest):
            part = self._part()
            if not self._is_begun:
                ends.begin_file(part)
                self._is_begun = True
            parts.append(part)
            at_end = len(part) < self._size
            last = ends.last(part)
            end = length + last if last else end
            length += len(part)
            is_enough = end > 0 and not self._takes_more(parts, length)
        if not length:
            return None
        if at_end and not ends.is_open:
            end = length  # with or without a newline
        text = parts[0] if len(parts) == 1 else memoryview(b"".join(parts))
        if not end or not self._first_ends(text):
            end = self._first_newline(text, at_end)
        self._rest.appendleft(text[end:])
        return text[:end]

    def _takes_more(self, parts: list[memoryview], length: int) -> bool:
        """Whether a block has too few lines; only its first may be longer than one may be."""
        if not self._least or len(parts) == MOST_PARTS or length + self._size > self._longest:
            return False
        newlines = (np.count_nonzero(np.frombuffer(p, np.uint8) == ord("\n")) for p in parts)
        return bool(sum(newlines) < self._least)

    def _first_ends(self, text: memoryview) -> bool:
        """Whether the first line has no more bytes than one may have."""
        if len(text) <= self._longest:
            return True
        self._ends.begin_block()
        return self._ends.last(text[: self._longest + 1]) > 0

    def _first_newline(self, text: memoryview, at_end: bool) -> int:
        """End a line that does not end in time at its first newline."""
        found = bytes(text[: self._longest + 1]).find(b"\n") + 1
        if not found and (len(text) > self._longest or not at_end):
            raise _NoEndError
        return found or len(text)

    def _part(self) -> memoryview:
        """Return the next bytes: a whole block unless the file ends."""
        if self._rest and len(self._rest[0]) >= self._size:
            part = self._rest.popleft()
            self._rest.appendleft(part[self._size :])
            return part[: self._size]
        buffer = _empty(self._size)
        filled = 0
        while self._rest and filled < self._size:
            part = self._rest.popleft()
            n = min(len(part), self._size - filled)
            buffer[filled : filled + n] = part[:n]
            filled += n
            if n < len(part):
                self._rest.appendleft(part[n:])
        return buffer[: filled + self._opened.fill(buffer[filled:])]


def _empty(size: int) -> memoryview:
    # Not a bytearray, which would be cleared first.
    return memoryview(np.empty(size, np.uint8))  # type: ignore[arg-type]

"""Blocks of whole lines: what a parser is given at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from polyak.errors import DataError
from polyak.streams.files import File, Opened, Pipe


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

    def without_text(self) -> Block:
        """Say where the block is, without keeping its text."""
        return Block(memoryview(b""), self.file, self.end, self.bytes_read)


def read_blocks(
    files: Sequence[File | Pipe],
    size: int,
    file: int = 0,
    offset: int = 0,
    *,
    quoted: bool = False,
) -> Generator[Block]:
    """Cut files into blocks, from an offset in one of them.

    A block begins where the one before ended and holds as many whole lines as fit into ``size``
    bytes, or one line if that is longer. So a block depends on where it begins and on nothing
    else, and reading can go on from any block's end as if it had never stopped. Where lines may
    be ``quoted``, one that ends inside quotation marks is not whole.
    """
    before = sum(earlier.size or 0 for earlier in files[:file])
    for i in range(file, len(files)):
        opened = files[i].open()
        try:
            opened.skip(offset)
            for text in _whole_lines(opened, size, quoted):
                offset += len(text)
                yield Block(text, i, offset, before + opened.bytes_read)
            before += opened.bytes_read
            offset = 0
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


def _whole_lines(opened: Opened, size: int, quoted: bool) -> Generator[memoryview]:
    rest = memoryview(b"")
    while True:
        buffer = _empty(size)
        buffer[: len(rest)] = rest
        filled = len(rest) + opened.fill(buffer[len(rest) :])
        cut = _after_last_newline(buffer[:filled])
        longer = []
        while filled == size and cut == 0:  # a line longer than a block
            longer.append(buffer)
            buffer = _empty(size)
            filled = opened.fill(buffer)
            cut = _after_last_newline(buffer[:filled])
        if filled < size:
            cut = filled
        elif quoted and not longer:
            cut = _outside_quotes(buffer[:cut])
        text = memoryview(b"".join([*longer, buffer[:cut]])) if longer else buffer[:cut]
        if len(text):
            yield text
        if filled < size:
            return
        rest = buffer[cut:]


def _empty(size: int) -> memoryview:
    # Not a bytearray, which would be cleared first.
    return memoryview(np.empty(size, np.uint8))  # type: ignore[arg-type]


def _after_last_newline(buffer: memoryview) -> int:
    end = len(buffer)
    while end > 0:
        begin = max(0, end - 4096)
        found = bytes(buffer[begin:end]).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _outside_quotes(text: memoryview) -> int:
    """Give the end of the last line that does not end inside quotation marks."""
    characters = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(characters == ord('"'))
    if len(quotes) % 2 == 0:
        return len(text)
    ends = np.flatnonzero(characters == ord("\n"))
    whole = ends[np.searchsorted(quotes, ends) % 2 == 0]
    # Where there is none, a mark stands alone that quotes nothing.
    return int(whole[-1]) + 1 if len(whole) else len(text)

"""Blocks of whole lines: what a parser is given at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from polyak.data.sources.files import File, Pipe
from polyak.data.sources.translated import NO_TRANSLATION, Translation
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
    next_line : int
        The number in the file of the line behind the block.
    bytes_read : int
        How much of all files was taken from the disk so far.
    """

    text: memoryview
    file: int
    end: int
    next_line: int
    bytes_read: int


MOST_PARTS = 8
"""How many times as large as others a block of few lines becomes."""


class LineEnds:
    """Finds where lines end: at newlines."""

    def begin_file(self, head: memoryview) -> None:
        """Look at how a file begins."""

    def last(self, text: memoryview) -> tuple[int, bool]:
        """Return the end of the last line that ends in a text, and whether a quotation is open.

        The end is 0 if no line ends there. A file may end in the middle of a line, but not inside
        quotation marks.
        """
        end = len(text)
        while end > 0:
            begin = max(0, end - 4096)
            found = bytes(text[begin:end]).rfind(b"\n")
            if found >= 0:
                return begin + found + 1, False
            end = begin
        return 0, False


def too_long(name: str, line: int, longest: int) -> DataError:
    """Return the error for a line with more bytes than one may have."""
    return DataError(
        f"{name}, line {line}: the line has more than {longest} bytes, the most that "
        f"longest_line={longest} allows"
    )


def count_newlines(text: memoryview) -> int:
    """Count the newlines in ``text``."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


def read_blocks(
    files: Sequence[File | Pipe],
    size: int,
    file: int = 0,
    offset: int = 0,
    line: int = 1,
    *,
    longest: int = LONGEST_LINE,
    least: int = 0,
    ends: LineEnds | None = None,
    translation: Translation = NO_TRANSLATION,
) -> Generator[Block]:
    """Cut files into blocks, from an offset in one of them, where ``line`` begins.

    A block begins where the previous one ended and holds all whole lines that fit into ``size``
    bytes. If the first line does not fit, or the block has fewer than ``least`` lines, the limit
    is a multiple of ``size``: the smallest that suffices, for ``least`` at most eight. So a block
    depends only on the offset where it begins, and reading can resume from the end of any block.
    ``ends`` finds the ends of lines, if these are not at every newline; a line that does not end
    within ``longest`` bytes ends at its first newline.
    """
    ends = ends or LineEnds()
    before = sum(earlier.size or 0 for earlier in files[:file])
    for number in range(file, len(files)):
        opened = translation.open(files[number])
        try:
            opened.skip(offset)
            held = _with_more(memoryview(b""), min(size, longest), opened)
            if not offset:
                ends.begin_file(held)
            while len(held):
                text, rest = _cut(held, opened, min(size, longest), longest, least, ends)
                if not len(text):
                    raise too_long(files[number].name, line, longest)
                offset, line = offset + len(text), line + count_newlines(text)
                yield Block(text, number, offset, line, before + opened.bytes_read)
                held = _with_more(rest, min(size, longest), opened)
            before += opened.bytes_read
            offset, line = 0, 1
        finally:
            opened.close()


def _cut(
    held: memoryview, opened: Any, size: int, longest: int, least: int, ends: LineEnds
) -> tuple[memoryview, memoryview]:
    """Cut a block off the bytes ``held`` and further ones; it is empty if a line is too long."""
    length = end = 0
    at_end = False
    while not (end or at_end or length > longest):
        length += size
        held = _with_more(held, length, opened)
        text = held[:length]
        at_end = len(text) < length
        may_grow = length < MOST_PARTS * size and length + size <= longest
        if at_end or not may_grow or count_newlines(text) >= least:
            end, is_open = ends.last(text)
            if at_end and not is_open:
                end = len(text)  # with or without a newline
    if not end or (len(text) > longest and not ends.last(text[: longest + 1])[0]):
        end = bytes(text[: longest + 1]).find(b"\n") + 1
        if not end and at_end and len(text) <= longest:
            end = len(text)
    return held[:end], held[end:]


def _with_more(held: memoryview, count: int, opened: Any) -> memoryview:
    """Return the bytes held and those behind them, ``count`` in all unless the file ends."""
    if len(held) >= count:
        return held
    # Not a bytearray, which would be cleared first.
    buffer = memoryview(np.empty(count, np.uint8))  # type: ignore[arg-type]
    buffer[: len(held)] = held
    return buffer[: len(held) + opened.fill(buffer[len(held) :])]


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

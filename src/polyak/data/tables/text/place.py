"""Where a block of a table's text begins, and what the header of its file says."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polyak.data.sources.blocks import Block
from polyak.data.tables.text.lines import Lines
from polyak.errors import DataError


class Heading(NamedTuple):
    """What the header of a file says, and where it ends."""

    names: list[str]
    end: int
    delimiter: str


class Place(NamedTuple):
    """Where a block begins: the file, the byte, the line's number, and what its header says."""

    file: int = 0
    offset: int = 0
    line: int = 1
    names: list[str] | None = None
    delimiter: str = ","

    def of_file(self, file: int) -> Place:
        """Begin a file, unless this is in it."""
        return self if file == self.file else Place(file)

    def behind(self, block: Block, lines: Lines) -> Place:
        """Go on behind a block."""
        line = self.line + count_newlines(block.text)
        return Place(self.file, block.end, line, lines.names, lines.delimiter)


def place_from(position: dict[str, Any], files: int, name: str) -> Place:
    """Make a place of what a position holds, which may have been written by anybody."""
    try:
        at = Place(**position)
        sound = 0 <= at.file < files and at.offset >= 0 and len(at.delimiter) <= 1
    except TypeError:
        sound = False
    if not sound:
        raise DataError(f"the place to go on from is not one in {name}")
    return at


def count_newlines(text: memoryview) -> int:
    """Say how many lines end in a text."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))

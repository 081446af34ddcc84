"""Where a block of a table's text begins, and what the header of its file says."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polyak.data.sources.blocks import Block
from polyak.data.tables.text.lines import Lines


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


def count_newlines(text: memoryview) -> int:
    """Say how many lines end in a text."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))

"""The position of a block in a text table, with the header of its file."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polyak.data.sources.blocks import Block
from polyak.data.tables.text.lines import Lines
from polyak.errors import DataError


class Heading(NamedTuple):
    """The column names and delimiter of a file's header, and the offset of its end."""

    names: list[str]
    end: int
    delimiter: str


class Place(NamedTuple):
    """Where a block begins: index of the file, byte offset, line number, and the file's header."""

    file: int = 0
    offset: int = 0
    line: int = 1
    names: list[str] | None = None
    delimiter: str = ","

    def of_file(self, file: int) -> Place:
        """Return this place if it is in ``file``, otherwise the beginning of ``file``."""
        return self if file == self.file else Place(file)

    def behind(self, block: Block, lines: Lines) -> Place:
        """Return the place after ``block``."""
        line = self.line + count_newlines(block.text)
        return Place(self.file, block.end, line, lines.names, lines.delimiter)


def place_from(position: dict[str, Any], files: int, name: str) -> Place:
    """Return the place stored in ``position``; raise `DataError` if it is invalid."""
    try:
        at = Place(**position)
        sound = 0 <= at.file < files and at.offset >= 0 and len(at.delimiter) <= 1
    except TypeError:
        sound = False
    if not sound:
        raise DataError(f"the place to go on from is not one in {name}")
    return at


def count_newlines(text: memoryview) -> int:
    """Count the newlines in ``text``."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))

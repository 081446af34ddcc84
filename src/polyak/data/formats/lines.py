"""Rows that stand one a line: what the readers of all such text share."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from polyak.data.head_start import HeadStart, Text
from polyak.data.options import ReadOptions
from polyak.data.position import BadLine, Mark, Position
from polyak.data.sources.blocks import Block, LongLineError, read_blocks
from polyak.data.sources.files import File, Pipe, fingerprint, is_utf8, total_size
from polyak.errors import DataError
from polyak.rows.batch import Batch


class Parsed(NamedTuple):
    """What a format makes of a block of lines.

    Attributes
    ----------
    rows : Any
        What `LineReader._batch` makes a batch of.
    n_rows, lines, bad_lines : int
    first_bad : list
        Of the first ten bad lines the number, counted from zero, the text, and what is wrong.
    """

    rows: Any
    n_rows: int
    lines: int
    bad_lines: int
    first_bad: list[tuple[int, bytes, str]]


class LineReader:
    """Reads blocks of lines ahead, parses them on several threads, delivers them in order.

    A format says how to parse a block, and how to make a batch of what comes of it. What it has
    to remember from one block to the next are entries of the position.
    """

    format: str
    first: dict[str, Any]
    """The format's entries in the position where reading begins."""
    begun: HeadStart | None = None
    """What somebody has begun to read already."""

    def __init__(self, files: Sequence[File | Pipe], options: ReadOptions) -> None:
        self.name = files[0].name if len(files) == 1 else f"{files[0].name} and the other files"
        self.bytes_total = total_size(files)
        self.n_features = options.n_features
        self._files = files
        self._options = options
        self._float64 = _is_float64(options.dtype)

    def fingerprint(self) -> str:
        """Tell this data from other data."""
        return fingerprint(self._files)

    def begin(self, start: Position | None) -> Mark:
        """Say where reading begins."""
        if start is None:
            position = {"format": self.format, "rows": 0, "file": 0, "offset": 0, "lines": 0}
            return Mark(position | self.first)
        if start.get("format") != self.format or start["file"] >= len(self._files):
            raise DataError(f"the place to go on from is not one in {self.name}")
        bad = tuple(BadLine(*line) for line in start.get("first_bad_lines", ()))
        return Mark(
            start, start["rows"], start.get("bytes_read", 0), start.get("bad_lines", 0), bad
        )

    def read(self, mark: Mark) -> Generator[tuple[Batch, Mark]]:
        """Read on from a mark."""
        parsed_blocks = self._parsed(mark.position)
        while True:
            try:
                block, parsed = next(parsed_blocks)
            except StopIteration:
                return
            except LongLineError as error:
                raise DataError(self._too_long(error, mark.position)) from error
            mark, last = self._mark(block, parsed, mark), mark.position
            batch, more = self._batch(parsed.rows, last)
            mark.position.update(more)
            yield self._placed(batch, last, mark.position), mark

    def _placed(self, batch: Batch, last: Position, here: Position) -> Batch:
        """Let a batch name its rows."""
        return replace(batch, where=lambda row: self._where(last, here, row))

    def _where(self, last: Position, here: Position, row: int) -> tuple[str, int, str]:
        """Name a row between two positions: by its line, or by its number where that is lost."""
        file = self._files[here["file"]]
        same = last["file"] == here["file"]
        lines, offset = (last["lines"], last["offset"]) if same else (0, 0)
        if here["lines"] - lines == here["rows"] - last["rows"]:
            return file.name, lines + row + 1, "line"
        if not isinstance(file, File) or not file.is_regular:
            return file.name, last["rows"] + row + 1, "row"
        opened = file.open()
        try:
            opened.skip(offset)
            text = bytearray(here["offset"] - offset)
            opened.fill(memoryview(text))
        finally:
            opened.close()
        rows = text.split(b"\n")
        before, behind = 0, len(rows)  # the row is among the first `behind` lines
        while behind - before > 1:
            middle = (before + behind) // 2
            some = memoryview(b"\n".join(rows[:middle]) + b"\n")
            parsed = self._parse(Block(some, 0, 0, 0), last | here)
            before, behind = (before, middle) if parsed.n_rows > row else (middle, behind)
        return file.name, lines + behind, "line"

    def _too_long(self, error: LongLineError, last: Position) -> str:
        line = last["lines"] + 1 if last["file"] == error.file else 1
        return error.sentence(self._files[error.file].name, line, self._options.longest_line)

    def _blocks(self, at: Position) -> Generator[Block]:
        options = self._options
        return read_blocks(
            self._files,
            options.block_bytes,
            at["file"],
            at["offset"],
            longest=options.longest_line,
        )

    def _parsed(self, at: Position) -> Iterator[tuple[Block, Parsed]]:
        """Parse blocks ahead, from a position on."""
        # The core is given names as UTF-8, which not every name of a file is.
        plain = all(
            isinstance(file, File) and file.is_plain() and is_utf8(file.name)
            for file in self._files
        )
        if plain and self._options.number_of_threads() > 0:
            return self._parsed_by_core(at)
        return self._parsed_here(at)

    def _parsed_by_core(self, at: Position) -> Generator[tuple[Block, Parsed]]:
        """Leave reading, too, to threads that do not need Python, and may have begun already."""
        options = self._options
        paths = tuple(file.name for file in self._files)
        before = list(accumulate((file.size or 0 for file in self._files), initial=0))
        text = self._text(at, (paths, options.block_bytes, options.number_of_threads()))
        begun, self.begun = self.begun, None
        place = (at["file"], at["offset"])
        read = (begun and begun.taken_over(text, *place)) or text.read(*place)
        while True:
            try:
                block = read.next()
            except ValueError as error:  # the number of the file that has a line too long
                raise LongLineError(int(str(error))) from error
            except RuntimeError as error:
                raise DataError(str(error)) from error
            if block is None:
                return
            file, end, rows = block
            yield Block(memoryview(b""), file, end, before[file] + end), self._taken_apart(rows)

    def _parsed_here(self, at: Position) -> Iterator[tuple[Block, Parsed]]:
        return self._parsed_ahead(self._blocks(at), at)

    def _parsed_ahead(
        self, blocks: Iterator[Block], at: Position
    ) -> Iterator[tuple[Block, Parsed]]:
        from polyak.data.readahead import ordered_map  # threads of Python's, which files need not

        return ordered_map(
            lambda block: (block.without_text(), self._parse(block, at)),
            blocks,
            self._options.number_of_threads(),
        )

    def _text(self, at: Position, where: tuple[tuple[str, ...], int, int]) -> Text:
        """Describe the text to the core; where is its paths, the block's size and the threads."""
        raise NotImplementedError

    def _parse(self, block: Block, at: Position) -> Parsed:
        """Parse a block; called by several threads."""
        raise NotImplementedError

    def _taken_apart(self, rows: Any) -> Parsed:
        """Name the parts of what the core made of a block."""
        raise NotImplementedError

    def _batch(self, rows: Any, last: Position) -> tuple[Batch, dict[str, Any]]:
        """Make a batch, and the format's entries in the position behind it."""
        raise NotImplementedError

    def _mark(self, block: Block, parsed: Parsed, mark: Mark) -> Mark:
        last = mark.position
        lines_before = last["lines"] if last["file"] == block.file else 0
        file = self._files[block.file]
        first = lines_before + 1 + (file.lines_before() if parsed.first_bad else 0)
        bad = [
            BadLine(file.name, first + line, _shortened(text), reason)
            for line, text, reason in parsed.first_bad
        ]
        if bad and not self._options.skip_bad_lines:
            raise DataError(str(bad[0]))
        all_bad = (*mark.first_bad_lines, *bad)[:10]
        bad_lines = mark.bad_lines + parsed.bad_lines
        rows = mark.rows + parsed.n_rows
        position = {
            "format": self.format,
            "rows": rows,
            "file": block.file,
            "offset": block.end,
            "lines": lines_before + parsed.lines,
            "bytes_read": block.bytes_read,
            "bad_lines": bad_lines,
            "first_bad_lines": [list(line) for line in all_bad],
        }
        return Mark(position, rows, block.bytes_read, bad_lines, all_bad)


def _is_float64(dtype: Any) -> bool:
    dtype = np.dtype(np.float32 if dtype is None else dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, not {dtype}")
    return bool(dtype == np.float64)


def _shortened(text: bytes) -> str:
    words = text.decode(errors="replace")
    return words if len(words) <= 60 else words[:59] + "…"

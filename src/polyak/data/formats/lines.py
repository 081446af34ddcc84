"""Rows that stand one a line: what the readers of all such text share."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polyak._core import LineTooLong, TextBlock
from polyak.data.head_start import HeadStart, Text, TextReader
from polyak.data.options import ReadOptions
from polyak.data.position import BadLine, Cursor, Position
from polyak.data.sources.blocks import LongLineError
from polyak.data.sources.files import File, Pipe, fingerprint, is_utf8, total_size
from polyak.errors import DataError
from polyak.rows.batch import Batch


class LineReader:
    """Has the core read and parse blocks of lines ahead, and makes batches of them.

    The core reads plain files itself, and is fed the bytes of all others. A format describes its
    text to the core, and says how to make a batch of a block. What it has to remember from one
    block to the next are entries of the position.
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

    def begin(self, start: Position | None) -> Cursor:
        """Say where reading begins."""
        if start is None:
            position = {"format": self.format, "rows": 0, "file": 0, "offset": 0, "lines": 0}
            return Cursor(position | self.first)
        if start.get("format") != self.format or start["file"] >= len(self._files):
            raise DataError(f"the place to go on from is not one in {self.name}")
        bad = tuple(BadLine(*line) for line in start.get("first_bad_lines", ()))
        return Cursor(
            start, start["rows"], start.get("bytes_read", 0), start.get("bad_lines", 0), bad
        )

    def read(self, cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        """Read on from a cursor."""
        blocks = self._blocks(cursor.position)
        while True:
            try:
                block = next(blocks)
            except StopIteration:
                return
            except LineTooLong as error:
                raise DataError(self._too_long(int(str(error)), cursor.position)) from error
            cursor, last = self._cursor(block, cursor), cursor.position
            batch, more = self._batch(block, last)
            cursor.position.update(more)
            yield self._placed(batch, last, cursor.position), cursor

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
            block = self._text(last | here).parse(b"\n".join(rows[:middle]) + b"\n")
            before, behind = (before, middle) if len(block.targets) > row else (middle, behind)
        return file.name, lines + behind, "line"

    def _too_long(self, file: int, last: Position) -> str:
        line = last["lines"] + 1 if last["file"] == file else 1
        error = LongLineError(file)
        return error.sentence(self._files[file].name, line, self._options.longest_line)

    def _blocks(self, at: Position) -> Generator[TextBlock]:
        """Have blocks parsed ahead, from a position on."""
        begun, self.begun = self.begun, None
        file, offset, threads = at["file"], at["offset"], self._options.number_of_threads()
        bytes_before = sum(file.size or 0 for file in self._files[:file])
        # The core is given names as UTF-8, which not every name of a file is.
        plain = all(
            isinstance(file, File) and file.is_plain() and is_utf8(file.name)
            for file in self._files
        )
        text = self._text(at, tuple(file.name for file in self._files) if plain else ())
        reader = begun and begun.taken_over(text, file, offset)
        reader = reader or text.read(file, offset, bytes_before)
        if not plain:
            from polyak.data.readahead import ordered_map  # a thread of Python's

            fed = self._fed(reader, file, offset, bytes_before)
            for _ in ordered_map(lambda _: None, fed, min(threads, 1), ahead=threads):
                block = reader.next()
                assert block is not None
                yield block
            return
        try:
            while (block := reader.next()) is not None:
                yield block
        except RuntimeError as error:
            raise DataError(str(error)) from error

    def _fed(
        self, reader: TextReader, file: int, offset: int, bytes_before: int
    ) -> Generator[None]:
        """Hand the core what files hold, and stop after each block."""
        for source in self._files[file:]:
            opened = source.open()
            try:
                opened.skip(offset)
                at_end = False
                while not at_end:
                    room = reader.room()
                    count = opened.fill(room)
                    at_end = count < len(room)
                    if reader.filled(count, bytes_before + opened.bytes_read):
                        yield
            finally:
                opened.close()
            bytes_before += opened.bytes_read
            offset = 0

    def _text(self, at: Position, paths: tuple[str, ...] = ()) -> Text:
        """Describe the text to the core."""
        raise NotImplementedError

    def _batch(self, block: TextBlock, last: Position) -> tuple[Batch, dict[str, Any]]:
        """Make a batch, and the format's entries in the position behind it."""
        raise NotImplementedError

    def _cursor(self, block: TextBlock, cursor: Cursor) -> Cursor:
        last = cursor.position
        lines_before = last["lines"] if last["file"] == block.file else 0
        file = self._files[block.file]
        first = lines_before + 1 + (file.lines_before() if block.first_bad else 0)
        bad = [
            BadLine(file.name, first + line, _shortened(text), reason)
            for line, text, reason in block.first_bad
        ]
        if bad and not self._options.skip_bad_lines:
            raise DataError(str(bad[0]))
        all_bad = (*cursor.first_bad_lines, *bad)[:10]
        bad_lines = cursor.bad_lines + block.bad_lines
        rows = cursor.rows + len(block.targets)
        position = {
            "format": self.format,
            "rows": rows,
            "file": block.file,
            "offset": block.end,
            "lines": lines_before + block.lines,
            "bytes_read": block.bytes_read,
            "bad_lines": bad_lines,
            "first_bad_lines": [list(line) for line in all_bad],
        }
        return Cursor(position, rows, block.bytes_read, bad_lines, all_bad)


def _is_float64(dtype: Any) -> bool:
    dtype = np.dtype(np.float32 if dtype is None else dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, not {dtype}")
    return bool(dtype == np.float64)


def _shortened(text: bytes) -> str:
    words = text.decode(errors="replace")
    return words if len(words) <= 60 else words[:59] + "…"

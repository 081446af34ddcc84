"""Text with one row per line: what the readers of all such formats share."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyak._core import LineTooLong, SvmlightText, TextBlock, VwText
from polyak.data.options import ReadOptions
from polyak.data.position import BadLine, Cursor, Position, short
from polyak.data.random_order import Pieces, Unmixed, Window
from polyak.data.sources.blocks import too_long
from polyak.data.sources.files import File, Pipe, fingerprint, is_utf8, name_of_all, total_size
from polyak.data.text import BLOCK_BYTES, BLOCKS_AHEAD, UNKNOWN_BASE
from polyak.errors import DataError
from polyak.rows.batch import Batch
from polyak.rows.label_sets import sets_array
from polyak.storage.feature_names import FeatureNames

TextReader = SvmlightText | VwText
Where = tuple[str, int, str]
"""The file of a line, its number there, and ``"line"``."""

if TYPE_CHECKING:  # and where pieces are read, which most files are not
    from polyak.data.sources.line_pieces import LinePieces


class LineReader:
    """Has the core read and parse blocks of lines ahead, and makes batches of them.

    The core reads plain files itself, and is fed the bytes of all others. A format describes its
    text to the core, and says how to make a batch of a block. What it has to remember from one
    block to the next are entries of the position.
    """

    format: str
    text: type[SvmlightText] | type[VwText]
    """The core's reader of the format."""
    first: dict[str, Any]
    """The format's entries in the position where reading begins."""

    def __init__(self, files: Sequence[File | Pipe], options: ReadOptions) -> None:
        self.name = name_of_all(files)
        self.bytes_total = total_size(files)
        self.n_features = options.n_features
        self._files = files
        self._options = options
        self._float64 = _is_float64(options.dtype)
        self._reader: TextReader | None = None  # of the core, while it reads
        self._seen = FeatureNames.of({})

    def names(self) -> FeatureNames:
        """Return the names of hashed features seen so far, if they were to be collected."""
        if self._reader is None:
            return self._seen
        return self._seen.together(FeatureNames(*self._reader.names()))

    @contextmanager
    def _naming(self, reader: TextReader) -> Generator[None]:
        """Know the names that a reader of the core sees, while it is there and afterwards."""
        self._reader = reader
        try:
            yield
        finally:
            self._seen, self._reader = self.names(), None

    def fingerprint(self) -> str:
        """Return a text that identifies this data."""
        return fingerprint(self._files)

    def begin(self, start: Position | None) -> Cursor:
        """Return the cursor where reading begins."""
        if start is None:
            position = {"format": self.format, "rows": 0, "file": 0, "offset": 0, "lines": 0}
            return Cursor(position | self.first)
        if start.get("format") != self.format or start["file"] >= len(self._files):
            raise DataError(f"the place to go on from is not one in {self.name}")
        return Cursor.at(start)

    def read(self, cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        """Yield batches from a cursor on, each with the cursor behind it."""
        blocks = self._blocks(cursor.position)
        while True:
            try:
                block = next(blocks)
            except StopIteration:
                return
            except LineTooLong as error:
                raise self._too_long(int(str(error)), cursor.position) from error
            last = cursor.position
            lines = last["lines"] if last["file"] == block.file else 0
            place = {"file": block.file, "offset": block.end, "lines": lines + block.lines}
            where = partial(self._where, block.file, lines)
            batch, cursor = self._moved(block, cursor, place, block.bytes_read, where)
            yield batch, cursor

    def _where(self, file: int, before: int, line: int) -> Where:
        """Return the place of a line, ``before`` being the lines of the file before the block."""
        named = self._files[file]
        return named.name, named.lines_before() + before + line + 1, "line"

    def _too_long(self, file: int, last: Position) -> DataError:
        line = last["lines"] + 1 if last["file"] == file else 1
        return too_long(self._files[file].name, line, self._options.longest_line)

    def _blocks(self, at: Position) -> Generator[TextBlock]:
        """Have blocks parsed ahead, from a position on."""
        file, offset, threads = at["file"], at["offset"], self._options.number_of_threads()
        bytes_before = sum(file.size or 0 for file in self._files[:file])
        # The core takes names as UTF-8, and not every file name is valid UTF-8.
        plain = all(file.is_plain() and is_utf8(file.name) for file in self._files)
        reader = self._open(
            at,
            [file.name for file in self._files] if plain else [],
            file=file,
            offset=offset,
            bytes_before=bytes_before,
            threads=threads,
        )
        with self._naming(reader):
            if plain:
                yield from self._read_by_the_core(reader)
                return
            fed = self._fed(reader, file, offset, bytes_before)
            from polyak.data.readahead import ordered_map  # not where a file is read as it stands

            for _ in ordered_map(lambda _: None, fed, min(threads, 1), ahead=threads):
                block = reader.next()
                assert block is not None
                yield block

    def _read_by_the_core(self, reader: TextReader) -> Generator[TextBlock]:
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

    def _open(self, at: Position, paths: Sequence[str] = (), **place: Any) -> TextReader:
        """Open files by the core; without any, it is fed, or parses lines that it is given."""
        options = self._options
        return self.text(
            paths,
            block_bytes=options.block_bytes,
            longest_line=options.longest_line,
            head_start=BLOCKS_AHEAD,
            float64=self._float64,
            skip_bad_lines=options.skip_bad_lines,
            several_labels=options.multilabel,
            **self._parsing(at),
            **place,
        )

    def _parsing(self, at: Position) -> dict[str, Any]:
        """Return the format's own options of the core."""
        raise NotImplementedError

    def _batch(self, block: TextBlock, last: Position) -> tuple[Batch, dict[str, Any]]:
        """Make a batch, and the format's entries in the position behind it."""
        raise NotImplementedError

    def _targets(self, block: TextBlock) -> NDArray[Any]:
        if not self._options.multilabel:
            return block.targets
        return sets_array(block.label_sets)[block.targets.astype(np.intp)]

    def _moved(
        self,
        block: TextBlock,
        cursor: Cursor,
        place: dict[str, Any],
        bytes_read: int,
        where: Callable[[int], Where],
    ) -> tuple[Batch, Cursor]:
        """Return the batch of a block, and the cursor behind it.

        Lines are numbered, by ``where``, only if one has to be named.
        """
        bad = [
            BadLine(*where(line)[:2], short(text.decode(errors="replace")), reason)
            for line, text, reason in block.first_bad[: 10 - len(cursor.first_bad_lines)]
        ]
        if bad and not self._options.skip_bad_lines:
            raise DataError(str(bad[0]))
        all_bad = (*cursor.first_bad_lines, *bad)
        bad_lines = cursor.bad_lines + block.bad_lines
        rows = cursor.rows + len(block.targets)
        batch, more = self._batch(block, cursor.position)
        position = {
            "format": self.format,
            "rows": rows,
            "bad_lines": bad_lines,
            "first_bad_lines": [list(line) for line in all_bad],
            "bytes_read": bytes_read,
        }
        no_row_before = block.no_row_before
        batch = replace(
            batch,
            where=lambda row: where(row + int(np.searchsorted(no_row_before, row, side="right"))),
            gaps=block.bad_before if self._options.gaps and block.bad_lines else None,
        )
        position = position | place | more
        return batch, Cursor(position, rows, bytes_read, bad_lines, all_bad)

    # -- in any order --------------------------------------------------------------------------

    def can_read_pieces(self) -> bool:
        """Whether the files can be read from any byte on."""
        from polyak.data.sources.line_pieces import are_plain

        return are_plain(self._files)

    def pieces(self) -> Pieces:
        """Cut the files at lines."""
        from polyak.data.sources.line_pieces import LinePieces

        every = LinePieces(self._files, self._options.longest_line)
        head, rest = every.with_head(every.cut())
        return Pieces.apart(rest, every.size, head=head)

    def read_windows(self, windows: Sequence[Window], cursor: Cursor) -> Generator[Unmixed]:
        """Parse the text of each window."""
        from polyak.data.readahead import ordered_map  # not where a file is read as it stands
        from polyak.data.sources.line_pieces import LinePieces

        every = LinePieces(self._files, self._options.longest_line)
        at = cursor.position
        if at.get("base") == UNKNOWN_BASE:
            at = at | {"base": self._first_base(every, at)}
        reader = self._open(at)
        texts = ((window, every.text(window.pieces)) for window in windows)
        blocks = ordered_map(
            lambda read: (read[0], reader.parse(read[1])),
            texts,
            self._options.number_of_threads(),
            ahead=2,
        )
        try:
            with self._naming(reader):
                for window, block in blocks:
                    bytes_read = cursor.bytes_read + sum(piece.size for piece in window.pieces)
                    where = partial(every.where, window.pieces)
                    place = {"file": 0, "offset": 0, "lines": 0}
                    batch, cursor = self._moved(block, cursor, place, bytes_read, where)
                    yield [batch], cursor
        finally:
            blocks.close()
            every.close()

    def rows_in(self, size: int) -> int:
        """Return about how many rows ``size`` bytes hold."""
        from polyak.data.sources.line_pieces import lines_in

        return lines_in(self._files, size)

    def _first_base(self, every: LinePieces, at: Position) -> int:
        """Find where ids begin in the first block that shows it, as in any other order."""
        for piece in every.cut(BLOCK_BYTES):
            base = self._open(at).parse(every.text([piece])).base
            if base != UNKNOWN_BASE:
                return int(base)
        return UNKNOWN_BASE


def _is_float64(dtype: Any) -> bool:
    dtype = np.dtype(np.float32 if dtype is None else dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, not {dtype}")
    return bool(dtype == np.float64)

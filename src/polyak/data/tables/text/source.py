"""Text tables, CSV and JSON lines: cut into blocks of whole lines, which are then parsed."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.data.options import ReadOptions
from polyak.data.position import BadLine
from polyak.data.random_order import Pieces
from polyak.data.sources.blocks import Block, blocks_from, count_newlines, read_blocks
from polyak.data.sources.files import File, Pipe, fingerprint, name_of_all, total_size
from polyak.data.sources.line_pieces import (
    LinePiece,
    LinePieces,
    ManyPieces,
    are_plain,
    has_quotes,
    lines_in,
    together,
)
from polyak.data.sources.translated import Translation
from polyak.data.tables.inference import SAMPLE_ROWS, no_such_column
from polyak.data.tables.number_formats import PlainText
from polyak.data.tables.partitions import partition_columns
from polyak.data.tables.source import Parsed, Piece
from polyak.data.tables.text.csv import CsvFormat
from polyak.data.tables.text.jsonl import JsonFormat
from polyak.data.tables.text.lines import Heading, Lines
from polyak.data.text import SCORED_BYTES
from polyak.errors import DataError
from polyak.optional_imports import pyarrow

LEAST_ROWS = 256
"""The least number of rows in a block, unless small blocks are requested: with thousands of
columns, the overhead per column of a block exceeds the cost of its rows."""
LARGER_PIECES = 4
"""The factor by which pieces read in random order exceed those of other text formats, because the
overhead per column does not depend on the size of a piece."""
BYTES_OF_COLUMN = 400
"""The least number of bytes to parse at a time per column, about 64 numbers, where pieces are read
in random order: of 20,000 columns pieces of a row or less took 75 s instead of 2 s for 6.5 MB."""
SAMPLE_BYTES, SAMPLE_LINES = 1 << 20, 16
"""The bytes of text that types are inferred from, whatever the size of blocks; at least as many as
this number of lines as long as the first has: with 100,000 columns a megabyte is the header."""


class Place(NamedTuple):
    """Where a block begins: index of the file, byte offset and line number."""

    file: int = 0
    offset: int = 0
    line: int = 1


BEGINNING = Place()


class TextSource:
    """Reads CSV, TSV or JSON lines."""

    def __init__(
        self, files: Sequence[File | Pipe], text: CsvFormat | JsonFormat, options: ReadOptions
    ) -> None:
        self.format = text.name
        self.name = name_of_all(files)
        self.bytes_total = total_size(files)
        self._files = files
        encoding = options.whole_dialect().encoding
        self._translation = Translation(encoding, is_json=self.format == "jsonl")
        self._keys = partition_columns(files)
        self._text = text
        self._options = options
        self._begun: tuple[list[Block], Iterator[Block]] | None = None
        self._types: dict[str, str] = {}
        self._columns: list[str] = []
        self._keep: list[str] = []
        self._kept_as_words: list[str] = []
        self.plain_text: PlainText | None = None
        self._headings: dict[int, Heading] = {}
        self._is_quoted = False
        self._has_warned = False

    def fingerprint(self) -> str:
        """Return a string that identifies this data."""
        return fingerprint(self._files)

    def sample(self) -> Any:
        """Parse the first megabyte, and rows of later files if it has too few."""
        blocks = self._blocks(BEGINNING)
        held: list[Block] = []
        size = rows = enough = 0
        for block in blocks:
            if not held:
                first_line = bytes(block.text).find(b"\n")
                first_line = max(first_line, self._heading(block.file, block).end)
                enough = max(SAMPLE_BYTES, SAMPLE_LINES * first_line)
            held.append(block)
            size += len(block.text)
            rows += count_newlines(block.text) - (block.end == len(block.text))
            if size >= enough or (block.file > 0 and rows > SAMPLE_ROWS):
                break
        self._begun = (held, blocks)
        if not held:
            raise DataError(f"{self.name} is empty")
        texts: list[Lines] = []
        for file in dict.fromkeys(block.file for block in held):
            mine = [block for block in held if block.file == file]
            text = memoryview(b"".join(block.text for block in mine))
            if len(text) > enough:
                ends = self._text.ends("")
                ends.begin_file(text)
                text = text[: ends.last(text[:enough])[0] or len(text)]
            texts.append(self._lines(mine[0]._replace(text=text, end=len(text)), 1))
        if isinstance(self._text, CsvFormat):
            self.plain_text = PlainText(texts[0].heading.delimiter, self._text.sample_words)
        bad: list[BadLine] = []
        table = self._text.sample(texts, bad)
        if bad and not self._options.skip_bad_lines:
            raise DataError(str(bad[0]))
        asked = self._options.columns
        for name in self._text.mixed if self._options.schema is None else ():
            if name not in (*asked.drop, *asked.categorical):
                warnings.warn(
                    f"the column {name} is read as words, as it has values of several kinds in "
                    f"the first rows: drop={(name,)!r} leaves it out",
                    stacklevel=2,
                )
        return table

    def plan(self, types: dict[str, str], columns: list[str], keep: list[str]) -> None:
        """Set the columns to read and to keep, and the types to parse them as."""
        kept = self._text.kept_types(keep)
        self._types, self._columns, self._keep = kept | types, columns, keep
        words = [name for name, kind in kept.items() if kind == "string"]
        self._kept_as_words = [name for name in words if types.get(name) == "number"]

    def pieces(self, place: dict[str, Any]) -> Generator[Piece]:
        """Yield pieces of whole lines, from ``place`` on."""
        at = self._place_from(place)
        begun, self._begun = self._begun, None
        can_seek = all(getattr(file, "is_regular", False) for file in self._files)
        # Reuse the blocks of the sample; but seek if the files allow it and ``place`` is given.
        if begun is None or (place and can_seek):
            blocks = self._blocks(at)
        else:
            blocks = blocks_from(at.file, at.offset, *begun, self.name)
        for block in blocks:
            lines = self._lines(block, at.line if block.file == at.file else 1)
            self._watch_fields(lines)
            at = Place(block.file, block.end, block.next_line)
            yield Piece(lines, at._asdict(), block.bytes_read)

    def _watch_fields(self, lines: Lines) -> None:
        """Warn, once, if the last line of a block has a field that the sample does not have."""
        if self._options.schema is not None or not isinstance(self._text, JsonFormat):
            return
        name = None if self._has_warned else self._text.late_field(lines.text)
        if name is not None and name not in self._options.columns.drop:
            self._has_warned = True
            warnings.warn(
                f"the column {name} of {self.name} first comes up after the first megabyte: it is "
                "not learned; shuffle the rows",
                stacklevel=6,
            )

    def parse(self, piece: Piece) -> Parsed:
        """Parse the lines of a piece."""
        lines: Lines = piece.data
        wanted = [name for name in self._columns if name not in lines.keys]
        if names := lines.heading.names:
            there = set(names)
            for name in wanted:
                if name not in there:
                    raise no_such_column(name, names, lines.file)
        types = {name: self._types.get(name, "") for name in wanted}
        parsed = self._text.parse(lines, types, self._kept_as_words)
        parsed.table = lines.with_keys(parsed.table).select(self._columns)
        if self._keep:
            words = self._kept_as_words
            tables = (parsed.kept if name in words else parsed.table for name in self._keep)
            columns = [t.column(name) for t, name in zip(tables, self._keep, strict=True)]
            parsed.kept = pyarrow().RecordBatch.from_arrays(columns, self._keep)
        return parsed

    # -- in any order --------------------------------------------------------------------------

    def can_read_pieces(self) -> bool:
        """Whether the files can be read from any byte offset."""
        return are_plain(self._files) and not any(map(self._translation.is_needed, self._files))

    def cut(self) -> Pieces:
        """Cut the files at the ends of rows."""
        every = self._line_pieces()
        head: Sequence[LinePiece] = ()
        cut = together([self._cut(every, number) for number in range(len(self._files))])
        if not self._is_quoted:
            head, cut = every.with_head(cut)
        pieces = Pieces.apart(cut, every.size, head, is_table=True)
        least = BYTES_OF_COLUMN * len(self._columns) // every.size
        return replace(pieces, in_window=max(pieces.in_window, least), join=self._join)

    def _join(self, pieces: list[LinePiece]) -> list[list[LinePiece]]:
        """Group pieces of one file until their rows exceed the overhead of their columns."""
        groups: list[list[LinePiece]] = []
        room = 0
        for piece in pieces:
            if room <= 0 or groups[-1][0].file != piece.file:
                groups.append([])
                room = BYTES_OF_COLUMN * len(self._columns)
            groups[-1].append(piece)
            room -= piece.size
        return groups

    def _cut(self, every: LinePieces, number: int) -> ManyPieces:
        if self.format == "jsonl":
            return every.cut_file(number, 0)
        heading = self._heading(number)
        if not has_quotes(self._files[number].name, heading.end):
            return every.cut_file(number, heading.end)
        self._is_quoted = True
        # Only a scan from the beginning shows which newlines are inside quoted fields.
        at = Place(0, heading.end, heading.lines + 1)
        ends = [b.end for b in self._read([self._files[number]], every.size, at, heading)]
        return ManyPieces([(number, *ends) for ends in pairwise([heading.end, *ends])])

    def read_pieces(self, pieces: Iterator[list[LinePiece]], bytes_before: int) -> Generator[Piece]:
        """Yield the pieces of each group, in the order given."""
        self._begun = None
        every = self._line_pieces()
        try:
            for group in pieces:
                bytes_before += sum(piece.size for piece in group)
                yield Piece(self._lines_of(every, group), {}, bytes_before)
        finally:
            every.close()

    def _line_pieces(self) -> LinePieces:
        return LinePieces(self._files, self._options.longest_line, LARGER_PIECES)

    def _lines_of(self, every: LinePieces, pieces: list[LinePiece]) -> Lines:
        file, texts = pieces[0].file, [memoryview(every.text([piece])) for piece in pieces]

        def numbers(lines: NDArray[np.int64]) -> NDArray[np.int64]:
            begins = np.cumsum([0, *map(count_newlines, texts[:-1])])
            before = np.array([every.lines_before(piece) for piece in pieces], np.int64)
            piece_of = np.searchsorted(begins, lines, "right") - 1
            return np.asarray(lines + 1 + (before - begins)[piece_of], np.int64)

        name, heading = self._files[file].name, self._heading(file)
        text = texts[0] if len(texts) == 1 else memoryview(b"".join(texts))
        return Lines(text, name, heading, self._keys[file], numbers)

    def rows_in(self, size: int) -> int:
        """Return an estimate of the number of rows in ``size`` bytes."""
        return lines_in(self._files, size)

    # -- inside --------------------------------------------------------------------------------

    def _blocks(self, at: Place) -> Generator[Block]:
        size = self._options.block_bytes
        heading = self._heading(at.file) if at.offset else None
        least = LEAST_ROWS if size >= SCORED_BYTES else 0
        return self._read(self._files, size, at, heading, least)

    def _read(
        self,
        files: Sequence[File | Pipe],
        size: int,
        at: Place = BEGINNING,
        heading: Heading | None = None,
        least: int = 0,
    ) -> Generator[Block]:
        """Cut files into blocks, from the place ``at`` of a file with this ``heading``."""
        return read_blocks(
            files,
            size,
            *at,
            longest=self._options.longest_line,
            least=least,
            ends=self._text.ends("" if heading is None else heading.delimiter),
            translation=self._translation,
        )

    def _lines(self, block: Block, line: int) -> Lines:
        """Return the lines of a block that begins at ``line``, without the header of the file."""
        text, is_first = block.text, block.end == len(block.text)
        heading = self._heading(block.file, block if is_first else None)
        if is_first:
            text, line = text[heading.end :], line + heading.lines
        return Lines(text, self._files[block.file].name, heading, self._keys[block.file], line)

    def _heading(self, file: int, first: Block | None = None) -> Heading:
        """Return the header of a file, from its ``first`` block if that was read already."""
        if file not in self._headings:
            first = first or next(self._read([self._files[file]], SAMPLE_BYTES >> 4), None)
            self._headings[file] = Heading([])
            if first is not None:
                self._headings[file] = self._text.header(first.text, self._files[file].name)
        return self._headings[file]

    def _place_from(self, position: dict[str, Any]) -> Place:
        """Return the place stored in ``position``; raise `DataError` if it is invalid."""
        try:
            at = Place(**position)
            is_valid = 0 <= at.file < len(self._files) and at.offset >= 0
        except TypeError:
            is_valid = False
        if not is_valid:
            raise DataError(f"the place to go on from is not one in {self.name}")
        return at

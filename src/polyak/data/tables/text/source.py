"""Text tables, CSV and JSON lines: cut into blocks of whole lines, which are then parsed."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from polyak.data.options import ReadOptions
from polyak.data.position import BadLine
from polyak.data.random_order import Pieces
from polyak.data.sources.blocks import Block, LongLineError, blocks_from, read_blocks
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
from polyak.data.sources.translated import translated
from polyak.data.tables.arrow_types import stored_as
from polyak.data.tables.flat.columns import is_nested
from polyak.data.tables.inference import SAMPLE_ROWS, no_such_column
from polyak.data.tables.partitions import key_types, with_keys
from polyak.data.tables.source import Piece
from polyak.data.tables.text.csv import CsvFormat
from polyak.data.tables.text.jsonl import JsonFormat
from polyak.data.tables.text.late_fields import (
    LOOK_AHEAD,
    LateWatch,
    late_in,
    looked_at_once,
    with_late_rows,
)
from polyak.data.tables.text.lines import Lines, loses_digits
from polyak.data.tables.text.place import Heading, Place, count_newlines, place_from
from polyak.data.text import SCORED_BYTES
from polyak.errors import DataError
from polyak.optional_imports import pyarrow

LEAST_ROWS = 256
"""The least number of rows in a block, unless small blocks are requested: with thousands of
columns, the overhead per column of a block exceeds the cost of its rows."""
LARGER_PIECES = 4
"""The factor by which pieces read in random order exceed those of other text formats, because the
overhead per column does not depend on the size of a piece."""
SAMPLE_BYTES = 1 << 20
"""The bytes of text that types are inferred from, whatever the size of blocks."""


class TextSource:
    """Reads CSV, TSV or JSON lines."""

    def __init__(
        self, files: Sequence[File | Pipe], text: CsvFormat | JsonFormat, options: ReadOptions
    ) -> None:
        self.format = text.name
        self.name = name_of_all(files)
        self.bytes_total = total_size(files)
        encoding = options.whole_dialect().encoding
        is_json = self.format == "jsonl"
        self._files: Any = [translated(file, encoding, is_json) for file in files]
        self._text = text
        self._options = options
        self._begun: tuple[list[Block], Iterator[Block]] | None = None
        self._types: dict[str, Any] = {}
        self._columns: list[str] = []
        self._key_types = key_types(files)
        self._as_written: set[str] = set()
        self._sampled: Lines | None = None
        self.delimiter = ","
        self._twice: list[str] = []
        self._headings: dict[int, Heading | None] = {}
        self._is_quoted = False
        # The number of rows at the end of the sample that hold late fields only.
        self.late_rows = 0
        self._watch: LateWatch | None = None

    def fingerprint(self) -> str:
        """Return a string that identifies this data."""
        return fingerprint(self._files)

    def sample(self) -> Any:
        """Parse the first rows, with inferred types."""
        blocks = self._blocks(0, 0, ",")
        held: list[Block] = []
        size = rows = 0
        while (block := self._next(blocks, held)) is not None:
            held.append(block)
            size += len(block.text)
            rows += count_newlines(block.text) - (block.end == len(block.text))
            if size >= SAMPLE_BYTES or (block.file > 0 and rows > SAMPLE_ROWS):
                break
        self._begun = (held, blocks)
        if not held:
            raise DataError(f"{self.name} is empty")
        text = memoryview(b"".join(block.text for block in held if block.file == 0))
        if len(text) > SAMPLE_BYTES:
            ends = self._text.ends("")
            ends.begin_file(text)
            text = text[: ends.last(text[:SAMPLE_BYTES]) or len(text)]
        lines = self._lines(held[0]._replace(text=text, end=len(text)), Place())
        lines, table = self._inferred(lines)
        self._sampled, self.delimiter = lines, lines.delimiter
        if self._options.keep and self.format != "jsonl":
            keep = list(self._options.keep)
            keep = table.column_names if keep == ["*"] else keep
            numbers = [name for name in keep if self._types.get(name) == "number"]
            words = self._text.parse(lines, dict.fromkeys(numbers, "string"), [], True)
            self._as_written = {name for name in numbers if loses_digits(words.column(name))}
        table = with_keys(table, lines.keys, self._key_types)
        later = [block for block in held if block.file > 0]
        table = self._with_later_files(table, later).slice(0, SAMPLE_ROWS)
        only, names = set(self._options.columns.only), set(table.column_names)
        if self.format != "jsonl" or self._options.schema is not None or (only and only <= names):
            return table
        return self._with_late_fields(table, held)

    def _with_late_fields(self, table: Any, held: list[Block]) -> Any:
        """Return ``table`` with columns for late fields, and rows that hold only these."""
        known = table.column_names

        def infer(text: memoryview) -> Any:
            return self._text.infer(Lines(text, self.name, [], {}, 1), False)

        if self.can_read_again():
            again = self._blocks(0, 0, ",")
            blocks = iter(lambda: self._next(again, Place()), None)
            names = [file.name for file in self._files]
            how = (names, self._options.whole_dialect().encoding, known)
            late = looked_at_once(lambda: late_in(blocks, known), how, names)
        else:
            self._hold(held)
            late = late_in(iter(held), known)
            self._watch = LateWatch([*known, *late.values, *self._options.columns.drop], self.name)
        found = late.columns(infer, self.name)
        for name, column in found.items():
            self._types[name] = stored_as(column.type) or column.type
        table, self.late_rows = with_late_rows(table, found)
        return table

    def _hold(self, held: list[Block]) -> None:
        """Buffer blocks of a pipe up to ``LOOK_AHEAD`` bytes."""
        assert self._begun is not None
        size = sum(len(block.text) for block in held)
        while size < LOOK_AHEAD and (block := self._next(self._begun[1], held)) is not None:
            held.append(block)
            size += len(block.text)

    def sample_words(self, names: list[str]) -> Any:
        """Return columns of the sample as unconverted strings."""
        assert self._sampled is not None
        types = dict.fromkeys(names, "string")
        return self._text.parse(self._sampled, types, [], True).slice(0, SAMPLE_ROWS)

    def _with_later_files(self, table: Any, blocks: list[Block]) -> Any:
        """Return ``table`` with rows of the next files, if the first has too few."""
        place = Place()
        for block in blocks:
            if table.num_rows >= SAMPLE_ROWS:
                break
            place = place.of_file(block.file)
            lines = self._lines(block, place)
            place = place.behind(block, lines)
            names = lines.names
            types = {name: self._types[name] for name in table.column_names if name in self._types}
            if names and not set(types) <= set(names):
                # A missing column is reported when the file is read.
                break
            skip = self._options.skip_bad_lines
            part = with_keys(self._text.parse(lines, types, [], skip), lines.keys, self._key_types)
            if not set(table.column_names) <= set(part.column_names):
                break
            table = pyarrow().concat_tables([table, part.select(table.column_names)])
        return table

    def _inferred(self, lines: Lines) -> tuple[Lines, Any]:
        """Infer types from the first rows; from the whole sample for columns that are null there.

        Only the first rows are used, so that one invalid value in a later row is an error and does
        not turn a numeric column into strings.
        """
        pa = pyarrow()
        skip = self._options.skip_bad_lines
        first = replace(lines, text=self._first_rows(lines))
        table = self._text.infer(first, skip)
        each = zip(table.column_names, table.schema.types, strict=True)
        kinds = {name: kind for name, kind in each if not pa.types.is_null(kind)}
        unknown = len(kinds) < table.num_columns
        wider = self._text.infer(replace(lines), skip) if unknown else table
        for name, kind in zip(wider.column_names, wider.schema.types, strict=True):
            kind = kinds.get(name, kind)
            stored = stored_as(kind)
            if pa.types.is_null(kind):
                stored = "number" if name == self._options.columns.target else "string"
            if stored is not None:
                self._types[name] = stored
            elif is_nested(kind):
                self._types[name] = kind
        if unknown:
            known = {n: self._types[n] for n in wider.column_names if n in self._types}
            table = self._text.parse(first, known, [], skip)
        return first, table

    def can_read_again(self) -> bool:
        """Whether all sources are regular files, not pipes."""
        return all(getattr(file, "is_regular", False) for file in self._files)

    def plan(self, types: dict[str, str], columns: list[str]) -> None:
        """Set the columns to read, and the types to parse them as."""
        self._types |= dict.fromkeys(self._as_written, "string") | types
        self._columns = columns
        self._twice = [name for name in self._as_written if types.get(name) == "number"]

    def pieces(self, place: dict[str, Any]) -> Generator[Piece]:
        """Yield pieces of whole lines, from ``place`` on."""
        at = place_from(place, len(self._files), self.name)
        begun, self._begun = self._begun, None
        # Reuse the blocks of the sample; but seek if the files allow it and ``place`` is given.
        if begun is None or (place and self.can_read_again()):
            blocks = self._blocks(at.file, at.offset, at.delimiter)
        else:
            blocks = blocks_from(at.file, at.offset, *begun, self.name)
        while (block := self._next(blocks, at)) is not None:
            at = at.of_file(block.file)
            lines = self._lines(block, at)
            at = at.behind(block, lines)
            yield Piece(lines, at._asdict(), block.bytes_read)

    def batch(self, piece: Piece, bad: list[BadLine]) -> Any:
        """Parse the lines of a piece into a record batch."""
        lines: Lines = piece.data
        wanted = [name for name in self._columns if name not in lines.keys]
        if lines.names:
            there = set(lines.names)
            for name in wanted:
                if name not in there:
                    raise no_such_column(name, lines.names, lines.file)
        if self._watch is not None:
            self._watch.look_at(lines.text)
        types = {name: self._types.get(name, "number") for name in wanted}
        table = self._text.parse(lines, types, bad, self._options.skip_bad_lines)
        table = with_keys(table, lines.keys, self._key_types).select(self._columns)
        combined = table.combine_chunks().to_batches()
        if not combined:
            pa = pyarrow()
            return pa.RecordBatch.from_pylist([], schema=table.schema)
        return combined[0]

    def kept(self, piece: Piece, table: Any, names: list[str]) -> Any:
        """Return the columns ``names``; integers that lose digits as floats are strings."""
        found = table.select(names)
        if not self._twice or not len(found):
            return found
        types = dict.fromkeys(self._twice, "string")
        words = self._text.parse(piece.data, types, [], self._options.skip_bad_lines)
        (again,) = words.combine_chunks().to_batches()
        columns = [again.column(n) if n in types else found.column(n) for n in names]
        return pyarrow().RecordBatch.from_arrays(columns, names)

    def where(self, piece: Piece, row: int) -> tuple[str, int, str]:
        """Return the file of a row, its line number, and the unit ``"line"``."""
        lines, numbers = piece.read(), self.numbers(piece, row)
        return lines.file, int(numbers[row]) if row < len(numbers) else lines.first_line, "line"

    def numbers(self, piece: Piece, rows: int) -> Any:
        """Return the line numbers of the rows of a piece."""
        lines: Lines = piece.read()
        return self._text.rows(lines)[2] + lines.first_line

    # -- in any order --------------------------------------------------------------------------

    def can_read_pieces(self) -> bool:
        """Whether the files can be read from any byte offset."""
        return are_plain(self._files)

    def cut(self) -> Pieces:
        """Cut the files at the ends of rows."""
        every = self._line_pieces()
        head: Sequence[LinePiece] = ()
        cut = together([self._cut(every, number) for number in range(len(self._files))])
        if not self._is_quoted:
            head, cut = every.with_head(cut)
        return Pieces.apart(cut, every.size, head, is_table=True)

    def _cut(self, every: LinePieces, number: int) -> ManyPieces:
        heading = self._heading(number)
        if heading is None:
            return ManyPieces([])
        begin = heading.end if self.format != "jsonl" else 0
        if self.format == "jsonl" or not has_quotes(self._files[number].name, begin):
            return every.cut_file(number, begin)
        self._is_quoted = True
        # Only a scan from the beginning shows which newlines are inside quoted fields.
        ends = self._text.ends(heading.delimiter)
        longest = self._options.longest_line
        blocks = read_blocks(self._files, every.size, number, begin, longest=longest, ends=ends)
        cut = []
        while (block := self._next(blocks, Place(number))) is not None and block.file == number:
            cut.append((number, begin, block.end))
            begin = block.end
        return ManyPieces(cut)

    def read_pieces(self, pieces: Iterator[LinePiece], bytes_before: int) -> Generator[Piece]:
        """Yield the pieces in the order given."""
        self._begun = None
        every = self._line_pieces()
        try:
            for piece in pieces:
                bytes_before += piece.size
                lines = self._lines_of(every, piece)
                yield Piece(lines, {}, bytes_before, partial(self._parsed_again, piece))
        finally:
            every.close()

    def _line_pieces(self) -> LinePieces:
        return LinePieces(self._files, self._options.longest_line, LARGER_PIECES)

    def _lines_of(self, every: LinePieces, piece: LinePiece) -> Lines:
        heading = self._heading(piece.file)
        assert heading is not None
        file = self._files[piece.file]
        return Lines(
            every.text(piece),
            file.name,
            heading.names,
            getattr(file, "keys", {}),
            lambda: every.lines_before(piece) + 1,
            heading.delimiter,
        )

    def _parsed_again(self, piece: LinePiece) -> Lines:
        """Read and parse lines again, without invalid rows, to find the line of a row."""
        every = self._line_pieces()
        again = Piece(self._lines_of(every, piece), {})
        every.close()
        self.batch(again, [])
        lines: Lines = again.data
        return lines

    def rows_in(self, size: int) -> int:
        """Return an estimate of the number of rows in ``size`` bytes."""
        return lines_in(self._files, size)

    def _heading(self, number: int) -> Heading | None:
        """Return the header of a file; None if the file is empty."""
        if number not in self._headings:
            file = self._files[number]
            longest = self._options.longest_line
            ends = self._text.ends("")
            blocks = read_blocks([file], SAMPLE_BYTES >> 4, longest=longest, ends=ends)
            block = self._next(blocks, Place(number))
            heading = None if block is None else self._text.header(block.text, file.name)
            self._headings[number] = None if heading is None else Heading(*heading)
        return self._headings[number]

    # -- inside --------------------------------------------------------------------------------

    def _blocks(self, file: int, offset: int, delimiter: str) -> Generator[Block]:
        options = self._options
        return read_blocks(
            self._files,
            options.block_bytes,
            file,
            offset,
            longest=options.longest_line,
            least=LEAST_ROWS if options.block_bytes >= SCORED_BYTES else 0,
            ends=self._text.ends(delimiter),
        )

    def _next(self, blocks: Iterator[Block], before: Place | list[Block]) -> Block | None:
        """Return the next block, or None at the end.

        ``before``, a place or the blocks read so far, gives the line number of an error.
        """
        try:
            return next(blocks, None)
        except LongLineError as error:
            if isinstance(before, Place):
                line = before.of_file(error.file).line
            else:
                texts = [block.text for block in before if block.file == error.file]
                line = 1 + sum(map(count_newlines, texts))
            name, longest = self._files[error.file].name, self._options.longest_line
            raise DataError(error.sentence(name, line, longest)) from error

    def _lines(self, block: Block, at: Place) -> Lines:
        file = self._files[block.file]
        text, line, names, delimiter = block.text, at.line, at.names, at.delimiter
        if names is None:
            names, header, delimiter = self._text.header(text, file.name)
            line += count_newlines(text[:header])
            text = text[header:]
        if isinstance(self._text, CsvFormat):
            text = self._text.without_comments(text)
        return Lines(text, file.name, names, getattr(file, "keys", {}), line, delimiter)

    def _first_rows(self, lines: Lines) -> memoryview:
        ends = self._text.rows(lines)[1]
        return lines.text[: ends[SAMPLE_ROWS - 1] + 1] if len(ends) >= SAMPLE_ROWS else lines.text

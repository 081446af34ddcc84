"""Tables of text, CSV and JSON lines: cut into blocks of whole lines, each parsed by pyarrow."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyak.errors import DataError
from polyak.streams.arrow_types import pyarrow, stored_as
from polyak.streams.blocks import Block, blocks_from, read_blocks
from polyak.streams.choose import SAMPLE_ROWS, no_such_column
from polyak.streams.csv_text import CsvFormat
from polyak.streams.files import File, Pipe, fingerprint, total_size
from polyak.streams.json_text import JsonFormat
from polyak.streams.options import Options
from polyak.streams.partitions import key_types, with_keys
from polyak.streams.stream import BadLine
from polyak.streams.tables import Piece

SAMPLE_BYTES = 1 << 20
"""How much text is looked at to find the types of columns, whatever the size of blocks."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Some whole lines of a file, without its header.

    Attributes
    ----------
    text : memoryview
    file : str
    names : list of str
        The columns as the header names them; nothing for JSON.
    keys : dict
        The columns that the folder's name gives.
    first_line : int
        The number of the first line in its file.
    """

    text: memoryview
    file: str
    names: list[str]
    keys: dict[str, str | None]
    first_line: int


class TextSource:
    """Reads CSV, TSV or JSON lines."""

    def __init__(
        self, files: Sequence[File | Pipe], text: CsvFormat | JsonFormat, options: Options
    ) -> None:
        self.format = text.name
        self.name = files[0].name if len(files) == 1 else f"{files[0].name} and the other files"
        self.bytes_total = total_size(files)
        self._files = files
        self._text = text
        self._options = options
        self._begun: tuple[list[Block], Iterator[Block]] | None = None
        self._types: dict[str, str] = {}
        self._columns: list[str] = []
        self._key_types = key_types(files)
        self._as_written: set[str] = set()
        self._twice: list[str] = []

    def fingerprint(self) -> str:
        """Tell this data from other data."""
        return fingerprint(self._files)

    def sample(self) -> Any:
        """Parse the first megabyte, its types found out."""
        blocks = self._blocks(0, 0)
        held: list[Block] = []
        size = rows = 0
        for block in blocks:
            held.append(block)
            size += len(block.text)
            rows += _count_newlines(block.text) - (block.end == len(block.text))
            if size >= SAMPLE_BYTES or (block.file > 0 and rows > SAMPLE_ROWS):
                break
        self._begun = (held, blocks)
        if not held:
            raise DataError(f"{self.name} is empty")
        text = memoryview(b"".join(block.text for block in held if block.file == 0))
        if len(text) > SAMPLE_BYTES:
            cut = bytes(text[:SAMPLE_BYTES]).rfind(b"\n") + 1
            text = text[: cut or len(text)]
        lines = self._lines(held[0]._replace(text=text, end=len(text)), 1, None)
        lines, table = self._inferred(lines)
        if self._options.keep and self.format != "jsonl":
            numbers = [name for name in self._options.keep if self._types.get(name) == "number"]
            words = self._text.parse(lines, dict.fromkeys(numbers, "string"), [], True)
            self._as_written = {name for name in numbers if _loses(words.column(name))}
        table = with_keys(table, lines.keys, self._key_types)
        later = [block for block in held if block.file > 0]
        return self._with_later_files(table, later).slice(0, SAMPLE_ROWS)

    def _with_later_files(self, table: Any, blocks: list[Block]) -> Any:
        """Add rows of the next files, where the first has only a few."""
        names: list[str] | None = None
        file = 0
        for block in blocks:
            if table.num_rows >= SAMPLE_ROWS:
                break
            if block.file != file:
                file, names = block.file, None
            lines = self._lines(block, 1, names)
            names = lines.names
            types = {name: self._types[name] for name in table.column_names if name in self._types}
            if names and not set(types) <= set(names):
                break  # the reading will tell what is wrong
            skip = self._options.skip_bad_lines
            part = with_keys(self._text.parse(lines, types, [], skip), lines.keys, self._key_types)
            if not set(table.column_names) <= set(part.column_names):
                break
            table = pyarrow().concat_tables([table, part.select(table.column_names)])
        return table

    def _inferred(self, lines: Lines) -> tuple[Lines, Any]:
        """Find types from the first rows; from all of the sample where they are all missing.

        From the first rows only, so that one wrong value further down is an error, rather than
        the reason to read a column of numbers as words.
        """
        pa = pyarrow()
        skip = self._options.skip_bad_lines
        first = replace(lines, text=_first_rows(lines.text, SAMPLE_ROWS, self._text.is_quoted))
        table = self._text.infer(first, skip)
        unknown = [field.name for field in table.schema if pa.types.is_null(field.type)]
        wider = self._text.infer(lines, skip) if unknown else table
        for name in wider.column_names:
            kind = wider.schema.field(name).type
            if name in table.column_names and name not in unknown:
                kind = table.schema.field(name).type
            stored = stored_as(kind)
            if pa.types.is_null(kind):
                stored = "number" if name == self._options.columns.target else "string"
            if stored is not None:
                self._types[name] = stored
        if unknown:
            known = {n: self._types[n] for n in wider.column_names if n in self._types}
            table = self._text.parse(first, known, [], skip)
        return first, table

    def plan(self, types: dict[str, str], columns: list[str]) -> None:
        """Hear which columns to read, and as what."""
        self._types |= dict.fromkeys(self._as_written, "string") | types
        self._columns = columns
        self._twice = [name for name in self._as_written if types.get(name) == "number"]

    def pieces(self, place: dict[str, Any]) -> Generator[Piece]:
        """Cut the files into lines, from a place on."""
        file, offset, line = place.get("file", 0), place.get("offset", 0), place.get("line", 1)
        names: list[str] | None = place.get("names")
        begun, self._begun = self._begun, None
        # What was looked at is not read again; but where one can leap to the place, one does.
        if begun is None or (place and all(getattr(f, "is_regular", False) for f in self._files)):
            blocks = self._blocks(file, offset)
        else:
            blocks = blocks_from(file, offset, *begun, self.name)
        for block in blocks:
            if block.file != file:
                file, line, names = block.file, 1, None
            lines = self._lines(block, line, names)
            names = lines.names
            line += _count_newlines(block.text)
            at = {"file": file, "offset": block.end, "line": line, "names": names}
            yield Piece(lines, at, block.bytes_read)

    def batch(self, piece: Piece, bad: list[BadLine]) -> Any:
        """Parse lines into a record batch."""
        lines: Lines = piece.data
        wanted = [name for name in self._columns if name not in lines.keys]
        if lines.names:
            for name in wanted:
                if name not in lines.names:
                    raise no_such_column(name, lines.names, lines.file)
        types = {name: self._types.get(name, "number") for name in wanted}
        table = self._text.parse(lines, types, bad, self._options.skip_bad_lines)
        table = with_keys(table, lines.keys, self._key_types).select(self._columns)
        combined = table.combine_chunks().to_batches()
        if not combined:
            pa = pyarrow()
            return pa.RecordBatch.from_pylist([], schema=table.schema)
        return combined[0]

    def kept(self, piece: Piece, table: Any, names: list[str]) -> Any:
        """Give columns, those as they are written whose digits would not survive as numbers."""
        found = table.select(names)
        if not self._twice or not len(found):
            return found
        types = dict.fromkeys(self._twice, "string")
        words = self._text.parse(piece.data, types, [], self._options.skip_bad_lines)
        (again,) = words.combine_chunks().to_batches()
        columns = [again.column(n) if n in types else found.column(n) for n in names]
        return pyarrow().RecordBatch.from_arrays(columns, names)

    def where(self, piece: Piece, row: int) -> tuple[str, int, str]:
        """Name a row by its file and line."""
        lines: Lines = piece.data
        return lines.file, lines.first_line + line_of_row(lines.text, row), "line"

    # -- inside --------------------------------------------------------------------------------

    def _blocks(self, file: int, offset: int) -> Generator[Block]:
        size = self._options.block_bytes
        return read_blocks(self._files, size, file, offset, quoted=self._text.is_quoted)

    def _lines(self, block: Block, line: int, names: list[str] | None) -> Lines:
        file = self._files[block.file]
        text = block.text
        if names is None:
            names, header = self._text.header(text, file.name)
            line += _count_newlines(text[:header])
            text = text[header:]
        return Lines(text, file.name, names, getattr(file, "keys", {}), line)


def _loses(words: Any) -> bool:
    """Tell whether ids written like these are not what they are once they are numbers.

    Examples
    --------
    >>> _loses(pyarrow().array(["12", "-3", "0", "0.5"]))
    False
    >>> _loses(pyarrow().array(["007"])), _loses(pyarrow().array(["9007199254740993"]))
    (True, True)
    """
    for word in words.to_pylist():
        digits = (word or "").strip().lstrip("+-")
        if digits.isdecimal() and (digits != str(int(digits)) or int(float(digits)) != int(digits)):
            return True
    return False


def _first_rows(text: memoryview, rows: int, quoted: bool) -> memoryview:
    """Cut text after so many lines, or where the quotation marks open there are closed."""
    characters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    if quoted:
        ends = ends[np.searchsorted(np.flatnonzero(characters == ord('"')), ends) % 2 == 0]
    return text[: int(ends[rows - 1]) + 1] if len(ends) >= rows else text


def _count_newlines(text: memoryview) -> int:
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


def line_of_row(text: memoryview, row: int) -> int:
    r"""Find the line, from zero, on which a row begins; only needed to say where an error is.

    Examples
    --------
    >>> line_of_row(memoryview(b'a\n\n"b\nb"\nc\n'), 2)
    4
    """
    inside = False
    rows = -1
    for number, line in enumerate(bytes(text).split(b"\n")):
        if not inside and line.strip():
            rows += 1
            if rows == row:
                return number
        inside ^= line.count(b'"') % 2 == 1
    return max(rows, 0)

"""Tables in Parquet files and in Arrow's own (Feather): only the columns asked for are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from polyak.data.options import ReadOptions
from polyak.data.position import BadLine
from polyak.data.random_order import Pieces
from polyak.data.sources.files import File, Pipe, fingerprint, name_of_all, total_size
from polyak.data.tables.arrow_types import stored_as
from polyak.data.tables.inference import SAMPLE_ROWS, no_such_column
from polyak.data.tables.partitions import key_types, with_keys
from polyak.data.tables.row_groups import BUFFER_BYTES, GroupPiece, OpenGroups, cut_groups
from polyak.data.tables.source import Piece
from polyak.errors import DataError
from polyak.optional_imports import pyarrow

BATCH_ROWS = 1 << 15
MOST_BATCHES = 16
"""From how many stretches of Arrow files record batches are mixed with each other."""


class BinarySource:
    """Reads Parquet or Arrow files one after the other, a batch of rows at a time."""

    def __init__(self, files: Sequence[File | Pipe], format: str, options: ReadOptions) -> None:
        if any(isinstance(file, Pipe) for file in files):
            raise DataError(f"{format} files cannot be read from a pipe")
        self.format = format
        self.name = name_of_all(files)
        self.bytes_total = total_size(files)
        self._files = files
        self._options = options
        self._key_types = key_types(files)
        self._columns: list[str] = []
        self._words: list[str] = []

    def fingerprint(self) -> str:
        """Tell this data from other data."""
        return fingerprint(self._files)

    def sample(self) -> Any:
        """Read the first rows of all columns, of as many files as it takes."""
        pa = pyarrow()
        found: list[Any] = []
        rows = 0
        for file in self._files:
            with _Opened(file, self.format) as opened:
                for batch in opened.batches(0, None, [], SAMPLE_ROWS):
                    part = with_keys(
                        pa.Table.from_batches([batch]), self._keys(file), self._key_types
                    )
                    if found and part.schema != found[0].schema:
                        return pa.concat_tables(found)  # the reading will tell what is wrong
                    found.append(part.slice(0, SAMPLE_ROWS - rows))
                    rows += len(found[-1])
                    if rows == SAMPLE_ROWS:
                        return pa.concat_tables(found)
                if not found:
                    empty = opened.schema.empty_table()
        return pa.concat_tables(found) if found else empty

    def can_read_again(self) -> bool:
        """Say that files can be read more than once."""
        return True

    def plan(self, types: dict[str, str], columns: list[str]) -> None:
        """Hear which columns to read; words are best read as codes of a dictionary."""
        self._columns = columns
        self._words = [name for name, stored in types.items() if stored == "string"]

    def pieces(self, place: dict[str, Any]) -> Generator[Piece]:
        """Read batches of the columns, from a place on."""
        before = sum(file.size or 0 for file in self._files[: place.get("file", 0)])
        row = int(place.get("row", 0))
        for number in range(place.get("file", 0), len(self._files)):
            file = self._files[number]
            with _Opened(file, self.format) as opened:
                names, words = self._wanted(opened, file)
                total = max(opened.rows, 1)
                for batch in opened.batches(row, names, words, BATCH_ROWS):
                    begin, row = row, row + batch.num_rows
                    share = round((file.size or 0) * min(1.0, row / total))
                    at = {"file": number, "row": row}
                    yield Piece((batch, file, begin), at, before + share)
            before += file.size or 0
            row = 0

    def batch(self, piece: Piece, bad: list[BadLine]) -> Any:
        """Give the batch with the columns that the folders' names add."""
        batch, file, _ = piece.data
        keys = self._keys(file)
        if not keys:
            return batch.select(self._columns)
        table = with_keys(pyarrow().table(batch), keys, self._key_types)
        return table.select(self._columns).combine_chunks().to_batches()[0]

    def kept(self, piece: Piece, table: Any, names: list[str]) -> Any:
        """Give columns as they are."""
        return table.select(names)

    def where(self, piece: Piece, row: int) -> tuple[str, int, str]:
        """Name a row by its file and number."""
        _, file, begin = piece.read()
        return file.name, (begin if isinstance(begin, int) else begin()) + row + 1, "row"

    def numbers(self, piece: Piece, rows: int) -> Any:
        """Give the numbers of the rows."""
        first = self.where(piece, 0)[1]
        return np.arange(first, first + rows)

    def _wanted(self, opened: _Opened, file: Any) -> tuple[list[str], list[str]]:
        """Say which columns of a file to read, and which of them are words."""
        keys = self._keys(file)
        names = [name for name in self._columns if name not in keys]
        there, wanted = set(opened.schema.names), set(names)
        for name in names:
            if name not in there:
                raise no_such_column(name, opened.schema.names, file.name)
        return names, [name for name in self._words if name in wanted]

    # -- in any order --------------------------------------------------------------------------

    def can_read_pieces(self) -> bool:
        """Say whether the files can be read in any order: streams of Arrow's cannot."""
        return all(self._asked(file, lambda opened: opened.can_leap) for file in self._files)

    def cut(self) -> Pieces:
        """Cut Parquet into rows of row groups, Arrow's files into their record batches."""
        if self.format == "parquet":
            metadata = [self._asked(file, lambda opened: opened.metadata) for file in self._files]
            return cut_groups(metadata, [file.size for file in self._files])
        units = []
        for number, file in enumerate(self._files):
            count = self._asked(file, lambda opened: opened.record_batches)
            share = (file.size or 0) // max(count, 1)
            units += [[GroupPiece(number, n, 0, 0, 0, share, True)] for n in range(count)]
        size = max(1, (self.bytes_total or 0) // max(len(units), 1))
        return Pieces.of_units(units, size, MOST_BATCHES)

    def read_pieces(self, pieces: Iterator[GroupPiece], bytes_before: int) -> Generator[Piece]:
        """Read pieces in the order given."""
        groups = OpenGroups(self._group)
        for piece in pieces:
            bytes_before += piece.bytes
            file = self._files[piece.file]
            begin: Any = piece.first + piece.begin
            if self.format == "parquet":
                batches = groups.read(piece)
            else:
                batches = list(self._group(piece.file, piece.group))
                begin = partial(self._rows_before, piece)
            table = pyarrow().Table.from_batches(batches).unify_dictionaries().combine_chunks()
            batch = (table.to_batches() or batches)[0]
            yield Piece((batch, file, begin), {}, bytes_before, partial(_placed, file, begin))

    def rows_in(self, size: int) -> int:
        """Say about how many rows have so many bytes."""
        return size // (8 * max(len(self._columns), 1))

    def _group(self, file: int, group: int) -> Generator[Any]:
        with _Opened(self._files[file], self.format) as opened:
            names, words = self._wanted(opened, self._files[file])
            yield from opened.batches(0, names, words, BATCH_ROWS, [group])

    def _rows_before(self, piece: GroupPiece) -> int:
        """Count the rows of a file before one of its record batches, to name a row."""
        with _Opened(self._files[piece.file], self.format) as opened:
            before = list(range(piece.group))
            return sum(b.num_rows for b in opened.batches(0, [], [], BATCH_ROWS, before))

    def _asked(self, file: Any, what: Callable[[_Opened], Any]) -> Any:
        with _Opened(file, self.format) as opened:
            return what(opened)

    def _keys(self, file: Any) -> dict[str, str | None]:
        keys: dict[str, str | None] = getattr(file, "keys", {})
        return keys


def _know_types(schema: Any) -> bool:
    """Have pandas tell Arrow of its intervals and periods, if there are any it does not know."""
    named = ((field.metadata or {}).get(b"ARROW:extension:name", b"") for field in schema)
    if not any(name.startswith(b"pandas.") for name in named):
        return False
    try:
        import_module("pandas.core.arrays.arrow.extension_types")
    except ImportError:
        return False
    return True


def _placed(file: Any, begin: Any) -> tuple[None, Any, Any]:
    return None, file, begin


class _Opened:
    """One file being read; what pyarrow finds wrong with it becomes a sentence."""

    def __init__(self, file: Any, format: str) -> None:
        pa = pyarrow()
        self._name = file.name
        self._format = format
        self._source = file.raw() if hasattr(file, "raw") else pa.OSFile(os.fsencode(file.name))
        try:
            if format == "parquet":
                from pyarrow import parquet

                self._file = parquet.ParquetFile(self._source)
                if _know_types(self._file.schema_arrow):
                    self._file = parquet.ParquetFile(self._source)
                self.schema = self._file.schema_arrow
                self.rows = self._file.metadata.num_rows
            else:
                self._file = self._open_arrow()
                if _know_types(self._file.schema):
                    self._source.seek(0)
                    self._file = self._open_arrow()
                self.schema = self._file.schema
                self.rows = 0
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from error

    def __enter__(self) -> _Opened:
        return self

    def __exit__(self, *exception: object) -> None:
        self._source.close()

    def _open_arrow(self) -> Any:
        pa = pyarrow()
        if self._source.read(6) == b"ARROW1":
            self._source.seek(0)
            return pa.ipc.open_file(self._source)
        self._source.seek(0)
        return pa.ipc.open_stream(self._source)

    def batches(
        self,
        skip: int,
        columns: list[str] | None,
        words: list[str],
        size: int,
        groups: list[int] | None = None,
    ) -> Iterator[Any]:
        """Read batches of columns, past the first ``skip`` rows; of these groups, if given."""
        pa = pyarrow()
        try:
            read = self._parquet if self._format == "parquet" else self._arrow
            for batch in read(skip, columns, words, size, groups):
                for begin in range(0, batch.num_rows, size):
                    yield batch.slice(begin, size)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, DataError):
                raise
            raise self._damaged(error) from error

    def _parquet(
        self,
        skip: int,
        columns: list[str] | None,
        words: list[str],
        size: int,
        groups: list[int] | None,
    ) -> Iterator[Any]:
        from pyarrow import parquet

        metadata = self._file.metadata
        buffer = 0 if groups is None else BUFFER_BYTES  # 0 reads all of a column of a group
        groups = list(range(metadata.num_row_groups)) if groups is None else groups
        while groups and skip >= metadata.row_group(groups[0]).num_rows:
            skip -= metadata.row_group(groups.pop(0)).num_rows
        coded = [name for name in words if stored_as(self.schema.field(name).type) == "string"]
        file = self._file
        if coded or buffer:
            file = parquet.ParquetFile(self._source, read_dictionary=coded, buffer_size=buffer)
        yield from _behind(skip, file.iter_batches(size, row_groups=groups, columns=columns))

    def _arrow(
        self,
        skip: int,
        columns: list[str] | None,
        words: list[str],
        size: int,
        groups: list[int] | None,
    ) -> Iterator[Any]:
        count = self.record_batches if groups is None else None
        chosen = range(count) if count is not None else groups
        every = self._file if chosen is None else map(self._file.get_batch, chosen)
        for batch in _behind(skip, map(_validated, every)):
            yield batch if columns is None else batch.select(columns)

    @property
    def metadata(self) -> Any:
        """What a Parquet file says about its row groups."""
        return self._file.metadata

    @property
    def record_batches(self) -> int | None:
        """How many record batches an Arrow file has; None if only reading it tells."""
        count: int | None = getattr(self._file, "num_record_batches", None)
        return count

    @property
    def can_leap(self) -> bool:
        """Whether it can be read from the middle on."""
        return self._format == "parquet" or self.record_batches is not None

    def _damaged(self, error: Exception) -> DataError:
        kind = "Parquet" if self._format == "parquet" else "Arrow"
        what = str(error).split("\n")[0].rstrip(".")
        return DataError(f"{self._name} is not a sound {kind} file, or cut short: {what}")


def _behind(skip: int, batches: Iterable[Any]) -> Iterator[Any]:
    """Leave out the first rows."""
    for batch in batches:
        left = batch.slice(min(skip, batch.num_rows))
        skip -= batch.num_rows - left.num_rows
        if left.num_rows:
            yield left


def _validated(batch: Any) -> Any:
    """Look at every value: the core trusts what it is given."""
    batch.validate(full=True)
    return batch

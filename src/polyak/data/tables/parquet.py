"""Tables in Parquet and Arrow IPC (Feather) files; only the requested columns are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from polyak.data.options import ReadOptions
from polyak.data.random_order import Pieces
from polyak.data.sources.files import File, Pipe, fingerprint, name_of_all, total_size
from polyak.data.tables.arrow_types import stored_as
from polyak.data.tables.inference import SAMPLE_ROWS, no_such_column
from polyak.data.tables.partitions import partition_columns, with_keys
from polyak.data.tables.row_groups import BUFFER_BYTES, GroupPiece, OpenGroups, cut_groups
from polyak.data.tables.source import Parsed, Piece, RowNumbers
from polyak.errors import DataError
from polyak.optional_imports import pyarrow

BATCH_ROWS = 1 << 15
MOST_BATCHES = 16
"""The number of stretches of Arrow files whose record batches are shuffled together."""


class BinarySource:
    """Reads Parquet or Arrow files one after the other, one record batch at a time."""

    def __init__(self, files: Sequence[File | Pipe], format: str, options: ReadOptions) -> None:
        if any(isinstance(file, Pipe) for file in files):
            raise DataError(f"{format} files cannot be read from a pipe")
        self.format = format
        self.name = name_of_all(files)
        self.bytes_total = total_size(files)
        self._files = files
        self._options = options
        self._keys = partition_columns(files)
        self._columns: list[str] = []
        self._words: list[str] = []

    def fingerprint(self) -> str:
        """Return a string that identifies this data."""
        return fingerprint(self._files)

    def sample(self) -> Any:
        """Read the first ``SAMPLE_ROWS`` rows of all columns, from several files if necessary."""
        pa = pyarrow()
        found: list[Any] = []
        rows = 0
        for file, keys in zip(self._files, self._keys, strict=True):
            with _Opened(file, self.format) as opened:
                for batch in opened.batches(0, None, [], SAMPLE_ROWS):
                    part = with_keys(pa.Table.from_batches([batch]), keys)
                    if found and part.schema != found[0].schema:
                        # A mismatch of schemas is reported when the file is read.
                        return pa.concat_tables(found)
                    found.append(part.slice(0, SAMPLE_ROWS - rows))
                    rows += len(found[-1])
                    if rows == SAMPLE_ROWS:
                        return pa.concat_tables(found)
                if not found:
                    empty = opened.schema.empty_table()
        return pa.concat_tables(found) if found else empty

    def plan(self, types: dict[str, str], columns: list[str], keep: list[str]) -> None:
        """Set the columns to read; string columns are read dictionary-encoded."""
        self._columns = columns
        self._words = [name for name, stored in types.items() if stored == "string"]

    def pieces(self, place: dict[str, Any]) -> Generator[Piece]:
        """Yield batches of the columns, from ``place`` on."""
        before = sum(file.size or 0 for file in self._files[: place.get("file", 0)])
        row = int(place.get("row", 0))
        for number in range(place.get("file", 0), len(self._files)):
            file = self._files[number]
            with _Opened(file, self.format) as opened:
                names, words = self._wanted(opened, number)
                total = max(opened.rows, 1)
                for batch in opened.batches(row, names, words, BATCH_ROWS):
                    begin, row = row, row + batch.num_rows
                    share = round((file.size or 0) * min(1.0, row / total))
                    at = {"file": number, "row": row}
                    yield Piece((batch, number, begin + 1), at, before + share)
            before += file.size or 0
            row = 0

    def parse(self, piece: Piece) -> Parsed:
        """Return the record batch of a piece, with the partition columns of its path."""
        batch, number, first = piece.data
        batch = with_keys(batch, self._keys[number]).select(self._columns)
        return Parsed(batch, RowNumbers(self._files[number].name, "row", first))

    def _wanted(self, opened: _Opened, number: int) -> tuple[list[str], list[str]]:
        """Return the columns of a file to read, and which of them are strings."""
        names = [name for name in self._columns if name not in self._keys[number]]
        there, wanted = set(opened.schema.names), set(names)
        for name in names:
            if name not in there:
                raise no_such_column(name, opened.schema.names, self._files[number].name)
        return names, [name for name in self._words if name in wanted]

    # -- in any order --------------------------------------------------------------------------

    def can_read_pieces(self) -> bool:
        """Whether the files support random access: Arrow streams do not."""
        return all(self._asked(file, lambda opened: opened.can_leap) for file in self._files)

    def cut(self) -> Pieces:
        """Cut Parquet files into parts of row groups, Arrow files into their record batches."""
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
        """Yield the pieces in the order given."""
        groups = OpenGroups(self._group)
        for piece in pieces:
            bytes_before += piece.bytes
            first: Any = piece.first + piece.begin + 1
            if self.format == "parquet":
                batches = groups.read(piece)
            else:
                batches = list(self._group(piece.file, piece.group))
                first = partial(self._first_row, piece)
            table = pyarrow().Table.from_batches(batches).unify_dictionaries().combine_chunks()
            batch = (table.to_batches() or batches)[0]
            yield Piece((batch, piece.file, first), {}, bytes_before)

    def rows_in(self, size: int) -> int:
        """Return an estimate of the number of rows in ``size`` bytes."""
        return size // (8 * max(len(self._columns), 1))

    def _group(self, file: int, group: int) -> Generator[Any]:
        with _Opened(self._files[file], self.format) as opened:
            names, words = self._wanted(opened, file)
            yield from opened.batches(0, names, words, BATCH_ROWS, [group])

    def _first_row(self, piece: GroupPiece) -> int:
        """Return the number in its file of the first row of a record batch of an Arrow file."""
        with _Opened(self._files[piece.file], self.format) as opened:
            before = list(range(piece.group))
            rows = (b.num_rows for b in opened.batches(0, [], [], BATCH_ROWS, before))
            return 1 + int(sum(rows))

    def _asked(self, file: Any, what: Callable[[_Opened], Any]) -> Any:
        with _Opened(file, self.format) as opened:
            return what(opened)


def _know_types(schema: Any) -> bool:
    """Register pandas' extension types if the schema has such.

    Returns whether the file has to be opened again to recognise them.
    """
    named = ((field.metadata or {}).get(b"ARROW:extension:name", b"") for field in schema)
    if not any(name.startswith(b"pandas.") for name in named):
        return False
    try:
        import_module("pandas.core.arrays.arrow.extension_types")
    except ImportError:
        return False
    return True


class _Opened:
    """One open file; errors of pyarrow are raised as `DataError`."""

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
        """Yield batches of at most ``size`` rows, without the first ``skip`` rows.

        ``groups`` restricts them to some row groups or record batches.
        """
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
        # A buffer size of 0 reads a whole column chunk at once.
        buffer = 0 if groups is None else BUFFER_BYTES
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
        """The metadata of a Parquet file."""
        return self._file.metadata

    @property
    def record_batches(self) -> int | None:
        """The number of record batches of an Arrow file; None for a stream."""
        count: int | None = getattr(self._file, "num_record_batches", None)
        return count

    @property
    def can_leap(self) -> bool:
        """Whether the file supports random access."""
        return self._format == "parquet" or self.record_batches is not None

    def _damaged(self, error: Exception) -> DataError:
        kind = "Parquet" if self._format == "parquet" else "Arrow"
        what = str(error).split("\n")[0].rstrip(".")
        return DataError(f"{self._name} is not a sound {kind} file, or cut short: {what}")


def _behind(skip: int, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the batches without their first ``skip`` rows."""
    for batch in batches:
        left = batch.slice(min(skip, batch.num_rows))
        skip -= batch.num_rows - left.num_rows
        if left.num_rows:
            yield left


def _validated(batch: Any) -> Any:
    """Validate every value of a batch, since the core does not check them."""
    batch.validate(full=True)
    return batch

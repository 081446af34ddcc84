"""Tables in Parquet and Arrow IPC (Feather) files; only the requested columns are read.

In random order, Parquet files are read some rows of a row group at a time. A row group can only be
read sequentially. So several are open at a time, from all over the files, and every window of rows
has some of each.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from polyak.data.options import ReadOptions
from polyak.data.random_order import Pieces
from polyak.data.sources.files import File, Pipe, fingerprint, name_of_all, total_size
from polyak.data.sources.folders import RemoteFile
from polyak.data.tables.arrow_types import stored_as
from polyak.data.tables.inference import SAMPLE_ROWS, no_such_column
from polyak.data.tables.partitions import partition_columns, with_keys
from polyak.data.tables.source import Parsed, Piece, RowNumbers
from polyak.errors import DataError
from polyak.optional_imports import pyarrow

BATCH_ROWS = 1 << 15
MOST_BATCHES = 16
"""The number of stretches of Arrow files whose record batches are shuffled together."""
MOST_OPEN = 8
"""The largest number of row groups that are open at the same time."""
PIECE_BYTES = 1 << 20
"""The approximate size of a piece in memory, in bytes."""
BUFFER_BYTES = 1 << 16
"""The buffer size of a column where several row groups are open, in bytes."""


class GroupPiece(NamedTuple):
    """A range of rows of a row group.

    Attributes
    ----------
    file, group : int
        The indices of the file and of the row group in it.
    begin, end : int
        The range of rows in the group; ``end`` is exclusive.
    first : int
        The index in the file of the group's first row.
    bytes : int
        The piece's share of the file's size.
    is_last : bool
        Whether these are the last rows of the group.
    """

    file: int
    group: int
    begin: int
    end: int
    first: int
    bytes: int
    is_last: bool


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
        return all(opened.groups is not None for opened in self._each_opened())

    def cut(self) -> Pieces:
        """Cut Parquet files into parts of row groups, Arrow files into their record batches."""
        if self.format == "parquet":
            return self._cut_row_groups()
        units = []
        for number, opened in enumerate(self._each_opened()):
            batches = opened.groups or 0
            share = (self._files[number].size or 0) // max(batches, 1)
            units += [[GroupPiece(number, n, 0, 0, 0, share, True)] for n in range(batches)]
        size = max(1, (self.bytes_total or 0) // max(len(units), 1))
        return Pieces.of_units(units, size, MOST_BATCHES)

    def _cut_row_groups(self) -> Pieces:
        """Cut row groups into pieces of about `PIECE_BYTES`."""
        metadata = [opened.metadata for opened in self._each_opened()]
        rows = sum(file.num_rows for file in metadata)
        groups = [file.row_group(n) for file in metadata for n in range(file.num_row_groups)]
        columns = max((file.num_columns for file in metadata), default=1)
        held = sum(group.total_byte_size for group in groups)
        row_bytes = max(held // max(rows, 1), 8 * columns, 1)
        step = max(PIECE_BYTES // row_bytes, 64)
        units = []
        for number, file in enumerate(metadata):
            first, size = 0, self._files[number].size or 0
            for group in range(file.num_row_groups):
                count = file.row_group(group).num_rows
                unit = []
                for begin in range(0, count, step):
                    end = min(begin + step, count)
                    share = size * (end - begin) // file.num_rows
                    unit.append(GroupPiece(number, group, begin, end, first, share, end == count))
                units.append(unit)
                first += count
        return Pieces.of_units([unit for unit in units if unit], step * row_bytes, MOST_OPEN)

    def read_pieces(self, pieces: Iterator[GroupPiece], bytes_before: int) -> Generator[Piece]:
        """Yield the pieces in the order given."""
        groups: dict[tuple[int, int], _OpenGroup] = {}
        for piece in pieces:
            bytes_before += piece.bytes
            first: Any = piece.first + piece.begin + 1
            if self.format == "parquet":
                batches = self._rows(piece, groups)
            else:
                batches = list(self._group(piece.file, piece.group))
                first = partial(self._first_row, piece)
            table = pyarrow().Table.from_batches(batches).unify_dictionaries().combine_chunks()
            batch = (table.to_batches() or batches)[0]
            yield Piece((batch, piece.file, first), {}, bytes_before)

    def _rows(self, piece: GroupPiece, groups: dict[tuple[int, int], _OpenGroup]) -> list[Any]:
        """Return the rows of a piece, read on from where its row group was left."""
        key = piece.file, piece.group
        group = groups.pop(key, None)
        if group is None or group.at > piece.begin:
            group = _OpenGroup(0, None, self._group(*key))
        at, rest, batches = group
        rows = []
        while at < piece.end:
            batch = next(batches, None) if rest is None else rest
            if batch is None:
                break
            part = batch.slice(0, piece.end - at)
            rest = batch.slice(part.num_rows) if batch.num_rows > part.num_rows else None
            if at + part.num_rows > piece.begin:
                rows.append(part.slice(max(piece.begin - at, 0)))
            at += part.num_rows
        if not piece.is_last:
            groups[key] = _OpenGroup(at, rest, batches)
        return rows

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

    def _each_opened(self) -> Iterator[_Opened]:
        for file in self._files:
            with _Opened(file, self.format) as opened:
                yield opened


class _OpenGroup(NamedTuple):
    """A row group of which ``at`` rows were read: the rest of a batch, and further batches."""

    at: int
    rest: Any
    batches: Iterator[Any]


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
    """One open file; errors of pyarrow are raised as `DataError`.

    Attributes
    ----------
    schema : pyarrow.Schema
    groups : int or None
        The number of row groups or record batches; None for an Arrow stream.
    metadata : pyarrow.parquet.FileMetaData or None
    rows : int
        The number of rows of a Parquet file; 0 for others.
    """

    def __init__(self, file: Any, format: str) -> None:
        pa = pyarrow()
        self._name = file.name
        self._is_parquet = format == "parquet"
        self._source = (
            file.raw() if isinstance(file, RemoteFile) else pa.OSFile(os.fsencode(file.name))
        )
        try:
            self._file = self._open()
            if _know_types(self.schema):
                self._file = self._open()
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from error
        self.metadata: Any = self._file.metadata if self._is_parquet else None
        self.rows = self.metadata.num_rows if self.metadata else 0
        counted = "num_row_groups" if self._is_parquet else "num_record_batches"
        self.groups: int | None = getattr(self._file, counted, None)

    def __enter__(self) -> _Opened:
        return self

    def __exit__(self, *exception: object) -> None:
        self._source.close()

    @property
    def schema(self) -> Any:
        """The columns and their types."""
        return self._file.schema_arrow if self._is_parquet else self._file.schema

    def _open(self) -> Any:
        self._source.seek(0)
        if self._is_parquet:
            from pyarrow import parquet

            # Otherwise newer versions of pyarrow keep in memory what was read of the file.
            return parquet.ParquetFile(self._source, pre_buffer=False)
        is_file = self._source.read(6) == b"ARROW1"
        self._source.seek(0)
        ipc = pyarrow().ipc
        return ipc.open_file(self._source) if is_file else ipc.open_stream(self._source)

    def batches(
        self,
        skip: int,
        columns: list[str] | None,
        words: list[str],
        size: int,
        groups: list[int] | None = None,
    ) -> Iterator[Any]:
        """Yield batches of at most ``size`` rows, without the first ``skip`` rows.

        ``groups`` restricts them to some row groups or record batches. The string columns ``words``
        of Parquet files are read dictionary-encoded.
        """
        pa = pyarrow()
        # A buffer size of 0 reads a whole column chunk at once.
        buffer = 0 if groups is None else BUFFER_BYTES
        if groups is None and self.groups is not None:
            groups = list(range(self.groups))
        try:
            if self._is_parquet:
                assert groups is not None
                while groups and skip >= self.metadata.row_group(groups[0]).num_rows:
                    skip -= self.metadata.row_group(groups.pop(0)).num_rows
                read = self._parquet(columns, words, size, groups, buffer)
            else:
                read = self._arrow(columns, groups)
            for batch in read:
                begin = min(skip, batch.num_rows)
                skip -= begin
                for at in range(begin, batch.num_rows, size):
                    yield batch.slice(at, size)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, DataError):
                raise
            raise self._damaged(error) from error

    def _parquet(
        self,
        columns: list[str] | None,
        words: list[str],
        size: int,
        groups: list[int],
        buffer: int,
    ) -> Iterator[Any]:
        from pyarrow import parquet

        coded = [name for name in words if stored_as(self.schema.field(name).type) == "string"]
        file = self._file
        if coded or buffer:
            file = parquet.ParquetFile(
                self._source, read_dictionary=coded, buffer_size=buffer, pre_buffer=False
            )
        read: Iterator[Any] = file.iter_batches(size, row_groups=groups, columns=columns)
        return read

    def _arrow(self, columns: list[str] | None, groups: list[int] | None) -> Iterator[Any]:
        for batch in self._file if groups is None else map(self._file.get_batch, groups):
            batch.validate(full=True)  # since the core does not check values
            yield batch if columns is None else batch.select(columns)

    def _damaged(self, error: Exception) -> DataError:
        kind = "Parquet" if self._is_parquet else "Arrow"
        what = str(error).split("\n")[0].rstrip(".")
        return DataError(f"{self._name} is not a sound {kind} file, or cut short: {what}")

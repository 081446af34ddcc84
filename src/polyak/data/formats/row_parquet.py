"""Rows from Parquet files as ``polyak convert`` writes them, of features with numbers.

They have the columns ``target`` (unless there is none), ``weight``, and the lists ``indices`` and
``values``. The file's metadata has an entry that tells them from tables, whose columns are
features.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.data.feature_origin import from_text, hashing_of
from polyak.data.formats.arrays import check_batch
from polyak.data.options import ReadOptions
from polyak.data.position import Cursor, Position
from polyak.data.random_order import Mixed, Pieces, Window, mixed_windows
from polyak.data.readahead import ordered_map
from polyak.data.sources.files import File, Pipe, fingerprint, name_of_all, total_size
from polyak.data.tables.row_groups import BUFFER_BYTES, GroupPiece, OpenGroups, cut_groups
from polyak.errors import DataError
from polyak.rows.batch import Batch
from polyak.rows.sparse import SparseRows

MARK = b"polyak rows"
"""The entry of the metadata; its value says where the rows come from."""

BATCH_ROWS = 1 << 12


def is_row_file(file: File | Pipe) -> bool:
    """Tell a file of rows from a table."""
    return not isinstance(file, Pipe) and file.is_regular and MARK in _metadata(file)


class RowParquetReader:
    """Reads files one after the other, a batch of rows at a time."""

    format = "parquet"

    def __init__(self, files: Sequence[File | Pipe], options: ReadOptions) -> None:
        self.name = name_of_all(files)
        self.bytes_total = total_size(files)
        self.n_features = options.n_features
        self._files = files
        self._options = options
        try:
            origin = from_text(_metadata(files[0])[MARK])
        except ValueError as error:
            raise DataError(f"{files[0].name} is damaged: {error}") from error
        self.hashing = hashing_of(origin)
        self._base = {"base": origin["first_id"]} if "first_id" in origin else {}

    def fingerprint(self) -> str:
        """Tell this data from other data."""
        return fingerprint(self._files)

    def begin(self, start: Position | None) -> Cursor:
        """Say where reading begins."""
        if start is None:
            return Cursor(self._position(0, 0, 0, 0))
        if start.get("format") != self.format or "row" not in start:
            raise DataError(f"the place to go on from is not one in {self.name}")
        return Cursor.at(start)

    def read(self, cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
        """Read on from a cursor."""
        at = cursor.position
        yield from self._read_all(self._tables(at["file"], at["row"]), cursor)

    def can_read_pieces(self) -> bool:
        """Say that row groups can be read in any order."""
        return True

    def pieces(self) -> Pieces:
        """Cut the row groups."""
        return cut_groups(
            [_parquet(f).metadata for f in self._files], [f.size for f in self._files]
        )

    def read_windows(self, windows: Sequence[Window], cursor: Cursor) -> Generator[Mixed]:
        """Read windows one after the other."""

        def read(pieces: Iterator[GroupPiece], cursor: Cursor) -> Generator[tuple[Batch, Cursor]]:
            return self._read_all(self._groups(pieces, cursor.bytes_read), cursor, joined=True)

        return mixed_windows(read, windows, cursor, self._options.number_of_threads())

    def _groups(
        self, pieces: Iterator[GroupPiece], bytes_read: int
    ) -> Iterator[tuple[Any, tuple[int, int, int]]]:
        import pyarrow as pa

        groups = OpenGroups(lambda file, group: _group(self._files[file], group))
        for piece in pieces:
            bytes_read += piece.bytes
            (table,) = pa.Table.from_batches(groups.read(piece)).combine_chunks().to_batches()
            yield table, (piece.file, piece.first + piece.end, bytes_read)

    def _read_all(
        self,
        tables: Iterator[tuple[Any, tuple[int, int, int]]],
        cursor: Cursor,
        joined: bool = False,
    ) -> Generator[tuple[Batch, Cursor]]:
        rows, width = cursor.rows, cursor.position["width"]
        for part, sparse, (file, row, bytes_read) in ordered_map(
            self._decode, tables, self._options.number_of_threads()
        ):
            rows += len(part)
            largest = int(sparse.indices.max()) if len(sparse.indices) else -1
            width = max(width, largest + 1)
            if self.n_features is not None and width > self.n_features:
                raise DataError(
                    f"{self._files[file].name} has the feature {largest}, beyond the "
                    f"{self.n_features} given"
                )
            batch = replace(part, rows=replace(sparse, n_features=self.n_features or width))
            place = (0, 0) if joined else (file, row)
            position = self._position(rows, *place, width) | {"bytes_read": bytes_read}
            if joined:
                batch = replace(batch, where=partial(self._where, file, row - len(part)))
            yield batch, Cursor(position, rows, bytes_read)

    def _position(self, rows: int, file: int, row: int, width: int) -> Position:
        place = {"format": self.format, "rows": rows, "file": file, "row": row, "width": width}
        return place | self._base

    def _tables(self, file: int, row: int) -> Iterator[tuple[Any, tuple[int, int, int]]]:
        """Read record batches: each with its file, the row behind it, and the bytes so far."""
        before = sum(earlier.size or 0 for earlier in self._files[:file])
        for number in range(file, len(self._files)):
            size = self._files[number].size or 0
            for table, end, total in _record_batches(self._files[number], row):
                yield table, (number, end, before + size * end // total)
            before += size
            row = 0

    def _where(self, file: int, begin: int, row: int) -> tuple[str, int, str]:
        return self._files[file].name, begin + row + 1, "row"

    def _decode(
        self, part: tuple[Any, tuple[int, int, int]]
    ) -> tuple[Batch, SparseRows, tuple[int, int, int]]:
        """Turn a record batch into rows, as wide as they may be."""
        table, (file, row, _) = part
        name, begin = self._files[file].name, row - len(table)
        try:
            ends, indices = _lists(table.column("indices"))
            also_ends, values = _lists(table.column("values"))
            if not np.array_equal(ends, also_ends):
                raise ValueError("indices and values differ in length")
            targets = _targets(table.column("target")) if "target" in table.schema.names else None
            weights = table.column("weight").to_numpy(zero_copy_only=False)
        except (KeyError, ValueError) as error:
            raise DataError(f"{name} is not a sound file of rows: {error}") from error
        if indices.dtype not in (np.int32, np.int64) or values.dtype.kind != "f":
            raise DataError(f"{name} is not a sound file of rows: its lists are not of numbers")
        if len(indices) and (indices.min() < 0):
            raise DataError(f"{name} has a feature with the index {indices.min()}")
        narrow = len(indices) == 0 or indices.max() <= np.iinfo(np.int32).max
        rows = SparseRows(ends, indices.astype(np.int32) if narrow else indices, values, 0)
        batch = Batch(rows, targets, None if np.all(weights == 1) else weights)
        check_batch(batch, name, begin)
        return batch, rows, part[1]


def _lists(column: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    if column.null_count:
        raise ValueError("a list is missing")
    ends = column.offsets.to_numpy().astype(np.int64)
    numbers = column.values[int(ends[0]) : int(ends[-1])]
    return ends - ends[0], numbers.to_numpy(zero_copy_only=False)


def _targets(column: Any) -> NDArray[Any]:
    import pyarrow as pa

    if column.null_count:
        raise ValueError("a target is missing")
    if not pa.types.is_string(column.type):
        numbers: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return numbers
    coded = column.dictionary_encode()
    words: NDArray[Any] = np.array(coded.dictionary.to_pylist())
    labels: NDArray[Any] = words[coded.indices.to_numpy()]
    return labels


def _source(file: Any) -> Any:
    """Give what pyarrow opens: a path, or a file in a store."""
    return file.raw() if hasattr(file, "raw") else file.name


def _metadata(file: Any) -> dict[bytes, bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        found: dict[bytes, bytes] = parquet.read_schema(_source(file)).metadata or {}
    except (pa.ArrowException, OSError):
        return {}  # the reader of tables says what is wrong
    return found


def _parquet(source: Any, buffer: int = 0) -> Any:
    """Open a file."""
    from pyarrow import parquet

    with _in_words(source):
        return parquet.ParquetFile(_source(source), buffer_size=buffer)


def _group(source: Any, group: int) -> Iterator[Any]:
    """Read one row group."""
    with _in_words(source), _parquet(source, BUFFER_BYTES) as file:
        yield from file.iter_batches(BATCH_ROWS, row_groups=[group])


def _record_batches(source: Any, skip: int) -> Iterator[tuple[Any, int, int]]:
    """Read a file from a row on: each batch, the row behind it, and how many rows there are."""
    with _in_words(source), _parquet(source) as file:
        metadata = file.metadata
        groups, row = list(range(metadata.num_row_groups)), 0
        while groups and row + metadata.row_group(groups[0]).num_rows <= skip:
            row += metadata.row_group(groups.pop(0)).num_rows
        for table in file.iter_batches(BATCH_ROWS, row_groups=groups):
            left = table.slice(min(max(skip - row, 0), len(table)))
            row += len(table)
            if len(left):
                yield left, row, metadata.num_rows


@contextmanager
def _in_words(source: Any) -> Iterator[None]:
    """Say in a sentence what pyarrow finds wrong with a file."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, DataError):
            raise
        what = str(error).split("\n")[0].rstrip(".")
        raise DataError(
            f"{source.name} is not a sound Parquet file, or cut short: {what}"
        ) from error

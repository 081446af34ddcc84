"""Row groups of Parquet files, read in random order, some rows of each at a time.

A row group can only be read sequentially. So several are open at a time, from all over the files,
and every window of rows has some of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from polyak.data.random_order import Pieces

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


def cut_groups(metadata: Sequence[Any], sizes: Sequence[int | None]) -> Pieces:
    """Cut row groups into pieces, given the files' ``metadata`` and ``sizes`` in bytes."""
    rows = sum(file.num_rows for file in metadata)
    held = sum(
        file.row_group(n).total_byte_size for file in metadata for n in range(file.num_row_groups)
    )
    columns = max((file.num_columns for file in metadata), default=1)
    row_bytes = max(held // max(rows, 1), 8 * columns, 1)
    step = max(PIECE_BYTES // row_bytes, 64)
    units = []
    for number, file in enumerate(metadata):
        first = 0
        for group in range(file.num_row_groups):
            count = file.row_group(group).num_rows
            unit = []
            for begin in range(0, count, step):
                end = min(begin + step, count)
                share = (sizes[number] or 0) * (end - begin) // file.num_rows
                unit.append(GroupPiece(number, group, begin, end, first, share, end == count))
            units.append(unit)
            first += count
    return Pieces.of_units([unit for unit in units if unit], step * row_bytes, MOST_OPEN)


class OpenGroups:
    """The row groups that are being read; ``open_group`` returns the batches of one."""

    def __init__(self, open_group: Callable[[int, int], Iterator[Any]]) -> None:
        self._open = open_group
        self._groups: dict[tuple[int, int], _Group] = {}

    def read(self, piece: GroupPiece) -> list[Any]:
        """Return the rows of a piece as one or more record batches."""
        key = piece.file, piece.group
        group = self._groups.get(key)
        if group is None or group.at > piece.begin:
            group = self._groups[key] = _Group(self._open(*key))
        group.take(piece.begin - group.at)
        rows = group.take(piece.end - piece.begin)
        if piece.is_last:
            del self._groups[key]
        return rows


class _Group:
    """An open row group, of which the first ``at`` rows were read."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches
        self._rest: Any = None
        self.at = 0

    def take(self, rows: int) -> list[Any]:
        """Return batches of the next ``rows`` rows, or of all that are left."""
        taken = []
        while rows > 0:
            batch = self._rest if self._rest is not None else next(self._batches, None)
            if batch is None:
                break
            some = batch.slice(0, rows)
            self._rest = batch.slice(rows) if batch.num_rows > rows else None
            taken.append(some)
            rows -= some.num_rows
            self.at += some.num_rows
        return taken

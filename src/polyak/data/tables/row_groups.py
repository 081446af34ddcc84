"""Row groups of Parquet files, read in any order, some rows of each at a time.

A row group can only be read from its beginning on. So several are open at a time, from all over the
files, and every window of rows has some of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from polyak.data.random_order import Pieces

MOST_OPEN = 8
"""How many row groups are read at the same time."""
PIECE_BYTES = 1 << 20
"""About how much a piece takes once it is read."""
BUFFER_BYTES = 1 << 16
"""How much of a column is read at a time, where several row groups are open."""


class GroupPiece(NamedTuple):
    """Some rows of a row group.

    Attributes
    ----------
    file, group : int
    begin, end : int
        From which row of the group to which.
    first : int
        Which row of the file the group's first is.
    bytes : int
        Its share of the file's size.
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
    """Cut row groups into pieces, given what the files say about themselves."""
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
    """Row groups that are being read; ``open_group`` begins one."""

    def __init__(self, open_group: Callable[[int, int], Iterator[Any]]) -> None:
        self._open = open_group
        self._groups: dict[tuple[int, int], _Group] = {}

    def read(self, piece: GroupPiece) -> list[Any]:
        """Read the rows of a piece, in one record batch or more."""
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
    """One row group, of which the first rows were read."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches
        self._rest: Any = None
        self.at = 0

    def take(self, rows: int) -> list[Any]:
        """Read so many more rows."""
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

"""What a format of tables provides: its first rows, then pieces, each to become a record batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from polyak.data.position import BadLine
from polyak.data.random_order import Pieces


@dataclass(slots=True)
class Piece:
    """Some rows of a table, perhaps not yet parsed.

    Attributes
    ----------
    data : object
        Whatever the source needs to make a record batch of it.
    place : dict
        Where it ends: what JSON can hold, for the source to go on from.
    bytes_read : int
        How much of the source was read up to there.
    again : function, optional
        Reads the data once more, which then is let go once there are rows of it.
    rows : array, optional
        Which rows of the data the record batch has, where some were left out.
    """

    data: Any
    place: dict[str, Any]
    bytes_read: int = 0
    again: Callable[[], Any] | None = None
    rows: Any = None

    def read(self) -> Any:
        """Give the data, reading it again if need be."""
        return self.data if self.again is None or self.data is not None else self.again()


class Source(Protocol):
    """What a format of tables provides."""

    format: str
    name: str
    bytes_total: int | None

    def fingerprint(self) -> str:
        """Tell this data from other data."""

    def sample(self) -> Any:
        """Give the first rows of all columns, as a pyarrow.Table."""

    def can_read_again(self) -> bool:
        """Say whether it can be read more than once."""

    def plan(self, types: dict[str, str], columns: list[str]) -> None:
        """Hear which columns will be read, and what some of them have to be stored as."""

    def pieces(self, place: dict[str, Any]) -> Iterator[Piece]:
        """Read on from a place; an empty one is the beginning."""

    def batch(self, piece: Piece, bad: list[BadLine]) -> Any:
        """Make a record batch of a piece; may be called by several threads.

        Rows that cannot be read are left out and added to ``bad``, if that is wanted.
        """

    def kept(self, piece: Piece, table: Any, names: list[str]) -> Any:
        """Give columns of a piece as its user knows them; ``table`` is what `batch` gave."""

    def where(self, piece: Piece, row: int) -> tuple[str, int, str]:
        """Name a row of a piece: the file, the number, and what is numbered."""

    def numbers(self, piece: Piece, rows: int) -> Any:
        """Give the numbers of all rows of a piece, of which there are so many, as an array."""


@runtime_checkable
class SourceInPieces(Source, Protocol):
    """What a format of tables provides that can be read in any order."""

    def can_read_pieces(self) -> bool:
        """Say whether these files can be read so."""

    def cut(self) -> Pieces:
        """Cut the source into pieces, in the same way every time."""

    def read_pieces(self, pieces: Iterator[Any], bytes_before: int) -> Iterator[Piece]:
        """Read pieces in the order given."""

    def rows_in(self, size: int) -> int:
        """Say about how many rows have so many bytes; 0 if nobody knows before it is read."""

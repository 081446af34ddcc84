"""The interface of a table format: a sample of rows, then pieces that become record batches."""

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
        What the source converts to a record batch.
    place : dict
        The JSON-serialisable position of its end, to resume reading from.
    bytes_read : int
        The number of bytes of the source read up to there.
    again : function, optional
        Reads ``data`` again; if set, ``data`` is released once it is encoded.
    rows : array, optional
        The indices in ``data`` of the rows of the record batch, if some were left out.
    """

    data: Any
    place: dict[str, Any]
    bytes_read: int = 0
    again: Callable[[], Any] | None = None
    rows: Any = None

    def read(self) -> Any:
        """Return the data, reading it again if it was released."""
        return self.data if self.again is None or self.data is not None else self.again()


class Source(Protocol):
    """The interface of a table format."""

    format: str
    name: str
    bytes_total: int | None

    def fingerprint(self) -> str:
        """Return a string that identifies this data."""

    def sample(self) -> Any:
        """Return the first rows of all columns, as a pyarrow.Table."""

    def can_read_again(self) -> bool:
        """Whether the source can be read more than once."""

    def plan(self, types: dict[str, str], columns: list[str]) -> None:
        """Set the columns to read, and the ``types`` to parse some of them as."""

    def pieces(self, place: dict[str, Any]) -> Iterator[Piece]:
        """Yield the pieces from ``place`` on; an empty dict is the beginning."""

    def batch(self, piece: Piece, bad: list[BadLine]) -> Any:
        """Return the record batch of a piece; may be called by several threads.

        Invalid rows are left out and added to ``bad``, if the options ask to skip bad lines.
        """

    def kept(self, piece: Piece, table: Any, names: list[str]) -> Any:
        """Return columns of a piece as the source has them; ``table`` is the result of `batch`."""

    def where(self, piece: Piece, row: int) -> tuple[str, int, str]:
        """Return the file of a row, its number there, and the unit of that number (line or row)."""

    def numbers(self, piece: Piece, rows: int) -> Any:
        """Return an array of the numbers, as in `where`, of all ``rows`` rows of a piece."""


@runtime_checkable
class SourceInPieces(Source, Protocol):
    """The interface of a table format that can be read in any order."""

    def can_read_pieces(self) -> bool:
        """Whether the pieces of these files can be read in any order."""

    def cut(self) -> Pieces:
        """Cut the source into pieces, deterministically."""

    def read_pieces(self, pieces: Iterator[Any], bytes_before: int) -> Iterator[Piece]:
        """Yield the pieces in the order given."""

    def rows_in(self, size: int) -> int:
        """Return an estimate of the number of rows in ``size`` bytes; 0 if it is unknown."""

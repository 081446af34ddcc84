"""The interface of a table source: a sample of rows, then pieces that become record batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from polyak.data.position import BadLine
from polyak.data.random_order import Pieces


@dataclass(frozen=True, slots=True)
class RowNumbers:
    """Where the rows of a batch are in their file.

    Attributes
    ----------
    file : str
    unit : {"line", "row"}
    first : int or function
        The number of the first row, or a function that returns the numbers for such steps.
    steps : array of int, optional
        The distance of each row from the first, unless they follow each other.
    """

    file: str
    unit: str
    first: int | Callable[[NDArray[np.int64]], NDArray[np.int64]]
    steps: NDArray[np.int64] | None = None

    def __call__(self, row: int) -> tuple[str, int, str]:
        """Return the file of a row, its number there, and the unit of that number."""
        return self.file, int(self.of(np.array([row]))[0]), self.unit

    def of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of ``rows``."""
        steps = rows if self.steps is None else self.steps[rows]
        return self.first + steps if isinstance(self.first, int) else self.first(steps)


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
    """

    data: Any
    place: dict[str, Any]
    bytes_read: int = 0


@dataclass(slots=True)
class Parsed:
    """The rows of a piece.

    Attributes
    ----------
    table : pyarrow.RecordBatch
    where : RowNumbers
    kept : pyarrow.RecordBatch, optional
        The columns to keep, as the source has them.
    bad : list of BadLine
        Lines that are not rows.
    wrong : dict of int to str
        Rows of the batch that cannot be used, with the reason.
    odd : list of tuples
        Values that do not fit the type of their column and are null: row, column and value.
    """

    table: Any
    where: RowNumbers
    kept: Any = None
    bad: list[BadLine] = field(default_factory=list)
    wrong: dict[int, str] = field(default_factory=dict)
    odd: list[tuple[int, str, str]] = field(default_factory=list)


class Source(Protocol):
    """The interface of a table source."""

    format: str
    name: str
    bytes_total: int | None

    def fingerprint(self) -> str:
        """Return a string that identifies this data."""

    def sample(self) -> Any:
        """Return the first rows of all columns, as a pyarrow.Table."""

    def plan(self, types: dict[str, str], columns: list[str], keep: list[str]) -> None:
        """Set the columns to read and to keep, and the ``types`` to parse some of them as."""

    def pieces(self, place: dict[str, Any]) -> Iterator[Piece]:
        """Yield the pieces from ``place`` on; an empty dict is the beginning."""

    def parse(self, piece: Piece) -> Parsed:
        """Return the rows of a piece; may be called by several threads."""


@runtime_checkable
class SourceInPieces(Source, Protocol):
    """The interface of a table source that can be read in any order."""

    def can_read_pieces(self) -> bool:
        """Whether the pieces of these files can be read in any order."""

    def cut(self) -> Pieces:
        """Cut the source into pieces, deterministically."""

    def read_pieces(self, pieces: Iterator[Any], bytes_before: int) -> Iterator[Piece]:
        """Yield the pieces in the order given."""

    def rows_in(self, size: int) -> int:
        """Return an estimate of the number of rows in ``size`` bytes; 0 if it is unknown."""

"""What every stream yields: a few thousand rows with their targets and weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from polyak.rows.sparse import Rows


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Rows in the order they stand in the source.

    Attributes
    ----------
    rows : SparseRows or two-dimensional array
    targets : array or None
        One value a row as the source gives it: numbers, or strings for named classes.
    weights : array or None
        One non-negative number a row; None where every row counts once.
    kept : pyarrow.RecordBatch or None
        The columns of a table that were asked to be carried along.
    where : function or None
        Names a row, counted from zero, for an error: the file, the number, and what is numbered.
    """

    rows: Rows
    targets: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None
    kept: Any = None
    where: Callable[[int], tuple[str, int, str]] | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.rows)

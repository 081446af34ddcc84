"""A batch: the rows that a stream yields at a time, with their targets and weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.rows.sparse import Rows, join_rows, take_rows


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Rows in the order of the source.

    Attributes
    ----------
    rows : SparseRows or two-dimensional array
    targets : array or None
        One value per row: numbers, or strings for named classes.
    weights : array or None
        One non-negative number per row; None if all weights are one.
    kept : pyarrow.RecordBatch or None
        The columns of a table to carry along.
    where : function or None
        Returns the location of a row, counted from zero, for an error: the file, the number, and
        the unit of the number.
    gaps : array or None
        For each skipped line, the number of rows of this batch before it, if requested.
    """

    rows: Rows
    targets: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None
    kept: Any = None
    where: Callable[[int], tuple[str, int, str]] | None = field(default=None, kw_only=True)
    gaps: NDArray[np.int64] | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, begin: int, end: int) -> Batch:
        """Return some of the rows, without copying."""
        part, where = slice(begin, end), self.where
        return Batch(
            self.rows[part],
            None if self.targets is None else self.targets[part],
            None if self.weights is None else self.weights[part],
            None if self.kept is None else self.kept.slice(begin, max(end - begin, 0)),
            where=None if where is None else lambda row: where(begin + row),
        )

    def take(self, order: NDArray[np.int64]) -> Batch:
        """Copy the rows of these indices, in this order, with their targets and weights."""
        return Batch(
            take_rows(self.rows, order),
            None if self.targets is None else self.targets[order],
            None if self.weights is None else self.weights[order],
        )


def join_batches(batches: list[Batch]) -> Batch | None:
    """Concatenate batches, with their targets and weights; None for an empty list."""
    if not batches:
        return None
    targets = [batch.targets for batch in batches if batch.targets is not None]
    lengths = [len(batch) for batch in batches]
    weights = join_weights([batch.weights for batch in batches], lengths)
    rows = join_rows([batch.rows for batch in batches])
    return Batch(rows, np.concatenate(targets) if targets else None, weights)


def join_weights(weights: list[NDArray[Any] | None], lengths: list[int]) -> NDArray[Any] | None:
    """Concatenate the weights of batches of these lengths; None if none of them has any."""
    if all(one is None for one in weights):
        return None
    pairs = zip(weights, lengths, strict=True)
    return np.concatenate([np.ones(rows) if one is None else one for one, rows in pairs])


def interleaved(batches: list[Batch]) -> Batch | None:
    """Concatenate batches so that the rows of each are spread evenly over the whole."""
    whole = join_batches(batches)
    if whole is None:
        return None
    places = np.concatenate([(np.arange(len(b)) + 0.5) / max(len(b), 1) for b in batches])
    return whole.take(np.argsort(places, kind="stable"))

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


def join_batches(batches: list[Batch]) -> Batch | None:
    """Concatenate batches with targets; None for an empty list."""
    if not batches:
        return None
    targets = [batch.targets for batch in batches if batch.targets is not None]
    weights = join_weights([batch.weights for batch in batches], targets)
    return Batch(join_rows([batch.rows for batch in batches]), np.concatenate(targets), weights)


def join_weights(
    weights: list[NDArray[Any] | None], targets: list[NDArray[Any]]
) -> NDArray[Any] | None:
    """Concatenate the weights of rows with these targets; None if none of them has any."""
    if all(one is None for one in weights):
        return None
    pairs = zip(weights, targets, strict=True)
    return np.concatenate([np.ones(len(own)) if one is None else one for one, own in pairs])


def interleaved(batches: list[Batch]) -> Batch | None:
    """Concatenate batches so that the rows of each are spread evenly over the whole."""
    whole = join_batches(batches)
    if whole is None:
        return None
    places = np.concatenate([(np.arange(len(b)) + 0.5) / max(len(b), 1) for b in batches])
    order = np.argsort(places, kind="stable")
    assert whole.targets is not None
    return Batch(
        take_rows(whole.rows, order),
        whole.targets[order],
        None if whole.weights is None else whole.weights[order],
    )

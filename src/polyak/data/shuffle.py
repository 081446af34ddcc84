"""The rows of batches in another order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.rows.batch import Batch
from polyak.rows.sparse import join_rows, take_rows


def random_permutation(n: int, random: np.random.PCG64) -> NDArray[np.int64]:
    """Return the first numbers in random order."""
    # Sorting raw random numbers: unlike Generator.permutation, the same in every NumPy.
    return np.argsort(random.random_raw(n))


def joined(batches: list[Batch], order: NDArray[np.int64]) -> Batch:
    """Make one batch of the rows of several, in an order."""
    begins = np.cumsum([0, *map(len, batches)])
    wheres = [batch.where for batch in batches]

    def where(row: int) -> tuple[str, int, str]:
        place = int(order[row])
        number = int(np.searchsorted(begins, place, side="right")) - 1
        named = wheres[number]
        assert named is not None
        return named(place - int(begins[number]))

    return Batch(
        take_rows(join_rows([batch.rows for batch in batches]), order),
        _take_each([batch.targets for batch in batches], order),
        _take_each(_all_weights(batches), order),
        _take_kept([batch.kept for batch in batches], order),
        where=where if all(wheres) else None,
    )


def part_of(batch: Batch, begin: int, end: int) -> Batch:
    """Return some rows of a batch, without copying."""
    part, where = slice(begin, end), batch.where
    return Batch(
        batch.rows[part],
        None if batch.targets is None else batch.targets[part],
        None if batch.weights is None else batch.weights[part],
        None if batch.kept is None else batch.kept.slice(begin, max(end - begin, 0)),
        where=None if where is None else lambda row: where(begin + row),
    )


def _all_weights(batches: list[Batch]) -> list[NDArray[Any] | None]:
    """Return the weights of all rows, if any has one; the others have weight 1."""
    if all(batch.weights is None for batch in batches):
        return []
    return [np.ones(len(b)) if b.weights is None else b.weights for b in batches]


def _take_each(arrays: list[NDArray[Any] | None], order: NDArray[Any]) -> NDArray[Any] | None:
    present = [array for array in arrays if array is not None]
    return np.concatenate(present)[order] if present else None


def _take_kept(kept: list[Any], order: NDArray[Any]) -> Any:
    present = [table for table in kept if table is not None]
    if not present:
        return None
    import pyarrow as pa

    whole = pa.Table.from_batches(present).unify_dictionaries().combine_chunks()
    (batch,) = whole.take(pa.array(order)).combine_chunks().to_batches() or present[:1]
    return batch

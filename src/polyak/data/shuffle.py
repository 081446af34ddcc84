"""Shuffling within a buffer."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DataError
from polyak.rows.batch import Batch
from polyak.rows.sparse import join_rows, take_rows

if TYPE_CHECKING:
    from polyak.data.position import Cursor, Position

KEPT = ("base", "without_target")
"""Entries of a position about the source, which shuffling keeps."""

WithCursor = Generator[tuple[Batch, "Cursor"]]


def shuffled(source: WithCursor, size: int, seed: int, start: Position | None) -> WithCursor:
    """Shuffle a stream within a buffer of ``size`` rows.

    When the buffer is full it is shuffled, and the first half of it leaves. So a row is as likely
    to wait as to leave each time, and the order depends on the rows and the seed only, not on the
    batches. To resume at a position, all rows are read and shuffled again, and those delivered
    before are dropped.
    """
    kind = {"shuffle_buffer": size, "seed": seed}
    done = 0
    if start is not None:
        if {key: start.get(key) for key in kind} != kind:
            raise DataError("the place to go on from belongs to a stream shuffled differently")
        done = int(start["rows"])
    return _shuffled(source, size, kind, done)


def _shuffled(source: WithCursor, size: int, kind: dict[str, int], done: int) -> WithCursor:
    random = np.random.PCG64(kind["seed"])
    rows = 0
    try:
        for batch, cursor in _buffers(source, size, random):
            skipped = min(max(done - rows, 0), len(batch))
            rows += len(batch)
            here = max(rows, done)
            rest = part_of(batch, skipped, len(batch))
            kept = {name: cursor.position[name] for name in KEPT if name in cursor.position}
            yield rest, cursor._replace(position={**kept, **kind, "rows": here}, rows=here)
    finally:
        source.close()


def _buffers(source: WithCursor, size: int, random: np.random.PCG64) -> WithCursor:
    held: list[Batch] = []
    count = 0
    end_cursor = None
    for batch, cursor in source:
        end_cursor = cursor
        begin = 0
        while begin < len(batch):
            end = min(len(batch), begin + size - count)
            held.append(part_of(batch, begin, end))
            count += end - begin
            begin = end
            if count == size:
                buffer = _permuted(held, random)
                out = (size + 1) // 2
                yield part_of(buffer, 0, out), cursor
                held, count = [part_of(buffer, out, size)], size - out
    if end_cursor is not None:
        yield _permuted(held or [part_of(batch, 0, 0)], random), end_cursor


def _permuted(batches: list[Batch], random: np.random.PCG64) -> Batch:
    return joined(batches, random_permutation(sum(map(len, batches)), random))


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

"""Rows in random order, as far as a buffer reaches."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DataError
from polyak.rows.batch import Batch
from polyak.rows.sparse import Rows, SparseRows

if TYPE_CHECKING:
    from polyak.data.position import Cursor, Position

WithCursor = Generator[tuple[Batch, "Cursor"]]


def shuffled(source: WithCursor, size: int, seed: int, start: Position | None) -> WithCursor:
    """Shuffle a stream within a buffer of ``size`` rows.

    When the buffer is full it is shuffled, and the first half of it leaves. So a row is as likely
    to wait as to leave each time, and the order depends on the rows and the seed only, not on how
    the rows came in batches. To go on from a position, everything is read and shuffled again and
    what was delivered is dropped.
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
            rest = _slice(batch, skipped, len(batch))
            yield rest, cursor._replace(position={**kind, "rows": here}, rows=here)
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
            held.append(_slice(batch, begin, end))
            count += end - begin
            begin = end
            if count == size:
                buffer = _permuted(held, random)
                out = (size + 1) // 2
                yield _slice(buffer, 0, out), cursor
                held, count = [_slice(buffer, out, size)], size - out
    if end_cursor is not None:
        yield _permuted(held or [_slice(batch, 0, 0)], random), end_cursor


def _permuted(batches: list[Batch], random: np.random.PCG64) -> Batch:
    # Sorting raw random numbers: unlike Generator.permutation, the same in every NumPy.
    n = sum(map(len, batches))
    order = np.argsort(random.random_raw(n), kind="stable")
    return Batch(
        _take([batch.rows for batch in batches], order),
        _take_each([batch.targets for batch in batches], order),
        _take_each([batch.weights for batch in batches], order),
    )


def _slice(batch: Batch, begin: int, end: int) -> Batch:
    part = slice(begin, end)
    return Batch(
        batch.rows[part],
        None if batch.targets is None else batch.targets[part],
        None if batch.weights is None else batch.weights[part],
    )


def _take_each(arrays: list[NDArray[Any] | None], order: NDArray[Any]) -> NDArray[Any] | None:
    present = [array for array in arrays if array is not None]
    return np.concatenate(present)[order] if present else None


def _take(parts: list[Rows], order: NDArray[Any]) -> Rows:
    sparse = [part for part in parts if isinstance(part, SparseRows)]
    if not sparse:
        dense: NDArray[Any] = np.concatenate(parts)[order]  # type: ignore[arg-type]
        return dense
    lengths = np.concatenate([np.diff(part.indptr) for part in sparse])[order]
    # Where each row begins once all parts stand behind each other.
    spans = [slice(int(part.indptr[0]), int(part.indptr[-1])) for part in sparse]
    sizes = [span.stop - span.start for span in spans]
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    begins = np.concatenate(
        [
            part.indptr[:-1].astype(np.int64) - span.start + offset
            for part, span, offset in zip(sparse, spans, offsets, strict=True)
        ]
    )[order]
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    places = np.arange(indptr[-1]) + np.repeat(begins - indptr[:-1], lengths)
    pairs = list(zip(sparse, spans, strict=True))
    indices = np.concatenate([part.indices[span] for part, span in pairs])[places]
    values = np.concatenate([part.values[span] for part, span in pairs])[places]
    return SparseRows(indptr, indices, values, max(part.n_features for part in sparse))

"""Batches of rows from a partition: an array or a frame that is already on a worker."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.data.open import open_stream
from polyak.distributed.plan import Shard
from polyak.distributed.run_counts import RunCounts
from polyak.errors import DataError
from polyak.estimators.inputs import encode_with_names
from polyak.model.schema import Schema
from polyak.rows.batch import Batch

Block = tuple[Any, Any, Any]
"""A partition: rows, targets, and weights or None."""


def rows_of(block: Block) -> int:
    """Return the number of rows of a partition."""
    return int(block[0].shape[0])


def batches_of(
    shard: Shard,
    block: Block,
    n_features: int | None,
    schema: Schema | None,
    run_counts: RunCounts,
) -> Iterator[Batch]:
    """Yield the rows of a shard from its partition; frames are encoded by the schema."""
    n = rows_of(block)
    y, weights = (_array(part) for part in block[1:])
    for what, numbers in ("targets", y), ("weights", weights):
        if numbers is not None and len(numbers) != n:
            raise DataError(f"{shard.name} has {n} rows, but {len(numbers)} {what}")
    first, last = (shard.skip + round(edge * (n - shard.skip)) for edge in shard.share)
    if first >= last:
        return
    if schema is None:
        X = _array(block[0])[:last]
    else:
        X, names = encode_with_names(block[0].iloc[:last], schema, threads=0)
        run_counts.add_names(names)
    if n_features is not None and X.shape[1] != n_features:
        raise DataError(f"{shard.name} has {X.shape[1]} features instead of {n_features}")
    several = y.ndim == 2 and y.shape[1] > 1  # a stream has one target per row
    with open_stream(
        (
            X,
            None if several else y[:last].reshape(-1),
            None if weights is None else weights[:last],
        ),
        n_features=n_features,
        start={"format": "arrays", "rows": first},
        warn_if_sorted=False,
    ) as stream:
        for batch in stream:
            if several:
                done = stream.rows_read
                batch = replace(batch, targets=y[done - len(batch) : done])
            yield batch


def _array(part: Any) -> Any:
    """Return a partition, or a column of one, as an array or a CSR matrix."""
    if part is None or hasattr(part, "tocsr"):
        return part.tocsr() if part is not None else None
    if hasattr(part, "to_numpy"):
        part = part.to_numpy()
    array: NDArray[Any] = np.asarray(part)
    if array.dtype == object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return array.astype(np.float64)
            except (TypeError, ValueError):
                return array.astype(str) if array.ndim == 1 else array
    return array

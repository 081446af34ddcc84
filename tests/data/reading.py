"""What the tests of streams share."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from polyak.data.open import open_stream
from polyak.rows.batch import Batch
from polyak.rows.sparse import SparseRows


def random_svmlight(n_rows: int, seed: int = 0, n_features: int = 5000) -> str:
    """Rows with ids and values of every common shape."""
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(n_rows):
        ids = np.unique(random.integers(1, n_features + 1, random.integers(0, 30)))
        values = random.normal(size=len(ids)) * 10.0 ** random.integers(-6, 6, len(ids))
        digits = random.integers(1, 18, len(ids))
        features = " ".join(f"{i}:{v:.{d}g}" for i, v, d in zip(ids, values, digits, strict=True))
        lines.append(f"{random.choice([-1, 1])} {features}")
    return "\n".join(lines) + "\n"


def read_all(source: Any, **options: Any) -> list[Batch]:
    options.setdefault("warn_if_sorted", False)
    with open_stream(source, **options) as stream:
        return list(stream)


def read_with_positions(source: Any, **options: Any) -> tuple[list[Batch], list[dict[str, Any]]]:
    """All batches, and the position before the first and after each, as a checkpoint keeps it."""
    with open_stream(source, warn_if_sorted=False, **options) as stream:
        batches, positions = [], [stream.position]
        for batch in stream:
            batches.append(batch)
            positions.append(stream.position)
    return batches, json.loads(json.dumps(positions))


def arrays_of(batch: Batch) -> list[Any]:
    rows = batch.rows
    if isinstance(rows, SparseRows):
        parts = [rows.indptr - rows.indptr[0], rows.indices, rows.values, rows.n_features]
        begin, end = int(rows.indptr[0]), int(rows.indptr[-1])
        parts[1:3] = [rows.indices[begin:end], rows.values[begin:end]]
    else:
        parts = [rows]
    return [*parts, batch.targets, batch.weights]


def assert_same(batches: list[Batch], others: list[Batch]) -> None:
    """The same batches, to the last bit."""
    assert len(batches) == len(others)
    for batch, other in zip(batches, others, strict=True):
        for mine, theirs in zip(arrays_of(batch), arrays_of(other), strict=True):
            assert np.asarray(mine).dtype == np.asarray(theirs).dtype
            assert np.array_equal(mine, theirs)


def dense(batches: list[Batch], n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """All rows as one matrix, with the targets."""
    X, y = [], []
    for batch in batches:
        y.extend(batch.targets if batch.targets is not None else [])
        rows = batch.rows
        if not isinstance(rows, SparseRows):
            X.extend(rows)
            continue
        for begin, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
            row = np.zeros(n_features, rows.values.dtype)
            row[rows.indices[begin:end]] = rows.values[begin:end]
            X.append(row)
    return np.array(X), np.array(y)

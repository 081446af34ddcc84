"""Dask arrays and frames: their partitions, the workers that hold them, lazy predictions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np


def is_dask(X: Any) -> bool:
    """Whether ``X`` is a Dask collection."""
    return hasattr(X, "__dask_graph__")


def _is_frame(X: Any) -> bool:
    return hasattr(X, "map_partitions")


def frame_without_rows(X: Any) -> Any:
    """Return an empty frame with the columns and dtypes of a Dask frame; None for other input."""
    return X._meta if is_dask(X) and _is_frame(X) else None


def source_of(X: Any, y: Any, weights: Any, multi_output: bool) -> tuple[Any, int | None, int, Any]:
    """Return the files or partitions, the width, the number of outputs and the column names."""
    if not is_dask(X):
        if y is not None or weights is not None:
            raise ValueError(
                f"X is {type(X).__name__}, neither a Dask collection nor file names; y and "
                "sample_weight are only for Dask collections, since files contain their targets"
            )
        return X, None, 1, None
    if y is None:
        raise ValueError("y is required if X is a Dask collection")
    blocks = [_blocks(X)]
    for name, numbers in ("y", y), ("sample_weight", weights):
        if numbers is None:
            blocks.append([None] * len(blocks[0]))
            continue
        if not is_dask(numbers):
            raise ValueError(
                f"{name} must be a Dask collection, as X is, not {type(numbers).__name__}"
            )
        blocks.append(_blocks(numbers, like=X))
        if len(blocks[-1]) != len(blocks[0]):
            raise ValueError(f"X has {len(blocks[0])} partitions, but {name} has {len(blocks[-1])}")
    outputs = y.shape[1] if getattr(y, "ndim", 1) == 2 else 1
    if outputs > 1 and not multi_output:
        raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead")
    names = None
    if _is_frame(X) and all(isinstance(name, str) for name in X.columns):
        names = np.asarray(X.columns, dtype=object)
    return list(zip(*blocks, strict=True)), int(X.shape[1]), outputs, names


def _blocks(X: Any, like: Any = None) -> list[Any]:
    """Return a delayed block for every partition."""
    if _is_frame(X):
        return list(X.to_delayed())
    if X.ndim == 2:
        X = _one_column_of_blocks(X)
    rows = getattr(like, "chunks", None)
    if rows is not None and not any(np.isnan([*rows[0], *X.chunks[0]])) and X.chunks[0] != rows[0]:
        X = X.rechunk({0: rows[0]})
    return list(X.to_delayed().reshape(-1))


def homes_of(client: Any, X: Any) -> list[str] | None:
    """Return the worker that holds each partition; None unless all are held by a worker."""
    if not is_dask(X):
        return None
    who = client.who_has(X)
    workers_of = [who.get(key) or who.get(str(key)) for key in _flat(X.__dask_keys__())]
    return [home[0] for home in workers_of] if workers_of and all(workers_of) else None


def _flat(keys: Any) -> list[Any]:
    return [key for part in keys for key in _flat(part)] if isinstance(keys, list) else [keys]


def _one_column_of_blocks(X: Any) -> Any:
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead")
    return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})


def lazily(call: Callable[[Any], Any], X: Any, columns: int | None, dtype: Any) -> Any:
    """Return a lazy collection of ``call`` applied to every partition, ``columns`` wide."""
    if _is_frame(X):
        import pandas as pd

        nothing = np.zeros((0,) if columns is None else (0, columns), dtype)
        meta = pd.Series(nothing) if columns is None else pd.DataFrame(nothing)
        return X.map_partitions(partial(_like_frame, call), meta=meta)
    X = _one_column_of_blocks(X)
    if columns is None:
        return X.map_blocks(call, drop_axis=1, dtype=dtype)
    return X.map_blocks(call, chunks=(X.chunks[0], (columns,)), dtype=dtype)


def predict_block(estimator: Any, method: str, block: Any) -> Any:
    """Predict the rows of a partition, which may be empty."""
    if estimator.to_model().features.schema is not None:  # a schema accepts empty frames
        return getattr(estimator, method)(block)
    block = block.to_numpy() if hasattr(block, "to_numpy") else block
    if block.shape[0] == 0:  # scikit-learn refuses an empty array
        one = np.zeros((1, estimator.n_features_in_))
        return getattr(estimator, method)(one)[:0]
    return getattr(estimator, method)(block)


def _like_frame(call: Any, block: Any) -> Any:
    import pandas as pd

    values = call(block)
    kind = pd.Series if values.ndim == 1 else pd.DataFrame
    return kind(values, index=block.index)

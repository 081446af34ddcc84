"""The features in use: of the slots that words are hashed into, most are often never met.

A program that a model is exported to need not take rows as wide as all slots. It takes those
features that weigh anything, in their order, numbered anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.model.linear import LinearModel
from polyak.rows.sparse import Rows, SparseRows


def features_in_use(model: LinearModel) -> NDArray[np.int64] | None:
    """Give the features that weigh anything, where words are hashed; else None: all are in use.

    Examples
    --------
    >>> from polyak.model.features import FeatureMap
    >>> weights = np.array([[0.0], [0.5], [0.0], [-1.0]])
    >>> hashed = FeatureMap.hashed(2)
    >>> features_in_use(LinearModel(weights, np.zeros(1), "squared_error", features=hashed))
    array([1, 3])
    """
    schema = model.features.schema
    if model.features.bits is None and (schema is None or not schema.is_hashed):
        return None
    used = np.flatnonzero(model.weights.any(axis=1))
    return used if len(used) else np.zeros(1, dtype=np.int64)


def rows_in_use(rows: Rows, used: NDArray[np.int64]) -> SparseRows:
    """Give rows of the features in use alone, numbered anew.

    Examples
    --------
    >>> rows = SparseRows(np.array([0, 2, 3]), np.array([1, 3, 2]), np.array([5.0, 7.0, 9.0]), 4)
    >>> few = rows_in_use(rows, np.array([1, 3]))
    >>> few.indptr.tolist(), few.indices.tolist(), few.values.tolist(), few.shape
    ([0, 2, 2], [0, 1], [5.0, 7.0], (2, 2))
    """
    assert isinstance(rows, SparseRows)  # as rows of hashed features are
    span = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
    indices: NDArray[Any] = rows.indices[span]
    place = np.minimum(np.searchsorted(used, indices), len(used) - 1)
    known = used[place] == indices
    ends = np.concatenate([[0], np.cumsum(known)])[rows.indptr - rows.indptr[0]]
    kept = place[known].astype(rows.indices.dtype)
    return SparseRows(ends, kept, rows.values[span][known], len(used))

"""The features in use: most hash buckets often have a weight of zero.

An exported model takes only the features with a nonzero weight, in their order, renumbered from
zero, so that its input is not as wide as all buckets.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polyak.model.linear import LinearModel
from polyak.model.terms import Term, Terms
from polyak.rows.sparse import Rows, SparseRows


def features_in_use(model: LinearModel) -> NDArray[np.int64] | None:
    """Return the features with a nonzero weight where names are hashed or ``kept_only`` is set.

    Those of an additive model are the features of the source that its terms are made of, too.
    None otherwise: an exported model then takes all features.

    Examples
    --------
    >>> from polyak.model.features import FeatureMap
    >>> weights = np.array([[0.0], [0.5], [0.0], [-1.0]])
    >>> hashed = FeatureMap.hashed(2)
    >>> features_in_use(LinearModel(weights, np.zeros(1), "squared_error", features=hashed))
    array([1, 3])
    """
    schema = model.features.schema
    numbered = schema is None and bool(model.features.kept_only)
    hashed = model.features.bits is not None or (schema is not None and schema.is_hashed)
    if not (hashed or numbered):
        return None
    used = np.flatnonzero(model.weights.any(axis=1))
    if model.terms is not None:  # of the source; a curve's own column has no weight
        places = [feature for term in model.terms.terms for feature in term.features]
        used = np.union1d(used[used < model.terms.begin], np.array(places, dtype=np.int64))
    return used if len(used) else np.zeros(1, dtype=np.int64)


def terms_in_use(terms: Terms, used: NDArray[np.int64]) -> Terms:
    """Return terms of rows that have only the features in use, renumbered."""

    def place(features: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(np.searchsorted(used, np.array(features, dtype=np.int64)).tolist())

    return Terms(
        len(used),
        tuple(
            Term(tuple(replace(axis, features=place(axis.features)) for axis in term.axes))
            for term in terms.terms
        ),
        place(terms.replaced),
    )


def sparsified(model: LinearModel) -> LinearModel:
    """Return a model whose exports contain only the features with a nonzero weight.

    Examples
    --------
    >>> one = sparsified(LinearModel(np.array([[0.0], [0.5]]), np.zeros(1), "squared_error"))
    >>> features_in_use(one)
    array([1])
    """
    there = np.asarray(model.weights.any(axis=1))
    names = {j: name for j, name in model.features.names.items() if j < len(there) and there[j]}
    return replace(model, features=replace(model.features, kept_only=True, names=names))


def rows_in_use(rows: Rows, used: NDArray[np.int64]) -> Rows:
    """Return rows restricted to the features in use, renumbered.

    Examples
    --------
    >>> rows = SparseRows(np.array([0, 2, 3]), np.array([1, 3, 2]), np.array([5.0, 7.0, 9.0]), 4)
    >>> few = rows_in_use(rows, np.array([1, 3]))
    >>> few.indptr.tolist(), few.indices.tolist(), few.values.tolist(), few.shape
    ([0, 2, 2], [0, 1], [5.0, 7.0], (2, 2))
    """
    if not isinstance(rows, SparseRows):
        known = used[used < rows.shape[1]]
        found = np.zeros((len(rows), len(used)), rows.dtype)
        found[:, : len(known)] = rows[:, known]
        return found
    indices, values = rows.entries()
    place = np.minimum(np.searchsorted(used, indices), len(used) - 1)
    known = used[place] == indices
    ends = np.concatenate([[0], np.cumsum(known)])[rows.indptr - rows.indptr[0]]
    kept = place[known].astype(rows.indices.dtype)
    return SparseRows(ends, kept, values[known], len(used))

"""Which features Newton's steps learn where there are too many: those that most rows have.

A table with a column of names has a feature for every name. Each is in next to no row, so its
weight can be little more than noise, but together they would be too many for a matrix. The other
columns are as few as ever. So the lane learns the features that occur most often and leaves the
others out, if features that many rows have in common make up half of what rows have: in tables they
do, in text they do not. Candidates of averaged SGD, which learn all features, show in the same race
whether the others are missed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.information import Information
from polyak.rows.sparse import Rows, SparseRows

Floats = NDArray[np.float64]

MOST = 256
"""How many features are learned where there are too many: a matrix of so many costs little."""
ROWS_THAT_SHOW = 100
"""So many rows show whether few of their features make up most of what they have."""
ROWS_THAT_TELL = 1000
"""So many first rows tell how many features are to come."""
COMMON, COVERED = 0.2, 0.5
"""Features that so many of the rows have must make up so much of all that rows have. The numbers of
a table and its common words do, beside a name or two; the words of a text that are in every fifth
row, next to none but stop words, do not."""


def too_many_to_come(rows: Rows, most: int) -> bool:
    """Whether rows will have too many features, by how many new ones each of their halves has.

    Were all equally rare, each half as many rows again would bring the same share of what the half
    before brought; rare names bring more. To wait until there are too many would cost some fits of
    a matrix far wider than what is kept of it.

    Examples
    --------
    >>> names = np.concatenate([np.arange(500), np.arange(500) % 250 + 400])
    >>> rows = SparseRows(np.arange(1001), names, np.ones(1000), 700)  # 500 names, 150 more, ...
    >>> too_many_to_come(rows, 700), too_many_to_come(rows, 720)
    (True, False)
    """
    narrow = not isinstance(rows, SparseRows) and rows.shape[1] <= most
    if len(rows) < ROWS_THAT_TELL or narrow:
        return False
    first, both = features_seen(rows[: len(rows) // 2]), features_seen(rows)
    second = both - first
    return second >= first or both + second * second / (first - second) > most


def frequent_features(rows: Rows, most: int) -> NDArray[np.int64] | None:
    """Return the features that occur most often; None if they make up too little of the rows.

    Examples
    --------
    >>> every, own = np.full((9, 2), [7, 8]), np.arange(10, 19)  # two of all rows, one of each
    >>> rows = SparseRows(np.arange(0, 28, 3), np.c_[every, own].ravel(), np.ones(27), 19)
    >>> frequent_features(rows, 5)
    array([7, 8])
    >>> rows = SparseRows(np.arange(0, 28, 3), np.arange(27), np.ones(27), 27)
    >>> frequent_features(rows, 5) is None
    True
    """
    features, counts = feature_counts(rows)
    places = frequent_places(counts, len(rows), most)
    return None if places is None else features[places]


def frequent_places(
    counts: NDArray[np.int64], rows: int, most: int, others: int = 0
) -> NDArray[np.int64] | None:
    """Return the places of the largest counts, if those that are common make up enough of all.

    ``others`` is how often rows have had features that are not counted.
    """
    places = np.argsort(-counts, kind="stable")[: min(most, MOST)]
    common = counts[places][counts[places] >= COMMON * rows].sum()
    if common < COVERED * (counts.sum() + others):
        return None
    places = np.sort(places[counts[places] > 1])
    return places if len(places) else None


def are_frequent(held: NDArray[Any], most: int) -> bool:
    """Tell whether what rows of many columns have in common makes up enough of all."""
    return frequent_places(np.count_nonzero(held, axis=0), len(held), most) is not None


def without_others(known: Information, columns: NDArray[np.int64]) -> Information:
    """Give what is known of some columns, as if the weights of all others were zero."""
    W = np.zeros_like(known.W)
    W[columns] = known.W[columns]
    P, each, width = known.moved_to(W).P, known.outputs_each, len(known)
    blocks = [G.reshape(each, width, each, width)[:, columns][..., columns] for G in known.G]
    size = each * len(columns)
    return replace(
        known,
        W=W[columns],
        P=P[columns],
        G=[np.ascontiguousarray(G).reshape(size, size) for G in blocks],
        M=[M[np.ix_(columns, columns)] for M in known.M],
    )


def features_seen(rows: Rows) -> int:
    """Return the number of features that any of the rows has, that is, a value other than zero."""
    return len(feature_counts(rows)[0])


def feature_counts(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the features that any of the rows has, and how many rows have each."""
    if not isinstance(rows, SparseRows):
        counts = np.count_nonzero(rows, axis=0)
        features = np.flatnonzero(counts)
        return features, counts[features]
    span = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
    # By sorting: np.unique would import a good part of NumPy that nothing else needs.
    there = np.sort(rows.indices[span][rows.values[span] != 0])
    begins = np.flatnonzero(np.diff(there, prepend=-1))
    return there[begins].astype(np.int64), np.diff(begins, append=len(there))

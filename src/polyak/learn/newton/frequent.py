"""Which features become columns of Newton's steps: all of them, or the frequent ones.

A table with a column of names has a feature for every name. Each is in next to no row, so its
weight is little more than noise, but together they would be too many for a matrix. The other
columns are as few as ever. So the solver learns the features that occur most often and leaves the
others out, if features that many rows have in common make up half of the values of rows: in tables
they do, in text they do not. Candidates of averaged SGD, which learn all features, show in the same
race whether the others are missed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.information import Information
from polyak.learn.newton.standardize import Standard
from polyak.rows.sparse import Rows, SparseRows, take_rows
from polyak.rows.taken import SomeRows, TakenRows

Floats = NDArray[np.float64]

MOST = 256
"""Features that are learned where there are too many, beside those of terms: a matrix of that size
costs little."""
ROWS_THAT_SHOW = 100
"""Rows from which on it shows whether few features make up most of the values."""
ROWS_THAT_TELL = 1000
"""First rows from which on the number of features to come can be predicted."""
COMMON, COVERED = 0.2, 0.5
"""Features that at least the first share of rows have must make up the second share of all values.
The numbers of a table and its common words do, beside a name or two; the words of a text that are
in every fifth row, next to none but stop words, do not."""


@dataclass
class FeatureLimit:
    """Which features become columns, and whether others are left out.

    Attributes
    ----------
    widest : int
        The most columns there may be.
    may_close : bool
        Whether features may be left out. Where the weights themselves are asked for, all of them
        are, and which weights are exactly zero is not known beforehand.
    first_of_terms : int or None
        The first feature of curves and pairs, all of which are kept.
    closed : bool
        Whether features that are no columns yet are left out from now on.
    left_out : int
        The values that were left out since the block began.
    """

    widest: int
    may_close: bool
    first_of_terms: int | None = None
    closed: bool = False
    left_out: int = 0

    def most_kept(self, features: NDArray[np.int64]) -> int:
        """Return the most of these features that are kept where there are too many."""
        first = self.first_of_terms
        of_terms = 0 if first is None else int(np.count_nonzero(features >= first))
        return min(self.widest, MOST + of_terms)

    def choose(self, standard: Standard, rows: Rows) -> bool:
        """Add columns for the features of the first rows, or for some; return whether they fit.

        Frequent ones are chosen at once where too many are to come: to wait for them would cost
        some fits of a matrix far wider than what is kept of it.
        """
        features = standard.appearing(rows)[0]
        too_many = len(features) > self.widest
        if self.may_close and (too_many or too_many_to_come(rows, self.widest)):
            chosen = frequent_features(rows, self.most_kept(features))
            if chosen is not None:
                features, self.closed = chosen, True
        if too_many and not self.closed:
            return False
        standard.add(features)
        return True

    def admit(self, standard: Standard, rows: SomeRows) -> int:
        """Add columns for new features; return how many rows come before there are too many."""
        plain = take_rows(rows.rows, rows.order) if isinstance(rows, TakenRows) else rows
        new, row = standard.appearing(plain)
        spare = self.widest - len(standard)
        if len(new) > spare:
            return int(row[spare])
        if len(new):
            standard.add(new)
        return len(rows)

    def close(self, held: NDArray[Any], features: NDArray[np.int64]) -> bool:
        """Leave new features out from now on, if what held rows have in common makes up enough."""
        if self.may_close and len(held) >= ROWS_THAT_SHOW:
            counts = np.count_nonzero(held, axis=0)
            most = self.most_kept(features)
            self.closed = frequent_places(counts, len(held), most) is not None
        else:
            self.closed = self.may_close
        return self.closed


def too_many_to_come(rows: Rows, most: int) -> bool:
    """Whether rows will have more than ``most`` features, by the new ones in each of their halves.

    Were all equally rare, each half of the rows would bring the same share of what the half before
    brought; rare names bring more.

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

    ``others`` is the number of values of features that are not counted.
    """
    places = np.argsort(-counts, kind="stable")[:most]
    common = counts[places][counts[places] >= COMMON * rows].sum()
    if common < COVERED * (counts.sum() + others):
        return None
    places = np.sort(places[counts[places] > 1])
    return places if len(places) else None


def without_others(known: Information, columns: NDArray[np.int64]) -> Information:
    """Return what is known of some columns, as if the weights of all others were zero."""
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
    if isinstance(rows, SparseRows):
        return len(feature_counts(rows)[0])
    there = np.asarray(
        rows[:ROWS_THAT_TELL].any(axis=0)
    )  # most are in one of the first rows already
    there[~there] = rows[ROWS_THAT_TELL:, ~there].any(axis=0)
    return int(there.sum())


def feature_counts(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the features that any of the rows has, and how many rows have each."""
    if not isinstance(rows, SparseRows):
        counts = np.count_nonzero(rows, axis=0)
        features = np.flatnonzero(counts)
        return features, counts[features]
    indices, values = rows.entries()
    # By sorting: np.unique would import a good part of NumPy that nothing else needs.
    there = np.sort(indices[values != 0])
    begins = np.flatnonzero(np.diff(there, prepend=-1))
    return there[begins].astype(np.int64), np.diff(begins, append=len(there))

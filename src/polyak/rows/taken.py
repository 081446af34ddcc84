"""Rows in a given order, without a copy: they are copied when they are standardised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyak.rows.sparse import Rows, SparseRows


@dataclass(frozen=True, slots=True, eq=False)
class TakenRows:
    """Rows at the indices ``order``.

    Examples
    --------
    >>> taken = TakenRows(np.eye(5), np.array([4, 0, 2]))
    >>> taken.shape, len(taken[1:])
    ((3, 5), 2)
    """

    rows: Rows
    order: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self.order), self.rows.shape[1]

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, part: slice) -> TakenRows:
        return TakenRows(self.rows, self.order[part])


SomeRows = Rows | TakenRows
"""Rows, or rows in a given order."""


def taken(rows: Rows, order: NDArray[np.int64]) -> TakenRows:
    """Return rows in this order, without a copy."""
    return TakenRows(rows, np.ascontiguousarray(order, dtype=np.int64))


def spread_evenly(rows: int, most: int) -> NDArray[np.int64]:
    """Return the places of at most this many rows, in no order that rows may have.

    Multiples of the golden ratio are spread evenly, and have no period.

    Examples
    --------
    >>> spread_evenly(100, 5), spread_evenly(3, 5)
    (array([ 0, 23, 47, 61, 85]), array([0, 1, 2]))
    """
    if rows <= most:
        return np.arange(rows)
    places = np.sort((np.arange(most) * ((np.sqrt(5.0) - 1.0) / 2.0) % 1.0 * rows).astype(np.int64))
    return places[np.diff(places, prepend=-1) > 0]  # np.unique would import more than it does


def bits_of(rows: SomeRows) -> int:
    """Return the precision of the values in bits.

    Examples
    --------
    >>> bits_of(np.eye(2, dtype=np.float32))
    32
    """
    plain = rows.rows if isinstance(rows, TakenRows) else rows
    values = plain.values if isinstance(plain, SparseRows) else plain
    return 8 * values.dtype.itemsize

"""What there is to learn at once, and parts of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.rows.sparse import take_rows

Floats = NDArray[np.float64]


class TrainingRows(NamedTuple):
    """Rows with their targets and weights, and which of them to learn in which order.

    ``limits`` stand in the order of learning: how each row counts where candidates are compared,
    see `polyak.learn.race.row_limits`.

    Examples
    --------
    >>> given = TrainingRows(np.eye(4), np.arange(4.0), order=np.array([3, 1, 0]))
    >>> given.total, given.part(1, 3).taken().targets
    (3, array([1., 0.]))
    """

    rows: Any
    targets: NDArray[Any]
    weights: Floats | None = None
    order: NDArray[np.int64] | None = None
    limits: Floats | None = None

    @property
    def total(self) -> int:
        """How many rows there are to learn."""
        return len(self.rows) if self.order is None else len(self.order)

    def part(self, begin: int, end: int) -> TrainingRows:
        """Return the rows that are learned from begin to end."""
        limits = None if self.limits is None else self.limits[begin:end]
        if self.order is not None:
            return self._replace(order=self.order[begin:end], limits=limits)
        if end - begin == len(self.rows):
            return self
        some = None if self.weights is None else self.weights[begin:end]
        return TrainingRows(self.rows[begin:end], self.targets[begin:end], some, limits=limits)

    def taken(self, rows: Any = None) -> TrainingRows:
        """Give them as they are to be learned: copies, if there is an order.

        The rows may be others, which were taken before.
        """
        if self.order is None:
            return self if rows is None else self._replace(rows=rows)
        own = None if self.weights is None else self.weights[self.order]
        rows = take_rows(self.rows, self.order) if rows is None else rows
        return TrainingRows(rows, self.targets[self.order], own, limits=self.limits)


class Once:
    """Something that several threads need: the first of them makes it, and the others wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: TrainingRows | None = None

    def get(self, make: Callable[[], TrainingRows]) -> TrainingRows:
        """Give it, made before or now."""
        with self._lock:
            if self._made is None:
                self._made = make()
            return self._made

"""Rows to learn, with targets and weights, and the forms in which lanes share them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.learn.centring import Centre
from polyak.rows.sparse import take_rows

Floats = NDArray[np.float64]


class TrainingRows(NamedTuple):
    """Rows with targets and weights, and which of them to learn in which order.

    ``limits`` are in the order of learning: how each row counts where candidates are compared, see
    `polyak.learn.race.row_limits`.

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
        """The number of rows to learn."""
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
        """Return the rows in the order of learning: copies, if there is an order.

        ``rows`` replaces the rows, where they are in that order already.
        """
        if self.order is None:
            return self if rows is None else self._replace(rows=rows)
        own = None if self.weights is None else self.weights[self.order]
        rows = take_rows(self.rows, self.order) if rows is None else rows
        return TrainingRows(rows, self.targets[self.order], own, limits=self.limits)


@dataclass
class SharedRows:
    """The same rows in the forms that lanes learn from, each made once.

    Attributes
    ----------
    plain : TrainingRows
        The rows as they came.
    checked : TrainingRows
        The rows as the core validated them, or as they came where that is still to be done.
    threads : int
        The number of threads that copy them.
    """

    plain: TrainingRows
    checked: TrainingRows
    threads: int
    _shifted: TrainingRows | None = field(default=None, repr=False)

    def with_limits(self, limits: Floats) -> SharedRows:
        """Return the same rows with how each of them counts in comparisons."""
        plain, checked = (one._replace(limits=limits) for one in (self.plain, self.checked))
        return replace(self, plain=plain, checked=checked)

    def shifted(self, centre: Centre) -> TrainingRows:
        """Return the rows about the centre of the race."""
        if self._shifted is None:
            rows = centre.shifted(self.plain.rows, self.plain.order, self.threads)
            self._shifted = self.plain.taken(rows)
        return self._shifted

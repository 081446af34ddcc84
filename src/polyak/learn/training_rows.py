"""Rows to learn, with targets, weights and offsets, and the forms in which lanes share them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.errors import RowError
from polyak.free_memory import check_memory
from polyak.learn.centring import Centre
from polyak.learn.stored_state import FLOATS, INTEGERS, StoredState
from polyak.rows.label_sets import are_sets, sets_from_json, sets_to_json
from polyak.rows.labels import labels_from_json, labels_to_json
from polyak.rows.sparse import Rows, SparseRows, as_rows, join_rows, take_rows
from polyak.rows.tensors import is_tensor, on_host

Floats = NDArray[np.float64]


class TrainingRows(NamedTuple):
    """Rows with targets and weights, and which of them to learn in which order.

    ``offsets`` are added to the scores of the rows. ``limits`` are in the order of learning: how
    each row counts where candidates are compared, see `polyak.learn.race.row_limits`.

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
    offsets: Floats | None = None

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
        return self._some(self.rows[begin:end], slice(begin, end), limits)

    def without(self, feature: int) -> TrainingRows:
        """Return the rows with the values of a feature as offsets, and zeros in their place."""
        rows = self.rows
        if isinstance(rows, SparseRows):
            indices, values = rows.entries()
            own = indices == feature
            offsets = np.bincount(rows.entry_rows()[own], values[own], len(rows)).astype(np.float64)
            values = np.where(own, values.dtype.type(0), values)
            rows = SparseRows(rows.indptr - rows.indptr[0], indices, values, rows.n_features)
        else:
            offsets, rows = rows[:, feature].astype(np.float64), rows.copy()
            rows[:, feature] = 0.0
        if not np.isfinite(offsets).all():
            row = int(np.argmin(np.isfinite(offsets)))
            raise RowError(row, f" has the offset {offsets[row]:g}; offsets must be finite numbers")
        return self._replace(rows=rows, offsets=offsets)

    def on_host(self) -> TrainingRows:
        """Return the rows as the core reads them: those of a tensor are copied."""
        if not is_tensor(self.rows):
            return self
        return self._replace(rows=as_rows(on_host(self.rows)))

    def first(self, most: int) -> TrainingRows:
        """Return the first rows to learn, at most this many, in the order of learning."""
        return self.part(0, min(most, self.total)).taken()

    def taken(self, rows: Any = None) -> TrainingRows:
        """Return the rows in the order of learning: copies, if there is an order.

        ``rows`` replaces the rows, where they are in that order already.
        """
        if self.order is None:
            return self if rows is None else self._replace(rows=rows)
        rows = take_rows(self.rows, self.order) if rows is None else rows
        return self._some(rows, self.order, self.limits)

    def _some(self, rows: Any, which: Any, limits: Floats | None) -> TrainingRows:
        """Return ``rows``, which are some of these, with what else there is of them."""
        weights = None if self.weights is None else self.weights[which]
        offsets = None if self.offsets is None else self.offsets[which]
        return TrainingRows(rows, self.targets[which], weights, None, limits, offsets)


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


class FirstRows:
    """Rows with targets and weights, as they came.

    Examples
    --------
    >>> first = FirstRows()
    >>> first.add(TrainingRows(np.eye(2), np.array([1.0, 2.0]), order=np.array([1])))
    >>> len(first), first.joined().targets
    (1, array([2.]))
    """

    def __init__(self, name: str = "kept") -> None:
        self.name = name  # what they are stored as
        self.parts: list[TrainingRows] = []

    def __len__(self) -> int:
        return sum(part.total for part in self.parts)

    def add(self, given: TrainingRows) -> None:
        """Keep copies of rows, as they are to be learned."""
        if given.total:
            order = np.arange(given.total) if given.order is None else given.order
            self.parts = [*self.parts, given._replace(order=order).taken()]

    def joined(self) -> TrainingRows:
        """Return them all; where only some have weights, the others have weight one."""
        weighted = any(part.weights is not None for part in self.parts)
        weights = [np.ones(p.total) if p.weights is None else p.weights for p in self.parts]
        offsets = [part.offsets for part in self.parts if part.offsets is not None]
        joined = TrainingRows(
            join_rows([part.rows for part in self.parts]),
            np.concatenate([part.targets for part in self.parts]),
            np.concatenate(weights) if weighted else None,
            offsets=np.concatenate(offsets) if len(offsets) == len(self.parts) else None,
        )
        self.parts = [joined]  # rows are not held twice
        return joined

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return them as a JSON-serialisable dict and a dict of arrays."""
        page: dict[str, Any] = {}
        arrays: dict[str, NDArray[Any]] = {}
        if not self.parts:
            return page, arrays
        rows, targets, weights, _, _, offsets = self.joined()
        if isinstance(rows, SparseRows):
            page[f"{self.name}_width"] = rows.n_features
            arrays[f"{self.name}.indptr"], arrays[f"{self.name}.indices"] = (
                rows.indptr,
                rows.indices,
            )
            arrays[f"{self.name}.values"] = rows.values
        else:
            arrays[f"{self.name}.rows"] = on_host(rows)
        if targets.dtype.kind in "biuf":
            arrays[f"{self.name}.targets"] = targets
        elif are_sets(targets):
            page[f"{self.name}_labels"] = sets_to_json(targets)
        else:
            page[f"{self.name}_targets"] = labels_to_json(targets)
        if weights is not None:
            arrays[f"{self.name}.weights"] = weights
        if offsets is not None:
            arrays[f"{self.name}.offsets"] = offsets
        return page, arrays

    @classmethod
    def from_state(cls, stored: StoredState, n_outputs: int, name: str = "kept") -> FirstRows:
        """Return the rows that `state` was of, whose targets have ``n_outputs`` numbers at most."""
        first = cls(name)
        own = stored.part(name, stored.page)
        if f"{name}_targets" in stored.page:
            targets = labels_from_json(stored.page[f"{name}_targets"])
        elif f"{name}_labels" in stored.page:
            targets = sets_from_json(stored.page[f"{name}_labels"])
        elif "targets" in own.arrays:
            targets = own.arrays["targets"]
            numbers = targets.dtype.kind in "biuf" and targets.shape[1:] in ((), (n_outputs,))
            own.require(numbers, "targets", f"have the shape {targets.shape}")
        else:
            return first
        weights = offsets = None
        if "weights" in own.arrays:
            weights = own.array("weights", (len(targets),), least=0.0)
        if "offsets" in own.arrays:
            offsets = own.array("offsets", (len(targets),), least=-np.inf)
        rows = _stored_rows(own, name, len(targets))
        first.parts = [TrainingRows(rows, targets, weights, offsets=offsets)]
        return first


def _stored_rows(own: StoredState, name: str, count: int) -> Rows:
    if "rows" in own.arrays:
        return own.array("rows", (count, None), FLOATS, least=-np.inf)
    values = own.array("values", (None,), FLOATS, least=-np.inf)
    indices = own.array("indices", values.shape, INTEGERS, least=0)
    indptr = own.array("indptr", (count + 1,), INTEGERS, least=0)
    whole = indptr[0] == 0 and indptr[-1] == len(values) and (np.diff(indptr) >= 0).all()
    own.require(bool(whole), "indptr", f"must rise from 0 to {len(values)}")
    width = own.whole(f"{name}_width", least=int(indices.max(initial=-1)) + 1)
    check_memory(16 * width, width)
    return SparseRows(indptr, indices, values, width)

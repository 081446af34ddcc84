"""The first rows: kept back until there are enough of them to look at."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.free_memory import check_memory
from polyak.learn.stored_state import FLOATS, INTEGERS, StoredState
from polyak.learn.training_rows import TrainingRows
from polyak.rows.label_sets import are_sets, sets_from_json, sets_to_json
from polyak.rows.labels import labels_from_json, labels_to_json
from polyak.rows.sparse import Rows, SparseRows, join_rows


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
        """Give them all; where only some have weights, the others weigh one."""
        weighted = any(part.weights is not None for part in self.parts)
        weights = [np.ones(p.total) if p.weights is None else p.weights for p in self.parts]
        return TrainingRows(
            join_rows([part.rows for part in self.parts]),
            np.concatenate([part.targets for part in self.parts]),
            np.concatenate(weights) if weighted else None,
        )

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return them as a JSON-serialisable dict and a dict of arrays."""
        page: dict[str, Any] = {}
        arrays: dict[str, NDArray[Any]] = {}
        if not self.parts:
            return page, arrays
        rows, targets, weights, *_ = self.joined()
        if isinstance(rows, SparseRows):
            page[f"{self.name}_width"] = rows.n_features
            arrays[f"{self.name}.indptr"], arrays[f"{self.name}.indices"] = (
                rows.indptr,
                rows.indices,
            )
            arrays[f"{self.name}.values"] = rows.values
        else:
            arrays[f"{self.name}.rows"] = rows
        if targets.dtype.kind in "biuf":
            arrays[f"{self.name}.targets"] = targets
        elif are_sets(targets):
            page[f"{self.name}_labels"] = sets_to_json(targets)
        else:
            page[f"{self.name}_targets"] = labels_to_json(targets)
        if weights is not None:
            arrays[f"{self.name}.weights"] = weights
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
        weights = None
        if "weights" in own.arrays:
            weights = own.array("weights", (len(targets),), least=0.0)
        first.parts = [TrainingRows(_stored_rows(own, name, len(targets)), targets, weights)]
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

"""The first rows: kept back until there are enough of them to look at."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        """Read them out: what JSON holds, and arrays."""
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
    def from_state(
        cls, page: dict[str, Any], arrays: dict[str, NDArray[Any]], name: str = "kept"
    ) -> FirstRows:
        """Undo ``state``."""
        first = cls(name)
        targets = arrays.get(f"{name}.targets")
        if f"{name}_targets" in page:
            targets = labels_from_json(page[f"{name}_targets"])
        if f"{name}_labels" in page:
            targets = sets_from_json(page[f"{name}_labels"])
        if targets is None:
            return first
        rows: Rows
        if f"{name}.rows" in arrays:
            rows = arrays[f"{name}.rows"]
        else:
            indptr, indices, values = (
                arrays[f"{name}.{part}"] for part in ("indptr", "indices", "values")
            )
            rows = SparseRows(indptr, indices, values, page[f"{name}_width"])
        first.parts = [TrainingRows(rows, targets, arrays.get(f"{name}.weights"))]
        return first

"""The first rows: kept back until there are enough of them to look at."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.rows.label_sets import are_sets, sets_from_json, sets_to_json
from polyak.rows.labels import labels_from_json, labels_to_json
from polyak.rows.sparse import Rows, SparseRows, join_rows, take_rows

Floats = NDArray[np.float64]
Part = tuple[Rows, NDArray[Any], Floats | None]


class FirstRows:
    """Rows with targets and weights, as they came.

    Examples
    --------
    >>> first = FirstRows()
    >>> first.add(np.eye(2), np.array([1.0, 2.0]), None, np.array([1]))
    >>> len(first), first.joined()[1]
    (1, array([2.]))
    """

    def __init__(self, name: str = "kept") -> None:
        self.name = name  # what they are stored as
        self.parts: list[Part] = []

    def __len__(self) -> int:
        return sum(len(rows) for rows, _, _ in self.parts)

    def add(
        self,
        rows: Rows,
        targets: NDArray[Any],
        weights: Floats | None,
        order: NDArray[np.int64],
    ) -> None:
        """Keep copies of these rows, in this order."""
        if len(order):
            own = None if weights is None else weights[order]
            self.parts = [*self.parts, (take_rows(rows, order), targets[order], own)]

    def joined(self) -> Part:
        """Give them all; where only some have weights, the others weigh one."""
        weighted = any(weights is not None for _, _, weights in self.parts)
        weights = [np.ones(len(y)) if w is None else w for _, y, w in self.parts]
        return (
            join_rows([rows for rows, _, _ in self.parts]),
            np.concatenate([targets for _, targets, _ in self.parts]),
            np.concatenate(weights) if weighted else None,
        )

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Read them out: what JSON holds, and arrays."""
        page: dict[str, Any] = {}
        arrays: dict[str, NDArray[Any]] = {}
        if not self.parts:
            return page, arrays
        rows, targets, weights = self.joined()
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
        first.parts = [(rows, targets, arrays.get(f"{name}.weights"))]
        return first

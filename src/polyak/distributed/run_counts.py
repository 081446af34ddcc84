"""Counts beside learning: unreadable lines, feature names, the variance of the targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.data.position import BadLine
from polyak.storage.feature_names import FeatureNames

Floats = NDArray[np.float64]

SHOWN_LINES = 10


@dataclass(slots=True)
class RunCounts:
    """Counts that are accumulated over rows and merged when learners are.

    Attributes
    ----------
    bad_lines : int
    first_bad_lines : list of BadLine
    without_target : int
        The number of rows left out because their target is missing.
    names : FeatureNames
        The names of hashed features by their index, if they are kept.
    shift : array or None
        The first target, subtracted from all targets to avoid cancellation.
    sums : array of shape (3, outputs)
        The sums over rows of the weight, and of the weight times the shifted target and its
        square; for regression only.
    """

    bad_lines: int = 0
    first_bad_lines: list[BadLine] = field(default_factory=list)
    without_target: int = 0
    names: FeatureNames = field(default_factory=lambda: FeatureNames.of({}))
    shift: Floats | None = None
    sums: Floats = field(default_factory=lambda: np.zeros((3, 0)))

    def add_lines(self, number: int, first: Any) -> None:
        """Add unreadable lines."""
        self.bad_lines += number
        self.first_bad_lines = [*self.first_bad_lines, *(BadLine(*line) for line in first)][
            :SHOWN_LINES
        ]

    def add_names(self, names: FeatureNames) -> None:
        """Add names; where two share a hash bucket, the same one is kept as in one process."""
        self.names = self.names.together(names)

    def add_targets(self, targets: NDArray[Any], weights: Floats | None) -> None:
        """Add the targets of a regression."""
        columns = targets.reshape(len(targets), -1).astype(np.float64)
        if self.shift is None:
            self.shift = columns[0]
            self.sums = np.zeros((3, columns.shape[1]))
        away = columns - self.shift
        each = np.ones(len(away)) if weights is None else weights
        self.sums = self.sums + np.stack(
            [np.full(columns.shape[1], each.sum()), each @ away, each @ (away * away)]
        )

    def merge(self, other: RunCounts, base: RunCounts) -> None:
        """Add what ``other`` has counted since ``base``, from which both began."""
        self.bad_lines += other.bad_lines - base.bad_lines
        new = other.first_bad_lines[len(base.first_bad_lines) :]
        self.first_bad_lines = [*self.first_bad_lines, *new][:SHOWN_LINES]
        self.without_target += other.without_target - base.without_target
        self.add_names(other.names)
        if self.shift is not None:
            self.sums = self.sums + (other.sums - base.sums)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the state as a JSON-serialisable dict and a dict of arrays."""
        page = {
            "bad_lines": self.bad_lines,
            "first_bad_lines": [list(line) for line in self.first_bad_lines],
            "without_target": self.without_target,
        }
        arrays = self.names.arrays()
        if self.shift is not None:
            arrays |= {"run_counts.shift": self.shift, "run_counts.sums": self.sums}
        return page, arrays

    @classmethod
    def from_state(cls, page: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> RunCounts:
        """Restore the counts from what ``to_state`` returned."""
        lines = [BadLine(*line) for line in page["first_bad_lines"]]
        names = FeatureNames.from_arrays(arrays)
        run_counts = cls(page["bad_lines"], lines, page["without_target"], names)
        if "run_counts.shift" in arrays:
            run_counts.shift, run_counts.sums = (
                arrays["run_counts.shift"],
                arrays["run_counts.sums"],
            )
        return run_counts

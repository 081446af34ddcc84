"""What is counted beside learning: what could not be read, names, how widely targets spread."""

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
    """Counts that grow with the rows, and are merged as learners are.

    Attributes
    ----------
    bad_lines : int
    first_bad_lines : list of BadLine
    without_target : int
        How many rows were left out because their target is missing.
    names : FeatureNames
        The names of hashed features by their index, if they are to be remembered.
    shift : array or None
        The first target of all, so that little cancels in the sums.
    sums : array of shape (3, outputs)
        How many rows (by weight), and what their targets' distances from the shift, and the
        squares of these, add up to; of numbers to predict only.
    """

    bad_lines: int = 0
    first_bad_lines: list[BadLine] = field(default_factory=list)
    without_target: int = 0
    names: FeatureNames = field(default_factory=lambda: FeatureNames.of({}))
    shift: Floats | None = None
    sums: Floats = field(default_factory=lambda: np.zeros((3, 0)))

    def add_lines(self, number: int, first: Any) -> None:
        """Count lines that could not be read."""
        self.bad_lines += number
        self.first_bad_lines = [*self.first_bad_lines, *(BadLine(*line) for line in first)][
            :SHOWN_LINES
        ]

    def add_names(self, names: FeatureNames) -> None:
        """Remember names; which of two in a slot stays is the same as in one process."""
        self.names = self.names.together(names)

    def add_targets(self, targets: NDArray[Any], weights: Floats | None) -> None:
        """Count targets that are numbers to predict."""
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
        """Add what another one counted since the base that both began with."""
        self.bad_lines += other.bad_lines - base.bad_lines
        new = other.first_bad_lines[len(base.first_bad_lines) :]
        self.first_bad_lines = [*self.first_bad_lines, *new][:SHOWN_LINES]
        self.without_target += other.without_target - base.without_target
        self.add_names(other.names)
        if self.shift is not None:
            self.sums = self.sums + (other.sums - base.sums)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Read it out: what JSON holds, and arrays."""
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
        """Undo ``to_state``."""
        lines = [BadLine(*line) for line in page["first_bad_lines"]]
        names = FeatureNames.from_arrays(arrays)
        run_counts = cls(page["bad_lines"], lines, page["without_target"], names)
        if "run_counts.shift" in arrays:
            run_counts.shift, run_counts.sums = (
                arrays["run_counts.shift"],
                arrays["run_counts.sums"],
            )
        return run_counts

"""Counts beside learning: unreadable lines, feature names, the variance of the targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from polyak.data.position import BadLine
from polyak.estimators.running_sums import TargetSpread
from polyak.storage.feature_names import FeatureNames

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
    spread : TargetSpread
        That of the targets, for regression.
    """

    bad_lines: int = 0
    first_bad_lines: list[BadLine] = field(default_factory=list)
    without_target: int = 0
    names: FeatureNames = field(default_factory=lambda: FeatureNames.of({}))
    spread: TargetSpread = field(default_factory=TargetSpread)

    def add_lines(self, number: int, first: Any) -> None:
        """Add unreadable lines."""
        self.bad_lines += number
        self.first_bad_lines = [*self.first_bad_lines, *(BadLine(*line) for line in first)][
            :SHOWN_LINES
        ]

    def add_names(self, names: FeatureNames) -> None:
        """Add names; where two share a hash bucket, the same one is kept as in one process."""
        self.names = self.names.together(names)

    def merge(self, other: RunCounts, base: RunCounts) -> None:
        """Add what ``other`` has counted since ``base``, from which both began."""
        self.bad_lines += other.bad_lines - base.bad_lines
        new = other.first_bad_lines[len(base.first_bad_lines) :]
        self.first_bad_lines = [*self.first_bad_lines, *new][:SHOWN_LINES]
        self.without_target += other.without_target - base.without_target
        self.add_names(other.names)
        if self.spread.shift is not None:
            self.spread.sums = self.spread.sums + (other.spread.sums - base.spread.sums)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the state as a JSON-serialisable dict and a dict of arrays."""
        page = {
            "bad_lines": self.bad_lines,
            "first_bad_lines": [list(line) for line in self.first_bad_lines],
            "without_target": self.without_target,
        }
        arrays = self.names.arrays()
        if self.spread.shift is not None:
            arrays |= {"run_counts.shift": self.spread.shift, "run_counts.sums": self.spread.sums}
        return page, arrays

    @classmethod
    def from_state(cls, page: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> RunCounts:
        """Restore the counts from what ``to_state`` returned."""
        lines = [BadLine(*line) for line in page["first_bad_lines"]]
        names = FeatureNames.from_arrays(arrays)
        run_counts = cls(page["bad_lines"], lines, page["without_target"], names)
        if "run_counts.shift" in arrays:
            spread = run_counts.spread
            spread.shift, spread.sums = arrays["run_counts.shift"], arrays["run_counts.sums"]
        return run_counts

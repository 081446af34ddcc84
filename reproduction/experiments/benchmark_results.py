"""What was measured on the benchmarks, asked by set, loss and algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from reproduction.datasets import PAPER_SETS
from reproduction.experiments.contest import PAPERS
from reproduction.paired import Difference, difference
from reproduction.pieces import Result
from reproduction.thresholds import number

RIVALS = PAPERS[1:]
ASKED_OFTEN = tuple(name for name in PAPERS if name != "LIBLINEAR")
"""Those that are measured within passes; LIBLINEAR can be asked after whole ones only."""


@dataclass(frozen=True)
class Contest:
    """One set and one loss, learned by every algorithm in several orders of the rows."""

    about: Result
    loss: str
    found: Result
    seconds: dict[str, list[float]]

    @property
    def title(self) -> str:
        """The set's name, with a mark on a stand-in."""
        return str(self.about["title"])

    @property
    def names(self) -> list[str]:
        """The algorithms that ran."""
        return list(self.found["curves"])

    @property
    def rivals(self) -> list[str]:
        """Those of the paper's other five that ran."""
        return [name for name in RIVALS if name in self.names]

    def values(self, name: str, what: str = "error", passes: float = 1.0) -> list[float | None]:
        """Return the errors or costs of all orders after this number of passes."""
        found = []
        for run in self.found["orders"]:
            curve = run[name]
            found.append(curve[what][curve["passes"].index(passes)])
        return found

    def median(self, name: str, what: str = "error", passes: float = 1.0) -> float | None:
        """Return the median over the orders."""
        curve = self.found["curves"].get(name)
        if curve is None:
            return None
        value = curve[what][curve["passes"].index(passes)]
        return None if value is None else float(value)

    def against(self, rival: str, what: str = "error", ours: str = "ASGD") -> Difference:
        """Compare after one pass: negative is better."""
        return difference(self.values(ours, what), self.values(rival, what))

    def movement(self, name: str) -> float | None:
        """Return how much errors change between measurements, from half a pass on."""
        steps = []
        for run in self.found["orders"]:
            curve = run[name]
            points = zip(curve["passes"], curve["error"], strict=True)
            errors = [error for at, error in points if at >= 0.5]
            if None in errors:
                return None
            steps += [abs(b - a) for a, b in pairwise(errors)]
        return float(np.mean(steps))

    def near_the_best_of(self, rival: str) -> tuple[float | None, float | None] | None:
        """Return the seconds that ASGD and a rival need to come near the rival's lowest error.

        None if the rival never has an error.
        """
        errors = self.found["curves"][rival]["error"]
        lowest = min((error for error in errors if error is not None), default=None)
        if lowest is None:
            return None
        goal = number("similar performance") * lowest
        return self._seconds_to("ASGD", goal), self._seconds_to(rival, goal)

    def _seconds_to(self, name: str, goal: float) -> float | None:
        points = zip(self.found["curves"][name]["error"], self.seconds[name], strict=True)
        return next((s for error, s in points if error is not None and error <= goal), None)

    def lowest(self) -> float:
        """Return the lowest median error that any of the six reaches in two passes."""
        errors = [
            error
            for name in PAPERS
            if name in self.names
            for error in self.found["curves"][name]["error"]
            if error is not None
        ]
        return float(min(errors))


def sets_of(results: dict[str, Result]) -> dict[str, Result]:
    """Return the results with contests, by set."""
    return {r["about"]["name"]: r for r in results.values() if "losses" in r}


def times_of(results: dict[str, Result]) -> dict[str, Result]:
    """Return the times that were measured alone, by set."""
    return {r["about"]["name"]: r for r in results.values() if "losses" not in r}


def contests_of(result: Result) -> list[Contest]:
    """List a set's contests."""
    timings: dict[str, Any] = result["timings"]
    return [
        Contest(result["about"], loss, found, timings[loss])
        for loss, found in result["losses"].items()
    ]


def groups_of(results: dict[str, Result]) -> dict[str, list[Contest]]:
    """Part the contests: the paper's sets with real rows, other real sets, and stand-ins.

    beta is left out, which the paper calls the exception.
    """
    groups: dict[str, list[Contest]] = {}
    for name, result in sets_of(results).items():
        if name == "beta":
            continue
        kind = "the paper's sets with real rows"
        if name not in PAPER_SETS:
            kind = "real sets that the paper does not have"
        elif result["about"]["form"] == "stand-in":
            kind = "stand-ins"
        groups.setdefault(kind, []).extend(contests_of(result))
    return groups

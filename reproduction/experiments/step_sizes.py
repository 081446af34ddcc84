"""Section 6.1: what the learning rate's schedule does to averaging (Figure 1), computed exactly.

The problem is to find the mean of ``x``, normal with zero mean and unit covariance, where ``A`` has
three eigenvalues of 1 and ninety-seven of 0.02. The objective as printed, ``E (θ - x)ᵀ A (θ - x)``,
has the gradient ``2 A (θ - x)``; the learning rates are those of the theory for the gradient
``A (θ - x)``. Both readings are followed. The paper does not say where it starts: here one away
from the answer in every coordinate. All iterates are averaged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.figures import Figure, risk_panels
from reproduction.pieces import Piece, Result, spaced
from reproduction.theory import Problem, errors, rates

CURVATURE, COUNT = np.array([1.0, 0.02]), np.array([3.0, 97.0])
READINGS = {"gradient A": 1.0, "gradient 2A": 2.0}
RATES = {"ASGD": (0.02, 2 / 3), "ASGD_BAD": (1.0, 1 / 2), "SGD": (0.02, 1.0)}
"""Each algorithm's ``a`` and ``c``; the learning rate of row ``t`` is ``(1 + a t) ** -c``."""
REGION = 2.0
ROWS = 1_000_000


def pieces(quick: bool, data: str | None) -> list[Piece]:
    """Follow both readings."""
    rows = ROWS // 20 if quick else ROWS
    return [
        Piece(f"step_sizes-{name.split()[1]}", follow, {"factor": factor, "rows": rows})
        for name, factor in READINGS.items()
    ]


def follow(factor: float, rows: int) -> Result:
    """Return the excess risks, and from which row on each stays within twice batch's."""
    A = factor * CURVATURE
    marks = spaced(100, rows, 16)
    gammas = [rates(rows, 1.0, a, c) for a, c in RATES.values()]
    found = errors(Problem.linear(A, A**2, COUNT), marks, np.ones(2), gammas)
    risk = {"ASGD": found.average[0], "ASGD_BAD": found.average[1], "SGD": found.iterate[2]}
    batch = factor * float(CURVATURE @ COUNT) / np.array(marks)
    return {"rows": marks, "risks": {**risk, "batch": batch}}


def stays_within(rows: list[int], ratio: Any, limit: float = REGION) -> float | None:
    """Return the row from which a ratio stays below a limit; None if it does not."""
    beyond = np.flatnonzero(np.asarray(ratio) > limit)
    after = int(beyond[-1]) + 1 if len(beyond) else 0
    return float(rows[after]) if after < len(rows) else None


def numbers(results: dict[str, Result]) -> dict[str, Any]:
    """Return when each average reaches the asymptotic region, and where all end."""
    found: dict[str, Any] = {}
    for reading in READINGS:
        of = reading.split()[1]
        result = results[f"step_sizes-{of}"]
        rows, risks = result["rows"], result["risks"]
        ratio = {n: np.array(risks[n]) / np.array(risks["batch"]) for n in RATES}
        whole = rows[-1] >= 0.99 * ROWS
        when = {name: stays_within(rows, ratio[name]) for name in ("ASGD", "ASGD_BAD")}
        found |= {f"step_sizes {name} rows {of}": when[name] for name in when}
        found |= {
            f"step_sizes {name} end {of}": ratio[name][-1] if whole else None for name in RATES
        }
        ends = [ratio["ASGD"][-1], ratio["ASGD_BAD"][-1]]
        better = max(ends) < ratio["SGD"][-1]
        found[f"step_sizes worst end {of}"] = (max(ends) if better else np.inf) if whole else None
        both = when["ASGD"] is not None and when["ASGD_BAD"] is not None
        factor = when["ASGD_BAD"] / when["ASGD"] if both else None  # type: ignore[operator]
        found[f"step_sizes factor {of}"] = factor
    return found


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw Figure 1 for both readings."""
    panels = []
    for reading in READINGS:
        result = results[f"step_sizes-{reading.split()[1]}"]
        panels += risk_panels(result["rows"], result["risks"], reading)
    return [
        Figure(
            "step_sizes",
            "Figure 1. ASGD with the proposed learning rate and with an arbitrary one",
            "Expected excess risk of each answer (left) and relative to batch's (right), computed "
            "exactly for both readings of the objective. ASGD and ASGD_BAD differ only in the "
            "learning rate: (1 + 0.02 t)^(−2/3) against (1 + t)^(−1/2). SGD has (1 + 0.02 t)^(−1).",
            panels,
            columns=2,
        )
    ]

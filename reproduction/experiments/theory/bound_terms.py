"""Theorem 1 on the first experiment's problem: its terms, and how tight it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.claims import Claim
from reproduction.experiments.theory.linear_equation import (
    how_much,
    marks_up_to,
    simulate,
)
from reproduction.figures import Figure, Panel, Series
from reproduction.pieces import Piece, Result
from reproduction.tables import Table
from reproduction.theory import averaged_bound, rows_to_asymptotics
from reproduction.thresholds import number

Floats = NDArray[np.float64]


TIGHT_ROWS = 100_000


def pieces(scale: float) -> list[Piece]:
    """Follow two learning rates for long: the one that the paper proposes, and a harmless one."""
    runs, _ = how_much(scale)
    rows = max(1000, round(TIGHT_ROWS * min(1.0, 10 * scale)))
    return [
        Piece(
            f"theory-{name}",
            first_problem,
            {"a": a, "c": c, "rows": rows, "runs": runs // 8},
            version=2,
        )
        for name, a, c in (("matched", 0.02, 2 / 3), ("too-fast", 1.0, 0.5))
    ]


def first_problem(a: float, c: float, rows: int, runs: int) -> Result:
    """Follow the first experiment's problem, with ten of its hundred dimensions, for long."""
    random = np.random.default_rng(20111111)
    curvature = np.r_[np.ones(3), np.full(7, 0.02)]
    A, S, delta0 = np.diag(curvature), np.diag(curvature**2), np.ones(10)
    marks = marks_up_to(rows, 0.125, 1.0)
    means, errors = simulate(A, S, delta0, {"gamma0": 1.0, "a": a, "c": c}, marks, runs, random)
    shown: dict[str, Any] = {"rows": marks, "simulated": means, "std_err": errors}
    if (2 * c - 1) * a < 0.02:
        bound = averaged_bound(marks, A, S, delta0, 1.0, a, c)
        shown |= {"asymptotic": bound.asymptotic, "decay": bound.decay, "start": bound.start}
    return shown | {"a": a, "c": c, "rows_needed": rows_to_asymptotics(0.02, 1.0, a, c)}


def claims(results: dict[str, Result]) -> list[Claim]:
    """Compare with what the paper proves."""
    matched, fast = results["theory-matched"], results["theory-too-fast"]
    limit, last = matched["asymptotic"][-1], matched["rows"][-1]
    tight = (limit + matched["decay"][-1] + matched["start"][-1]) / matched["simulated"][-1]
    more = number("much more")
    reached = {name: _first_near(r, limit) for name, r in (("a", matched), ("b", fast))}
    return [
        Claim(
            "“The above bound … is the best possible asymptotic convergence rate that can be "
            "achieved by any algorithms”",
            "section 2, after the first corollary",
            f"with a = λ₀ the bound of Theorem 1 is {tight:.3g} times the simulated error after "
            f"{last:,} rows, and that is {matched['simulated'][-1] / limit:.3g} times tr(A⁻¹S)",
            tight <= 2 if last >= 30_000 else None,
            "theory-terms",
        ),
        Claim(
            "“If we use some arbitrary value such as 1 for a, … it needs much more samples to "
            "reach the asymptotic region in situations where λ₀ is very small”",
            "section 2, after CorollarySampleSize2",
            f"1/(λ₀γ₀) is {matched['rows_needed']:,.0f} rows, and the error is within twice its "
            f"limit {_after(reached['a'])}; for a = 50 λ₀, c = 1/2 the corollary says at least of "
            f"the order of {fast['rows_needed']:,.0f} rows, and it is {_after(reached['b'])}",
            (reached["a"] is not None and (reached["b"] or last) > more * reached["a"])
            if last >= 30_000
            else None,
            "theory-terms",
        ),
    ]


def _first_near(result: Result, limit: float) -> int | None:
    pairs = list(zip(result["rows"], result["simulated"], strict=True))
    good = [t for t, _ in pairs if all(e <= 2 * limit for later, e in pairs if later >= t)]
    return good[0] if good else None


def _after(rows: int | None) -> str:
    return "not within this run" if rows is None else f"from {rows:,} rows on"


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw the bound and its terms."""
    panels = []
    for name, title in (
        ("theory-matched", "a = λ₀, c = 2/3"),
        ("theory-too-fast", "a = 50 λ₀, c = 1/2"),
    ):
        r = results[name]
        rows = r["rows"]
        total = [sum(three) for three in zip(r["asymptotic"], r["decay"], r["start"], strict=True)]
        panels.append(
            Panel(
                title,
                "rows t",
                "t × squared error",
                [
                    Series("simulated error", rows, r["simulated"], style="simulation"),
                    Series("bound", rows, total, style="bound"),
                    Series("second-order SGD", rows, r["asymptotic"], style="batch"),
                    Series("falling rate", rows, r["decay"], style="Pegasos"),
                    Series("start", rows, r["start"], style="SGD-QN"),
                ],
                x_log=True,
                y_log=True,
                y_range=(min(r["asymptotic"]) / 20, max(total) * 2),
            )
        )
    return [
        Figure(
            "theory-terms",
            "The bound and its three parts",
            "The mean squared error of the averaged iterate, times the number of rows, so that "
            "the best possible, that of second-order SGD, is a level line (dotted). The bound adds "
            "to it a part for the falling learning rate and one for the distance at the start. "
            "Left: with the learning rate that the paper proposes both vanish soon. Right: with a "
            "decay fifty times as fast they are still there after 100,000 rows. Ten dimensions, "
            "three of curvature 1 and seven of 0.02.",
            panels,
            columns=2,
        )
    ]


def tables(results: dict[str, Result]) -> list[Table]:
    """Return no tables: the figure contains the numbers."""
    return []

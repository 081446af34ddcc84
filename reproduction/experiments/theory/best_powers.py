"""How fast the learning rate should fall: like t^-2/3 or t^-3/4, says the paper.

The corollaries of sections 3 and 4 bound what is beyond ``tr(A⁻¹S)``, and their bounds fall fastest
with those powers. They add up roots of mean squares. In truth the noise away from the optimum is
uncorrelated with the noise at it, and what a changing curvature adds is nearly so, so that squares
add up: the error itself falls like the slower of ``t^-c`` and ``t^(c-1)`` for least squares, and of
``t^(1-2c)`` and ``t^(c-1)`` otherwise, fastest with 1/2 and with 2/3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.claims import Claim
from reproduction.experiments.theory.one_feature_rows import (
    OneFeatureRows,
    average_errors,
)
from reproduction.figures import Figure, Panel, Series
from reproduction.pieces import Piece, Result
from reproduction.tables import Table
from reproduction.theory import averaged_bound, non_quadratic_bound, regression_bound

Floats = NDArray[np.float64]
POWERS = (0.4, 0.5, 0.55, 0.6, 2 / 3, 0.7, 0.75, 0.8, 0.9)
ROWS = 100_000
LOSSES = ("least squares", "logistic loss")


def pieces(scale: float) -> list[Piece]:
    """Compute one, and simulate the other."""
    rows = max(1000, round(ROWS * min(1.0, 10 * scale)))
    runs = 400 if scale < 1 else 2000
    return [
        Piece("theory-power-squares", least_squares, {"rows": rows}),
        Piece("theory-power-logistic", logistic, {"rows": rows, "runs": runs}),
    ]


def least_squares(rows: int) -> Result:
    """Compute the error beyond the limit exactly, on rows of one feature."""
    problem = OneFeatureRows(np.array([0.4, 0.3, 0.2, 0.1]))
    marks = [rows // 100, rows // 10, rows]
    errors = average_errors(problem, marks, np.zeros(4), 1.0, 0.1, np.array(POWERS))
    return {"rows": marks, "excess": errors / 4 - 1.0, "std_err": np.zeros(errors.shape)}


def logistic(rows: int, runs: int, share: float = 0.1) -> Result:
    """Simulate logistic regression on an intercept alone, one label in ten positive.

    The linear equation with the same noise runs beside it. Its error is known exactly, and only
    the difference between the two is left to chance.
    """
    random = np.random.default_rng(20111117)
    truth, bend, powers = np.log(share / (1 - share)), share * (1 - share), np.array(POWERS)
    marks = [rows // 100, rows // 10, rows]
    curved, linear, total, plain = np.zeros((4, len(powers), runs))
    found, spread, added = [], [], []
    for t in range(1, rows + 1):
        y = random.random(runs) < share
        gamma = ((1.0 + bend * t) ** -powers)[:, None]
        curved -= gamma * (1.0 / (1.0 + np.exp(-truth - curved)) - y)
        linear -= gamma * (bend * linear + (share - y))
        total += curved
        plain += linear
        if t in marks:
            each = bend * (total**2 - plain**2) / t
            found.append(each.mean(axis=1))
            spread.append(each.std(axis=1) / np.sqrt(runs))
            added.append(bend * np.square(total - plain).mean(axis=1) / t)
    # In one direction, seen in every row, least squares is the linear equation.
    problem = OneFeatureRows(np.ones(1), bend)
    exact = average_errors(problem, marks, np.zeros(1), 1.0, bend, powers)
    return {
        "rows": marks,
        "excess": exact - 1.0 + np.array(found).T,
        "std_err": np.array(spread).T,
        "added": np.array(added).T,  # t E‖I⁽³⁾‖_A²
    }


def fall_of_bound(power: float, *, quadratic: bool) -> float:
    """Return the power of t with which the corollary's bound converges to ``tr(A⁻¹S)``.

    Examples
    --------
    >>> round(fall_of_bound(2 / 3, quadratic=True), 2)
    0.33
    >>> round(fall_of_bound(3 / 4, quadratic=False), 2)
    0.25
    """
    one, t = np.ones((1, 1)), np.array([1e40, 1e44])
    rate: dict[str, Any] = {"gamma0": 1.0, "a": 1.0, "c": power}
    bound = averaged_bound(t, one, one, np.ones(1), **rate)
    same: dict[str, Any] = {"lambda0": 1.0, **rate, "c2": 1.0, "c3": 1.0, "delta0": 1.0}
    parts = [bound.start, regression_bound(t, c1=1.0, **same)]
    if not quadratic:
        parts.append(non_quadratic_bound(t, c4=1.0, c5=1.0, c6=1.0, **same))
    others = np.sum(np.sqrt(parts), axis=0)
    # The combined bound less its limit, without the digits that subtracting would lose.
    excess = bound.decay + others * (2.0 * np.sqrt(bound.asymptotic + bound.decay) + others)
    return float(np.log(excess[0] / excess[1]) / np.log(t[1] / t[0]))


def falls(result: Result) -> list[float]:
    """Return the power of t with which the error converged in the last decade of rows."""
    excess, rows = np.array(result["excess"]), result["rows"]
    # Where chance is as large as what is left there is nothing to be told.
    told = (excess[:, -1] > 2 * np.array(result["std_err"])[:, -1]) & (excess[:, -2] > 0)
    ratio = np.where(told, excess[:, -2] / np.where(told, excess[:, -1], 1.0), np.nan)
    return [float(fall) for fall in np.log(ratio) / np.log(rows[-1] / rows[-2])]


def claims(results: dict[str, Result]) -> list[Claim]:
    """Compare with what the paper says after its corollaries, of the bounds and of the errors."""
    grid = np.linspace(0.52, 0.98, 231)
    said = {
        "squares": ("“The best convergence rate is obtained when c=2/3”", "section 3", 2 / 3),
        "logistic": ("“The best convergence rate is obtained when c=3/4”", "section 4", 3 / 4),
    }
    found = []
    for name, (text, where, power) in said.items():
        result = results[f"theory-power-{name}"]
        bounds = [fall_of_bound(c, quadratic=name == "squares") for c in grid]
        best = float(grid[np.argmax(bounds)])
        lowest = POWERS[int(np.argmin(np.array(result["excess"])[:, -1]))]
        right = [abs(best - power) < 0.01, abs(lowest - power) < 0.01]
        found.append(
            Claim(
                text,
                f"{where}, after the corollary",
                f"the bound falls fastest with c = {best:.2f}; the error itself, after "
                f"{result['rows'][-1]:,} rows, is lowest with c = {lowest:.2f}",
                True if all(right) else ("weaker" if right[0] else False),
                "theory-powers",
            )
        )
    return found


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw how fast the bounds and the errors fall."""
    grid = np.linspace(0.4, 0.97, 58)
    panels = []
    for name, loss in zip(("squares", "logistic"), LOSSES, strict=True):
        quadratic = name == "squares"
        c = [power for power in grid if quadratic or power > 0.505]
        result = results[f"theory-power-{name}"]
        told = [(p, fall) for p, fall in zip(POWERS, falls(result), strict=True) if fall == fall]
        truth = np.minimum(c if quadratic else 2 * np.array(c) - 1, 1 - np.array(c))
        lines = [
            Series(
                "of the bound", c, [fall_of_bound(p, quadratic=quadratic) for p in c], style="bound"
            ),
            Series("of the error, as t grows", c, truth.tolist(), style="batch"),
            Series(
                "of the error, last tenfold",
                [power for power, _ in told],
                [fall for _, fall in told],
                style="simulation",
            ),
        ]
        panels.append(Panel(loss, "c", "falls like t to the power of minus", lines))
    return [
        Figure(
            "theory-powers",
            "How fast the learning rate should fall",
            "The learning rate falls like t^-c. With which power of t the error comes down to what "
            "no algorithm can avoid: by the paper's bound, highest at c = 2/3 (left) and 3/4 "
            "(right), and of the error itself, highest at 1/2 and 2/3 in the long run. Left: least "
            "squares, computed exactly; right: logistic regression on an intercept, simulated.",
            panels,
            columns=2,
        )
    ]


def tables(results: dict[str, Result]) -> list[Table]:
    """List the errors beyond the limit."""
    lines = []
    for name, loss in zip(("squares", "logistic"), LOSSES, strict=True):
        result = results[f"theory-power-{name}"]
        for place, power in enumerate(POWERS):
            quadratic = name == "squares"
            known = quadratic or power > 0.5  # otherwise the bound does not fall at all
            bound = fall_of_bound(power, quadratic=quadratic) if known else None
            fall = falls(result)[place]
            shown = fall if np.isfinite(fall) else None
            lines.append(
                [loss, power, *result["excess"][place], result["std_err"][place][-1], shown, bound]
            )
    rows = results["theory-power-squares"]["rows"]
    heads = [
        "loss",
        "c",
        *(f"at {t:,} rows" for t in rows),
        "standard error",
        "falls like t^-",
        "bound like t^-",
    ]
    about = (
        "How much more than tr(A⁻¹S) t times the squared error is, as a share of it; the power of "
        "t with which that fell over the last tenfold of rows, and that of the bound in the end."
    )
    return [
        Table("theory-powers", "The error beyond its limit, by the power c", about, heads, lines)
    ]

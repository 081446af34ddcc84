"""When the average overtakes the iterate, computed exactly (the corollary with `EqAvgRate`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reproduction.claims import Claim, Holds
from reproduction.figures import Figure, Panel, Series
from reproduction.pieces import Piece, Result
from reproduction.tables import Table
from reproduction.theory import (
    averaged_bound_at,
    iterate_bound_at,
    linear_errors,
    second_order_error,
)
from reproduction.thresholds import number

Floats = NDArray[np.float64]
FLATTEST = (1.0, 0.2, 0.02)
STARTS = (1.0, 10.0)
DIMENSIONS, STEEP, LONGEST = 10, 3, 1000.0


def pieces(scale: float) -> list[Piece]:
    """Take problems whose flattest direction is flatter and flatter, from near and from far."""
    longest = LONGEST * min(1.0, 10 * scale)
    return [
        Piece(
            f"theory-overtaking-{flattest:g}-{start:g}",
            follow,
            {"flattest": flattest, "start": start, "longest": max(10.0, longest)},
        )
        for flattest in FLATTEST
        for start in STARTS
    ]


def follow(flattest: float, start: float, longest: float) -> Result:
    """Compare the average, ``a = λ0`` and ``c = 2/3``, with the best SGD, ``a = λ0``, ``c = 1``.

    Everything is over the error of second-order SGD, and rows are in units of ``1 / (λ0 γ0)``.
    """
    values = np.r_[np.ones(STEEP), np.full(DIMENSIONS - STEEP, flattest)]
    A, delta0 = np.diag(values), np.full(DIMENSIONS, start)
    rows = sorted({round(row) for row in np.geomspace(1, longest / flattest, 60)})
    K = flattest * np.array(rows)
    averaged = linear_errors(rows, A, A, delta0, 1.0, flattest, 2 / 3)
    plain = linear_errors(rows, A, A, delta0, 1.0, flattest, 1.0)
    best = second_order_error(rows, A, A)
    return {
        "flattest": flattest,
        "start": start,
        "K": K,
        "ASGD": averaged.average / best,
        "SGD": plain.iterate / best,
        "its own iterate": averaged.iterate / best,
        "bound of ASGD": averaged_bound_at(K, A, A, delta0, 1.0, 2 / 3).total / best,
        "bound of SGD": iterate_bound_at(K, A, A, delta0, 1.0).total / best,
        # How far SGD's noise is from the best: tr(S) / (λ0 tr(A⁻¹S)).
        "ratio": float(values.sum()) / (flattest * DIMENSIONS),
    }


def overtakes(result: Result, other: str = "SGD") -> float | None:
    """Return the K from which the average stays better; None if not within the run."""
    behind = np.flatnonzero(np.array(result["ASGD"]) > np.array(result[other]))
    after = int(behind[-1]) + 1 if len(behind) else 0
    return result["K"][after] if after < len(result["K"]) else None


def _own(results: dict[str, Result]) -> list[Result]:
    return [result for name, result in results.items() if name.startswith("theory-overtaking")]


def claims(results: dict[str, Result]) -> list[Claim]:
    """Compare with what the corollary says."""
    near = {r["flattest"]: overtakes(r) for r in _own(results) if r["start"] == STARTS[0]}
    far = {r["flattest"]: overtakes(r) for r in _own(results) if r["start"] == STARTS[-1]}
    bounds = [
        r[name][place] / r[f"bound of {name}"][place]
        for r in _own(results)
        for name in ("ASGD", "SGD")
        for place in range(len(r["K"]))
    ]
    flat, level = FLATTEST[-1], FLATTEST[0]
    return [
        Claim(
            "“it takes t=O((λ₀γ₀)⁻¹) samples for θ̄_t … to reach the asymptotic region. And at this "
            "point, θ̄_t begins to become better than θ_t”",
            "section 2, the corollary for a = λ₀",
            f"with λ₀ = {flat:g} {_from(near[flat])} from a start as far as a row's noise, "
            f"{_from(far[flat])} from one ten times as far; with λ₀ = {FLATTEST[1]:g} "
            f"{_from(near[FLATTEST[1]])} and {_from(far[FLATTEST[1]])}; "
            f"where all directions are equally curved {_from(near[level])}: there SGD's own rate "
            "is the best there is",
            _in_time([near[K] for K in FLATTEST[1:]], [far[K] for K in FLATTEST[1:]]),
            "theory-overtaking",
        ),
        Claim(
            "“E(‖Δ_t‖_A²) ≤ ‖Δ₀‖_A²/(1+K)² + γ₀tr(S)/(1+K)”, and for the average “E(‖Δ̄_t‖_A²) ≤ "
            "(1+c₀)²/K² · ‖Δ₀‖_A² + λ₀γ₀/K · (1 + (2c₀+c₀²)(1+K)^(c−1)/c) tr(A⁻¹S)”",
            "section 2, EqRate and EqAvgRate",
            f"{len(bounds)} errors, computed exactly, come to {max(bounds):.3g} of their bounds at "
            "most",
            max(bounds) <= 1 + 1e-9,
            "theory-overtaking",
        ),
    ]


def _in_time(near: list[float | None], far: list[float | None]) -> Holds:
    """Judge where directions differ in curvature: from a near start, and from a far one too."""
    soon = [[k is not None and k <= number("order") for k in found] for found in (near, far)]
    if not all(soon[0]):
        return False
    return True if all(soon[1]) else "weaker"


def _from(K: float | None) -> str:
    return "not within this run" if K is None else f"from {float(f'{K:.2g}'):g}/(λ₀γ₀) rows on"


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw both and their bounds."""
    panels = [
        Panel(
            f"λ₀ = {r['flattest']:g}, start at {r['start']:g}",
            "rows, in units of 1/(λ₀γ₀)",
            "error over second-order SGD's",
            [
                Series(label, r["K"], r[key], style=style)
                for label, key, style in (
                    ("ASGD", "ASGD", "ASGD"),
                    ("bound of ASGD", "bound of ASGD", "bound"),
                    ("SGD", "SGD", "SGD"),
                    ("bound of SGD", "bound of SGD", "Pegasos"),
                )
            ],
            x_log=True,
            y_log=True,
            lines_at={1.0: "second-order SGD"},
        )
        for start in STARTS
        for r in _own(results)
        if r["start"] == start
    ]
    return [
        Figure(
            "theory-overtaking",
            "When the average overtakes SGD",
            "Squared errors, computed exactly, over that of second-order SGD, which nothing beats "
            "in the end: of averaged SGD (a = λ₀, c = 2/3), of SGD with the best learning rate "
            "that it can have (a = λ₀, c = 1), and the bounds that the paper has for them. Ten "
            f"directions, {STEEP} of curvature 1 and the others of curvature λ₀; from left to "
            "right λ₀ falls. Above: from a start one away in each. Below: from ten away, which "
            "both need longer to forget.",
            panels,
            columns=len(FLATTEST),
        )
    ]


def tables(results: dict[str, Result]) -> list[Table]:
    """List when the average overtakes."""
    rows = [
        [r["flattest"], r["start"], r["ratio"], overtakes(r), overtakes(r, "its own iterate")]
        for r in _own(results)
    ]
    return [
        Table(
            "theory-overtaking",
            "When the average overtakes",
            "From how many times 1/(λ₀γ₀) rows on the average is better, for good: than SGD with "
            "its best learning rate, and than its own iterate. The third column is how many "
            "times the noise of SGD is the best possible: with 1 there is nothing to be gained.",
            ["λ₀", "start", "tr(S) / λ₀ tr(A⁻¹S)", "than SGD", "than its own iterate"],
            rows,
        )
    ]

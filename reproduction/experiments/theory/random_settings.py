"""Theorem 1 on settings drawn at random: no simulated error exceeds its bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reproduction.claims import Claim
from reproduction.experiments.theory.linear_equation import (
    covariance,
    how_much,
    marks_up_to,
    simulate,
)
from reproduction.figures import Figure, Panel, Series
from reproduction.pieces import Piece, Result
from reproduction.tables import Table
from reproduction.theory import averaged_bound

Floats = NDArray[np.float64]


SETTINGS = 24


def pieces(scale: float) -> list[Piece]:
    """Draw settings, and run each of them many times."""
    runs, rows = how_much(scale)
    return [
        Piece(
            f"theory-setting{number}",
            random_setting,
            {"number": number, "runs": runs, "rows": rows},
        )
        for number in range(SETTINGS)
    ]


def random_setting(number: int, runs: int, rows: int, dimensions: int = 6) -> Result:
    """Draw A, S, the start and the learning rate; compare the bound with the simulated error."""
    random = np.random.default_rng([20111110, number])
    A, S = covariance(random, dimensions), covariance(random, dimensions)
    eigenvalues = np.linalg.eigvalsh(A)
    lambda0, lambda1 = float(eigenvalues[0]), float(eigenvalues[-1])
    c = float(random.uniform(0.05, 0.95))
    # (2c - 1) a < λ0 is what the theorem asks for; up to three times λ0 where it allows any a.
    most = 0.9 * min(3.0, 1.0 / max(2 * c - 1, 1e-9)) * lambda0
    rate = {
        "gamma0": float(random.uniform(0.2, 1.0)) / lambda1,
        "a": float(random.uniform(0.0, 1.0)) * most,
        "c": c,
    }
    delta0 = random.standard_normal(dimensions) * 10 ** random.uniform(-1, 1)
    marks = marks_up_to(rows)
    means, errors = simulate(A, S, delta0, rate, marks, runs, random)
    bound = averaged_bound(marks, A, S, delta0, **rate)
    return {
        "lambda0": lambda0,
        "lambda1": lambda1,
        **rate,
        "rows": marks,
        "simulated": means,
        "std_err": errors,
        "bound": bound.total,
    }


def _settings(results: dict[str, Result]) -> dict[str, Result]:
    return {name: r for name, r in results.items() if name.startswith("theory-setting")}


def _shares(result: Result) -> list[float]:
    return [s / b for s, b in zip(result["simulated"], result["bound"], strict=True)]


def claims(results: dict[str, Result]) -> list[Claim]:
    """Compare with what the paper proves."""
    settings = _settings(results)
    shares = [share for result in settings.values() for share in _shares(result)]
    return [
        Claim(
            "“If γ₀λ₁ ≤ 1 and (2c−1)a < λ₀, then the estimator θ̄_t … satisfies: t E(‖θ̄_t−θ*‖_A²) ≤ "
            "tr(A⁻¹S) + (2c₀+c₀²)(1+aγ₀t)^(c−1)/c · tr(A⁻¹S) + (1+c₀)²/(γ₀²t) · ‖θ₀−θ*‖²_(A⁻¹)”",
            "section 2, Theorem 1 (ThmLinearAvg)",
            f"{len(settings)} settings drawn at random, {len(shares)} measurements: the simulated "
            f"error is at most {max(shares):.3g} of the bound",
            max(shares) <= 1,
            "theory-settings",
        )
    ]


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw a line for each setting."""
    lines = [
        Series(
            "simulated error over its bound",
            r["rows"],
            _shares(r),
            style="one of many",
        )
        for r in _settings(results).values()
    ]
    return [
        Figure(
            "theory-settings",
            "The bound on settings drawn at random",
            f"Each of the {len(lines)} lines is another problem, noise, start and learning rate. A "
            "line above 1 would be an error above its bound.",
            [
                Panel(
                    "",
                    "rows",
                    "simulated error over its bound",
                    lines,
                    x_log=True,
                    y_log=True,
                    lines_at={1.0: "the bound"},
                )
            ],
        )
    ]


def tables(results: dict[str, Result]) -> list[Table]:
    """List the settings."""
    rows = []
    for number, r in enumerate(_settings(results).values()):
        shares = _shares(r)
        rows.append(
            [
                number,
                r["lambda0"],
                r["lambda1"],
                r["gamma0"],
                r["a"],
                r["c"],
                max(shares),
                shares[-1],
            ]
        )
    return [
        Table(
            "theory-settings",
            "The settings drawn at random",
            "Smallest and largest curvature, the learning rate, and how much of the bound the "
            "simulated error comes to: at most, and after the last row.",
            ["setting", "λ₀", "λ₁", "γ₀", "a", "c", "at most", "in the end"],
            rows,
        )
    ]

"""Section 2: the stochastic linear equation, followed exactly and held against the paper's bounds.

Ten directions, three of curvature 1 and seven of curvature λ0; the noise is ``S = A``, γ0 = 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.experiments.step_sizes import stays_within
from reproduction.figures import Figure, Panel, Series
from reproduction.pieces import Piece, Result, spaced
from reproduction.theory import (
    Problem,
    averaged_bound,
    averaged_bound_at,
    errors,
    iterate_bound_at,
    linear_errors,
    rates,
)

Floats = NDArray[np.float64]
SETTINGS, SETTING_ROWS = 40, 3000
FLATTEST, LONGEST = (0.2, 0.02, 0.002), 1000.0
STARTS, AT_OPTIMUM = (1.0, 10.0), 0.0
"""Starts: at the distance of one row's noise, ten times as far, and where only noise is left."""
COUNT = np.array([3.0, 7.0])
DECAYS = (0.0, 0.1, 1.0, 10.0)
"""Values of a to try, in units of λ0."""
ARBITRARY, FOR_LONG = 1.0, 300_000


def pieces(quick: bool, data: str | None) -> list[Piece]:
    """Draw settings for Theorem 1; compare ASGD with SGD; compare values of a."""
    longest = LONGEST / 20 if quick else LONGEST
    return [
        Piece("linear-settings", settings, {"settings": SETTINGS // 4 if quick else SETTINGS}),
        *(
            Piece(
                f"linear-{flat:g}-{start:g}",
                against_sgd,
                {"flat": flat, "start": start, "longest": longest},
                version=2,
            )
            for flat in FLATTEST
            for start in (AT_OPTIMUM, *STARTS)
        ),
        Piece("linear-arbitrary", arbitrary, {"rows": FOR_LONG // 20 if quick else FOR_LONG}),
    ]


def settings(settings: int) -> Result:
    """Draw A, S, start and rate within Theorem 1's conditions; return errors over the bound."""
    marks, shares = spaced(1, SETTING_ROWS, 4), []
    for number in range(settings):
        random = np.random.default_rng([20111110, number])
        A, S = _covariance(random), _covariance(random)
        values = np.linalg.eigvalsh(A)
        c = float(random.uniform(0.05, 0.95))
        # (2c - 1) a < λ0 is what the theorem asks for; up to three times λ0 where it allows any a.
        most = 0.9 * min(3.0, 1.0 / max(2 * c - 1, 1e-9)) * float(values[0])
        rate = {
            "gamma0": float(random.uniform(0.2, 1.0) / values[-1]),
            "a": float(random.uniform(0.0, 1.0)) * most,
            "c": c,
        }
        delta0 = random.standard_normal(len(A)) * 10 ** random.uniform(-1, 1)
        found = linear_errors(marks, A, S, delta0, **rate).average * marks
        shares.append(found / averaged_bound(marks, A, S, delta0, **rate).total)
    return {"rows": marks, "shares": shares}


def _covariance(random: np.random.Generator, dimensions: int = 6) -> Floats:
    """Draw a covariance whose eigenvalues span a factor of up to a hundred."""
    axes = np.linalg.qr(random.standard_normal((dimensions, dimensions)))[0]
    drawn: Floats = (axes * 10.0 ** random.uniform(-2.0, 0.0, dimensions)) @ axes.T
    return (drawn + drawn.T) / 2


def against_sgd(flat: float, start: float, longest: float) -> Result:
    """Follow ASGD with a = λ0 and other values of a, and SGD at its best: a = λ0 and c = 1."""
    rows = sorted({round(row) for row in np.geomspace(1, longest / flat, 300)})
    values, K = np.array([1.0, flat]), flat * np.array(rows)
    gammas = [rates(rows[-1], 1.0, a * flat, 2 / 3) for a in DECAYS]
    gammas.append(rates(rows[-1], 1.0, flat, 1.0))
    found = errors(Problem.linear(values, values, COUNT), rows, np.full(2, start), gammas)
    A, delta0 = np.diag(np.repeat(values, COUNT.astype(int))), np.full(10, start)
    return {
        "K": K,
        "best": 10.0 / np.array(rows),  # tr(A⁻¹S) / t, the error of second-order SGD
        "ASGD": found.average[DECAYS.index(1.0)],
        "SGD": found.iterate[-1],
        "by a": found.average[:-1],
        "bound of ASGD": averaged_bound_at(K, A, A, delta0, 1.0, 2 / 3).total,
        "bound of SGD": iterate_bound_at(K, A, A, delta0, 1.0).total,
    }


def arbitrary(rows: int) -> Result:
    """Follow section 6.1's kind of problem, S = A², with a = λ0 and with a = 1, c = 1/2 in both."""
    values, marks = np.array([1.0, 0.02]), spaced(10, rows, 16)
    gammas = [rates(rows, 1.0, a, 0.5) for a in (0.02, ARBITRARY)]
    found = errors(Problem.linear(values, values**2, COUNT), marks, np.ones(2), gammas)
    limit = float(values @ COUNT)  # tr(A⁻¹S)
    return {"rows": marks, "over": found.average * np.array(marks) / limit}


def overtakes(result: Result) -> float | None:
    """Return the K from which the average stays better than SGD."""
    return stays_within(result["K"], np.array(result["ASGD"]) / np.array(result["SGD"]), 1.0)


def in_region(result: Result) -> float | None:
    """Return the K from which the average stays within twice the error of second-order SGD."""
    return stays_within(result["K"], np.array(result["ASGD"]) / np.array(result["best"]))


def power_of(K: list[float | None]) -> float | None:
    """Return the power of 1/λ0 with which rows grow between the two smallest of λ0.

    ``K`` are the rows in units of 1/(λ0 γ0), each for a tenth of the λ0 before.

    Examples
    --------
    >>> power_of([20.0, 10.0, 10.0]), power_of([1.0, 1.0, 10.0]), power_of([1.0, None, 1.0])
    (1.0, 2.0, None)
    """
    if any(k is None for k in K):
        return None
    return 1.0 + float(np.log10(K[-1] / K[-2]))  # type: ignore[operator]


def a_zero(result: Result) -> Floats:
    """Return the error with a = 0 over the lowest of all values of a."""
    return np.asarray(np.array(result["by a"])[0] / np.min(result["by a"], axis=0))


def numbers(results: dict[str, Result]) -> dict[str, Any]:
    """Return what the paper's section 2 speaks of."""
    every = {
        (f, s): results[f"linear-{f:g}-{s:g}"] for s in (AT_OPTIMUM, *STARTS) for f in FLATTEST
    }
    shares = {key: (np.array(r["K"]), a_zero(r)) for key, r in every.items()}
    numbers: dict[str, Any] = {
        "linear theorem": float(np.max(results["linear-settings"]["shares"])),
        "linear bounds": max(
            float(np.max(np.array(r[n]) / np.array(r[f"bound of {n}"])))
            for r in every.values()
            for n in ("ASGD", "SGD")
        ),
        "linear a=0": max(o[K >= 1].max() for (_, s), (K, o) in shares.items() if s in STARTS),
        "linear a=0 noise": max(o[K >= 1].max() for (_, s), (K, o) in shares.items() if not s),
        "linear a=0 before": max(o.max() for (_, s), (K, o) in shares.items() if s in STARTS),
    }
    for start in STARTS:
        for what, when in (("overtaking", overtakes), ("region", in_region)):
            K = [when(every[flat, start]) for flat in FLATTEST]
            numbers[f"linear {what} power {start:g}"] = power_of(K)
            for flat, k in zip(FLATTEST, K, strict=True):
                numbers[f"linear {what} {flat:g} {start:g}"] = k
    over, rows = np.array(results["linear-arbitrary"]["over"]), results["linear-arbitrary"]["rows"]
    matched, bad = (stays_within(rows, line) for line in over)
    numbers |= {
        "linear rows a=λ0": matched,
        "linear rows a=1": bad,
        "linear factor": bad / matched if matched and bad else None,
        "linear limit": float(abs(over[0, -1] - 1) / abs(over[0, -17] - 1)),
        "linear last": float(over[0, -1]),
    }
    return numbers


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw errors, their bounds, and the settings of Theorem 1."""
    panels = [
        Panel(
            f"λ₀ = {flat:g}, start at {start:g}",
            "rows, in units of 1/(λ₀γ₀)",
            "error over second-order SGD's",
            [
                Series(name, r["K"][::5], (np.array(r[name]) / np.array(r["best"]))[::5].tolist())
                for name in ("ASGD", "bound of ASGD", "SGD", "bound of SGD")
            ],
            lines_at={1.0: "second-order SGD"},
        )
        for start in STARTS
        for flat in FLATTEST
        for r in [results[f"linear-{flat:g}-{start:g}"]]
    ]
    drawn = results["linear-settings"]
    lines = [Series("one setting", drawn["rows"], line) for line in drawn["shares"]]
    return [
        Figure(
            "theory-overtaking",
            "When the average overtakes SGD",
            "Squared errors, computed exactly, over that of second-order SGD, which nothing beats "
            "in the end: averaged SGD (a = λ₀, c = 2/3), SGD with the best learning rate it can "
            "have (a = λ₀, c = 1), and the paper's bounds of both. From left to right the "
            "flattest direction is flatter; below, from a start ten times as far.",
            panels,
            columns=len(FLATTEST),
        ),
        Figure(
            "theory-terms",
            "Theorem 1 on settings drawn at random",
            f"Each of the {len(lines)} lines is another problem, noise, start and learning rate; a "
            "line above 1 would be an error above its bound. Computed exactly.",
            [Panel("", "rows", "error over its bound", lines, lines_at={1.0: "the bound"})],
        ),
    ]

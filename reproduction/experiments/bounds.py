"""Sections 3 to 5 and the appendix: the lemmas on least squares and other losses, and Algorithm 1.

Least squares is followed exactly on rows of one feature, ``x = √M e_i`` with probability ``p_i``
(all rows have ``‖x‖² = M``, ``A = diag(M p)``, ``S = σ² A``). What a changing curvature adds is
followed on gradients ``A Δ + Q(Δ, Δ)`` without noise, where every expectation is a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.algorithm1 import LOSSES, asgd, schedule
from reproduction.experiments.linear import power_of
from reproduction.figures import Figure, Panel, Series
from reproduction.pieces import Piece, Result, spaced
from reproduction.theory import (
    Problem,
    averaged_bound,
    c1,
    errors,
    gamma_lemma,
    largest_stable_rate,
    lemma1,
    noise_away,
    non_quadratic_bound,
    rates,
    regression_bound,
)

Floats = NDArray[np.float64]
SETTINGS, ROWS, BENT_ROWS = 24, 3000, 8
FLATTEST, LATER = (0.1, 0.01), (1.0, 10.0, 100.0)
"""Values of λ0, and of K = t λ0 γ0, at which the noise away from the optimum is compared."""
POWERS = np.linspace(0.51, 0.97, 47)


def pieces(quick: bool, data: str | None) -> list[Piece]:
    """One piece for each section."""
    few = {"settings": SETTINGS // 4 if quick else SETTINGS}
    return [
        Piece("bounds-regression", regression, few),
        *(Piece(f"bounds-away-{flat:g}", away, {"flat": flat}) for flat in FLATTEST),
        Piece("bounds-bent", bent, few),
        Piece("bounds-powers", powers, {"rows": 10_000 if quick else 300_000}),
        Piece("bounds-appendix", appendix, few),
        Piece("bounds-algorithm1", algorithm1_and_naive, {"rows": 2000}),
    ]


def _drawn_problem(number: int) -> tuple[Problem, Floats, dict[str, float]]:
    """Draw a least-squares problem with M = 1, a start and a learning rate."""
    random = np.random.default_rng([20111116, number])
    d = int(random.integers(2, 7))
    p = random.dirichlet(np.ones(d)) * 0.9 + 0.1 / d
    problem = Problem.one_feature(p, 1.0, float(10 ** random.uniform(-2, 1)))
    c = float(random.uniform(0.1, 0.95))
    a = float(random.uniform(0.1, 0.9)) * float(p.min()) / max(2 * c - 1, 0.5)
    rate = {"gamma0": float(random.uniform(0.3, 1.0)), "a": a, "c": c}
    return problem, random.standard_normal(d), rate


def regression(settings: int) -> Result:
    """Return what `LemmaRegression` bounds over its bound, with the smallest c2 and c3."""
    marks = [mark for mark in spaced(1, ROWS, 4) if mark > 1]
    shares, constants = [], []
    for number in range(settings):
        problem, delta0, rate = _drawn_problem(number)
        every = range(1, marks[-1] + 1)
        gammas = [rates(marks[-1], **rate)]
        start = errors(problem._replace(noise=0 * delta0), every, delta0, gammas).iterate[0]
        noise = errors(problem, every, 0 * delta0, gammas).iterate[0]
        first = float(np.square(delta0) @ problem.values)
        lambda0, line = float(problem.values.min()), []
        for t in marks:
            given = {
                "c1": c1(1.0, lambda0),
                "c2": float(start[:t].sum()) / first,
                "c3": float(np.max(np.cumsum(noise[:t]) / np.cumsum(gammas[0][1 : t + 1]))),
                "delta0": first,
            }
            bound = float(regression_bound(t, lambda0=lambda0, **rate, **given))
            line.append(noise_away(problem, 1.0, t, delta0, rate) / bound)
        shares.append(line)
        # LemmaC1: the smallest c1 of these rows is (1 - p) / p, at most.
        constants.append(float(np.max((1 - problem.values) / problem.values) * lambda0))
    return {"rows": marks, "shares": shares, "c1": constants}


def away(flat: float) -> Result:
    """Compare the noise away from the optimum with SGD's error, and ASGD with SGD."""
    p = np.array([1.0 - 3 * flat, flat, flat, flat])
    problem, delta0 = Problem.one_feature(p), np.ones(4)
    marks = [round(K / flat) for K in LATER]
    rate = {"gamma0": 1.0, "a": flat, "c": 2 / 3}
    every = spaced(1, marks[-1], 16)
    gammas = [rates(marks[-1], **rate), rates(marks[-1], 1.0, flat, 1.0)]
    found = errors(problem, sorted({*every, *marks}), delta0, gammas)
    rows = sorted({*every, *marks})
    sgd = dict(zip(rows, found.iterate[1], strict=True))
    ratio = [noise_away(problem, 1.0, t, delta0, rate) / t / sgd[t] for t in marks]
    behind = np.flatnonzero(found.average[0] > found.iterate[1])
    after = int(behind[-1]) + 1 if len(behind) else 0
    return {"ratio": ratio, "K": flat * rows[after] if after < len(rows) else None}


def bent(settings: int) -> Result:
    """Return what `LemmaNonQuadratic` bounds over its bound, as printed and repaired.

    The first problem is the gradient ``θ + θ²`` from 0.1 at a constant learning rate of 1.
    """
    printed, repaired = [], []
    for number in range(settings):
        random = np.random.default_rng([20111115, number])
        d = int(random.integers(1, 4)) if number else 1
        values = 10 ** random.uniform(-1, 0, d) if number else np.ones(1)
        bend = (
            random.standard_normal((d, d, d)) * values.min() * 0.1 if number else np.ones((1, 1, 1))
        )
        delta = random.standard_normal(d) if number else np.full(1, 0.1)
        rate = {"gamma0": float(0.5 / values.max()), "a": float(values.min()), "c": 0.6}
        rate = rate if number else {"gamma0": 1.0, "a": 0.0, "c": 0.0}
        gammas, deltas, bends = rates(BENT_ROWS, **rate), [delta], []
        for gamma in gammas[1:]:
            bends.append(np.einsum("ijk,j,k->i", bend, deltas[-1], deltas[-1]))
            deltas.append(deltas[-1] - gamma * (values * deltas[-1] + bends[-1]))
        squares = np.array([np.square(one) @ values for one in deltas])
        later = [squares[j + 1 :].sum() / squares[j] for j in range(BENT_ROWS) if squares[j] > 0]
        sizes = np.array([np.sqrt(np.square(one) @ (1 / values)) for one in bends])
        given = {
            "c2": float(max(later)),
            "c3": 0.0,
            "c4": float(max(size / q for size, q in zip(sizes, squares, strict=False) if q > 0)),
            "c5": float(np.square(squares[1:]).sum() / squares[0] ** 2),
            "c6": 0.0,
            "delta0": float(squares[0]),
        }
        lines: list[list[float]] = [[], []]
        for t in range(1, BENT_ROWS + 1):
            weights = lemma1(t, values, **rate).exact[1:]
            left = float(np.square((weights * bends[:t]).sum(axis=0)) @ values / t)
            for line, as_printed in zip(lines, (True, False), strict=True):
                common: dict[str, Any] = {"lambda0": float(values.min()), **rate, **given}
                line.append(left / float(non_quadratic_bound(t, **common, printed=as_printed)))
        printed.append(lines[0])
        repaired.append(lines[1])
    return {"rows": list(range(1, BENT_ROWS + 1)), "printed": printed, "repaired": repaired}


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


def powers(rows: int) -> Result:
    """Return how fast the bounds fall by c, and least squares' own error beyond its limit."""
    problem = Problem.one_feature([0.4, 0.3, 0.2, 0.1])
    tried = [0.4, 0.5, 0.55, 0.6, 2 / 3, 0.75, 0.8, 0.9]
    marks = [rows // 10, rows]
    gammas = [rates(rows, 1.0, 0.1, c) for c in tried]
    found = errors(problem, marks, np.zeros(4), gammas).average
    return {
        "quadratic": [fall_of_bound(c, quadratic=True) for c in POWERS],
        "other": [fall_of_bound(c, quadratic=False) for c in POWERS],
        "tried": tried,
        "excess": found * np.array(marks) / 4 - 1,
    }


def appendix(settings: int) -> Result:
    """Return both sides of the appendix's lemmas, and where least squares diverges."""
    gamma, first, last = 0.0, 0.0, 0.0
    for number in range(settings):
        problem, _, rate = _drawn_problem(number)
        lambda0 = float(problem.values.min())
        left, right = gamma_lemma(np.arange(1, 3000), lambda0, **rate)
        gamma = max(gamma, float(np.max(left / right)))
        between = lemma1(300, problem.values, **rate)
        first = max(first, float(np.max(between.lower / between.exact)))
        last = max(last, float(np.max(between.exact / between.upper)))
    # Rows of length √M in all directions alike: E xxᵀCxxᵀ = M² (2C + tr(C) I) / d(d + 2).
    d, M = 5, 4.0
    lam = np.full(d, M / d)
    problem = Problem(lam, 2 * lam**2 * d / (d + 2), d / (d + 2), 0.01 * lam)
    times = (1.9, 2.0, 2.1)
    gammas = [np.full(2001, share / 2 * largest_stable_rate(M)) for share in times]
    far = errors(problem, [1000, 2000], np.ones(d), gammas).iterate
    growth = dict(zip(map(str, times), far[:, 1] / far[:, 0], strict=True))
    return {"gamma": gamma, "lower": first, "upper": last, "growth": growth}


def algorithm1_and_naive(rows: int) -> Result:
    """Compare Algorithm 1's θ̄ with the mean of all iterates, kept in full."""
    random, lam = np.random.default_rng(20111117), 1e-2
    X = random.standard_normal((rows, 12))
    score = X @ random.standard_normal(12) + random.standard_normal(rows)
    gamma, far = schedule(0.05, 0.01, 0.75), []
    for loss, (_, L_s) in LOSSES.items():
        y = score if loss == "squared_error" else np.sign(score)
        theta, total = np.zeros((2, 12))
        for t, (x, y_t) in enumerate(zip(X, y, strict=True), start=1):
            theta = (1 - lam * gamma(t)) * theta - gamma(t) * L_s(theta @ x, y_t) * x
            total = total + theta
        mean = total / rows
        average, _ = asgd(X, y, loss, lam, gamma, t0=0)
        far.append(float(np.linalg.norm(average - mean) / np.linalg.norm(mean)))
    return {"difference": max(far)}


def numbers(results: dict[str, Result]) -> dict[str, Any]:
    """Return what sections 3 to 5 and the appendix speak of."""
    r, b, a = (results[f"bounds-{name}"] for name in ("regression", "bent", "appendix"))
    far = {flat: results[f"bounds-away-{flat:g}"] for flat in FLATTEST}
    K = [far[flat]["K"] for flat in FLATTEST]
    p = results["bounds-powers"]
    return {
        "bounds regression": float(np.max(r["shares"])),
        "bounds c1": max(r["c1"]),
        **{
            f"bounds negligible {K:g}": max(far[flat]["ratio"][i] for flat in FLATTEST)
            for i, K in enumerate(LATER)
        },
        "bounds overtaking": max(K) if None not in K else None,
        "bounds overtaking power": power_of(K),
        "bounds printed": float(np.max(b["printed"])),
        "bounds printed problems": float(np.sum(np.max(b["printed"], axis=1) > 1)),
        "bounds problems": float(len(b["printed"])),
        "bounds repaired": float(np.max(b["repaired"])),
        "bounds best quadratic": float(POWERS[int(np.argmax(p["quadratic"]))]),
        "bounds best other": float(POWERS[int(np.argmax(p["other"]))]),
        "bounds off quadratic": abs(float(POWERS[int(np.argmax(p["quadratic"]))]) - 2 / 3),
        "bounds off other": abs(float(POWERS[int(np.argmax(p["other"]))]) - 3 / 4),
        "bounds lowest": p["tried"][int(np.argmin(np.array(p["excess"])[:, -1]))],
        "bounds gamma lemma": a["gamma"],
        "bounds lemma1": max(a["lower"], a["upper"]),
        "bounds growth 1.9": a["growth"]["1.9"],
        "bounds growth 2.1": a["growth"]["2.1"],
        "bounds algorithm1": results["bounds-algorithm1"]["difference"],
    }


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw the lemmas and the powers."""
    r, b, p = (results[f"bounds-{name}"] for name in ("regression", "bent", "powers"))
    about = "what is bounded over its bound"

    def panel(title: str, rows: Any, lines: Any, x_log: bool = True) -> Panel:
        series = [Series("one problem", rows, line) for line in lines]
        return Panel(title, "rows", about, series, x_log=x_log, lines_at={1.0: "the bound"})

    c = POWERS.tolist()
    excess = np.array(p["excess"])
    fell = np.log10(excess[:, 0] / excess[:, 1])
    return [
        Figure(
            "theory-lemmas",
            "What the lemmas of sections 3 and 4 bound",
            "Each line is another problem; above 1 the lemma is wrong. Left: the noise away from "
            "the optimum, for least squares. Middle: a curvature that changes, with the bound as "
            "printed. Right: with the start counted in it. Computed exactly, with the smallest "
            "constants for which the lemmas' assumptions hold.",
            [
                panel("LemmaRegression", r["rows"], r["shares"]),
                panel("LemmaNonQuadratic, as printed", b["rows"], b["printed"], x_log=False),
                panel("LemmaNonQuadratic, repaired", b["rows"], b["repaired"], x_log=False),
            ],
            columns=3,
        ),
        Figure(
            "theory-powers",
            "How fast the learning rate should fall",
            "The learning rate falls like t^−c. With which power of t the error comes down to "
            "what no algorithm can avoid: by the paper's bounds, highest at c = 2/3 (least "
            "squares) and 3/4 (other losses), and the exact error of a least-squares problem over "
            "the last tenfold of rows.",
            [
                Panel(
                    "",
                    "c",
                    "falls like t to the power of minus",
                    [
                        Series("bound, least squares", c, p["quadratic"]),
                        Series("bound, other losses", c, p["other"]),
                        Series("error, least squares", p["tried"], fell.tolist()),
                    ],
                    x_log=False,
                    y_log=False,
                )
            ],
        ),
    ]

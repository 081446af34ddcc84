"""The paper's second experiment: averaging reaches what batch reaches, for less (Figure 2).

Least squares on ``y = x·θ* + ε`` with 100 features. ``x`` is normal with a covariance ``A`` whose
eigenvalues go evenly from 0.01 to 1, ``θ*`` is one everywhere, the noise has unit variance, and
``γ0 = 1 / tr(A)``. The excess risk is ``(θ - θ*)ᵀ A (θ - θ*) / 2``. All start at zero, ASGD
averages from the first row on, and batch solves the normal equations of all rows so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.averaging import Averaging
from polyak.learn.bank import Bank
from polyak.learn.schedules import Polynomial
from polyak.paper.reproduction.claims import Claim
from polyak.paper.reproduction.experiments.risk_panels import risk_panels
from polyak.paper.reproduction.figures import Figure
from polyak.paper.reproduction.pieces import Piece, Result
from polyak.paper.reproduction.tables import Table

TITLE = "Averaging reaches what batch reaches"
ABOUT = (
    "Least squares with 100 features whose variances go from 0.01 to 1, and noise of variance 1. "
    "Averaged stochastic gradient descent (ASGD) and plain stochastic gradient descent (SGD) see "
    "each row once; batch solves the least-squares problem of all rows so far exactly."
)

Floats = NDArray[np.float64]
CURVATURE = np.linspace(0.01, 1.0, 100)
GAMMA0 = 1.0 / CURVATURE.sum()
RATES = {
    "ASGD": Polynomial(GAMMA0, float(CURVATURE[0]), 2 / 3),
    "SGD": Polynomial(GAMMA0, float(CURVATURE[0]), 1.0),
}
ROWS, SEEDS = 1_000_000, 5
WIDTHS, TIMED_NUMBERS = (100, 400, 1600), 20_000_000
MARKS = sorted({round(10 ** (step / 8)) for step in range(20, 49)} | {50_000, 500_000})


def pieces(scale: float, data: str | None) -> list[Piece]:
    """Run every seed, then time each algorithm alone. A tenth of the scale already is the whole."""
    share = min(1.0, 10 * scale)
    rows, numbers = max(1000, round(ROWS * share)), max(100_000, round(TIMED_NUMBERS * share))
    runs = [
        Piece(f"asymptotics-seed{seed}", simulate, {"seed": seed, "rows": rows})
        for seed in range(SEEDS)
    ]
    clocks = [
        Piece(
            f"asymptotics-times{width}",
            times,
            {"width": width, "rows": numbers // width},
            alone=True,
        )
        for width in WIDTHS
    ]
    return [*runs, *clocks]


def simulate(seed: int, rows: int) -> Result:
    """Run all three on the same rows, and measure the excess risk now and then."""
    random = np.random.default_rng([20111108, seed])
    banks = {name: _bank(name) for name in RATES}
    products, sums = np.zeros((100, 100)), np.zeros(100)
    marks = [mark for mark in MARKS if mark <= rows]
    risks: dict[str, list[float]] = {name: [] for name in (*RATES, "batch")}
    seen = 0
    for mark in marks:
        while seen < mark:
            X, y = draw(random, min(20_000, mark - seen))
            seen += len(y)
            for bank in banks.values():
                bank.learn(X, y)
            products += X.T @ X
            sums += X.T @ y
        risks["ASGD"].append(_risk(banks["ASGD"].coef[0]))
        risks["SGD"].append(_risk(banks["SGD"].last_coef[0]))
        risks["batch"].append(_risk(np.linalg.solve(products, sums)))
    return {"rows": marks, "risks": risks}


def times(width: int, rows: int, repeats: int = 3) -> Result:
    """Measure how long each takes for the same rows: the best of a few, in processor time."""
    random = np.random.default_rng(20111109)
    X, y = random.standard_normal((rows, width)), random.standard_normal(rows)
    X *= np.sqrt(CURVATURE.sum() / width)  # rows as long as the others, for the same rates
    runs: dict[str, Callable[[], Any]] = {
        name: lambda name=name: _bank(name, width).learn(X, y)  # type: ignore[misc]
        for name in RATES
    }
    runs["batch"] = lambda: np.linalg.solve(X.T @ X + np.eye(width), X.T @ y)
    seconds: dict[str, float] = {}
    for _ in range(repeats):
        for name, run in runs.items():
            begin = time.process_time()
            run()
            taken = time.process_time() - begin
            seconds[name] = min(taken, seconds.get(name, taken))
    return {"width": width, "rows": rows, "timings": seconds}


def draw(random: np.random.Generator, rows: int) -> tuple[Floats, Floats]:
    """Draw rows and their targets."""
    X = random.standard_normal((rows, len(CURVATURE))) * np.sqrt(CURVATURE)
    return X, X.sum(axis=1) + random.standard_normal(rows)


def _bank(name: str, width: int = 100) -> Bank:
    return Bank(
        loss="squared_error",
        alpha=0.0,
        schedule=RATES[name],
        averaging=Averaging(0 if name == "ASGD" else None),
        fit_intercept=False,
        n_features=width,
        progressive=False,
        capped=False,
    )


def _risk(theta: Any) -> float:
    return float(np.square(theta - 1.0) @ CURVATURE / 2)


# -- what it shows ---------------------------------------------------------------------------------


def _gather(results: dict[str, Result]) -> tuple[list[int], dict[str, Floats]]:
    parts = [result for result in results.values() if "risks" in result]
    risks = {n: np.array([part["risks"][n] for part in parts]).T for n in parts[0]["risks"]}
    return parts[0]["rows"], risks


def _timed(results: dict[str, Result]) -> list[Result]:
    return [result for result in results.values() if "timings" in result]


def ratios(results: dict[str, Result]) -> tuple[dict[int, float], dict[int, float]]:
    """Give ASGD's excess risk over batch's, and SGD's over ASGD's: medians over the seeds."""
    rows, risks = _gather(results)
    asgd = np.median(risks["ASGD"] / risks["batch"], axis=1).tolist()
    sgd = np.median(risks["SGD"] / risks["ASGD"], axis=1).tolist()
    return dict(zip(rows, asgd, strict=True)), dict(zip(rows, sgd, strict=True))


def claims(results: dict[str, Result]) -> list[Claim]:
    """Compare with what the paper says of its Figure 2."""
    asgd, sgd = ratios(results)
    where = "section 6.2, Figure 2"
    shown = [t for t in (10_000, 100_000, 500_000) if t in asgd]
    close = ", ".join(f"{asgd[t]:.3g} times batch's at {t:,}" for t in shown)
    ten = [t for t in sgd if all(ratio > 10 for later, ratio in sgd.items() if later >= t)]
    at = ", ".join(f"{sgd[t]:.3g} at {t:,}" for t in (10_000, 50_000, 500_000) if t in sgd)
    enough = 500_000 in asgd
    times_over = {
        part["width"]: part["timings"]["batch"] / part["timings"]["ASGD"]
        for part in _timed(results)
    }
    faster = ", ".join(f"{ratio:.2g} with {width:,}" for width, ratio in times_over.items())
    return [
        Claim(
            "From about 10,000 rows on averaged SGD is close to batch.",
            where,
            f"excess risk {close} rows" if close else "too few rows to tell",
            asgd[10_000] <= 4 and asgd[500_000] <= 1.3 if enough else None,
            "asymptotics",
        ),
        Claim(
            "From there on plain SGD stays more than ten times worse than averaged SGD.",
            where,
            (f"more than ten times from {ten[0]:,} rows on" if ten else "it is not")
            + (f"; SGD's excess risk over ASGD's is {at} rows" if at else ""),
            bool(ten) and ten[0] <= 50_000 if enough else None,
            "asymptotics",
        ),
        Claim(
            "Averaged SGD is considerably faster than batch: N operations a row, not N².",
            where,
            "batch, as one matrix product, takes this many times ASGD's processor time: "
            f"{faster} features",
            times_over[WIDTHS[0]] > 1.5,
            "asymptotics",
        ),
    ]


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw Figure 2."""
    rows, risks = _gather(results)
    return [
        Figure(
            "asymptotics",
            "Least squares: one pass against the exact solution",
            "How far each answer is from the best possible one (left), and how many times as far "
            "as the exact solution of all rows so far (right, where 1 is as good as batch). Lines "
            f"are medians over {SEEDS} seeds, bands hold all of them. ASGD and SGD read each row "
            "once and forget it.",
            risk_panels(rows, risks, _all),
            columns=2,
        )
    ]


def _all(values: Floats) -> tuple[Floats, Floats, Floats]:
    return np.median(values, axis=1), values.min(axis=1), values.max(axis=1)


def tables(results: dict[str, Result]) -> list[Table]:
    """Give the medians as numbers, and the times."""
    asgd, sgd = ratios(results)
    clocks = [
        [part["width"], part["rows"], name, 1e9 * taken / part["rows"], taken / seconds["ASGD"]]
        for part in _timed(results)
        for seconds in [part["timings"]]
        for name, taken in seconds.items()
    ]
    return [
        Table(
            "asymptotics",
            "Excess risk, compared",
            f"Medians over {SEEDS} seeds.",
            ["rows", "ASGD over batch", "SGD over ASGD"],
            [[t, asgd[t], sgd[t]] for i, t in enumerate(asgd) if i % 2 == 0 or t % 50_000 == 0],
        ),
        Table(
            "asymptotics-times",
            "Time a row",
            "Processor time on one core, the best of three; drawing the rows is not counted. Batch "
            "is one product of matrices and one solution. These figures differ from run to run.",
            ["features", "rows", "algorithm", "nanoseconds a row", "over ASGD's"],
            clocks,
        ),
    ]

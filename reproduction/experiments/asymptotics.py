"""The paper's second experiment: averaging reaches what batch reaches, for less (Figure 2).

Least squares on ``y = x·θ* + ε`` with 100 features. ``x`` is normal with a covariance ``A`` whose
eigenvalues go evenly from 0.01 to 1, ``θ*`` is one everywhere, the noise has unit variance, and
``γ0 = 1 / tr(A)``. The excess risk is ``(θ - θ*)ᵀ A (θ - θ*) / 2``. All start at zero. ASGD begins
to average by the rule at the end of the paper's section 5; in a second run it averages from the
first row on, since the text of the experiment does not say which it was. Batch solves the normal
equations of all rows so far.
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
from reproduction.claims import Claim, Holds
from reproduction.experiments.risk_panels import risk_panels
from reproduction.figures import Figure
from reproduction.paired import Difference, mean_of
from reproduction.pieces import Piece, Result, share_of_drawn
from reproduction.tables import Table
from reproduction.thresholds import number

TITLE = "Averaging reaches what batch reaches"
ABOUT = (
    "Least squares with 100 features whose variances go from 0.01 to 1, and noise of variance 1. "
    "Averaged stochastic gradient descent (ASGD) and plain stochastic gradient descent (SGD) see "
    "each row once; batch solves the least-squares problem of all rows so far exactly. ASGD begins "
    "to average by the paper's rule (section 5), and, in a second run, with the first row."
)

Floats = NDArray[np.float64]
CURVATURE = np.linspace(0.01, 1.0, 100)
GAMMA0 = 1.0 / CURVATURE.sum()
FROM_ROW_0 = "ASGD from row 0"
RATES = {
    "ASGD": Polynomial(GAMMA0, float(CURVATURE[0]), 2 / 3),
    FROM_ROW_0: Polynomial(GAMMA0, float(CURVATURE[0]), 2 / 3),
    "SGD": Polynomial(GAMMA0, float(CURVATURE[0]), 1.0),
}
STARTS: dict[str, Any] = {"ASGD": "auto", FROM_ROW_0: 0, "SGD": None}
ROWS, SEEDS = 1_000_000, 10
ROW_BY_ROW, ROWS_ONE_BY_ONE = "batch, row by row", 5_000
WIDTHS, TIMED_NUMBERS = (100, 400, 1600), 20_000_000
MARKS = sorted({round(10 ** (step / 8)) for step in range(20, 49)} | {50_000, 500_000})


def pieces(scale: float, data: str | None) -> list[Piece]:
    """Run every seed, then time each algorithm alone."""
    share = share_of_drawn(scale)
    rows, numbers = max(1000, round(ROWS * share)), max(100_000, round(TIMED_NUMBERS * share))
    runs = [
        Piece(f"asymptotics-seed{seed}", simulate, {"seed": seed, "rows": rows}, version=2)
        for seed in range(SEEDS)
    ]
    clocks = [
        Piece(
            f"asymptotics-times{width}",
            times,
            {"width": width, "rows": numbers // width},
            alone=True,
            version=2,
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
        for name, bank in banks.items():
            weights = bank.last_coef if STARTS[name] is None else bank.coef
            risks[name].append(_risk(weights[0]))
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
    few = min(rows, ROWS_ONE_BY_ONE)
    runs[ROW_BY_ROW] = lambda: _row_by_row(X[:few], y[:few])
    seconds: dict[str, float] = {}
    for _ in range(repeats):
        for name, run in runs.items():
            begin = time.process_time()
            run()
            taken = time.process_time() - begin
            taken *= rows / few if name == ROW_BY_ROW else 1.0
            seconds[name] = min(taken, seconds.get(name, taken))
    return {"width": width, "rows": rows, "timings": seconds}


def _row_by_row(X: Floats, y: Floats) -> Floats:
    """Keep the sums of batch up to date with every row, as its formula is written: O(N²) a row."""
    from scipy.linalg.blas import daxpy, dsyr

    products, sums = np.eye(X.shape[1], order="F"), np.zeros(X.shape[1])
    for x, target in zip(X, y, strict=True):
        products = dsyr(1.0, x, a=products, overwrite_a=True)
        sums = daxpy(x, sums, a=target)
    return np.asarray(np.linalg.solve(np.triu(products) + np.triu(products, 1).T, sums))


def draw(random: np.random.Generator, rows: int) -> tuple[Floats, Floats]:
    """Draw rows and their targets."""
    X = random.standard_normal((rows, len(CURVATURE))) * np.sqrt(CURVATURE)
    return X, X.sum(axis=1) + random.standard_normal(rows)


def _bank(name: str, width: int = 100) -> Bank:
    return Bank(
        loss="squared_error",
        alpha=0.0,
        schedule=RATES[name],
        averaging=Averaging(STARTS[name]),
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


def ratios(results: dict[str, Result], above: str, below: str) -> dict[int, Difference]:
    """Return one algorithm's excess risk over another's, by rows: the mean of the seeds."""
    rows, risks = _gather(results)
    return {t: mean_of(line) for t, line in zip(rows, risks[above] / risks[below], strict=True)}


def claims(results: dict[str, Result]) -> list[Claim]:
    """Compare with what the paper says of its Figure 2."""
    close = {name: ratios(results, name, "batch") for name in ("ASGD", FROM_ROW_0)}
    sgd = {name: ratios(results, "SGD", name) for name in ("ASGD", FROM_ROW_0)}
    at, last = int(number("about 10^4")), max(close["ASGD"])
    enough = last >= ROWS
    near = close["ASGD"][at].below(number("region")) if enough else None
    if near is False:
        later = any(value.mean <= number("region") for value in close["ASGD"].values())
        near = "weaker" if later else False
    return [
        Claim(
            "“after about 10⁴ examples, the accuracy of ASGD starts to be close to batch solution”",
            "section 6.2",
            "excess risk over batch's, with the start rule of section 5: "
            f"{_at(close['ASGD'])}; averaging from row 0: {_at(close[FROM_ROW_0])}",
            near,
            "asymptotics",
        ),
        Claim(
            "“while the solution of SGD remains more than 10 times worse than ASGD”",
            "section 6.2",
            f"SGD's excess risk over ASGD's: {_at(sgd['ASGD'])}, more than ten times from "
            f"{_ten_from(sgd['ASGD'])}; averaging from row 0: {_at(sgd[FROM_ROW_0])}, from "
            f"{_ten_from(sgd[FROM_ROW_0])}",
            remains(sgd["ASGD"]) if enough else None,
            "asymptotics",
        ),
        _faster(results),
    ]


def _at(ratio: dict[int, Difference]) -> str:
    shown: list[int] = [t for t in (10_000, 31_623, 100_000, 1_000_000) if t in ratio]
    shown = shown or [max(ratio)]
    return ", ".join(f"{ratio[t]} at {t:,} rows" for t in shown)


def _ten_from(ratio: dict[int, Difference]) -> str:
    ten = number("ten times")
    rows = [t for t in ratio if all(r.mean > ten for u, r in ratio.items() if u >= t)]
    return f"{rows[0]:,} rows on" if rows else "nowhere on"


def remains(ratio: dict[int, Difference]) -> Holds:
    """Judge all marks from the rows on that “about 10⁴” means: of the same rows ASGD is close."""
    ten = number("ten times")
    states = [r.below(ten) for t, r in ratio.items() if t >= number("about 10^4")]
    if True not in states:
        return True if "undecided" not in states else "undecided"
    return "weaker" if states[-1] is False else False


def _faster(results: dict[str, Result]) -> Claim:
    """Name both readings: operations a row, as the paper counts, and what a processor needs."""
    timed = {part["width"]: part["timings"] for part in _timed(results)}
    over = {
        name: {width: t[name] / t["ASGD"] for width, t in timed.items()}
        for name in ("batch", ROW_BY_ROW)
    }
    words = {
        name: ", ".join(f"{round(ratio, 1):,g} with {width:,}" for width, ratio in found.items())
        for name, found in over.items()
    }
    fast = [over[name][WIDTHS[0]] >= number("considerably") for name in over]
    return Claim(
        "“ASGD is considerably fast than batch method since ASGD only need O(N) computation per "
        "sample while batch method need O(N²) computation per sample”",
        "section 6.2",
        "processor time over ASGD's; read as written, batch keeping its sums row by row: "
        f"{words[ROW_BY_ROW]} features; read as a whole, batch as one product of matrices: "
        f"{words['batch']} features",
        True if all(fast) else ("weaker" if any(fast) else False),
        "table-asymptotics-times",
    )


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw Figure 2."""
    rows, risks = _gather(results)
    seeds = risks["batch"].shape[1]
    return [
        Figure(
            "asymptotics",
            "Least squares: one pass against the batch solution",
            "How far each answer is from the best possible one (left), and how many times as far "
            "as the exact solution of all rows so far (right, where 1 is as good as batch). Lines "
            f"are medians over {seeds} seeds, bands hold all of them. ASGD and SGD read each row "
            "once and forget it; ASGD begins to average by the rule of section 5, or from row 0.",
            risk_panels(rows, risks, _all),
            columns=2,
            paper="Figure 2",
        )
    ]


def _all(values: Floats) -> tuple[Floats, Floats, Floats]:
    return np.median(values, axis=1), values.min(axis=1), values.max(axis=1)


def tables(results: dict[str, Result]) -> list[Table]:
    """Return the means as numbers, and the times."""
    pairs = [("ASGD", "batch"), (FROM_ROW_0, "batch"), ("SGD", "ASGD"), ("SGD", FROM_ROW_0)]
    found = [ratios(results, above, below) for above, below in pairs]
    clocks = [
        [part["width"], name, 1e9 * taken / part["rows"], taken / seconds["ASGD"]]
        for part in _timed(results)
        for seconds in [part["timings"]]
        for name, taken in seconds.items()
    ]
    return [
        Table(
            "asymptotics",
            "Excess risk, compared",
            "Means over the seeds.",
            ["rows", *(f"{above} over {below}" for above, below in pairs)],
            [[t, *(ratio[t].mean for ratio in found)] for t in list(found[0])[::2]],
        ),
        Table(
            "asymptotics-times",
            "Time a row",
            "Processor time on one core, the best of three; drawing the rows is not counted. Batch "
            "is one product of matrices and one solution; “row by row” keeps its sums up to date "
            "with every row, as the formula reads. These figures differ from run to run.",
            ["features", "algorithm", "nanoseconds a row", "over ASGD's"],
            clocks,
        ),
    ]

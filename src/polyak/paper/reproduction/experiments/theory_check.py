"""The theory against simulation: Theorem 1's bound, and what it says of the learning rate.

The stochastic linear equation of section 2 is run many times over with noise of covariance ``S``,
and ``t E‖θ̄_t - θ*‖_A²`` is measured: on settings drawn at random, to see whether the bound of
`ThmLinearAvg` ever fails, and on the first experiment's problem, to see how tight it is. Least
squares on rows of one length shows where the learning rate of `LemmaMaxGamma` begins to diverge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.paper.reproduction.claims import Claim
from polyak.paper.reproduction.figures import Figure, Panel, Series
from polyak.paper.reproduction.pieces import Piece, Result
from polyak.paper.reproduction.tables import Table
from polyak.paper.theory import averaged_bound, largest_stable_rate, rows_to_asymptotics

TITLE = "The theory against simulation"
ABOUT = (
    "The paper proves a bound on the error of the averaged iterate after t rows, for a linear "
    "equation with noise. It has three parts: one that no algorithm can avoid, one for the falling "
    "learning rate, and one for the distance at the start. Here the equation is run many times "
    "over, and the error measured."
)

Floats = NDArray[np.float64]
SETTINGS, TIGHT_ROWS = 24, 100_000
RATES = (1.0, 1.5, 1.9, 2.1, 2.5, 3.0)
"""Learning rates to try, in units of ``1 / M``."""
FAR = 1e12  # who is as far away is not coming back


def pieces(scale: float, data: str | None) -> list[Piece]:
    """Draw settings, follow one for long, and try learning rates on either side of the limit."""
    runs, share = (400 if scale < 1 else 2000), min(1.0, 10 * scale)
    rows = max(100, round(3000 * share))
    found = [
        Piece(
            f"theory-setting{number}",
            random_setting,
            {"number": number, "runs": runs, "rows": rows},
        )
        for number in range(SETTINGS)
    ]
    for name, a, c in (("matched", 0.02, 2 / 3), ("too-fast", 1.0, 0.5)):
        long = max(1000, round(TIGHT_ROWS * share))
        parameters = {"a": a, "c": c, "rows": long, "runs": runs // 8}
        found.append(Piece(f"theory-{name}", first_problem, parameters))
    return [*found, Piece("theory-rates", rates, {"rows": max(500, rows)}, version=3)]


# -- simulation ------------------------------------------------------------------------------------


def simulate(
    A: Floats,
    S: Floats,
    delta0: Floats,
    rate: dict[str, float],
    marks: list[int],
    runs: int,
    random: np.random.Generator,
) -> tuple[list[float], list[float]]:
    """Run the stochastic linear equation, and give ``t E‖θ̄_t - θ*‖_A²`` and its standard error."""
    root = np.linalg.cholesky(S).T
    delta, total = np.tile(delta0, (runs, 1)), np.zeros((runs, len(A)))
    means, errors = [], []
    wanted = set(marks)
    for t in range(1, marks[-1] + 1):
        gamma = rate["gamma0"] * (1.0 + rate["a"] * rate["gamma0"] * t) ** -rate["c"]
        delta = delta - gamma * (delta @ A + random.standard_normal(delta.shape) @ root)
        total += delta
        if t in wanted:
            each = np.einsum("ij,ij->i", total @ A, total) / t  # t times that of the mean
            means.append(float(each.mean()))
            errors.append(float(each.std() / np.sqrt(runs)))
    return means, errors


def random_setting(number: int, runs: int, rows: int, dimensions: int = 6) -> Result:
    """Draw A, S, the start and the learning rate; compare the bound with the simulated error."""
    random = np.random.default_rng([20111110, number])
    A, S = _covariance(random, dimensions), _covariance(random, dimensions)
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
    marks = sorted({round(10**power) for power in np.arange(0.0, np.log10(rows) + 1e-9, 0.25)})
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


def first_problem(a: float, c: float, rows: int, runs: int) -> Result:
    """Follow the first experiment's problem, with ten of its hundred dimensions, for long."""
    random = np.random.default_rng(20111111)
    curvature = np.r_[np.ones(3), np.full(7, 0.02)]
    A, S, delta0 = np.diag(curvature), np.diag(curvature**2), np.ones(10)
    marks = sorted({round(10**power) for power in np.arange(1.0, np.log10(rows) + 1e-9, 0.125)})
    means, errors = simulate(A, S, delta0, {"gamma0": 1.0, "a": a, "c": c}, marks, runs, random)
    shown: dict[str, Any] = {"rows": marks, "simulated": means, "std_err": errors}
    if (2 * c - 1) * a < 0.02:
        bound = averaged_bound(marks, A, S, delta0, 1.0, a, c)
        shown |= {"asymptotic": bound.asymptotic, "decay": bound.decay, "start": bound.start}
    return shown | {"a": a, "c": c, "rows_needed": rows_to_asymptotics(0.02, 1.0, a, c)}


def rates(rows: int, runs: int = 20) -> Result:
    """Learn least squares from rows of one length at constant learning rates around ``2 / M``."""
    random = np.random.default_rng(20111112)
    dimensions, M = 5, 4.0
    marks = sorted({round(10**power) for power in np.arange(0.0, np.log10(rows) + 1e-9, 0.125)})
    curves = []
    for share in RATES:
        gamma = share / 2 * largest_stable_rate(M)
        delta, distances = np.ones((runs, dimensions)), []
        for t in range(1, rows + 1):
            x = random.standard_normal((runs, dimensions))
            x *= np.sqrt(M) / np.linalg.norm(x, axis=1, keepdims=True)
            noise = 0.1 * random.standard_normal((runs, 1))
            delta -= gamma * x * (np.einsum("ij,ij->i", x, delta)[:, None] - noise)
            if t in marks:
                distances.append(float(np.sqrt(np.square(delta).sum(axis=1).mean())))
                if distances[-1] > FAR:
                    break
        curves.append(distances)
    return {"shares": list(RATES), "rows": marks, "distances": curves}


def _covariance(random: np.random.Generator, dimensions: int) -> Floats:
    """Draw a covariance whose eigenvalues span a factor of up to a hundred."""
    axes = np.linalg.qr(random.standard_normal((dimensions, dimensions)))[0]
    values = 10.0 ** random.uniform(-2.0, 0.0, dimensions)
    drawn: Floats = (axes * values) @ axes.T
    return (drawn + drawn.T) / 2


# -- what it shows ---------------------------------------------------------------------------------


def _settings(results: dict[str, Result]) -> dict[str, Result]:
    return {name: r for name, r in results.items() if name.startswith("theory-setting")}


def claims(results: dict[str, Result]) -> list[Claim]:
    """Compare with what the paper proves."""
    settings = _settings(results)
    shares = [
        simulated / bound
        for r in settings.values()
        for simulated, bound in zip(r["simulated"], r["bound"], strict=True)
    ]
    matched, fast = results["theory-matched"], results["theory-too-fast"]
    limit = matched["asymptotic"][-1]
    tight = (limit + matched["decay"][-1] + matched["start"][-1]) / matched["simulated"][-1]
    reached = {name: _first_near(r, limit) for name, r in (("a", matched), ("b", fast))}
    last = matched["rows"][-1]
    return [
        Claim(
            "The error of the average never exceeds the bound.",
            "Theorem 1 (ThmLinearAvg)",
            f"{len(settings)} settings drawn at random, {len(shares)} measurements: the simulated "
            f"error is at most {max(shares):.3g} of the bound",
            max(shares) <= 1,
            "theory-settings",
        ),
        Claim(
            "With a = λ₀ the bound comes down to what no algorithm can avoid.",
            "Theorem 1 and its corollaries",
            f"after {last:,} rows the bound is {tight:.3g} times the simulated error",
            tight <= 2 if last >= 30_000 else None,
            "theory-terms",
        ),
        Claim(
            "With a = λ₀ averaging needs of the order of 1/(λ₀γ₀) rows; an a far above λ₀ "
            "delays it by far.",
            "corollaries of Theorem 1 (CorollarySampleSize2)",
            f"1/(λ₀γ₀) is {matched['rows_needed']:,.0f} rows, and the error is within twice its "
            f"limit {_after(reached['a'])}; for a = 50 λ₀, c = 1/2 the corollary says "
            f"{fast['rows_needed']:,.0f} rows, and it is {_after(reached['b'])}",
            (reached["a"] is not None and (reached["b"] or last) > 10 * reached["a"])
            if last >= 30_000
            else None,
            "theory-terms",
        ),
        _largest_rate(results["theory-rates"]),
    ]


def _largest_rate(found: Result) -> Claim:
    ends = [curve[-1] for curve in found["distances"]]
    distances = dict(zip(found["shares"], ends, strict=True))
    below = max(d for share, d in distances.items() if share < 2)
    above = min(d for share, d in distances.items() if share > 2)
    return Claim(
        "Least squares diverges if the learning rate is above 2/M.",
        "LemmaMaxGamma",
        f"after {found['rows'][-1]:,} rows the distance is below {below:.2g} up to 1.9/M, and "
        f"above {above:.2g} from 2.1/M on",
        below < 10 and above > 1e6,
        "theory-rates",
    )


def _first_near(result: Result, limit: float) -> int | None:
    pairs = list(zip(result["rows"], result["simulated"], strict=True))
    good = [t for t, _ in pairs if all(e <= 2 * limit for later, e in pairs if later >= t)]
    return good[0] if good else None


def _after(rows: int | None) -> str:
    return "not within this run" if rows is None else f"from {rows:,} rows on"


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw the bound and its terms, all settings, and the learning rates."""
    return [_terms(results), _all_settings(results), _rates(results["theory-rates"])]


def _terms(results: dict[str, Result]) -> Figure:
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
                    Series("bound of Theorem 1", rows, total, style="bound"),
                    Series("unavoidable part", rows, r["asymptotic"], style="batch"),
                    Series("falling learning rate", rows, r["decay"], style="Pegasos"),
                    Series("start", rows, r["start"], style="SGD-QN"),
                ],
                x_log=True,
                y_log=True,
                y_range=(min(r["asymptotic"]) / 20, max(total) * 2),
            )
        )
    return Figure(
        "theory-terms",
        "The bound and its three parts",
        "The mean squared error of the averaged iterate, times the number of rows, so that the "
        "best possible is a level line (dotted). The bound adds to it a part for the falling "
        "learning rate and one for the distance at the start. Left: with the learning rate that "
        "the paper proposes both vanish soon. Right: with a decay fifty times as fast they are "
        "still there after 100,000 rows. Ten dimensions, three of curvature 1 and seven of 0.02.",
        panels,
        columns=2,
    )


def _all_settings(results: dict[str, Result]) -> Figure:
    lines = [
        Series(
            "simulated error over its bound",
            r["rows"],
            [s / b for s, b in zip(r["simulated"], r["bound"], strict=True)],
            style="one of many",
        )
        for r in _settings(results).values()
    ]
    return Figure(
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


def _rates(result: Result) -> Figure:
    lines = [
        Series(f"{share:g}/M", result["rows"][: len(curve)], curve, style=f"rate {share:g}")
        for share, curve in zip(result["shares"], result["distances"], strict=True)
    ]
    return Figure(
        "theory-rates",
        "Where the learning rate begins to diverge",
        "The distance from the answer of least squares, all rows being equally long, M being their "
        "squared norm: one line a learning rate, the root of the mean square over 20 runs. "
        "Theory says that 2/M is the limit. Lines end once they are hopeless.",
        [
            Panel(
                "",
                "rows",
                "distance from the answer",
                lines,
                x_log=True,
                y_log=True,
                y_range=(0.05, 10 * FAR),
            )
        ],
    )


def tables(results: dict[str, Result]) -> list[Table]:
    """List the settings."""
    rows = []
    for number, r in enumerate(_settings(results).values()):
        shares = [s / b for s, b in zip(r["simulated"], r["bound"], strict=True)]
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

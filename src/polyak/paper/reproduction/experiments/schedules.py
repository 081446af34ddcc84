"""The paper's first experiment: what the learning rate's schedule does to averaging (Figure 1).

The problem is to find the mean of ``x``, normal with zero mean and unit covariance, by minimising
``E (θ - x)ᵀ A (θ - x) / 2``, where ``A`` has three eigenvalues of 1 and ninety-seven of 0.02. The
answer is ``θ* = 0``, the excess risk ``θᵀ A θ``, and the batch solution the mean of the rows. No
coordinate knows of another, so ``A`` is diagonal here. The paper does not say where it starts; we
start one away from the answer in every coordinate, and average from the first row on.

The excess risk after ``t`` rows is measured as its mean over the last tenth of them: that of a
single iterate of SGD jumps up and down by a factor of ten.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.paper.reproduction.claims import Claim
from polyak.paper.reproduction.experiments.risk_panels import risk_panels
from polyak.paper.reproduction.figures import Figure
from polyak.paper.reproduction.pieces import Piece, Result
from polyak.paper.reproduction.tables import Table

Floats = NDArray[np.float64]
TITLE = "The schedule decides when averaging pays"
ABOUT = (
    "A problem of 100 dimensions whose curvature is 1 along three of them and 0.02 along the "
    "others. Four ways to solve it see the same rows: averaged stochastic gradient descent with "
    "the learning rate that the theory proposes (ASGD) and with one that looks harmless "
    "(ASGD_BAD), plain stochastic gradient descent (SGD), and the best that can be computed from "
    "all rows so far (batch)."
)

CURVATURE = np.r_[np.ones(3), np.full(97, 0.02)]
RATES = {"ASGD": (0.02, 2 / 3), "ASGD_BAD": (1.0, 1 / 2), "SGD": (0.02, 1.0)}
"""Each algorithm's ``a`` and ``c``; the learning rate of row ``t`` is ``(1 + a t) ** -c``."""

ROWS, SEEDS, SEEDS_A_PIECE, BLOCK = 1_000_000, 10, 5, 2_500
PER_DECADE, FIRST = 8, 100
LOOKS = 20  # at so many rows of the last tenth the risk is measured


def pieces(scale: float, data: str | None) -> list[Piece]:
    """Draw seeds a few at a time. It is cheap: a tenth of the scale already is the whole."""
    rows = max(FIRST * 10, round(ROWS * min(1.0, 10 * scale)))
    return [
        Piece(f"schedules-seeds{first}", simulate, {"first": first, "rows": rows}, version=2)
        for first in range(0, SEEDS, SEEDS_A_PIECE)
    ]


def simulate(first: int, rows: int, seeds: int = SEEDS_A_PIECE) -> Result:
    """Run all algorithms on the same rows, and measure the excess risk now and then."""
    randoms = [np.random.default_rng([20111107, seed]) for seed in range(first, first + seeds)]
    marks = marks_up_to(rows)
    looks = {row: mark for mark in marks for row in rows_before(mark)}
    a, c = (np.array(column) for column in zip(*RATES.values(), strict=True))
    theta = np.ones((len(RATES), seeds, len(CURVATURE)))
    total, before = np.zeros_like(theta), np.zeros((seeds, len(CURVATURE)))
    found: dict[int, list[Floats]] = {mark: [] for mark in marks}
    for begin in range(0, rows, BLOCK):
        x = np.stack([random.standard_normal((BLOCK, len(CURVATURE))) for random in randoms], 1)
        so_far = before + np.cumsum(x, axis=0)
        t = begin + 1.0 + np.arange(BLOCK)
        # How much each coordinate forgets of itself at a row; it takes as much from the row.
        share = ((1.0 + a * t[:, None]) ** -c)[:, :, None, None] * CURVATURE
        for i in range(min(BLOCK, rows - begin)):
            theta += share[i] * (x[i] - theta)
            total += theta
            row = begin + i + 1
            if row in looks:
                # SGD, the last, is not averaged; batch comes after it.
                answers = np.concatenate([total[:-1] / row, theta[-1:], so_far[i : i + 1] / row])
                found[looks[row]].append(np.square(answers) @ CURVATURE)
        before = so_far[-1]
    risks = [np.mean(found[mark], axis=0) for mark in marks]
    names = [*RATES, "batch"]
    return {"rows": marks, "risks": {n: [risk[i] for risk in risks] for i, n in enumerate(names)}}


def marks_up_to(rows: int) -> list[int]:
    """List the numbers of rows after which to measure, eight to each power of ten.

    Examples
    --------
    >>> marks_up_to(200)
    [100, 133, 178]
    """
    steps = range(round(PER_DECADE * np.log10(FIRST)), int(PER_DECADE * np.log10(rows) + 1e-9) + 1)
    return [round(10 ** (step / PER_DECADE)) for step in steps]


def rows_before(mark: int) -> list[int]:
    """List some rows of the last tenth before a mark, which is the last of them.

    Examples
    --------
    >>> rows_before(100)
    [91, 92, 93, 94, 95, 96, 97, 98, 99, 100]
    """
    return sorted({mark - (mark * k) // (10 * LOOKS) for k in range(LOOKS)})


# -- what it shows ---------------------------------------------------------------------------------


def _gather(results: dict[str, Result]) -> tuple[list[int], dict[str, Any]]:
    """Put the seeds of all pieces side by side: each algorithm's risks, a row a mark."""
    parts = list(results.values())
    risks = {
        name: np.hstack([np.array(part["risks"][name]) for part in parts])
        for name in parts[0]["risks"]
    }
    return parts[0]["rows"], risks


def ratios(results: dict[str, Result], seeds: int | None = None) -> tuple[list[int], Any]:
    """Give each algorithm's excess risk over batch's: the median over the (first) seeds."""
    rows, risks = _gather(results)
    batch = risks["batch"][:, :seeds]
    return rows, {n: np.median(risks[n][:, :seeds] / batch, axis=1) for n in RATES}


def claims(results: dict[str, Result]) -> list[Claim]:
    """Compare with what the paper says of its Figure 1."""
    rows, median = ratios(results)
    ratio = {name: dict(zip(rows, values, strict=True)) for name, values in median.items()}
    where = "section 6.1, Figure 1"
    last = rows[-1]

    def first_below(name: str, limit: float) -> int | None:
        good = [t for t in rows if all(ratio[name][later] <= limit for later in rows if later >= t)]
        return good[0] if good else None

    asgd, bad = first_below("ASGD", 2.0), first_below("ASGD_BAD", 4.0)
    enough = last >= 300_000
    return [
        Claim(
            "With the proposed schedule a few thousand rows bring averaging close to batch.",
            where,
            _when("ASGD", 2.0, asgd, last),
            asgd <= 10_000 if asgd is not None else (False if last >= 10_000 else None),
            "schedules",
        ),
        Claim(
            "With the other schedule it takes hundreds of thousands of rows.",
            where,
            _when("ASGD_BAD", 4.0, bad, last),
            (bad is not None and 100_000 <= bad < last) if enough else None,
            "schedules",
        ),
        Claim(
            "Both averages end up better than plain SGD and close to batch.",
            where,
            f"after {last:,} rows ASGD is at {ratio['ASGD'][last]:.3g}, ASGD_BAD at "
            f"{ratio['ASGD_BAD'][last]:.3g} and SGD at {ratio['SGD'][last]:.3g} times batch",
            max(ratio["ASGD"][last], ratio["ASGD_BAD"][last]) < min(3.0, ratio["SGD"][last])
            if enough
            else None,
            "schedules",
        ),
    ]


def _when(name: str, limit: float, row: int | None, last: int) -> str:
    if row is None:
        return f"{name} is not yet within {limit:g} times batch's excess risk at {last:,} rows"
    return f"{name} stays within {limit:g} times batch's excess risk from {row:,} rows on"


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw Figure 1, and the same relative to batch."""
    rows, risks = _gather(results)
    seeds = risks["batch"].shape[1]
    return [
        Figure(
            "schedules",
            "Excess risk under three learning rates",
            "How far each answer is from the best possible one (left) and from the best that the "
            "same rows allow (right, where 1 is as good as batch), after so many rows; each point "
            f"is the mean over the last tenth of them. Lines are medians over {seeds} seeds, bands "
            "hold the middle half of them. ASGD and ASGD_BAD average the same kind of iterates "
            "and differ only in the learning rate: "
            "(1 + 0.02 t) to the power −2/3 against (1 + t) to the power −1/2. SGD uses "
            "(1 + 0.02 t) to the power −1.",
            risk_panels(rows, risks, _quarters),
            columns=2,
        )
    ]


def _quarters(values: Floats) -> tuple[Floats, Floats, Floats]:
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=1)
    return middle, low, high


def tables(results: dict[str, Result]) -> list[Table]:
    """Give the medians as numbers, over all seeds and over the first five."""
    rows, median = ratios(results)
    _, five = ratios(results, 5)
    names = list(RATES)
    seeds = _gather(results)[1]["batch"].shape[1]
    return [
        Table(
            "schedules",
            "Excess risk over batch's",
            f"Medians over all {seeds} seeds, and over the first five of them.",
            ["rows", *(f"{n}, {seeds} seeds" for n in names), *(f"{n}, 5 seeds" for n in names)],
            [
                [t, *(float(median[n][i]) for n in names), *(float(five[n][i]) for n in names)]
                for i, t in enumerate(rows)
                if i % 2 == 0
            ],
        )
    ]

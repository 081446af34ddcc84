"""The paper's first experiment: what the learning rate's schedule does to averaging (Figure 1).

The problem is to find the mean of ``x``, normal with zero mean and unit covariance, where ``A`` has
three eigenvalues of 1 and ninety-seven of 0.02. The paper minimises ``E (θ - x)ᵀ A (θ - x)``, whose
gradient is ``2 A (θ - x)``; much of its theory is for gradients ``A (θ - x)``, which half of that
objective has. Both are run. The answer is ``θ* = 0``, the excess risk ``θᵀ A θ``, and the batch
solution the mean of the rows. No coordinate knows of another, so ``A`` is diagonal here. The paper
does not say where it starts; we start one away from the answer in every coordinate, and average
from the first row on.

The excess risk after ``t`` rows is measured as its mean over the last tenth of them: that of a
single iterate of SGD jumps up and down by a factor of ten.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.claims import Claim, Holds
from reproduction.experiments.risk_panels import risk_panels
from reproduction.figures import Figure
from reproduction.paired import Difference, difference, mean_of
from reproduction.pieces import Piece, Result, share_of_drawn
from reproduction.tables import Table
from reproduction.thresholds import number

Floats = NDArray[np.float64]
TITLE = "The schedule decides when averaging pays"
ABOUT = (
    "A problem of 100 dimensions whose curvature is 1 along three of them and 0.02 along the "
    "others. Four ways to solve it see the same rows: averaged stochastic gradient descent with "
    "the learning rate that the theory proposes (ASGD) and with one that looks harmless "
    "(ASGD_BAD), plain stochastic gradient descent (SGD), and the best that can be computed from "
    "all rows so far (batch). The paper's objective has the gradient 2A(θ − x); one with half of "
    "it, A(θ − x), is run too, since the learning rates are those of the theory for that one."
)

CURVATURE = np.r_[np.ones(3), np.full(97, 0.02)]
OBJECTIVES = {"gradient 2A": 2.0, "gradient A": 1.0}
"""How the gradient is ``A (θ - x)`` times a number: the paper's objective, and half of it."""
RATES = {"ASGD": (0.02, 2 / 3), "ASGD_BAD": (1.0, 1 / 2), "SGD": (0.02, 1.0)}
"""Each algorithm's ``a`` and ``c``; the learning rate of row ``t`` is ``(1 + a t) ** -c``."""
AVERAGES = ("ASGD", "ASGD_BAD")

ROWS, SEEDS, SEEDS_A_PIECE, BLOCK = 1_000_000, 10, 5, 2_500
PER_DECADE, FIRST = 8, 100
LOOKS = 20  # the number of rows in the last tenth at which the risk is measured


def pieces(scale: float, data: str | None) -> list[Piece]:
    """Draw seeds a few at a time."""
    rows = max(FIRST * 10, round(ROWS * share_of_drawn(scale)))
    return [
        Piece(f"schedules-seeds{first}", simulate, {"first": first, "rows": rows}, version=3)
        for first in range(0, SEEDS, SEEDS_A_PIECE)
    ]


def simulate(first: int, rows: int, seeds: int = SEEDS_A_PIECE) -> Result:
    """Run all algorithms on the same rows, and measure the excess risk now and then."""
    randoms = [np.random.default_rng([20111107, seed]) for seed in range(first, first + seeds)]
    marks = marks_up_to(rows)
    looks = {row: mark for mark in marks for row in rows_before(mark)}
    a, c = (np.array(column) for column in zip(*RATES.values(), strict=True))
    factor = np.repeat(list(OBJECTIVES.values()), len(RATES))
    a, c = np.tile(a, len(OBJECTIVES)), np.tile(c, len(OBJECTIVES))
    averaged = np.tile([name != "SGD" for name in RATES], len(OBJECTIVES))[:, None, None]
    theta = np.ones((len(factor), seeds, len(CURVATURE)))
    total, before = np.zeros_like(theta), np.zeros((seeds, len(CURVATURE)))
    found: dict[int, list[Floats]] = {mark: [] for mark in marks}
    for begin in range(0, rows, BLOCK):
        x = np.stack([random.standard_normal((BLOCK, len(CURVATURE))) for random in randoms], 1)
        so_far = before + np.cumsum(x, axis=0)
        t = begin + 1.0 + np.arange(BLOCK)
        # How much each coordinate forgets of itself at a row; it takes as much from the row.
        share = (factor * (1.0 + a * t[:, None]) ** -c)[:, :, None, None] * CURVATURE
        for i in range(min(BLOCK, rows - begin)):
            theta += share[i] * (x[i] - theta)
            total += theta
            row = begin + i + 1
            if row in looks:
                answers = np.where(averaged, total / row, theta)
                answers = np.concatenate([answers, so_far[i : i + 1] / row])  # batch is the last
                found[looks[row]].append(np.square(answers) @ CURVATURE)
        before = so_far[-1]
    risks = np.array([np.mean(found[mark], axis=0) for mark in marks])
    return {
        "rows": marks,
        "risks": {
            objective: {
                **{n: risks[:, place * len(RATES) + i].tolist() for i, n in enumerate(RATES)},
                "batch": risks[:, -1].tolist(),
            }
            for place, objective in enumerate(OBJECTIVES)
        },
    }


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


def _gather(results: dict[str, Result], objective: str) -> tuple[list[int], dict[str, Any]]:
    """Put the seeds of all pieces side by side: each algorithm's risks, a row a mark."""
    parts = list(results.values())
    risks = {
        name: np.hstack([np.array(part["risks"][objective][name]) for part in parts])
        for name in parts[0]["risks"][objective]
    }
    return parts[0]["rows"], risks


def ratios(results: dict[str, Result], objective: str = "gradient 2A") -> tuple[list[int], Any]:
    """Return excess risks relative to batch: the mean over seeds and its error at each mark."""
    rows, risks = _gather(results, objective)
    batch = risks["batch"]
    return rows, {n: [mean_of(line) for line in risks[n] / batch] for n in RATES}


def stays_within(rows: list[int], values: list[Difference], limit: float) -> int | None:
    """Return the number of rows from which means stay below a limit."""
    beyond = [i for i, value in enumerate(values) if value.mean > limit]
    after = beyond[-1] + 1 if beyond else 0
    return rows[after] if after < len(rows) else None


def claims(results: dict[str, Result]) -> list[Claim]:
    """Compare with what the paper says of its Figure 1, for each objective apart."""
    found = {objective: ratios(results, objective) for objective in OBJECTIVES}
    when = {objective: reached(*one) for objective, one in found.items()}
    claims = []
    for objective, (rows, one) in found.items():
        where = f"section 6.1, {objective}"
        claims += [
            Claim(
                "“it takes only a few thousands example for ASGD to get to the asymptotic region”",
                where,
                f"ASGD {_when(when[objective]['ASGD'], rows)}",
                within(rows, one["ASGD"]),
                "schedules",
            ),
            Claim(
                "“while it takes hundreds of thousands of examples for ASGD_BAD”",
                where,
                f"ASGD_BAD {_when(when[objective]['ASGD_BAD'], rows)}"
                + _times(when[objective], ", {} times as many as ASGD"),
                not_before(rows, one["ASGD_BAD"], when[objective]),
                "schedules",
            ),
            _eventually(rows, one, _gather(results, objective)[1], where),
        ]
    return [*claims, _huge(when, found["gradient 2A"][0])]


def reached(rows: list[int], values: dict[str, list[Difference]]) -> dict[str, int | None]:
    """Return the row from which each average stays in the asymptotic region."""
    return {name: stays_within(rows, values[name], number("region")) for name in AVERAGES}


def _at(rows: list[int], values: list[Difference], at: float) -> Difference | None:
    later = [value for t, value in zip(rows, values, strict=True) if t >= 0.999 * at]
    return later[0] if later else None


def within(rows: list[int], values: list[Difference]) -> Holds:
    """Judge whether the asymptotic region is reached within a few thousand rows."""
    ratio = _at(rows, values, number("few thousands"))
    if ratio is None:
        return None
    state = ratio.below(number("region"))
    later = stays_within(rows, values, number("region")) is not None
    return ("weaker" if later else False) if state is False else state


def not_before(rows: list[int], values: list[Difference], when: dict[str, int | None]) -> Holds:
    """Judge whether it takes hundreds of thousands; if fewer, but far more than ASGD, it is weaker.

    The sentence compares the two averages.
    """
    ratio = _at(rows, values, number("hundreds of thousands"))
    if ratio is None or rows[-1] < 999_999:
        return None
    state = ratio.below(number("region"))
    if state is False:
        return True if when["ASGD_BAD"] is not None else "weaker"
    far = when["ASGD"] and (when["ASGD_BAD"] or rows[-1]) >= number("huge") * when["ASGD"]
    return "undecided" if state == "undecided" else ("weaker" if far else False)


def _huge(when: dict[str, dict[str, int | None]], rows: list[int]) -> Claim:
    known = [w["ASGD_BAD"] / w["ASGD"] for w in when.values() if w["ASGD"] and w["ASGD_BAD"]]
    words = [f"{o}{_times(found, ': {} times as many rows')}" for o, found in when.items()]
    told = rows[-1] >= 999_999 and len(known) == len(when)
    return Claim(
        "“This huge difference illustrates the significant role of learning rate scheduling for "
        "ASGD”",
        "section 6.1",
        "until it stays in the asymptotic region ASGD_BAD takes more than ASGD; "
        + "; ".join(words),
        min(known) >= number("huge") if told else None,
        "schedules",
    )


def _eventually(rows: list[int], one: Any, risks: Any, where: str) -> Claim:
    last = {name: one[name][-1] for name in RATES}
    beats = [difference(risks[name][-1], risks["SGD"][-1]).word for name in AVERAGES]
    near = [last[name].below(number("region")) for name in AVERAGES]
    holds: Holds = None
    if rows[-1] >= 999_999:
        if beats == ["better", "better"]:
            holds = True if near == [True, True] else "weaker"
            holds = "undecided" if "undecided" in near and False not in near else holds
        else:
            holds = "undecided" if "worse" not in beats else False
    return Claim(
        "“both ASGD and ASGD_BAD eventually outperforms SGD and come close to the batch method”",
        where,
        f"excess risk over batch's after {rows[-1]:,} rows: "
        + ", ".join(f"{name} {last[name]}" for name in RATES),
        holds,
        "schedules",
    )


def _when(row: int | None, rows: list[int]) -> str:
    words = f"from {row:,} rows on" if row else f"not by {rows[-1]:,} rows"
    return f"stays within {number('region'):g} times batch's excess risk {words}"


def _times(when: dict[str, int | None], words: str) -> str:
    if not when["ASGD"] or not when["ASGD_BAD"]:
        return ""
    return words.format(f"{when['ASGD_BAD'] / when['ASGD']:,.0f}")


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw Figure 1 for both objectives, and the same relative to batch."""
    panels = []
    for objective in OBJECTIVES:
        rows, risks = _gather(results, objective)
        for panel in risk_panels(rows, risks, _quarters):
            panels.append(replace(panel, title=f"{panel.title}, {objective}"))
    seeds = risks["batch"].shape[1]
    return [
        Figure(
            "schedules",
            "ASGD with the proposed learning rate and with an arbitrary one",
            "How far each answer is from the best possible one (left) and from the best that the "
            "same rows allow (right, where 1 is as good as batch), after so many rows; each point "
            f"is the mean over the last tenth of them. Lines are medians over {seeds} seeds, bands "
            "hold the middle half of them. Above with the paper's objective, below with half of "
            "it. ASGD and ASGD_BAD average the same kind of iterates and differ only in the "
            "learning rate: (1 + 0.02 t) to the power −2/3 against (1 + t) to the power −1/2. SGD "
            "uses (1 + 0.02 t) to the power −1.",
            panels,
            columns=2,
            paper="Figure 1",
        )
    ]


def _quarters(values: Floats) -> tuple[Floats, Floats, Floats]:
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=1)
    return middle, low, high


def tables(results: dict[str, Result]) -> list[Table]:
    """Return the ratios as numbers, and what each objective makes of the text's numbers."""
    both = {objective: ratios(results, objective) for objective in OBJECTIVES}
    rows = both["gradient 2A"][0]
    return [
        Table(
            "schedules",
            "Excess risk over batch's",
            "Means over the seeds, for the paper's objective (gradient 2A) and for half of it.",
            ["rows", *(f"{n}, {o.split()[1]}" for o in OBJECTIVES for n in RATES)],
            [
                [t, *(both[o][1][n][i].mean for o in OBJECTIVES for n in RATES)]
                for i, t in enumerate(rows)
                if i % 2 == 0
            ],
        ),
        Table(
            "schedules-readings",
            "Which objective gives the numbers of the text",
            "The objective as it is printed, E (θ−x)ᵀA(θ−x), has the gradient 2A(θ−x), for which "
            "γ₀λ₁ is 2 and the flattest curvature 0.04. The learning rate of ASGD is the proposed "
            "one, a = λ₀ and γ₀λ₁ = 1, if the gradient is A(θ−x): then both numbers of the text "
            "come out. Rows from which on the excess risk stays within twice batch's.",
            ["the text", *OBJECTIVES],
            [
                [words, *(reached(*both[o])[name] for o in OBJECTIVES)]
                for words, name in (
                    ("ASGD: “only a few thousands”", "ASGD"),
                    ("ASGD_BAD: “hundreds of thousands”", "ASGD_BAD"),
                )
            ],
        ),
    ]

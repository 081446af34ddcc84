"""The paper's Tables 1 and 2 beside what is here, and what was measured in numbers."""

from __future__ import annotations

from typing import Any

from reproduction.datasets import MORE_SETS, PAPER_SETS
from reproduction.datasets.stand_ins import KINDS
from reproduction.experiments.benchmark_results import (
    Contest,
    contests_of,
    sets_of,
    times_of,
)
from reproduction.experiments.contest import ALGORITHMS, LOSS_TITLES, NEAR, PAPERS
from reproduction.pieces import Result
from reproduction.tables import Table

KNOWN = {**PAPER_SETS, **MORE_SETS}
STREAMING = [name for name in ALGORITHMS if name != "LIBLINEAR"]


def tables(results: dict[str, Result]) -> list[Table]:
    """Return the sets, the errors and costs after one pass, comparisons, and seconds."""
    every = sets_of(results)
    ordered = [every[name] for name in KNOWN if name in every]
    contests = [contest for result in ordered for contest in contests_of(result)]
    return [
        _sets(ordered),
        Table(
            "benchmarks-errors",
            "Test error after one pass, in per cent",
            "Medians over the orders of the rows. dna, where few rows are positive, is judged by "
            "what average precision leaves to 100%. “diverged” means that the weights had "
            f"overflowed. {NEAR} has a near the true λ₀ instead of λ; “auto” is polyak's default "
            f"recipe with the same penalty. {_left_out(contests)}",
            ["set", "loss", *ALGORITHMS],
            [_line(contest, "error", 100.0) for contest in contests],
        ),
        Table(
            "benchmarks-paired",
            "ASGD against each: paired differences of the test error, in points",
            "After one pass, ASGD's error less the other's on the same rows in the same order: the "
            "mean over the orders and its standard error. Within two of them it is a tie (=); "
            "clearly better is +, clearly worse −.",
            ["set", "loss", "orders", *ALGORITHMS[1:]],
            [_paired(contest) for contest in contests],
        ),
        Table(
            "benchmarks-costs",
            "Test cost after one pass",
            "The mean loss of a test row and the penalty; medians over the orders.",
            ["set", "loss", *ALGORITHMS],
            [_line(contest, "cost", 1.0) for contest in contests],
        ),
        _ranks(contests),
        _movement(contests),
        _seconds(results),
        _sooner(contests),
    ]


def _sets(ordered: list[Result]) -> Table:
    rows = []
    for result in ordered:
        about, paper = result["about"], KNOWN[result["about"]["name"]]
        found = result["losses"]["squared_hinge"]
        mine = about["name"] in MORE_SETS
        kind = KINDS[about["name"]] if about["form"] == "stand-in" else about["form"]
        longest, n = about["longest"], about["rows"]
        rows.append(
            [
                about["title"],
                kind,
                _both(n, None if mine else paper.n_train),
                _both(about["test_rows"], None if mine else paper.n_test),
                _both(about["features"], None if mine else paper.n_features),
                paper.alpha,
                _both(_rounded(longest), None if mine else paper.longest),
                _both(found["start"], paper.start),
                _rounded(found["lambda0"]),
                _rounded(longest / (paper.alpha * n)),
                _rounded(longest / (found["lambda0"] * n)),
            ]
        )
    return Table(
        "benchmarks-sets",
        "The data sets",
        "Here / in the paper. M is the greatest ‖x‖² of the first thousand rows, t₀ the row after "
        "which ASGD began to average with the squared hinge, λ₀ our estimate of the smallest "
        "eigenvalue that counts. The last two columns are 1/(aγ₀) in passes over the set, for "
        "a = λ and a = λ₀: where the first is far above one, the paper's own corollary says that "
        "one pass is too short for a = λ. A stand-in is not the real set; its kind of generator "
        "is named.",
        ["set", "data", "rows", "test rows", "features", "λ", "M", "t₀", "λ₀", "a = λ", "a = λ₀"],
        rows,
        paper="Tables 1 and 2",
    )


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _left_out(contests: list[Contest]) -> str:
    """Return the explanation of the dashes."""
    words = ["LIBLINEAR's dual coordinate descent has no logistic loss (–)."]
    for contest in contests:
        for name, why in contest.found["skipped"].items():
            if contest.loss != "log_loss":
                where = f"{contest.title}, {LOSS_TITLES[contest.loss]}"
                words.append(f"{name} was left out on {where}: it {why}.")
    return " ".join(words)


def _both(here: Any, paper: Any) -> str:
    words = [f"{value:,.7g}" if value is not None else "–" for value in (here, paper)]
    return words[0] if paper is None else " / ".join(words)


def _line(contest: Contest, what: str, unit: float) -> list[Any]:
    cells: list[Any] = []
    for name in ALGORITHMS:
        value = contest.median(name, what)
        if name not in contest.names:
            cells.append("–")
        else:
            cells.append("diverged" if value is None else float(f"{value * unit:.4g}"))
    return [contest.title, LOSS_TITLES[contest.loss], *cells]


def _paired(contest: Contest) -> list[Any]:
    cells = []
    for name in ALGORITHMS[1:]:
        if name not in contest.names:
            cells.append("–")
            continue
        found = contest.against(name)
        mark = {"better": "+", "worse": "−", "ties": "="}[found.word]
        numbers = f"{100 * found.mean:.2f} ± {100 * found.error:.2f}"
        cells.append(f"{mark} {numbers if abs(found.mean) < 1 else 'diverged'}")
    orders = len(contest.found["orders"])
    return [contest.title, LOSS_TITLES[contest.loss], orders, *cells]


def _ranks(contests: list[Contest]) -> Table:
    rows = []
    for contest in contests:
        costs = {n: contest.median(n, "cost") for n in contest.names}
        known = {name: cost for name, cost in costs.items() if cost is not None}
        places = []
        for name in ("ASGD", NEAR, "auto"):
            field = {n: c for n, c in known.items() if n in PAPERS[1:] or n == name}
            place = (
                1 + sum(cost < known[name] for cost in field.values()) if name in known else None
            )
            places.append("–" if place is None else f"{place} of {len(field)}")
        best = min(known, key=known.__getitem__)
        rows.append([contest.title, LOSS_TITLES[contest.loss], *places, best, known[best]])
    return Table(
        "benchmarks-ranks",
        "Our own measurement: places by test cost after one pass",
        "The paper does not speak of places. Each is placed among the paper's other five, by the "
        "median cost.",
        ["set", "loss", "ASGD", NEAR, "auto", "lowest of all", "its cost"],
        rows,
    )


def _movement(contests: list[Contest]) -> Table:
    rows: list[list[Any]] = []
    for contest in contests:
        moves = [contest.movement(name) for name in STREAMING]
        cells = ["diverged" if m is None else float(f"{100 * m:.3g}") for m in moves]
        rows.append([contest.title, LOSS_TITLES[contest.loss], *cells])
    return Table(
        "benchmarks-movement",
        "How much test errors move, in points",
        "The mean change between measurements a quarter of a pass apart, from half a pass on, over "
        "all orders of the rows. LIBLINEAR can be asked after whole passes only.",
        ["set", "loss", *STREAMING],
        rows,
    )


def _sooner(contests: list[Contest]) -> Table:
    rows = []
    for contest in contests:
        found = [contest.near_the_best_of(name) for name in STREAMING[1:]]
        cells = ["diverged" if pair is None else " / ".join(map(_time, pair)) for pair in found]
        rows.append([contest.title, LOSS_TITLES[contest.loss], *cells])
    return Table(
        "benchmarks-sooner",
        "Seconds until the test error is near another's lowest: ASGD's / the other's",
        "Near is at most 1.05 times the lowest median error that the other reaches in two passes; "
        "the processor's time for learning, from medians over the orders. A dash: not in two "
        "passes.",
        ["set", "loss", *STREAMING[1:]],
        rows,
    )


def _time(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.2g}"


def _seconds(results: dict[str, Result]) -> Table:
    rows = []
    for result in times_of(results).values():
        seconds = result["timings"]
        cells = [float(f"{seconds[n]:.3g}") if n in seconds else "–" for n in ALGORITHMS]
        rows.append([result["about"]["title"], result["about"]["rows"], *cells])
    return Table(
        "benchmarks-seconds",
        "Seconds of learning for one pass",
        "The processor's time, squared hinge, one thread, nothing else running, the best of three; "
        "LIBLINEAR with one outer iteration, its conversion of the rows included.",
        ["set", "rows", *ALGORITHMS],
        rows,
    )

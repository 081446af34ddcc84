"""The paper's Tables 1 and 2 beside what is here, and what was measured in numbers."""

from __future__ import annotations

from typing import Any

from polyak.paper.datasets import PAPER_SETS
from polyak.paper.reproduction.experiments.benchmark_figures import split
from polyak.paper.reproduction.experiments.contest import ALGORITHMS, LOSS_TITLES
from polyak.paper.reproduction.pieces import Result
from polyak.paper.reproduction.tables import Table

_HEADS = ["set", "data", "rows", "rows, paper", "test rows", "test rows, paper", "features"]
_HEADS += ["features, paper", "λ", "M", "M, paper", "t₀", "t₀, paper", "positive rows"]


def tables(results: dict[str, Result]) -> list[Table]:
    """Give the sets, the errors and costs after one pass, and the seconds it took."""
    timed, others = split(results)
    every = [*(r for name, r in timed.items() if name not in others), *others.values()]
    seconds = [
        [r["about"]["title"], *(_seconds_of_a_pass(r, name) for name in ALGORITHMS)]
        for r in timed.values()
    ]
    return [
        Table(
            "benchmarks-sets",
            "The data sets",
            "What the paper's Tables 1 and 2 say, and what was used and found here. M is the "
            "greatest ‖x‖² of the first thousand rows, t₀ the row after which ASGD began to "
            "average with the squared hinge. A stand-in is not the real set.",
            _HEADS,
            [_set_row(timed.get(name) or others[name]) for name in PAPER_SETS],
        ),
        Table(
            "benchmarks-errors",
            "Test error after one pass, in per cent",
            "The paper's six algorithms and our default. On covtype, rcv1 and mnist9 these are "
            "medians over several orders of the rows. “diverged” means that the weights had "
            "overflowed.",
            ["set", "loss", *ALGORITHMS],
            _after_one_pass(every, "error", 100.0),
        ),
        Table(
            "benchmarks-costs",
            "Test cost after one pass",
            "The mean loss of a test row and the penalty.",
            ["set", "loss", *ALGORITHMS],
            _after_one_pass(every, "cost", 1.0),
        ),
        Table(
            "benchmarks-seconds",
            "Seconds of learning for the first pass",
            "The processor's time; squared hinge, one thread, nothing else running; LIBLINEAR with "
            "one outer iteration, its conversion of the rows included. One run each: small "
            "differences mean little.",
            ["set", *ALGORITHMS],
            seconds,
        ),
    ]


def _set_row(result: Result) -> list[Any]:
    about = result["about"]
    paper = PAPER_SETS[about["name"]]
    return [
        about["title"],
        about["form"],
        about["rows"],
        paper.n_train,
        about["test_rows"],
        paper.n_test,
        about["features"],
        paper.n_features,
        paper.alpha,
        about["longest"],
        paper.longest,
        result["losses"]["squared_hinge"]["start"],
        paper.start if paper.start is not None else "",
        about["positive"],
    ]


def _after_one_pass(chosen: list[Result], what: str, unit: float) -> list[list[Any]]:
    lines = []
    for result in chosen:
        for loss, found in result["losses"].items():
            curves = found["curves"]
            cells = [_cell(curves.get(name), what, unit) for name in ALGORITHMS]
            lines.append([result["about"]["title"], LOSS_TITLES[loss], *cells])
    return lines


def _cell(curve: Result | None, what: str, unit: float) -> Any:
    if curve is None:
        return ""
    value = curve[what][curve["passes"].index(1.0)]
    return "diverged" if value is None else value * unit


def _seconds_of_a_pass(result: Result, name: str) -> float:
    passes = result["losses"]["squared_hinge"]["curves"][name]["passes"]
    return float(result["timings"]["squared_hinge"][name][passes.index(1.0)])

"""The paper's Figures 3 to 5, drawn from what was measured here."""

from __future__ import annotations

from typing import Any

from reproduction.experiments.benchmark_results import sets_of
from reproduction.experiments.contest import LOSS_TITLES, LOSSES
from reproduction.figures import Figure, Panel, Series
from reproduction.pieces import Result

SMALL_MULTIPLES = {
    "Figure 4": ("alpha", "beta", "gamma", "epsilon"),
    "Figure 5": ("zeta", "fd", "ocr", "dna"),
    "": ("covtype", "delta", "rcv1", "mnist9"),
    "more": ("a9a", "w8a", "ijcnn1"),
}
"""Which sets are shown with three losses: the paper's figures, those of Figure 3, and others."""
DETAILED = ("covtype", "delta", "rcv1", "mnist9")

BEYOND = 1e30


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw the paper's Figure 3, a figure a set, its Figures 4 and 5, and the same of others."""
    every = sets_of(results)
    found = [
        _detailed(every[name], f"Figure 3{letter}")
        for letter, name in zip("abcd", DETAILED, strict=True)
        if name in every
    ]
    for paper, names in SMALL_MULTIPLES.items():
        chosen = [every[name] for name in names if name in every]
        if chosen:
            found.append(_small_multiples(paper, chosen))
    return found


def _detailed(result: Result, paper: str) -> Figure:
    about, curves = result["about"], result["losses"]["squared_hinge"]["curves"]
    seconds = result["timings"]["squared_hinge"]
    title = about["title"]
    error: dict[str, Any] = {"y_range": _range(curves, "error", 100.0)}
    by_pass = [_series(name, c["passes"], c, "error", 100.0) for name, c in curves.items()]
    by_time = [_series(name, seconds[name], c, "error", 100.0) for name, c in curves.items()]
    costs = [_series(name, c["passes"], c, "cost", 1.0) for name, c in curves.items()]
    words, axis = "seconds of learning", _axis(about)
    panels = [
        Panel(f"{title}: error", "passes", axis, by_pass, **error),
        Panel(f"{title}: error and time", words, axis, by_time, x_log=True, **error),
        Panel(f"{title}: cost", "passes", "test cost", costs, y_range=_range(curves, "cost", 1.0)),
    ]
    return Figure(
        f"benchmarks-{about['name']}{file_mark(about)}",
        f"{title}: squared hinge loss",
        f"{_what(about)} Test error against passes (left) and against the processor's seconds "
        "spent on learning (middle), and the mean cost of a test row, loss and penalty, against "
        "passes (right). Lines are medians over several orders of the rows, bands hold the middle "
        "half of them. LIBLINEAR can be asked after whole passes only." + _beyond(panels),
        panels,
        columns=3,
        width=12.0,
        height=4.2,
        paper=paper,
    )


def _small_multiples(paper: str, chosen: list[Result]) -> Figure:
    panels = []
    for result in chosen:
        for loss in LOSSES:
            curves = result["losses"][loss]["curves"]
            panels.append(
                Panel(
                    f"{result['about']['title']}, {LOSS_TITLES[loss]}",
                    "passes",
                    _axis(result["about"]),
                    [
                        _series(n, c["passes"], c, "error", 100.0, spread=False)
                        for n, c in curves.items()
                    ],
                    y_range=_range(curves, "error", 100.0),
                )
            )
    slug = {"Figure 4": "1", "Figure 5": "2", "": "3"}.get(paper, paper)
    forms = {result["about"]["form"] for result in chosen}
    mark = "-stand-ins" if forms == {"stand-in"} else "-some-stand-ins"
    mark = mark if "stand-in" in forms else ""
    names = ", ".join(result["about"]["title"] for result in chosen)
    return Figure(
        f"benchmarks-losses-{slug}{mark}",
        f"Test error with three losses: {names}",
        "Test error against passes; one data set a row, and from left to right squared hinge, "
        "logistic and hinge loss. LIBLINEAR's dual coordinate descent has no logistic loss. "
        + " ".join(_what(result["about"]) for result in chosen)
        + _beyond(panels),
        panels,
        columns=3,
        width=12.0,
        height=2.6 * len(chosen) + 0.8,
        paper=paper if paper.startswith("Figure") else None,
    )


def _axis(about: Result) -> str:
    return "100 − average precision" if about["precision"] else "test error (%)"


def _what(about: Result) -> str:
    """Return what the rows are, and whether they are a stand-in."""
    sizes = f"{about['rows']:,} rows of {about['features']:,} features"
    tested = f"{about['test_rows']:,} test rows"
    if about["form"] == "stand-in":
        return f"A stand-in for {about['name']}, not the real set: {sizes}, {tested}."
    sample = "a sample of the real " if about["form"] == "sample" else "the real "
    return f"This is {sample}{about['name']}: {sizes}, {tested}."


def file_mark(about: Result) -> str:
    """Return the suffix of file names that marks stand-ins."""
    return {"stand-in": "-stand-in", "sample": "-sample", "real": ""}[about["form"]]


def _series(
    name: str, x: list[float], curve: Result, what: str, unit: float, spread: bool = True
) -> Series:
    middle = [None if value is None else unit * value for value in curve[what]]
    if not spread:
        return Series(name, x, middle)
    # What has overflowed is far above any panel.
    low, high = (
        [BEYOND if value is None else unit * value for value in bound]
        for bound in curve[f"{what}_spread"]
    )
    return Series(name, x, middle, low, high)


def _range(curves: Result, what: str, unit: float) -> tuple[float, float]:
    """Choose how high a panel reaches: what most of the algorithms need after the first eighth.

    One that starts a thousand times above the others would press them all into one line.
    """
    known = {
        name: [value * unit for value in curve[what] if value is not None]
        for name, curve in curves.items()
    }
    lowest = min((min(values) for values in known.values() if values), default=0.0)
    tops = sorted(max(values[2:] or values) for values in known.values() if values)
    ends = sorted(values[-1] for values in known.values() if values)
    high = max(tops[len(tops) // 2], ends[max(0, len(ends) - 3)]) if tops else 1.0
    room = max(high - lowest, 0.02 * lowest, 1e-9)
    return lowest - 0.08 * room, high + 0.25 * room


def _beyond(panels: list[Panel]) -> str:
    """Return which lines are missing."""
    words = []
    for panel in panels:
        top = panel.y_range[1] if panel.y_range else float("inf")
        names = [
            series.label
            for series in panel.series
            if all(value is None or value > top for value in series.y)
        ]
        if names:
            words.append(f"{panel.title}: {', '.join(names)}")
    cut = " What is above the top of a panel is cut off, but is in the CSV"
    return f"{cut}; nothing is left of these: {'; '.join(words)}." if words else f"{cut}."

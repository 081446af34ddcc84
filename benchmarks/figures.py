"""``python -m benchmarks.figures``: figures of the last benchmark, for the README and the site.

Reads ``benchmarks/results/latest.json`` (or the file named) and draws what the scenarios in it
allow: loss against time, speed against rows, features, nonzeros and models, memory against rows.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.__main__ import LATEST
from benchmarks.runner import ROOT

FOLDER = ROOT / "docs" / "figures"
# One colour and one marker each, distinguishable without colour too.
STYLES = {
    "ours, auto": ("#0b4fae", "o", "polyak, auto"),
    "ours, paper's recipe": ("#5b9bea", "s", "polyak, the paper's recipe"),
    "Vowpal Wabbit": ("#c2571a", "^", "Vowpal Wabbit, defaults"),
    "SGDClassifier, average": ("#3f8f5a", "D", "SGDClassifier, average"),
    "SGDClassifier, last": ("#9bbf6a", "v", "SGDClassifier"),
}
BATCH = "batch (LogisticRegression)"

Contest = dict[str, Any]
Scenarios = dict[str, list[Contest]]


def main() -> None:
    """Draw every figure for which there are results, and print their names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__)
    parser.add_argument("results", nargs="?", type=Path, default=LATEST)
    parser.add_argument("--output", type=Path, default=FOLDER, help="the folder to draw into")
    options = parser.parse_args()
    record = json.loads(options.results.read_text())
    drawings: dict[str, Callable[[Scenarios], Any]] = {
        "loss-against-time": loss_against_time,
        "speed": speed,
        "memory-against-rows": memory,
    }
    for name, draw in drawings.items():
        figure = draw(record["scenarios"])
        if figure is None:
            print(f"{name}: not drawn, its scenarios are not in {options.results}")
            continue
        path = options.output / f"{name}.svg"
        _save(figure, path)
        print(f"{name}: {path}")


def loss_against_time(scenarios: Scenarios) -> Any:
    """Draw a panel per data set: test loss relative to the batch optimum against seconds."""
    contests = [contest for contest in scenarios.get("accuracy", []) if _found(contest, BATCH)]
    if not contests:
        return None
    plt = _pyplot()
    columns = min(3, len(contests))
    rows = -(-len(contests) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(3.0 * columns, 2.5 * rows), squeeze=False)
    for axis in axes.flat[len(contests) :]:
        axis.axis("off")
    for axis, contest in zip(axes.flat, contests, strict=False):
        axis.axhline(1.0, color="#555", linewidth=1)
        best = _found(contest, BATCH)
        axis.axvline(best["best"], color="#aaa", linewidth=1, linestyle="--")
        for label, (colour, mark, _) in STYLES.items():
            result = _found(contest, label)
            if result is not None:
                ratio = result["figures"]["loss / batch"]
                axis.plot(result["best"], ratio, mark, color=colour, markersize=7)
        axis.set(xscale="log", yscale="log", title=contest["title"].split(", ")[1])
        _plain_numbers(axis)
    for axis in axes[:, 0]:
        axis.set_ylabel("test loss / batch")
    for axis in axes[-1]:
        axis.set_xlabel("seconds, one core")
    handles = [
        plt.Line2D([], [], color=colour, marker=mark, linestyle="", label=name)
        for colour, mark, name in STYLES.values()
    ]
    handles.append(plt.Line2D([], [], color="#555", linewidth=1, label="batch optimum: its loss"))
    handles.append(
        plt.Line2D([], [], color="#aaa", linewidth=1, linestyle="--", label="and its time")
    )
    figure.legend(handles=handles, loc="lower center", ncol=3, frameon=False)
    figure.tight_layout(rect=(0, 0.32 / rows if rows < 3 else 0.1, 1, 1))
    return figure


def speed(scenarios: Scenarios) -> Any:
    """Draw the speed against the number of rows, features, nonzeros and models."""
    panels = [
        ("text on a pipe, MB", "MB/s", _growth(scenarios, lambda r: r["figures"]["MB/s"])),
        ("features", "rows/s", _features(scenarios)),
        ("nonzeros a row", "rows/s", _nonzeros(scenarios)),
        ("models in the bank", "rows/s × models", _models(scenarios)),
    ]
    panels = [panel for panel in panels if len(panel[2]) > 1]
    if not panels:
        return None
    plt = _pyplot()
    figure, axes = plt.subplots(1, len(panels), figsize=(2.6 * len(panels), 2.5), squeeze=False)
    for axis, (what, unit, points) in zip(axes.flat, panels, strict=True):
        _line(axis, points)
        axis.set(xscale="log", yscale="log", xlabel=what, ylabel=unit)
        axis.yaxis.set_major_formatter("")  # every point is labelled with its value
        axis.yaxis.set_minor_formatter("")
        low, high = min(y for _, y in points), max(y for _, y in points)
        axis.set_ylim(low / 3, high * 3)
    figure.tight_layout()
    return figure


def memory(scenarios: Scenarios) -> Any:
    """Draw the peak memory against the length of a pipe's text."""
    points = _growth(scenarios, lambda result: result["peak_mb"])
    if len(points) < 2:
        return None
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(3.6, 2.6))
    _line(axis, points)
    axis.set(xscale="log", xlabel="text on a pipe, MB", ylabel="peak memory, MB")
    axis.set_ylim(0, 1.25 * max(y for _, y in points))
    figure.tight_layout()
    return figure


# -- results of the scenarios ----------------------------------------------------------------------


def _growth(scenarios: Scenarios, value: Callable[[Any], float]) -> list[tuple[float, float]]:
    """Parse points from labels such as "10× rows", and the unit from the title."""
    return sorted(
        (float(match[1]) * float(size[1]), value(result))
        for contest in scenarios.get("growth", [])
        if (size := re.search(r"(\d+) MB", contest["title"]))
        for result in contest["results"]
        if result["seconds"] and (match := re.match(r"(\d+)× rows", result["label"]))
    )


def _features(scenarios: Scenarios) -> list[tuple[float, float]]:
    wanted = {"10⁴ features": 1e4, "10⁷ features, the same words": 1e7}
    return [
        (features, 1e6 / result["figures"]["µs/row"])
        for contest in scenarios.get("features", [])
        for label, features in wanted.items()
        if (result := _found(contest, label))
    ]


def _nonzeros(scenarios: Scenarios) -> list[tuple[float, float]]:
    points = []
    for contest in scenarios.get("sparse", []) + scenarios.get("dense", []):
        size = re.search(r"([\d,]+) × ([\d,]*\d)(?:, (\d+) nonzeros)?", contest["title"])
        result = _found(contest, "ours, K = 1")
        if size and result:
            rows, width = (float(size[i].replace(",", "")) for i in (1, 2))
            points.append((float(size[3] or width), rows / result["best"]))
    return sorted(points)


def _models(scenarios: Scenarios) -> list[tuple[float, float]]:
    return [
        (float(match[1]), float(match[1]) * float(size[1].replace(",", "")) / result["best"])
        for contest in scenarios.get("sparse", [])
        if (size := re.search(r"([\d,]+) ×", contest["title"]))
        for result in contest["results"]
        if result["seconds"] and (match := re.fullmatch(r"ours, K = (\d+)", result["label"]))
    ]


def _found(contest: Contest, label: str) -> Any:
    """Return a contestant's result, if it ran."""
    return next((r for r in contest["results"] if r["label"] == label and r["seconds"]), None)


# -- drawing ---------------------------------------------------------------------------------------


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {
        "svg.fonttype": "none",  # text stays text: small files, with the fonts of the reader
        "svg.hashsalt": "polyak",  # the same results produce the same bytes
        "font.family": "sans-serif",
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#e6e9ee",
        "legend.fontsize": 9,
    }
    return plt


def _line(axis: Any, points: list[tuple[float, float]]) -> None:
    xs, ys = zip(*points, strict=True)
    axis.plot(xs, ys, "o-", color="#0b4fae")
    for x, y in points:
        text = f"{y:,.0f}" if y < 1e4 else f"{y / 1e6:.2g} M" if y >= 1e6 else f"{y / 1e3:.0f} k"
        axis.annotate(text, (x, y), (0, 7), textcoords="offset points", ha="center")
    axis.margins(x=0.2)


def _plain_numbers(axis: Any) -> None:
    """Label both axes with a few plain numbers instead of powers of ten."""
    (left, right), (low, high) = axis.get_xlim(), axis.get_ylim()
    low, high = min(low / 1.03, 0.96), max(high * 1.05, 1.06)
    left, right = left / 1.3, right * 1.3
    axis.set(xlim=(left, right), ylim=(low, high))
    _marks(axis.xaxis, [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100], left, right)
    if high < 1.3:
        _marks(axis.yaxis, [0.9, 0.95, 1, 1.05, 1.1, 1.2], low, high)
    else:
        _marks(axis.yaxis, [1, 1.2, 1.5, 2] if high < 3 else [1, 2, 5, 10, 20, 50], low, high)


def _marks(axis: Any, marks: list[float], low: float, high: float) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis.set_major_locator(FixedLocator([mark for mark in marks if low <= mark <= high]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    text = path.read_text(encoding="utf-8")
    # A figure on a dark page needs a background; trailing blanks are removed.
    path.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", "utf-8")


if __name__ == "__main__":
    main()

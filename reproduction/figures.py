"""Figures and tables: described by an experiment, written here as SVG and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from polyak.storage.container import write_bytes

_LOOK: Any = {
    "svg.hashsalt": "polyak",  # otherwise the ids are drawn at random, and no two runs agree
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that it is the same everywhere
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e7eb",
    "axes.edgecolor": "#5c6470",
    "legend.frameon": False,
}
# Okabe and Ito's colours, which people with any kind of colour blindness can tell apart; dashes
# differ too, for print in grey.
BLUE, ORANGE, GREEN, RED = "#0072b2", "#d98200", "#008a64", "#d55e00"
PURPLE, SKY, BLACK, GREY, BROWN = "#b35a90", "#3d9fd6", "#111111", "#767676", "#7a5230"
STYLES: dict[str, tuple[str, Any]] = {
    "ASGD": (BLUE, "-"),
    "ASGD from row 0": (SKY, (0, (5, 1))),
    "ASGD, γ₀ = 1/(κM)": (SKY, (0, (5, 1))),
    "ASGD_BAD": (RED, (0, (5, 1.5))),
    "SGD": (PURPLE, (0, (3, 1.5, 1, 1.5))),
    "SGD2": (PURPLE, (0, (3, 1.5, 1, 1.5))),
    "Pegasos": (ORANGE, (0, (1, 1.2))),
    "SGD-QN": (GREEN, (0, (6, 2))),
    "oLBFGS": (BROWN, (0, (4, 1, 1, 1, 1, 1))),
    "LIBLINEAR": (GREY, (0, (2, 1))),
    "batch": (BLACK, (0, (1, 1.5))),
    "second-order SGD": (GREEN, (0, (6, 2))),
    "bound of ASGD": (RED, (0, (5, 1.5))),
    "bound of SGD": (ORANGE, (0, (1, 1.2))),
    "one setting": (BLUE, "-"),
    "one problem": (BLUE, "-"),
}
_OTHERS = (BLUE, ORANGE, GREEN, PURPLE, SKY, BROWN, RED, GREY)


@dataclass(frozen=True, slots=True)
class Series:
    """A line: its name in the legend, which chooses its style, and its points."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes with its lines. ``lines_at`` draws thin lines across, value to words."""

    title: str
    x_label: str
    y_label: str
    series: list[Series]
    x_log: bool = True
    y_log: bool = True
    y_range: tuple[float, float] | None = None
    lines_at: dict[float, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels under one legend; the caption must be understood by someone without the paper."""

    name: str
    title: str
    caption: str
    panels: list[Panel]
    columns: int = 1

    def write(self, folder: Path) -> None:
        """Write NAME.svg and, with every number that it shows, NAME.csv."""
        write_bytes(folder / f"{self.name}.svg", _draw(self))
        lines = [
            [panel.title, series.label, *point]
            for panel in self.panels
            for series in panel.series
            for point in zip(series.x, series.y, strict=True)
        ]
        write_csv(folder / f"{self.name}.csv", ["panel", "series", "x", "y"], lines)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of words and numbers under their heads."""

    name: str
    title: str
    caption: str
    heads: list[str]
    rows: list[list[Any]]

    def write(self, folder: Path) -> None:
        """Write NAME.csv."""
        write_csv(folder / f"{self.name}.csv", self.heads, self.rows)


def write_csv(path: Path, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Write rows with all their digits."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([heads, *rows])
    write_bytes(path, text.getvalue().encode())


def risk_panels(rows: list[int], risks: Mapping[str, Any], title: str) -> list[Panel]:
    """Return the excess risks of algorithms, batch among them, and their ratios to batch's."""
    batch = np.array(risks["batch"])
    lines = [Series(name, rows, list(values)) for name, values in risks.items()]
    relative = [
        Series(name, rows, (np.array(values) / batch).tolist())
        for name, values in risks.items()
        if name != "batch"
    ]
    at = {1.0: "as good as batch"}
    return [
        Panel(f"Excess risk, {title}", "rows", "excess risk", lines),
        Panel(f"Relative to batch, {title}", "rows", "over batch's", relative, lines_at=at),
    ]


def _draw(figure: Figure) -> bytes:
    # Not through pyplot: it would look for a screen, and keep every figure in memory.
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    columns = min(figure.columns, len(figure.panels))
    rows = -(-len(figure.panels) // columns)
    width = {1: 7.0, 2: 9.0}.get(columns, 11.0)
    with mpl.rc_context(_LOOK):
        height = 4.4 if columns == 1 else 2.9 * rows + 0.6
        canvas = Canvas(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(canvas)
        axes = canvas.subplots(rows, columns, squeeze=False).ravel()
        legend: dict[str, Any] = {}
        for axis, panel in zip(axes, figure.panels, strict=False):
            _draw_panel(axis, panel, legend)
        for axis in axes[len(figure.panels) :]:
            axis.set_visible(False)
        if len(legend) > 1:  # below all panels, where it cannot hide a line
            across = max(1, int(width / (0.65 + 0.088 * max(map(len, legend)))))
            canvas.legend(legend.values(), legend.keys(), loc="outside lower center", ncols=across)
        file = io.BytesIO()
        canvas.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def _draw_panel(axis: Any, panel: Panel, legend: dict[str, Any]) -> None:
    thin = len(panel.series) > 12
    for place, series in enumerate(panel.series):
        colour, dashes = STYLES.get(series.label, (_OTHERS[place % len(_OTHERS)], "-"))
        look = {"color": colour, "linestyle": dashes, "linewidth": 0.8 if thin else 1.7}
        marker = "o" if len(series.x) <= 3 else None
        (line,) = axis.plot(series.x, series.y, marker=marker, markersize=4, **look)
        legend.setdefault(series.label, line)
    for value, words in panel.lines_at.items():
        axis.axhline(value, color="#5c6470", linewidth=0.9, linestyle=(0, (2, 2)), zorder=1)
        words_at: Any = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        axis.annotate(
            words, (0.01, value), xytext=(0, 3), fontsize=8.5, color="#5c6470", **words_at
        )
    axis.set_xscale("log" if panel.x_log else "linear")
    axis.set_yscale("log" if panel.y_log else "linear")
    if panel.y_range:
        axis.set_ylim(*panel.y_range)
    axis.set_xlabel(panel.x_label)
    axis.set_ylabel(panel.y_label)
    axis.set_title(panel.title, loc="left")

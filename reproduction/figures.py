"""Figures: said in numbers and words by an experiment, drawn here as SVG, PNG and CSV."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polyak.storage.container import write_bytes
from reproduction.styles import style_of
from reproduction.tables import as_csv

_LOOK: Any = {
    "svg.hashsalt": "polyak",  # otherwise the ids are drawn at random, and no two runs agree
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that it is the same everywhere
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e7eb",
    "grid.linewidth": 0.8,
    "axes.edgecolor": "#5c6470",
    "legend.frameon": False,
}


@dataclass(frozen=True, slots=True)
class Series:
    """A line: its name in the legend, its points, and a band around it if it has a spread.

    ``style`` names an entry of `reproduction.styles`, by default the one called as the
    label is.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    style: str | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes with its lines. ``lines_at`` draws thin lines across, value to words."""

    title: str
    x_label: str
    y_label: str
    series: list[Series]
    x_log: bool = False
    y_log: bool = False
    y_range: tuple[float, float] | None = None
    lines_at: dict[float, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels under one legend. The caption must be understood by someone without the paper.

    Attributes
    ----------
    name : str
        Unique within a run, and good for file names.
    title, caption : str
    panels : list of Panel
    columns : int
        How many panels stand side by side.
    width, height : float
        Inches; by default what the panels need.
    paper : str or None
        Which figure of the paper this is: "Figure 1".

    Examples
    --------
    >>> panel = Panel("squares", "x", "y", [Series("ASGD", [1, 2], [1, 4])])
    >>> print(Figure("f", "Squares", "They grow.", [panel]).csv(), end="")
    panel,series,x,y,low,high
    squares,ASGD,1,1,,
    squares,ASGD,2,4,,
    """

    name: str
    title: str
    caption: str
    panels: list[Panel]
    columns: int = 1
    width: float | None = None
    height: float | None = None
    paper: str | None = None

    def csv(self) -> str:
        """Write every number that the figure shows."""
        lines: list[list[Any]] = []
        for panel in self.panels:
            for series in panel.series:
                low = series.low if series.low is not None else [""] * len(series.x)
                high = series.high if series.high is not None else [""] * len(series.x)
                for point in zip(series.x, series.y, low, high, strict=True):
                    lines.append([panel.title, series.label, *point])
        return as_csv(["panel", "series", "x", "y", "low", "high"], lines)

    def write(self, folder: Path) -> None:
        """Write NAME.svg, NAME.png and NAME.csv."""
        for kind, drawing in _draw(self).items():
            write_bytes(folder / f"{self.name}.{kind}", drawing)
        write_bytes(folder / f"{self.name}.csv", self.csv().encode())


def _draw(figure: Figure) -> dict[str, bytes]:
    # Not through pyplot: it would look for a screen, and keep every figure in memory.
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    columns = max(1, min(figure.columns, len(figure.panels)))
    rows = -(-len(figure.panels) // columns)
    width = figure.width or {1: 7.0, 2: 9.0}.get(columns, 10.5)
    height = figure.height or (4.4 if columns == 1 else 3.1 * rows + 0.5)
    with mpl.rc_context(_LOOK):
        canvas = Canvas(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(canvas)
        axes = canvas.subplots(rows, columns, squeeze=False).ravel()
        legend: dict[str, Any] = {}
        for axis, panel in zip(axes, figure.panels, strict=False):
            _draw_panel(axis, panel, legend)
        for axis in axes[len(figure.panels) :]:
            axis.set_visible(False)
        if len(legend) > 1:  # below all panels, where it cannot hide a line
            # A line of the legend and its words must fit: what is cut off cannot be read.
            entry = 0.65 + 0.088 * max(map(len, legend))
            lines = -(-len(legend) // max(1, int(width / entry)))
            across = -(-len(legend) // lines)
            canvas.legend(
                legend.values(),
                legend.keys(),
                loc="outside lower center",
                ncols=across,
                handlelength=3,
            )
        canvas.draw_without_rendering()
        canvas.set_layout_engine("none")  # found once: it takes longer than drawing
        return {"svg": _saved(canvas, "svg"), "png": _saved(canvas, "png")}


def _draw_panel(axis: Any, panel: Panel, legend: dict[str, Any]) -> None:
    for place, series in enumerate(panel.series):
        look = style_of(series.style or series.label, place)
        y = [float("nan") if value is None else value for value in series.y]
        (line,) = axis.plot(
            series.x,
            y,
            color=look.colour,
            linestyle=look.line,
            linewidth=look.width,
            marker=look.marker,
            markersize=4.5,
            markevery=max(1, len(series.x) // 10),
            zorder=3,
        )
        if series.low is not None and series.high is not None:
            axis.fill_between(
                series.x, series.low, series.high, color=look.colour, alpha=0.16, linewidth=0
            )
        legend.setdefault(series.label, line)
    for value, words in panel.lines_at.items():
        axis.axhline(value, color="#5c6470", linewidth=0.9, linestyle=(0, (2, 2)), zorder=1)
        axis.annotate(
            words,
            (0.01, value),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="left",
            fontsize=8.5,
            color="#5c6470",
        )
    if panel.x_log:
        axis.set_xscale("log")
    if panel.y_log:
        axis.set_yscale("log")
    if panel.y_range:
        axis.set_ylim(*panel.y_range)
    axis.set_xlabel(panel.x_label)
    axis.set_ylabel(panel.y_label)
    axis.set_title(panel.title, loc="left")


def _saved(canvas: Any, kind: str) -> bytes:
    file = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    canvas.savefig(file, format=kind, dpi=110, metadata=metadata)
    return file.getvalue()

"""Charts of the race: the rows each candidate learned, and its loss relative to the winner's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from polyak.model.candidate_text import settings_text
from polyak.model.training_report import CandidateReport
from polyak.reporting.drawing.curves import rows_range
from polyak.reporting.drawing.plot import Plot, padded
from polyak.reporting.facts import Curve
from polyak.reporting.markup import Markup
from polyak.reporting.words import count, number

_BEHIND = (-0.3, -0.1, -0.03, -0.01, 0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def timeline_chart(runners: Sequence[CandidateReport], best: int, width: int) -> Markup:
    """Draw a line for each candidate, from the first row to the row at which it was dropped."""
    order = sorted(runners, key=lambda one: (one.number != best, -one.rows, one.number))
    last = max(one.rows for one in order)
    first = max(min(one.rows for one in order) / 4, 1.0)
    height = (16 if len(order) <= 24 else 9) * len(order) + 96
    y = (len(order) - 0.4, -0.6, False)
    plot = Plot(width, height, (first, last, True), y, left=16, top=50)
    plot.x_axis("rows learned")
    plot.write("candidates left", plot.left, plot.top - 32, None)
    _count_runners(plot, order)
    for place, one in enumerate(order):
        mine = one.number == best
        kept = one.running
        class_ = "run-won" if mine else "run-kept" if kept else "run"
        title = f"{settings_text(one, number)}: " + (
            "the model" if mine else "ran to the end" if kept else f"dropped at row {one.rows:,}"
        )
        plot.line([(first, place), (float(one.rows), place)], class_, title)
        if not kept:
            plot.dot((float(one.rows), place), "run-end", 2.6, title)
    plot.dot((float(last), 0), "main-dot", 4.5, "the model")
    left = sum(one.running for one in order)
    return plot.draw(
        "timeline",
        "The race of the candidates",
        f"{count(len(order), 'candidate')} began, {left} ran to the end; the best of them, "
        f"{settings_text(order[0], number)}, is the model.",
    )


def behind_chart(behind: Sequence[tuple[CandidateReport, Curve]], best: int, width: int) -> Markup:
    """Draw each candidate's loss relative to the winner's against the rows."""
    curves = sorted(behind, key=lambda pair: pair[0].number == best)  # the winner on top
    values = sorted(y for _, curve in curves for _, y in curve)
    # A few candidates begin with very large losses; the axis is chosen for the others.
    top = max(values[math.floor(0.95 * (len(values) - 1))], 0.02)
    low, high = padded([_stretched(y) for y in (max(values[0], -0.5), -0.01, top)])
    plot = Plot(width, 340, rows_range(curves[-1][1]), (low, high, False), left=58, top=16)
    plot.y_axis([(_stretched(y), _signed_percent(y)) for y in _BEHIND])
    plot.x_axis("rows learned")
    for candidate, curve in curves:
        mine = candidate.number == best
        drawn = [(rows, _stretched(y)) for rows, y in curve]
        if len(drawn) > 1:
            plot.line(drawn, "main" if mine else "other", settings_text(candidate, number))
        plot.dot(drawn[-1], "main-dot" if mine else "other-dot", 4 if mine else 2)
    return plot.draw(
        "race",
        "How far behind the candidates were",
        f"The losses of {count(len(curves), 'candidate')} relative to that of candidate {best}, "
        "which won.",
    )


def _count_runners(plot: Plot, runners: Sequence[CandidateReport]) -> None:
    """Write the number of remaining candidates above the lines."""
    drops = sorted({float(c.rows) for c in runners if not c.running})
    ends = [plot.x.low, *(rows for rows in drops if plot.x.low < rows < plot.x.high), plot.x.high]
    for begin, end in pairwise(ends):
        left = sum(c.running or c.rows >= end for c in runners)
        if end < plot.x.high:
            plot.segment((end, plot.y.low), (end, plot.y.high), "grid")
        if plot.x(end) - plot.x(begin) >= 18:
            middle = (plot.x(begin) + plot.x(end)) / 2
            plot.write(str(left), middle, plot.top - 12, "label", "middle")


def _stretched(value: float) -> float:
    """Return the position on a symmetric logarithmic axis."""
    return math.asinh(value / 0.005)


def _signed_percent(value: float) -> str:
    return f"{100 * value:+g}%".replace("-", "−") if round(value, 9) else "0"

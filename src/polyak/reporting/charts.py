"""The charts. Each is drawn for a width, from what `polyak.reporting.facts` found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from polyak.learn.schedules import Polynomial
from polyak.model.training_report import CandidateReport, Rate, Reliability
from polyak.reporting.facts import Curve, later
from polyak.reporting.markup import Markup
from polyak.reporting.plot import NARROW, Plot
from polyak.reporting.scales import padded
from polyak.reporting.words import count, number, percent

_BEHIND = (-0.3, -0.1, -0.03, -0.01, 0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_LINE, _LETTER = 24, 7.2  # pixels: the height of a feature's line, the width of a letter


def loss_chart(curve: Curve, starts: Sequence[int], width: int) -> Markup:
    """Draw the loss on rows not learned yet against their number."""
    shown = later(curve, starts)
    plot = Plot(width, 288, _rows_range(shown), _loss_range([y for _, y in shown]), top=28)
    plot.y_axis()
    plot.x_axis("rows learned")
    _mark_start(plot, starts)
    if len(shown) > 1:
        plot.line(shown, "main")
    plot.dot(shown[-1], "main-dot", 4, f"{number(shown[-1][1])} at row {shown[-1][0]:,.0f}")
    first, last = shown[0], shown[-1]
    return plot.draw(
        "loss",
        "Progressive loss against rows",
        f"From {number(first[1])} at row {first[0]:,.0f} "
        f"to {number(last[1])} at row {last[0]:,.0f}.",
    )


def race_chart(behind: Sequence[tuple[CandidateReport, Curve]], best: int, width: int) -> Markup:
    """Draw how far each candidate was behind the winner, for as long as it ran."""
    curves = sorted(behind, key=lambda pair: pair[0].number == best)  # the winner on top
    values = sorted(y for _, curve in curves for _, y in curve)
    # A few may begin very badly; the picture is about the others.
    top = max(values[math.floor(0.95 * (len(values) - 1))], 0.02)
    low, high = padded([_stretched(y) for y in (max(values[0], -0.5), -0.01, top)])
    plot = Plot(width, 340, _rows_range(curves[-1][1]), (low, high, False), top=34)
    plot.y_axis([(_stretched(y), _signed_percent(y)) for y in _BEHIND])
    plot.x_axis("rows learned")
    _count_runners(plot, [c for c, _ in curves])
    for candidate, curve in curves:
        mine = candidate.number == best
        drawn = [(rows, _stretched(y)) for rows, y in curve]
        if len(drawn) > 1:
            title = f"candidate {candidate.number}, {count(int(curve[-1][0]), 'row')}"
            plot.line(drawn, "main" if mine else "other", title)
        plot.dot(drawn[-1], "main-dot" if mine else "other-dot", 4 if mine else 2)
    return plot.draw(
        "race",
        "The race of the candidates",
        f"The progressive losses of {count(len(curves), 'candidate')} relative to that of "
        f"candidate {best}, which won.",
    )


def weights_chart(entries: Sequence[dict[str, Any]], width: int) -> Markup:
    """Draw the heaviest weights around zero, with their intervals."""
    ends = [0.0] + [end for e in entries for end in (e["interval"] or (e["weight"],))]
    parts = [[e["name"]] if e["of"] is None else [e["name"], e["of"]] for e in entries]
    if width > NARROW:
        parts = [[" · ".join(part)] for part in parts]
    line = _LINE + 14 * (len(parts[0]) - 1)
    widest = max(len(text) for part in parts for text in part) * _LETTER + 28
    left = round(min(widest, 132 if width == NARROW else 280))
    height = line * len(entries) + 66
    plot = Plot(width, height, (*padded(ends), False), (len(entries) - 0.5, -0.5, False), left=left)
    plot.x_axis("weight")
    plot.segment((0, -0.5), (0, len(entries) - 0.5), "zero")
    for place, (texts, entry) in enumerate(zip(parts, entries, strict=True)):
        weight, interval = entry["weight"], entry["interval"]
        said = f"{' · '.join(texts)}: {number(weight)}"
        if interval is None:
            plot.segment((0, place), (weight, place), "stem")
            clear = True
        else:
            said += f", 95% between {number(interval[0])} and {number(interval[1])}"
            plot.segment((interval[0], place), (interval[1], place), "whisker")
            clear = interval[0] > 0 or interval[1] < 0
        plot.dot((weight, place), "main-dot" if clear else "hollow-dot", 4, said)
        for which, text in enumerate(texts):
            middle = plot.y(place) + 15 * (which - (len(texts) - 1) / 2)
            class_ = "label" if which == 0 else None
            plot.label(_shortened(text, (left - 20) / _LETTER), middle, said, class_)
    return plot.draw(
        "weights",
        "The heaviest features",
        "; ".join(f"{e['name']} {number(e['weight'])}" for e in entries[:5]) + "; and so on.",
    )


def calibration_chart(bins: Reliability, width: int) -> Markup:
    """Draw how often it was so against how probable it was said to be."""
    plot = Plot(width, 322, (0, 1, False), (0, 1, False), top=28)
    plot.y_axis()
    plot.x_axis("predicted probability")
    rows = list(zip(bins.predicted, bins.positive, bins.total, strict=True))
    most = max(total for _, _, total in rows)
    for said, positive, total in rows:
        spot = f"said {percent(said)}, was {percent(positive / total)} of {number(total)} rows"
        place = math.floor(min(said, 0.9999) * 20) / 20
        plot.bar((place + 0.006, 0), (place + 0.044, 0.22 * total / most), "share", spot)
    plot.segment((0, 0), (1, 1), "ideal")
    for said, positive, total in rows:
        low, high = _wilson(positive, total)
        plot.segment((said, low), (said, high), "whisker")
    plot.line([(said, positive / total) for said, positive, total in rows], "main thin")
    for said, positive, total in rows:
        spot = f"said {percent(said)}, was {percent(positive / total)} of {number(total)} rows"
        plot.dot((said, positive / total), "main-dot", 3.2, spot)
    return plot.draw(
        "calibration",
        "Calibration",
        "; ".join(f"said {percent(s)}, was {percent(p / t)}" for s, p, t in rows[::4]) + ".",
    )


def rate_chart(rate: Rate, rows: int, starts: Sequence[int], width: int) -> Markup:
    """Draw the learning rate of each row."""
    schedule = Polynomial(rate.gamma0, rate.a, rate.c)
    last = max(rows, 10)
    curve = [(t, schedule(t)) for t in (last ** (step / 60) for step in range(61))]
    low, high = padded([y for _, y in curve], log=True)
    # A rate that hardly falls must not look as if it fell to nothing.
    low, high = min(low, curve[0][1] / 4), max(high, curve[0][1] * 1.3)
    plot = Plot(width, 322, (1, last, True), (low, high, True), top=28)
    plot.y_axis()
    plot.x_axis("rows learned")
    _mark_start(plot, starts)
    plot.line(curve, "main")
    return plot.draw(
        "rate",
        "Learning rate against rows",
        f"From {number(schedule.gamma0)} at the first row "
        f"to {number(curve[-1][1])} at row {last:,}.",
    )


# -- inside ----------------------------------------------------------------------------------------


def _rows_range(curve: Curve) -> tuple[float, float, bool]:
    first, last = curve[0][0], curve[-1][0]
    return (first, last, True) if last > first else (max(first / 2, 0.5), first * 2, True)


def _loss_range(losses: Sequence[float]) -> tuple[float, float, bool]:
    """Give the ends of the axis of a loss, which is logarithmic where it falls by far."""
    log = min(losses) > 0 and max(losses) > 20 * min(losses)
    low, high = padded(losses, log)
    return (low, high, True) if log else (max(low, 0.0) if min(losses) >= 0 else low, high, False)


def _mark_start(plot: Plot, starts: Sequence[int]) -> None:
    """Mark t0, where averaging begins; with several outputs, from the first to the last of them."""
    seen = [float(t0) for t0 in starts if plot.x.low < t0 <= plot.x.high]
    if not seen:
        return
    first, last = min(seen), max(seen)
    bottom, top = plot.y.low, plot.y.high
    if last > first:
        plot.bar((first, bottom), (last, top), "start-band")
    plot.segment((first, bottom), (first, top), "start")
    said = f"t₀ = {first:,.0f}" + (f" to {last:,.0f}" if last > first else "")
    place = plot.x(first)
    anchor = "start" if place < (plot.left + plot.right) / 2 else "end"
    plot.write(said, place, plot.top - 10, "start-text", anchor)


def _count_runners(plot: Plot, runners: Sequence[CandidateReport]) -> None:
    """Write above the curves how many candidates are still in the race."""
    drops = sorted({float(c.rows) for c in runners if not c.running})
    ends = [plot.x.low, *(rows for rows in drops if plot.x.low < rows < plot.x.high), plot.x.high]
    for begin, end in pairwise(ends):
        left = sum(c.running or c.rows >= end for c in runners)
        if end < plot.x.high:
            plot.segment((end, plot.y.low), (end, plot.y.high), "grid")
        if plot.x(end) - plot.x(begin) >= 18:
            plot.write(str(left), (plot.x(begin) + plot.x(end)) / 2, plot.top - 14, None, "middle")


def _wilson(positive: float, total: float) -> tuple[float, float]:
    """Give the 95% interval of a share, which stays between none and all."""
    share, spread = positive / total, 1.96**2 / total
    middle = (share + spread / 2) / (1 + spread)
    reach = math.sqrt(spread * (share * (1 - share) + spread / 4)) / (1 + spread)
    return middle - reach, middle + reach


def _stretched(value: float) -> float:
    """Show small differences as well as large ones, on either side of zero."""
    return math.asinh(value / 0.005)


def _signed_percent(value: float) -> str:
    return f"{100 * value:+g}%".replace("-", "−") if round(value, 9) else "0"


def _shortened(text: str, letters: float) -> str:
    return text if len(text) <= letters else text[: max(int(letters) - 1, 1)] + "…"

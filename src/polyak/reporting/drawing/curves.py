"""Charts of losses, learning rates and predictions, for a given width."""

from __future__ import annotations

import math
from collections.abc import Sequence

from polyak.learn.schedules import Polynomial
from polyak.model.training_report import Rate, Reliability
from polyak.reporting.drawing.plot import Plot, padded
from polyak.reporting.facts import Curve, later
from polyak.reporting.markup import Markup
from polyak.reporting.words import number, percent


def loss_chart(curve: Curve, constant: Curve, starts: Sequence[int], width: int) -> Markup:
    """Draw the progressive loss of the model and of the constant against the rows."""
    shown = later(curve, starts)
    other = [point for point in constant if point[0] >= shown[0][0]]
    losses = [y for _, y in shown]
    plot = Plot(width, 288, rows_range(shown), _loss_range(losses + _near(other, losses)), top=28)
    plot.y_axis()
    plot.x_axis("rows learned")
    _mark_start(plot, starts)
    if len(other) > 1:
        plot.line(other, "ideal-line", "a constant")
        place = plot.y(other[-1][1])
        if place > plot.top + 10:
            plot.write("a constant", plot.right, place - 7, None, "end")
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


def calibration_chart(bins: Reliability, width: int) -> Markup:
    """Draw observed frequencies against predicted probabilities."""
    plot = Plot(width, 322, (0, 1, False), (0, 1, False), top=28)
    plot.y_axis()
    plot.x_axis("predicted probability")
    rows = list(zip(bins.predicted, bins.positive, bins.total, strict=True))
    texts = [f"predicted {percent(p)}, true {percent(true / total)}" for p, true, total in rows]
    titles = [f"{text} of {number(bins.total[i])} rows" for i, text in enumerate(texts)]
    most = max(bins.total)
    for (predicted, _, total), title in zip(rows, titles, strict=True):
        place = math.floor(min(predicted, 0.9999) * 20) / 20
        plot.bar((place + 0.006, 0), (place + 0.044, 0.22 * total / most), "share", title)
    plot.segment((0, 0), (1, 1), "ideal")
    for predicted, positive, total in rows:
        low, high = _wilson(positive, total)
        plot.segment((predicted, low), (predicted, high), "whisker")
    points = [(predicted, positive / total) for predicted, positive, total in rows]
    plot.line(points, "main thin")
    for point, title in zip(points, titles, strict=True):
        plot.dot(point, "main-dot", 3.2, title)
    return plot.draw("calibration", "Calibration", "; ".join(texts[::4]) + ".")


def residuals_chart(points: Sequence[tuple[float, float]], width: int) -> Markup:
    """Draw true values minus predictions against predictions."""
    residuals = [(predicted, true - predicted) for predicted, true in points]
    x = padded([predicted for predicted, _ in residuals])
    y = padded([0.0, *(miss for _, miss in residuals)])
    plot = Plot(width, 322, (*x, False), (*y, False), top=20)
    plot.y_axis()
    plot.x_axis("prediction")
    plot.segment((x[0], 0), (x[1], 0), "ideal")
    for (predicted, miss), (_, true) in zip(residuals, points, strict=True):
        title = f"predicted {number(predicted)}, true {number(true)}"
        plot.dot((predicted, miss), "point", 2.6, title)
    far = max(abs(miss) for _, miss in residuals)
    return plot.draw(
        "residuals",
        "Residuals against predictions",
        f"{len(points)} rows; the prediction furthest off misses by {number(far)}.",
    )


def rate_chart(rate: Rate, rows: int, starts: Sequence[int], width: int) -> Markup:
    """Draw the learning rate of each row."""
    schedule = Polynomial(rate.gamma0, rate.a, rate.c)
    last = max(rows, 10)
    curve = [(t, schedule(t)) for t in (last ** (step / 60) for step in range(61))]
    low, high = padded([y for _, y in curve], log=True)
    # The axis covers at least a factor of 5, so that a nearly constant rate looks constant.
    low, high = min(low, curve[0][1] / 4), max(high, curve[0][1] * 1.3)
    plot = Plot(width, 220, (1, last, True), (low, high, True), top=28)
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


def rows_range(curve: Curve) -> tuple[float, float, bool]:
    """Return the limits of the logarithmic axis of rows."""
    first, last = curve[0][0], curve[-1][0]
    return (first, last, True) if last > first else (max(first / 2, 0.5), first * 2, True)


# -- inside ----------------------------------------------------------------------------------------


def _loss_range(losses: Sequence[float]) -> tuple[float, float, bool]:
    """Return the limits of the loss axis, logarithmic if the loss varies more than 20-fold."""
    log = min(losses) > 0 and max(losses) > 20 * min(losses)
    low, high = padded(losses, log)
    return (low, high, True) if log else (max(low, 0.0) if min(losses) >= 0 else low, high, False)


def _near(constant: Curve, losses: Sequence[float]) -> list[float]:
    """Return the last loss of the constant, unless it would flatten the other curves."""
    top = max(losses) + 3 * (max(losses) - min(losses))
    return [y for _, y in constant[-1:] if y <= top]


def _mark_start(plot: Plot, starts: Sequence[int]) -> None:
    """Mark t0, where averaging begins; with several outputs, the range of their t0."""
    seen = [float(t0) for t0 in starts if plot.x.low < t0 <= plot.x.high]
    if not seen:
        return
    first, last = min(seen), max(seen)
    bottom, top = plot.y.low, plot.y.high
    if last > first:
        plot.bar((first, bottom), (last, top), "start-band")
    plot.segment((first, bottom), (first, top), "start")
    label = f"t₀ = {first:,.0f}" + (f" to {last:,.0f}" if last > first else "")
    place = plot.x(first)
    anchor = "start" if place < (plot.left + plot.right) / 2 else "end"
    plot.write(label, place, plot.top - 10, "start-text", anchor)


def _wilson(positive: float, total: float) -> tuple[float, float]:
    """Return Wilson's 95% interval of a proportion."""
    share, spread = positive / total, 1.96**2 / total
    middle = (share + spread / 2) / (1 + spread)
    reach = math.sqrt(spread * (share * (1 - share) + spread / 4)) / (1 + spread)
    return middle - reach, middle + reach

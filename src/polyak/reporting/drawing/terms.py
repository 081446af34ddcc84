"""Charts of the terms of an additive model: curves, levels and pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.reporting.drawing.plot import NARROW, Plot, padded
from polyak.reporting.drawing.weights import shortened
from polyak.reporting.effects import Panel
from polyak.reporting.markup import Markup
from polyak.reporting.words import number, short

Floats = NDArray[np.float64]

MOST_LEVELS, MOST_CELLS = 12, 12
"""Levels of a category that are drawn, and cells of a pair along each axis."""
SKEWED = 20.0
"""The ratio of the largest value to the median from which on the axis is logarithmic."""
NAMES = 84
"""Pixels for the names of levels."""


def term_chart(panel: Panel, key: str, shown: Sequence[Panel]) -> Markup:
    """Draw a term; all that are ``shown`` have the same scale, so that they can be compared."""
    reach = _limits(shown)
    if panel.kind == "pair":
        pairs = [np.abs(one.effect.value).max() for one in shown if one.kind == "pair"]
        plot = _pair(panel, float(max(pairs)))
    elif panel.kind == "category" or len(panel.knots) < 3:
        plot = _levels(panel, reach)
    else:
        plot = _curve(panel, reach)
    return plot.draw(key, panel.title, f"The effect is {panel.range}.")


def _curve(panel: Panel, reach: tuple[float, float]) -> Plot:
    grid, value, lower, upper = panel.effect
    low, high = float(grid[0]), float(grid[-1])
    log = low > 0 and high > SKEWED * float(np.median(panel.knots))
    plot = Plot(NARROW, 200, (low, high, log), (*reach, False), right=22)
    plot.y_axis()
    plot.x_axis(shortened(panel.name, 250))
    plot.band(list(zip(grid, lower, upper, strict=True)), "band")
    plot.segment((low, 0.0), (high, 0.0), "zero")
    for knot in panel.knots:  # where the rows are
        plot.segment((knot, reach[0]), (knot, reach[0] + 0.03 * (reach[1] - reach[0])), "tick")
    plot.line(list(zip(grid, value, strict=True)), "main")
    return plot


def _levels(panel: Panel, reach: tuple[float, float]) -> Plot:
    """Draw bars of the levels with their intervals, the largest first."""
    grid, value, lower, upper = panel.effect
    most = np.argsort(-np.abs(value), kind="stable")[:MOST_LEVELS]
    shown = most[np.argsort(-value[most], kind="stable")] if panel.kind == "category" else most
    y = (len(shown) - 0.5, -0.5, False)
    plot = Plot(NARROW, 24 * len(shown) + 66, (*reach, False), y, left=NAMES)
    plot.x_axis(shortened(panel.name, 250))
    plot.segment((0.0, -0.5), (0.0, len(shown) - 0.5), "zero")
    for place, k in enumerate(shown.tolist()):
        name = _label(grid[k])
        title = f"{name}: {number(value[k])}, 95% from {number(lower[k])} to {number(upper[k])}"
        plot.bar((0.0, place - 0.3), (value[k], place + 0.3), "level", title)
        plot.segment((lower[k], place), (upper[k], place), "whisker")
        plot.label(shortened(name, NAMES - 10), plot.y(place), title, "label")
    return plot


def _pair(panel: Panel, largest: float) -> Plot:
    """Draw a heat map whose cells are evenly spaced in ranks."""
    (a, b), value = panel.effect.grid, panel.effect.value
    names = panel.name.split(" × ")
    if a.dtype.kind == "U" and b.dtype.kind != "U":  # names fit on the left
        a, b, value, names = b, a, value.T, names[::-1]
    across, up = _some(a), _some(b)
    sizes = (len(across), len(up))
    plot = Plot(NARROW, 230, (0, sizes[0], False), (0, sizes[1], False), left=NAMES, top=28)
    for i, x in enumerate(across):
        for j, y in enumerate(up):
            one = float(value[x, y])
            title = f"{names[0]} {_label(a[x])}, {names[1]} {_label(b[y])}: {number(one)}"
            # By the square root, so that the pairs beside one that is much larger can be seen.
            kind, strength = "more" if one > 0 else "less", f"{(abs(one) / largest) ** 0.5:.2f}"
            plot.bar((i, j), (i + 1, j + 1), kind, title, strength)
    for i in _ends(sizes[0]):
        place = (plot.left + 34, plot.x(i + 0.5), plot.right - 34)
        text = shortened(_label(a[across[i]]), 68)
        plot.write(text, sorted(place)[1], plot.bottom + 18, None, "middle")
    for j in _ends(sizes[1]) if b.dtype.kind != "U" else range(sizes[1]):
        label = _label(b[up[j]])
        plot.label(shortened(label, NAMES - 10), plot.y(j + 0.5), label, None)
    plot.write(shortened(names[0], 250), plot.right, plot.height - 6, None, "end")
    plot.write(shortened(names[1], 320), 0, 14)
    return plot


def _some(values: Sequence[Any]) -> list[int]:
    """Return places of values, the ends and evenly between them."""
    return sorted({round(place) for place in np.linspace(0, len(values) - 1, MOST_CELLS)})


def _ends(size: int) -> list[int]:
    """Return the first, the middle and the last of places."""
    return sorted({0, size // 2, size - 1}) if size > 2 else list(range(size))


def _label(value: Any) -> str:
    return str(value) if isinstance(value, str) else short(float(f"{value:.4g}"))


def _limits(panels: Sequence[Panel]) -> tuple[float, float]:
    """Return limits of the effects of curves and levels, zero included."""
    ends = [0.0]
    for panel in panels:
        if panel.kind != "pair":
            ends += [float(panel.effect.value.min()), float(panel.effect.value.max())]
    return padded(ends)

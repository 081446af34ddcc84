"""The chart of the weights: a line for each, with its name on the left and its weight right."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import east_asian_width

from polyak.reporting.drawing.plot import NARROW, Plot, padded
from polyak.reporting.effects import Effect
from polyak.reporting.markup import Markup
from polyak.reporting.words import number

_LINE = 24  # the height of a line in pixels
WIDEST = 270
"""The most pixels for names on a wide screen."""


def weights_chart(entries: Sequence[Effect], axis: str, width: int) -> Markup:
    """Draw effects around zero with their intervals, and write the weights beside them."""
    ends = [0.0] + [end for e in entries for end in (e.interval or (e.effect,))]
    narrow = width == NARROW
    labels = [[e.name] if e.output is None else [e.name, e.output] for e in entries]
    if not narrow:
        labels = [[_together(label)] for label in labels]
    line = _LINE + 14 * (len(labels[0]) - 1)
    widest = max(width_of(text) for label in labels for text in label) + 14
    left = round(min(widest, 124 if narrow else WIDEST))
    right = 74 if narrow else 96
    height = line * len(entries) + 84
    y = (len(entries) - 0.5, -0.5, False)
    plot = Plot(width, height, (*padded(ends), False), y, left=left, right=right, top=32)
    plot.x_axis(axis)
    plot.write("weight per unit", width, plot.top - 16, None, "end")
    plot.segment((0, -0.5), (0, len(entries) - 0.5), "zero")
    for place, (texts, entry) in enumerate(zip(labels, entries, strict=True)):
        title = _title(entry)
        _mark(plot, place, entry, title)
        for which, text in enumerate(texts):
            middle = plot.y(place) + 15 * (which - (len(texts) - 1) / 2)
            plot.label(shortened(text, left - 10), middle, title, "label" if which == 0 else None)
        plot.write(number(entry.weight), width, plot.y(place) + 4, "label", "end")
    return plot.draw(
        "weights",
        "What matters most",
        "; ".join(f"{e.name} {number(e.effect)}" for e in entries[:5]) + "; and so on.",
    )


def _together(label: list[str]) -> str:
    """Return a feature and its output on one line, each shortened if it is too long."""
    if len(label) == 1:
        return label[0]
    output = " · " + shortened(label[1], 100)
    return shortened(label[0], WIDEST - 16 - width_of(output)) + output


def _title(entry: Effect) -> str:
    name = entry.name if entry.output is None else f"{entry.name} · {entry.output}"
    title = f"{name}: effect {number(entry.effect)}, weight {number(entry.weight)} per unit"
    if entry.interval is not None:
        low, high = map(number, entry.interval)
        title += f"; effect with 95% confidence between {low} and {high}"
    return title


def _mark(plot: Plot, place: int, entry: Effect, title: str) -> None:
    if entry.interval is None:
        plot.segment((0, place), (entry.effect, place), "stem")
        clear = True
    else:
        low, high = entry.interval
        plot.segment((low, place), (high, place), "whisker")
        clear = low > 0 or high < 0
    plot.dot((entry.effect, place), "main-dot" if clear else "hollow-dot", 4, title)


def width_of(text: str) -> float:
    """Return an upper bound on the width of a label in pixels."""
    return sum(13.0 if east_asian_width(c) in "WF" else _LETTERS.get(c, 7.4) for c in text)


def shortened(text: str, pixels: float) -> str:
    """Return text cut at its end to fit into this number of pixels.

    Examples
    --------
    >>> shortened("temperature at noon", 80), shortened("age", 80)
    ('temperatu…', 'age')
    """
    if width_of(text) <= pixels:
        return text
    kept, room = "", pixels - 10.0
    for letter in text:
        room -= width_of(letter)
        if room < 0:
            break
        kept += letter
    return (kept.rstrip() or text[:1]) + "…"


_LETTERS = (
    dict.fromkeys("mMwW@%", 12.4)
    | dict.fromkeys("ijl.,:;'|! ", 4.2)
    | dict.fromkeys("frt()[]{}-/I", 5.6)
    | dict.fromkeys("ABCDEGHKNOPQRSUVXYZ&_=<>+", 9.4)
)

"""A plot as inline SVG: a frame with two axes, and marks in it; the axes' scales and ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from polyak.reporting.markup import Markup, element, joined
from polyak.reporting.words import short

Point = tuple[float, float]

NARROW, WIDE = 342, 720
"""The widths, in pixels, that plots are drawn for: a phone's and a desktop's.

Text in an SVG scales with it, so one drawing cannot be legible at both.
"""
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 14, 46


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear or logarithmic mapping from values to pixels.

    Values far beyond the limits are clipped to one axis length outside them.

    Examples
    --------
    >>> round(Scale(1, 1000, 0, 300, log=True)(10), 6)
    100.0
    >>> Scale(0, 1, 200, 0)(1e9)
    -200.0
    """

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the position of a value."""
        low, high = self.low, self.high
        if self.log:
            value = math.log(value) if value > 0 else -math.inf
            low, high = math.log(low), math.log(high)
        share = min(max((value - low) / (high - low), -1.0), 2.0)
        return self.begin + (self.end - self.begin) * share

    def ticks(self, most: int) -> list[float]:
        """Return round values within the limits, at most ``most`` of them."""
        return (
            log_ticks(self.low, self.high, most) if self.log else ticks(self.low, self.high, most)
        )


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> ticks(0.0, 1.0, 6)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    raw = (high - low) / max(most - 1, 1)
    power = math.floor(math.log10(raw))
    for exponent in (power, power + 1, power + 2):
        for digit in (1, 2, 5):
            step = digit * 10.0**exponent
            first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
            if last - first + 1 <= most:
                return [float(f"{i * step:.12g}") for i in range(first, last + 1)]
    return []


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Return powers of ten, fewer if there are too many, with values between if there are few.

    Examples
    --------
    >>> log_ticks(1, 5e4, 6), log_ticks(2, 60, 6)
    ([1.0, 10.0, 100.0, 1000.0, 10000.0], [2.0, 5.0, 10.0, 20.0, 50.0])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))

    def within(digits: Sequence[int], every: int = 1) -> list[float]:
        found = (
            float(f"{digit}e{power}") for power in range(first, last + 1, every) for digit in digits
        )
        return [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]

    for digits in ((1, 2, 5), (1, 3), (1,)):
        if len(within(digits)) <= most:
            return within(digits)
    every = 2
    while len(within((1,), every)) > most:
        every += 1
    return within((1,), every)


def padded(values: Sequence[float], log: bool = False) -> tuple[float, float]:
    """Return limits with some margin around the values, also where all are equal."""
    low, high = min(values), max(values)
    if log:
        room = max((high / low) ** 0.06, 1.05)
        return low / room, high * room
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return low - room, high + room


class Plot:
    """A frame to draw in; colours and fonts come from the page's style sheet.

    Parameters
    ----------
    x, y : (low, high, whether logarithmic)
    """

    def __init__(
        self,
        width: int,
        height: int,
        x: tuple[float, float, bool],
        y: tuple[float, float, bool],
        *,
        left: int = LEFT,
        right: int = RIGHT,
        top: int = TOP,
    ) -> None:
        self.width, self.height, self.left, self.top = width, height, left, top
        self.right, self.bottom = width - right, height - BOTTOM
        self.x = Scale(x[0], x[1], left, self.right, x[2])
        self.y = Scale(y[0], y[1], self.bottom, top, y[2])
        self._behind: list[Markup] = []
        self._inside: list[Markup] = []
        self._above: list[Markup] = []

    # -- axes ----------------------------------------------------------------------------------

    def x_axis(self, label: str) -> None:
        """Draw the horizontal axis: ticks, numbers and label."""
        for value in self.x.ticks(min(max((self.right - self.left) // 45, 3), 8)):
            place = self.x(value)
            self._behind += [
                element(
                    "line", x1=place, x2=place, y1=self.bottom, y2=self.bottom + 4, class_="tick"
                ),
                element("text", short(value), x=place, y=self.bottom + 18, text_anchor="middle"),
            ]
        self._behind += [
            element(
                "line", x1=self.left, x2=self.right, y1=self.bottom, y2=self.bottom, class_="tick"
            ),
            element("text", label, x=self.right, y=self.height - 6, text_anchor="end"),
        ]

    def y_axis(self, marks: Sequence[tuple[float, str]] | None = None) -> None:
        """Draw the vertical axis: grid lines and numbers."""
        for value, text in marks or [(value, short(value)) for value in self.y.ticks(6)]:
            if not self.y.low <= value <= self.y.high:
                continue
            place = self.y(value)
            self._behind += [
                element("line", x1=self.left, x2=self.right, y1=place, y2=place, class_="grid"),
                element("text", text, x=self.left - 8, y=place + 4, text_anchor="end"),
            ]

    # -- marks ---------------------------------------------------------------------------------

    def line(self, points: Sequence[Point], class_: str, title: str | None = None) -> None:
        """Draw a line through points."""
        places = [(self.x(x), self.y(y)) for x, y in points]
        drawn = places[:1]
        for place in places[1:-1]:  # points closer than a pixel or two are left out
            if abs(place[0] - drawn[-1][0]) >= 1.5:
                drawn.append(place)
        drawn += places[1:][-1:]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in drawn)
        self._inside.append(element("path", *_title(title), d=path, class_=class_))

    def band(self, points: Sequence[tuple[float, float, float]], class_: str) -> None:
        """Fill what is between a lower and an upper line, given as (x, low, high)."""
        there = [(x, low) for x, low, _ in points] + [(x, high) for x, _, high in points[::-1]]
        path = "M" + "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in there) + "Z"
        self._inside.append(element("path", d=path, class_=class_))

    def dot(self, point: Point, class_: str, size: float = 3.0, title: str | None = None) -> None:
        """Draw a dot."""
        cx, cy = self.x(point[0]), self.y(point[1])
        self._inside.append(
            element("circle", *_title(title), cx=cx, cy=cy, r=float(size), class_=class_)
        )

    def bar(
        self,
        low: Point,
        high: Point,
        class_: str,
        title: str | None = None,
        opacity: str | None = None,
    ) -> None:
        """Draw a rectangle between two corners."""
        (x1, x2), (y1, y2) = (sorted(ends) for ends in self._corners(low, high))
        self._inside.append(
            element(
                "rect",
                *_title(title),
                x=x1,
                y=y1,
                width=x2 - x1,
                height=y2 - y1,
                class_=class_,
                fill_opacity=opacity,
            )
        )

    def segment(self, begin: Point, end: Point, class_: str) -> None:
        """Draw a straight line."""
        (x1, x2), (y1, y2) = self._corners(begin, end)
        self._inside.append(element("line", x1=x1, x2=x2, y1=y1, y2=y2, class_=class_))

    def write(
        self, text: str, x: float, y: float, class_: str | None = None, anchor: str = "start"
    ) -> None:
        """Write text at a position."""
        self._above.append(element("text", text, x=x, y=y, text_anchor=anchor, class_=class_))

    def label(self, text: str, y: float, title: str, class_: str | None) -> None:
        """Write text left of the frame, aligned to the edge so that its beginning is visible."""
        self._behind.append(
            element(
                "text",
                *_title(title),
                text,
                x=0,
                y=y + 4,
                class_=class_,
            )
        )

    def draw(self, key: str, title: str, description: str) -> Markup:
        """Return the SVG, with title and description for screen readers."""
        name = f"{key}-{self.width}"
        x, y = self.left - 6, self.top - 6  # room for half a dot on every side
        width, height = self.right + 6 - x, self.bottom + 6 - y
        inner = element(  # a nested svg clips marks to the frame
            "svg",
            *self._inside,
            x=x,
            y=y,
            width=width,
            height=height,
            viewBox=f"{x} {y} {width} {height}",
        )
        return element(
            "svg",
            element("title", title, id=f"{name}-title"),
            element("desc", description, id=f"{name}-desc"),
            joined(*self._behind),
            inner,
            joined(*self._above),
            viewBox=f"0 0 {self.width} {self.height}",
            role="img",
            aria_labelledby=f"{name}-title {name}-desc",
        )

    def _corners(self, one: Point, other: Point) -> tuple[Point, Point]:
        return (self.x(one[0]), self.x(other[0])), (self.y(one[1]), self.y(other[1]))


def _title(title: str | None) -> list[Markup]:
    """Return the tooltip of a mark, if it has one."""
    return [] if title is None else [element("title", title)]

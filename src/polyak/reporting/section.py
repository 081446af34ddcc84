"""A section of the page: a heading, an explanation and a chart."""

from __future__ import annotations

from collections.abc import Callable

from polyak.reporting.drawing.plot import NARROW, WIDE
from polyak.reporting.markup import Markup, element


def section(
    title: str,
    words: str,
    chart: Callable[[int], Markup],
    *more: Markup,
    half: bool = False,
) -> Markup:
    """Return a section; with ``half`` the chart is narrow on a wide screen too."""
    drawn = both(chart) if not half else [element("div", chart(NARROW), class_="half")]
    return element("section", element("h2", title), element("p", words), *drawn, *more)


def both(chart: Callable[[int], Markup]) -> list[Markup]:
    """Return a chart drawn for a desktop and for a phone."""
    return [
        element("div", chart(WIDE), class_="wide"),
        element("div", chart(NARROW), class_="narrow"),
    ]

"""One look for all figures: an algorithm has the same colour, line and marker in each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Okabe and Ito's colours, which people with any kind of colour blindness can tell apart; lines and
# markers differ too, for print in grey.
BLUE, ORANGE, GREEN, RED = "#0072b2", "#d98200", "#008a64", "#d55e00"
PURPLE, SKY, BLACK, GREY, BROWN = "#b35a90", "#3d9fd6", "#111111", "#767676", "#7a5230"


@dataclass(frozen=True, slots=True)
class Style:
    """How a line looks."""

    colour: str
    line: Any = "-"
    marker: str | None = None
    width: float = 1.6


STYLES = {
    "ASGD": Style(BLUE, "-", "o", 2.2),
    "ASGD from row 0": Style(SKY, (0, (5, 1)), "h"),
    "ASGD, a ≈ λ₀": Style(SKY, (0, (5, 1)), "h"),
    "ASGD_BAD": Style(RED, (0, (5, 1.5)), "s"),
    "SGD": Style(PURPLE, (0, (3, 1.5, 1, 1.5)), "^"),
    "SGD2": Style(PURPLE, (0, (3, 1.5, 1, 1.5)), "^"),
    "Pegasos": Style(ORANGE, (0, (1, 1.2)), "v"),
    "SGD-QN": Style(GREEN, (0, (6, 2)), "D"),
    "oLBFGS": Style(BROWN, (0, (4, 1, 1, 1, 1, 1)), "P"),
    "LIBLINEAR": Style(GREY, (0, (2, 1)), "X"),
    "auto": Style(BLACK, "-", "*", 1.6),
    "batch": Style(BLACK, (0, (1, 1.5)), None, 1.4),
    "bound": Style(RED, (0, (5, 1.5)), None, 1.8),
    "simulation": Style(BLUE, "-", "o", 2.0),
    "one of many": Style(BLUE, "-", None, 0.9),
    # Learning rates below and above the limit, in units of it.
    "rate 1": Style(SKY, "-", "o"),
    "rate 1.5": Style(BLUE, "-", "D"),
    "rate 1.9": Style(GREEN, "-", "v"),
    "rate 2.1": Style(ORANGE, (0, (6, 2)), "^"),
    "rate 2.5": Style(PURPLE, (0, (6, 2)), "s"),
    "rate 3": Style(RED, (0, (6, 2)), "X"),
}
_OTHERS = [Style(colour) for colour in (BLUE, ORANGE, GREEN, PURPLE, SKY, BROWN, RED, GREY)]


def style_of(name: str, place: int = 0) -> Style:
    """Find a style by an algorithm's name; others take theirs by their place."""
    return STYLES.get(name) or _OTHERS[place % len(_OTHERS)]

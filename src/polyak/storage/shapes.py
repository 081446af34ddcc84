"""Conditions on values of a page of JSON.

A file's checksum shows that it is undamaged, not that its content makes sense. A condition is a
function of a value and of its name; it raises `ValueError`, in a sentence, where it does not hold.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

Shape = Callable[[Any, str], None]

MOST = 2**53
"""The largest whole number: beyond, JSON's numbers are not exact everywhere."""


def flag(value: Any, name: str) -> None:
    """Accept true and false."""
    demand(isinstance(value, bool), value, name, "true or false")


def whole(least: int = 0, most: int = MOST) -> Shape:
    """Accept whole numbers from ``least`` to ``most``.

    Examples
    --------
    >>> whole(1)(0, "outputs")
    Traceback (most recent call last):
        ...
    ValueError: its outputs is 0, not a whole number from 1 on
    """

    def check(value: Any, name: str) -> None:
        fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        upto = "on" if most == MOST else f"to {most}"
        demand(fits, value, name, f"a whole number from {least} {upto}")

    return check


def real(least: float = -math.inf) -> Shape:
    """Accept finite numbers from ``least`` on."""
    wanted = "a finite number" if least == -math.inf else f"a finite number from {least:g} on"

    def check(value: Any, name: str) -> None:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = number and abs(value) <= sys.float_info.max and value >= least
        demand(fits, value, name, wanted)

    return check


def word(*choices: str) -> Shape:
    """Accept words: any, or one of these."""

    def check(value: Any, name: str) -> None:
        fits = isinstance(value, str) and (not choices or value in choices)
        demand(fits, value, name, f"one of {', '.join(choices)}" if choices else "a word")

    return check


def many(shape: Shape, least: int = 0) -> Shape:
    """Accept lists of at least ``least`` such values."""

    def check(value: Any, name: str) -> None:
        fits = isinstance(value, list) and len(value) >= least
        demand(fits, value, name, f"a list of {least} or more" if least else "a list")
        for place, item in enumerate(value):
            shape(item, f"{name}[{place}]")

    return check


def demand(fits: Any, value: Any, name: str, what: str) -> None:
    """Raise ValueError about a value unless it fits."""
    if not fits:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:59] + "…"
        raise ValueError(f"its {name} is {shown}, not {what}")

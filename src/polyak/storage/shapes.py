"""Descriptions of valid JSON pages, and their validation.

A file's checksum shows that it is undamaged, not that its content makes sense. A description
here is a function of a value and of what to call it; it raises `ValueError`, in a sentence, for
whatever is something else. Entries that a description does not know are left alone: a later version
may have more to say.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

Shape = Callable[[Any, str], None]

MOST = 2**53
"""The largest whole number: beyond, JSON's numbers are not exact everywhere."""


def anything(value: Any, name: str) -> None:
    """Accept whatever it is."""


def flag(value: Any, name: str) -> None:
    """Accept true and false."""
    _demand(isinstance(value, bool), value, name, "true or false")


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
        _demand(fits, value, name, f"a whole number from {least} {upto}")

    return check


def real(least: float = -math.inf) -> Shape:
    """Accept finite numbers from ``least`` on."""

    def check(value: Any, name: str) -> None:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = number and abs(value) <= sys.float_info.max and value >= least
        _demand(
            fits,
            value,
            name,
            "a finite number" if least == -math.inf else f"a finite number from {least:g} on",
        )

    return check


def word(*choices: str) -> Shape:
    """Accept words: any, or one of these."""

    def check(value: Any, name: str) -> None:
        fits = isinstance(value, str) and (not choices or value in choices)
        _demand(fits, value, name, f"one of {', '.join(choices)}" if choices else "a word")

    return check


def maybe(shape: Shape) -> Shape:
    """Accept null as well."""

    def check(value: Any, name: str) -> None:
        if value is not None:
            shape(value, name)

    return check


def either(*shapes: Shape) -> Shape:
    """Accept what one of these does; what is wrong is told by the last."""

    def check(value: Any, name: str) -> None:
        for shape in shapes[:-1]:
            try:
                shape(value, name)
            except ValueError:
                continue
            return
        shapes[-1](value, name)

    return check


def many(shape: Shape, least: int = 0, most: int | None = None) -> Shape:
    """Accept lists of such values, with at least and at most this many entries."""

    def check(value: Any, name: str) -> None:
        _demand(isinstance(value, list), value, name, "a list")
        fits = least <= len(value) and (most is None or len(value) <= most)
        _demand(fits, value, name, "a list of the right length")
        for place, item in enumerate(value):
            shape(item, f"{name}[{place}]")

    return check


def row(*shapes: Shape) -> Shape:
    """Accept a list with one entry of each of these."""

    def check(value: Any, name: str) -> None:
        fits = isinstance(value, list) and len(value) == len(shapes)
        _demand(fits, value, name, f"a list of {len(shapes)}")
        for place, (shape, item) in enumerate(zip(shapes, value, strict=True)):
            shape(item, f"{name}[{place}]")

    return check


def named(shape: Shape) -> Shape:
    """Accept any names, each with one of these."""

    def check(value: Any, name: str) -> None:
        _demand(isinstance(value, dict), value, name, "a dict")
        for key, item in value.items():
            shape(item, f"{name}.{key}")

    return check


def record(required: dict[str, Shape] | None = None, **optional: Shape) -> Shape:
    """Accept a dict that has these entries, and perhaps those.

    Examples
    --------
    >>> record({"rows": whole()}, seed=whole())({"seed": 3}, "place")
    Traceback (most recent call last):
        ...
    ValueError: its place has no rows
    """
    needed = required or {}

    def check(value: Any, name: str) -> None:
        _demand(isinstance(value, dict), value, name, "a dict")
        for key, shape in {**needed, **optional}.items():
            if key in value:
                shape(value[key], key if name == "page" else f"{name}.{key}")
            elif key in needed:
                raise ValueError(f"its {name} has no {key}")

    return check


def _demand(fits: Any, value: Any, name: str, what: str) -> None:
    if not fits:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:59] + "…"
        raise ValueError(f"its {name} is {shown}, not {what}")

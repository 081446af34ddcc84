"""Print results for people or as JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any


def escaped(text: str) -> str:
    r"""Return a line of text with control characters, which terminals obey, as in Python.

    Examples
    --------
    >>> print(escaped("\x1b]0;title\x07"))
    \x1b]0;title\x07
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


# Also line ends, changes of the direction of text, and halves of characters.
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def number(value: Any) -> str:
    """Write a number as people read it.

    Examples
    --------
    >>> number(1234567), number(0.123456789), number(None)
    ('1,234,567', '0.123457', '-')
    """
    if value is None or value != value:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def print_json(value: Any) -> None:
    """Print one JSON object."""
    from polyak.storage.container import plain

    print(json.dumps(plain(value)))


def print_table(heads: list[str], lines: list[list[str]]) -> None:
    """Print columns, each as wide as it needs."""
    shown = [[escaped(text) for text in line] for line in (heads, *lines)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for line in shown:
        print("  ".join(f"{text:>{width}}" for text, width in zip(line, widths, strict=True)))


def print_figures(figures: Mapping[str, Any], as_json: bool = False, title: str = "") -> None:
    """Print names and numbers, one per line; in colour on a terminal."""
    if as_json:
        print_json(figures)
        return
    lines = [(name.replace("_", " "), escaped(number(value))) for name, value in figures.items()]
    title = escaped(title)
    width = max((len(name) for name, _ in lines), default=0)
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False)
        if title:
            console.print(Text(title, style="bold"))
        for name, value in lines:
            console.print(Text(f"{name:<{width}}  ", style="dim") + Text(value))
        return
    if title:
        print(title)
    for name, value in lines:
        print(f"{name:<{width}}  {value}")

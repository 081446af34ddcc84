"""Print results for people or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any


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
    widths = [max(len(text) for text in column) for column in zip(heads, *lines, strict=True)]
    for line in (heads, *lines):
        print("  ".join(f"{text:>{width}}" for text, width in zip(line, widths, strict=True)))


def print_figures(figures: Mapping[str, Any], as_json: bool = False, title: str = "") -> None:
    """Print names and numbers, one per line; in colour on a terminal."""
    if as_json:
        print_json(figures)
        return
    lines = [(name.replace("_", " "), number(value)) for name, value in figures.items()]
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

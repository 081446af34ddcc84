"""How much of a known amount is done: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
from typing import Any


class Bar:
    """Shows how far something has come.

    Parameters
    ----------
    words : str
        What stands beside the bar before anything is done.
    live : bool
        Draw a bar, if there is a terminal.
    every : float, optional
        Where no bar is drawn, print a line each time this share of the whole is done.
    """

    def __init__(self, words: str, *, live: bool = True, every: float | None = None) -> None:
        self._every, self._next = every, 0.0
        self._bar: Any = None
        if live and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn()
            self._bar = Progress(*columns, console=Console(stderr=True))
            self._task = self._bar.add_task(words, total=None)

    def show(self, done: float, total: float | None, words: str | None = None) -> None:
        """Show how much is done, and the text beside it."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, description=words)
        elif self._every is not None and total and done / total >= self._next:
            self._next = done / total + self._every
            print(words, file=sys.stderr, flush=True)

    def __enter__(self) -> Bar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

"""How a run is going: a live line on a terminal, otherwise a line each time the rows double."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from polyak.cli.race import error_name

if TYPE_CHECKING:
    from polyak.training.job import Progress

FIRST_LINE = 1000
UPDATES_A_SECOND = 8


class Quiet:
    """Shows nothing."""

    def __call__(self, progress: Progress) -> None:
        """Look at the progress."""

    def close(self) -> None:
        """End the display."""


class Lines(Quiet):
    """A plain line each time the rows double."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._next = FIRST_LINE
        self._last: Progress | None = None
        self._printed = 0

    def __call__(self, progress: Progress) -> None:
        """Print a line if the rows have doubled."""
        self._last = progress
        if progress.rows >= self._next:
            while self._next <= progress.rows:
                self._next *= 2
            self._print(progress)

    def close(self) -> None:
        """Print the last line."""
        if self._last is not None and self._last.rows > self._printed:
            self._print(self._last)

    def _print(self, progress: Progress) -> None:
        if not self._printed:
            error = "error rate" if progress.learner.loss.classifies else "MAE"
            print(
                f"{'':>12}  {'recent':>9}  {'overall':>9}  {'recent':>10}  {'overall':>10}\n"
                f"{'rows':>12}  {'loss':>9}  {'loss':>9}  {error:>10}  {error:>10}"
                f"  {'rows/s':>9}  {'MB/s':>7}",
                file=self._out,
            )
        loss, wrong = progress.learner.progressive_loss, progress.learner.progressive_error
        recent = progress.learner.recent()
        rate, megabytes = speeds(progress)
        print(
            f"{progress.rows:>12,}  {_figure(recent['loss'])}  {_figure(loss)}"
            f"  {_figure(recent['error']):>10}  {_figure(wrong):>10}"
            f"  {rate:>9,.0f}  {megabytes:>7.1f}",
            file=self._out,
            flush=True,
        )
        self._printed = progress.rows


def _figure(value: float) -> str:
    """Write a number so that it fits its column.

    Examples
    --------
    >>> _figure(0.25), _figure(20558.814055), _figure(41281306250.0)
    (' 0.250000', '  20558.8', '4.128e+10')
    """
    return f"{value:>9.{'6f' if abs(value) < 100 else '6g' if abs(value) < 1e6 else '4g'}}"


class LiveLine(Quiet):
    """One line on a terminal, redrawn in place; what it shows last stays.

    The words are put together after every batch and drawn by a thread of their own, so that the
    line is right even while the input stalls.
    """

    def __init__(self) -> None:
        self._live: Any = None
        self._words = ""
        self._last: Progress | None = None
        self._next_look = 0.0
        self._scores = (math.nan, math.nan), (math.nan, math.nan)

    def __call__(self, progress: Progress) -> None:
        """Bring the line up to date; its scores only as often as the eye can follow."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + 1.0 / UPDATES_A_SECOND
            overall = progress.learner.progressive_loss, progress.learner.progressive_error
            recent = progress.learner.recent()
            self._scores = overall, (recent["loss"], recent["error"])
        self._last = progress
        self._words = words(progress, *self._scores)
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(
                console=Console(stderr=True),
                get_renderable=self._line,
                refresh_per_second=UPDATES_A_SECOND,
            )
            self._live.start()

    def close(self) -> None:
        """Draw the line once more and leave it there."""
        if self._live is not None and self._last is not None:
            self._next_look = 0.0
            self(self._last)
            self._live.stop()

    def _line(self) -> Any:
        from rich.text import Text

        line = Text(self._words, no_wrap=True, overflow="ellipsis")
        line.highlight_regex(r"\d[\d,.]*", "cyan")
        return line


def words(progress: Progress, overall: tuple[float, float], recent: tuple[float, float]) -> str:
    """Return a line with the progress, the speed and the loss of a run."""
    rate, megabytes = speeds(progress)
    parts = [f"{progress.rows:,} rows", f"{rate:,.0f} rows/s", f"{megabytes:,.0f} MB/s"]
    if progress.share is not None:
        parts.append(f"{progress.share:.0%}{eta(progress)}")
    if overall[0] == overall[0]:
        error = error_name(progress.learner.loss.classifies).replace("_", " ")
        for name, now, all_rows in zip(("loss", error), recent, overall, strict=True):
            if all_rows == all_rows:
                parts.append(f"{name} {now:.4f} recent, {all_rows:.4f} overall")
    return " · ".join(parts)


def speeds(progress: Progress) -> tuple[float, float]:
    """Return rows and megabytes per second, not counting what was done before resuming."""
    seconds = max(progress.seconds, 1e-9)
    rows = progress.rows - progress.rows_before
    return rows / seconds, (progress.bytes_read - progress.bytes_before) / seconds / 1e6


def eta(progress: Progress) -> str:
    """Return the time left at the speed so far."""
    done = (progress.share or 0.0) - progress.share_before
    if done <= 0 or progress.share is None or progress.share >= 1:
        return ""
    left = round(progress.seconds * (1.0 - progress.share) / done)
    minutes, seconds = divmod(left, 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f", {hours}:{minutes:02}:{seconds:02} left" if hours else f", {minutes}:{seconds:02} left"
    )


def display(quiet: bool, live: bool) -> Quiet:
    """Choose how to show progress: not at all, live if the terminal can, or in plain lines."""
    if quiet:
        return Quiet()
    if live and sys.stderr.isatty():
        return LiveLine()
    return Lines(sys.stderr)

"""How a run is going: a live line on a terminal, otherwise a line each time the rows double."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from polyak.cli.race import error_name

if TYPE_CHECKING:
    from polyak.data.stream import Stream
    from polyak.training.job import Progress

FIRST_LINE = 1000
UPDATES_A_SECOND = 8


def display(quiet: bool, live: bool = True) -> Quiet:
    """Choose how to show progress: not at all, live if the terminal can, or in plain lines."""
    if quiet:
        return Quiet()
    if live and sys.stderr.isatty():
        return LiveLine()
    return Lines(sys.stderr)


@contextmanager
def counting(quiet: bool) -> Iterator[Callable[[Stream], None]]:
    """Show how far a stream was read; yields the function to call after every batch."""
    from polyak.training.job import Progress

    began, progress, shown = time.monotonic(), Progress(), display(quiet)

    def watch(stream: Stream) -> None:
        progress.rows, progress.bytes_read = stream.rows_read, stream.bytes_read
        progress.seconds = time.monotonic() - began
        if stream.bytes_total:
            progress.share = min(1.0, stream.bytes_read / stream.bytes_total)
        shown(progress)

    try:
        yield watch
    finally:
        shown.close()


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
        rate, megabytes = speeds(progress)
        head = cells = ""
        if progress.learner is not None:
            error = "error rate" if progress.learner.loss.classifies else "MAE"
            head = f"  {'loss':>9}  {'loss':>9}  {error:>10}  {error:>10}"
            (loss, wrong), (recent, wrong_recently) = scores(progress)
            cells = f"  {_figure(recent)}  {_figure(loss)}"
            cells += f"  {_figure(wrong_recently):>10}  {_figure(wrong):>10}"
        if not self._printed:
            if head:
                above = f"{'recent':>9}  {'overall':>9}  {'recent':>10}  {'overall':>10}"
                print(f"{'':>12}  {above}", file=self._out)
            print(f"{'rows':>12}{head}  {'rows/s':>9}  {'MB/s':>7}", file=self._out)
        speed = f"{rate:>9,.0f}  {f'{megabytes:.1f}' if progress.bytes_read else '-':>7}"
        print(f"{progress.rows:>12,}{cells}  {speed}", file=self._out, flush=True)
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
        if now >= self._next_look and progress.learner is not None:
            self._next_look = now + 1.0 / UPDATES_A_SECOND
            self._scores = scores(progress)
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
    """Return a line with the progress, the speed and the loss of a run.

    Examples
    --------
    >>> from polyak.training.job import Progress
    >>> nothing = float("nan"), float("nan")
    >>> words(Progress(rows=1000, share=0.25, seconds=0.5), nothing, nothing)
    '1,000 rows · 2,000 rows/s · 25%, 0:02 left'
    """
    rate, megabytes = speeds(progress)
    parts = [f"{progress.rows:,} rows", f"{rate:,.0f} rows/s"]
    if progress.bytes_read:
        parts.append(f"{megabytes:,.0f} MB/s")
    if progress.share is not None:
        parts.append(f"{progress.share:.0%}{eta(progress)}")
    if progress.learner is not None and overall[0] == overall[0]:
        error = error_name(progress.learner.loss.classifies).replace("_", " ")
        for name, now, all_rows in zip(("loss", error), recent, overall, strict=True):
            if all_rows == all_rows:
                parts.append(f"{name} {now:.4f} recent, {all_rows:.4f} overall")
    return " · ".join(parts)


def scores(progress: Progress) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the loss and the error over all rows, and those over the later half."""
    learner = progress.learner
    assert learner is not None
    recent = learner.recent()
    overall = learner.progressive_loss, learner.progressive_error
    return overall, (recent["loss"], recent["error"])


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

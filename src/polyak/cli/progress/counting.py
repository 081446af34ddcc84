"""How a run that only reads and writes is going: rows, speed, and the time that is left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polyak.cli.progress.live import Lines, LiveLine, Quiet, speeds

if TYPE_CHECKING:
    from polyak.data.stream import Stream


class _NoLearner:
    """Stands where a learner would, and has no scores to show."""

    progressive_loss = progressive_error = float("nan")

    def recent(self) -> dict[str, float]:
        return {"loss": float("nan"), "error": float("nan")}


@dataclass(slots=True)
class Counted:
    """How far a stream was read: what `polyak.training.job.Progress` says of a run that learns."""

    learner: Any = field(default_factory=_NoLearner)
    rows: int = 0
    rows_before: int = 0
    bytes_read: int = 0
    bytes_before: int = 0
    share: float | None = None
    share_before: float = 0.0
    seconds: float = 0.0


class _CountLines(Lines):
    HEADER = f"{'rows':>12}  {'rows/s':>9}  {'MB/s':>7}"

    def _print(self, progress: Any) -> None:
        if not self._printed:
            print(self.HEADER, file=self._out)
        rate, megabytes = speeds(progress)
        print(f"{progress.rows:>12,}  {rate:>9,.0f}  {megabytes:>7.1f}", file=self._out, flush=True)
        self._printed = progress.rows


@contextmanager
def counting(quiet: bool) -> Iterator[Callable[[Stream], None]]:
    """Show how far a stream was read; yields the function to call after every batch."""
    began = time.monotonic()
    counted: Any = Counted()
    shown = Quiet() if quiet else LiveLine() if sys.stderr.isatty() else _CountLines(sys.stderr)

    def watch(stream: Stream) -> None:
        counted.rows, counted.bytes_read = stream.rows_read, stream.bytes_read
        counted.seconds = time.monotonic() - began
        if stream.bytes_total:
            counted.share = min(1.0, stream.bytes_read / stream.bytes_total)
        shown(counted)

    try:
        yield watch
    finally:
        shown.close()

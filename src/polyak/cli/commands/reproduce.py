"""``polyak reproduce``: the paper's experiments, and whether its claims hold."""

from __future__ import annotations

import argparse
import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from polyak.cli.arguments import Parser, positive
from polyak.cli.errors import STOPPED, UsageError, say
from polyak.training.interrupts import raise_on_ctrl_c

if TYPE_CHECKING:
    from polyak.paper.reproduction.pieces import Piece

NAMES = ("schedules", "asymptotics", "benchmarks", "theory")


def parser() -> Parser:
    """Read the arguments."""
    parser = Parser(
        "reproduce",
        "Run the paper's experiments, and see which of its claims hold, in DIR/report.html.\n"
        "What is finished is kept in DIR: the same command goes on where it was stopped.",
    )
    parser.add_argument(
        "experiment",
        nargs="*",
        metavar="EXPERIMENT",
        help=f"{', '.join(NAMES)}, or all (all)",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder to write to")
    parser.add_argument(
        "--data", metavar="DIR", help="where real data sets are (POLYAK_DATA); else stand-ins"
    )
    parser.add_argument(
        "--scale", type=_scale, default=None, metavar="S", help="1 for the paper's sizes (0.1)"
    )
    parser.add_argument(
        "--workers", type=positive, default=2, metavar="N", help="processes to use (2)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    return parser


def run(options: Namespace) -> int:
    """Do it."""
    names = _names(options.experiment)
    _check_for_matplotlib()
    from polyak.paper.reproduction.run import DEFAULT_SCALE, reproduce

    os.makedirs(options.out, exist_ok=True)
    shown = _display(options.quiet)
    raise_on_ctrl_c()
    try:
        claims = reproduce(
            names,
            options.out,
            data=options.data or os.environ.get("POLYAK_DATA"),
            scale=DEFAULT_SCALE if options.scale is None else options.scale,
            started=shown.started,
            done=shown.done,
            workers=options.workers,
        )
    except KeyboardInterrupt:
        shown.close()
        say(f"stopped: what is finished is in {options.out}, and the same command goes on")
        return STOPPED
    finally:
        shown.close()
    for claim in claims:
        print(f"{claim.verdict:<14}  {claim.text} [{claim.where}]: {claim.measured}")
    say(f"the report is in {os.path.join(options.out, 'report.html')}")
    return 0


def _names(given: list[str]) -> list[str]:
    for name in given:
        if name not in (*NAMES, "all"):
            raise UsageError(f"there is no experiment {name!r}; there are {', '.join(NAMES)}, all")
    return list(NAMES) if not given or "all" in given else [n for n in NAMES if n in given]


def _check_for_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "figures are drawn by matplotlib, which is not here: pip install 'polyak[reproduce]'"
        ) from error


class _Quiet:
    """Says nothing."""

    def started(self, pieces: int) -> None:
        """Learn how many pieces there are."""

    def done(self, piece: Piece, was_there: bool) -> None:
        """Learn that one is finished."""

    def close(self) -> None:
        """End the display."""


class _Lines(_Quiet):
    """A line a piece."""

    def started(self, pieces: int) -> None:
        self._all, self._done = pieces, 0

    def done(self, piece: Piece, was_there: bool) -> None:
        self._done += 1
        say(f"{self._done}/{self._all} {piece.name}{' was there already' if was_there else ''}")


class _Bar(_Quiet):
    """A bar on a terminal."""

    def __init__(self) -> None:
        self._bar: Any = None

    def started(self, pieces: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

        columns = ("[progress.description]{task.description}", BarColumn(), MofNCompleteColumn())
        self._bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True))
        self._task = self._bar.add_task("computing", total=pieces)
        self._bar.start()

    def done(self, piece: Piece, was_there: bool) -> None:
        self._bar.update(self._task, advance=1, description=piece.name)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _display(quiet: bool) -> _Quiet:
    if quiet:
        return _Quiet()
    return _Bar() if sys.stderr.isatty() else _Lines()


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0 < scale < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above zero")
    return scale

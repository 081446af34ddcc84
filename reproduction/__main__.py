"""``polyak reproduce``: the paper's experiments, and whether its claims hold."""

from __future__ import annotations

import argparse
import os
from argparse import Namespace
from typing import TYPE_CHECKING

from polyak.cli.errors import STOPPED, UsageError, say
from polyak.cli.options.arguments import Parser, positive
from polyak.cli.progress.bar import Bar
from polyak.training.interrupts import raise_on_ctrl_c

if TYPE_CHECKING:
    from polyak.paper.reproduction.pieces import Piece

NAMES = ("schedules", "asymptotics", "benchmarks", "theory", "second-order")


EXAMPLE = """\
example:
  polyak reproduce schedules theory --out paper
"""


def parser() -> Parser:
    """Read the arguments."""
    parser = Parser(
        "reproduce",
        "Run the paper's experiments, and see which of its claims hold, in DIR/report.html.\n"
        "Finished experiments are kept in DIR: the same command continues where it was stopped.",
        epilog=EXAMPLE,
    )
    parser.add_argument(
        "experiment",
        nargs="*",
        metavar="EXPERIMENT",
        help=f"{', '.join(NAMES)}, or all (default: all)",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="folder to write to")
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="folder with real data (default: $POLYAK_DATA; else generated)",
    )
    parser.add_argument(
        "--scale",
        type=_scale,
        default=None,
        metavar="S",
        help="share of the paper's sizes (default: 1, but 0.05 for stand-ins of over 500 features)",
    )
    parser.add_argument(
        "--sets",
        type=lambda text: text.split(","),
        metavar="NAME,…",
        help="data sets of the benchmarks (default: all)",
    )
    parser.add_argument(
        "--workers", type=positive, default=2, metavar="N", help="number of processes (default: 2)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    return parser


def run(options: Namespace) -> int:
    """Do it."""
    names = _names(options.experiment)
    _check_for_matplotlib()
    from polyak.paper.datasets import MORE_SETS, PAPER_SETS
    from polyak.paper.reproduction.run import reproduce

    for name in options.sets or ():
        if name not in {**PAPER_SETS, **MORE_SETS}:
            known = ", ".join([*PAPER_SETS, *MORE_SETS])
            raise UsageError(f"there is no data set {name!r}; there are {known}")
    os.makedirs(options.out, exist_ok=True)
    finished, everything = 0, 0

    def started(pieces: int) -> None:
        nonlocal everything
        everything = pieces

    def done(piece: Piece, was_there: bool) -> None:
        nonlocal finished
        finished += 1
        words = f"{finished}/{everything} {piece.name}{' was there already' if was_there else ''}"
        bar.show(finished, everything, words)

    raise_on_ctrl_c()
    try:
        shown = not options.quiet
        with Bar("computing", live=shown, every=0.0 if shown else None) as bar:
            claims = reproduce(
                names,
                options.out,
                data=options.data or os.environ.get("POLYAK_DATA"),
                scale=options.scale,
                sets=options.sets,
                started=started,
                done=done,
                workers=options.workers,
            )
    except KeyboardInterrupt:
        say(f"stopped: what is finished is in {options.out}, and the same command goes on")
        return STOPPED
    for claim in claims:
        print(f"{claim.verdict:<21}  {claim.text} [{claim.where}]: {claim.measured}")
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


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0 < scale < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above zero")
    return scale

"""``python -m reproduction``: run the paper's experiments and check its claims."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reproduction.pieces import Piece

STOPPED = 130
"""The exit code after Ctrl-C, as shells count it."""

# One thread of linear algebra per process, set before NumPy is imported: the experiments use the
# processors by themselves, and their timings are of one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    parser = argparse.ArgumentParser(
        "python -m reproduction",
        description="Run the paper's experiments and check which of its claims hold, in "
        "DIR/report.html. Finished experiments are kept in DIR: the same command continues where "
        "it was stopped.",
        epilog="example: python -m reproduction schedules theory --out build/reproduction",
        allow_abbrev=False,
    )
    parser.add_argument(
        "experiment",
        nargs="*",
        metavar="EXPERIMENT",
        help="schedules, asymptotics, benchmarks, theory, second-order, or all (default: all)",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="folder to write to")
    parser.add_argument(
        "--data",
        default=os.environ.get("POLYAK_DATA"),
        metavar="DIR",
        help="folder with real data (default: $POLYAK_DATA; else generated)",
    )
    parser.add_argument(
        "--scale",
        type=_scale,
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
        "--workers", type=int, default=2, metavar="N", help="number of processes (default: 2)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments that the arguments name; return the exit code."""
    options = parser().parse_intermixed_args(arguments)
    _check(options)
    from reproduction.bar import Bar
    from reproduction.run import EXPERIMENTS, reproduce

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

    named = [name for name in EXPERIMENTS if name in options.experiment]
    try:
        shown = not options.quiet
        with Bar("computing", live=shown, every=0.0 if shown else None) as bar:
            claims = reproduce(
                named or list(EXPERIMENTS),
                options.out,
                data=options.data,
                scale=options.scale,
                sets=options.sets,
                started=started,
                done=done,
                workers=options.workers,
            )
    except KeyboardInterrupt:
        print(
            f"stopped: what is finished is in {options.out}; run it again to go on", file=sys.stderr
        )
        return STOPPED
    for claim in claims:
        print(f"{claim.verdict:<21}  {claim.text} [{claim.where}]: {claim.measured}")
    print(f"the report is in {os.path.join(options.out, 'report.html')}", file=sys.stderr)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Refuse arguments that make no sense before anything is written."""
    try:
        import matplotlib  # noqa: F401

        import reproduction.rivals  # noqa: F401
    except ImportError as error:
        parser().error(f"{error}; `make reproduce` installs and builds what is missing")
    from reproduction.datasets import MORE_SETS, PAPER_SETS
    from reproduction.run import EXPERIMENTS

    for name in options.experiment:
        if name not in (*EXPERIMENTS, "all"):
            known = ", ".join([*EXPERIMENTS, "all"])
            parser().error(f"there is no experiment {name!r}; there are {known}")
    if "all" in options.experiment:
        options.experiment = []
    for name in options.sets or ():
        if name not in {**PAPER_SETS, **MORE_SETS}:
            known = ", ".join([*PAPER_SETS, *MORE_SETS])
            parser().error(f"there is no data set {name!r}; there are {known}")
    if options.workers < 1:
        parser().error(f"--workers must be at least 1, not {options.workers}")


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0 < scale < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above zero")
    return scale


if __name__ == "__main__":
    sys.exit(main())

"""``python -m reproduction``: run the paper's experiments and judge its sentences."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reproduction.pieces import Piece

STOPPED = 130
"""The exit code after Ctrl-C, as shells count it."""
EXPERIMENTS = ("linear", "bounds", "step_sizes", "least_squares", "benchmarks", "speed")
NEEDS = {"benchmarks": "speed"}
"""The time to reach an error needs the time of a row."""

# One thread of linear algebra per process, set before NumPy is imported: the experiments use the
# processors by themselves, and their timings are of one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    parser = argparse.ArgumentParser(
        "python -m reproduction",
        description="Run the paper's experiments and judge its sentences, in DIR/report.html. "
        "Finished parts are kept in DIR: the same command continues where it was stopped.",
        epilog="example: python -m reproduction step_sizes linear",
        allow_abbrev=False,
    )
    parser.add_argument(
        "experiment",
        nargs="*",
        metavar="EXPERIMENT",
        help=f"{', '.join(EXPERIMENTS)} (default: all)",
    )
    parser.add_argument(
        "--out",
        default="build/reproduction",
        metavar="DIR",
        help="folder to write to (default: build/reproduction)",
    )
    parser.add_argument(
        "--data",
        default=os.environ.get("POLYAK_DATA"),
        metavar="DIR",
        help="folder with the paper's data sets (default: $POLYAK_DATA)",
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer orders")
    parser.add_argument("--page", metavar="FILE", help="write the report into this page, too")
    parser.add_argument(
        "--workers", type=int, default=2, metavar="N", help="number of processes (default: 2)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments that the arguments name; return the exit code."""
    options = parser().parse_intermixed_args(arguments)
    for name in options.experiment:
        if name not in EXPERIMENTS:
            known = ", ".join(EXPERIMENTS)
            parser().error(f"there is no experiment {name!r}; there are {known}")
    if options.workers < 1:
        parser().error(f"--workers must be at least 1, not {options.workers}")
    try:
        import markdown  # noqa: F401
        import matplotlib  # noqa: F401

        import reproduction.rivals  # noqa: F401
    except ImportError as error:
        parser().error(f"{error}; `make reproduce` installs and builds what is missing")
    try:
        return _run(options)
    except KeyboardInterrupt:
        print(
            f"stopped: what is finished is in {options.out}; run it again to continue",
            file=sys.stderr,
        )
        return STOPPED


def _run(options: argparse.Namespace) -> int:
    from reproduction.pieces import run_pieces
    from reproduction.report import about_run, write_page, write_report
    from reproduction.sentences import SENTENCES
    from reproduction.verdicts import judge

    asked = options.experiment or list(EXPERIMENTS)
    names = [n for n in EXPERIMENTS if n in asked or n in {NEEDS.get(name) for name in asked}]
    modules: dict[str, Any] = {
        name: import_module(f"reproduction.experiments.{name}") for name in names
    }
    pieces = [p for module in modules.values() for p in module.pieces(options.quick, options.data)]
    folder, finished = Path(options.out), 0

    def done(piece: Piece, was_there: bool) -> None:
        nonlocal finished
        finished += 1
        if not options.quiet:
            words = f"{piece.name}{' was there already' if was_there else ''}"
            print(f"{finished}/{len(pieces)} {words}", file=sys.stderr, flush=True)

    results = run_pieces(pieces, folder / "pieces", done, options.workers)
    numbers: dict[str, Any] = {}
    for module in modules.values():
        numbers |= module.numbers(results)
    judged = [
        judge(one, numbers, quick=options.quick) for one in SENTENCES if one.experiment in asked
    ]
    figures = [figure for module in modules.values() for figure in module.figures(results)]
    tables = [
        table
        for module in modules.values()
        if hasattr(module, "tables")
        for table in module.tables(results)
    ]
    about = about_run(options.quick)
    text = write_report(judged, figures, tables, folder, about)
    if options.page:
        write_page(text, folder, Path(options.page))
    for one in judged:
        print(f"{one.verdict:<21}  “{one.sentence.quote}” [{one.sentence.where}]: {one.measured}")
    print(f"the report is in {folder / 'report.html'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""``python -m reproduction.datasets``: list the paper's data sets and download the real ones."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from polyak.training.interrupts import Interrupts
from reproduction.bar import Bar
from reproduction.datasets import PAPER_SETS
from reproduction.datasets.benchmark import form_here
from reproduction.datasets.data_paths import data_folder
from reproduction.datasets.download_urls import DOWNLOADS
from reproduction.datasets.fetching import fetch

FETCHED = {
    "there": "was there already",
    "checked": "fetched, and its checksum is right",
    "recorded": "fetched; no checksum of it is published, so this one's was written beside it",
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    parser = argparse.ArgumentParser(
        "python -m reproduction.datasets",
        description="list: show the paper's data sets, where they come from, their shape, and "
        "whether the real files are there or generated data takes their place. fetch: download "
        "the real files of some sets; an interrupted download is resumed.",
        epilog="example: python -m reproduction.datasets fetch rcv1 --data ~/data",
        allow_abbrev=False,
    )
    parser.add_argument("action", choices=("list", "fetch"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets to list or download")
    parser.add_argument(
        "--data", metavar="DIR", help="folder with the real files (default: $POLYAK_DATA)"
    )
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """List or download data sets; return the exit code."""
    options = parser().parse_intermixed_args(arguments)
    for name in options.names:
        if name not in PAPER_SETS:
            parser().error(f"there is no set {name!r}; there are {', '.join(PAPER_SETS)}")
    return _list(options) if options.action == "list" else _fetch(options)


def _list(options: argparse.Namespace) -> int:
    sets = [
        {
            "name": paper.name,
            "here": form_here(paper.name, options.data),
            "train_rows": paper.n_train,
            "test_rows": paper.n_test,
            "features": paper.n_features,
            "what": paper.description + (", sparse" if paper.sparse else ""),
            "from": urlsplit(DOWNLOADS[paper.name][0].url).netloc,
        }
        for paper in PAPER_SETS.values()
        if not options.names or paper.name in options.names
    ]
    if options.json:
        print(json.dumps(sets, indent=1))
        return 0
    print(
        f"{'name':<9}{'here':<10}{'rows':>9}{'to test':>11}{'features':>10}  what, and where from"
    )
    for one in sets:
        print(
            f"{one['name']:<9}{one['here']:<10}{one['train_rows']:>9,}{one['test_rows']:>11,}"
            f"{one['features']:>10,}  {one['what']}; {one['from']}"
        )
    return 0


def _fetch(options: argparse.Namespace) -> int:
    if not options.names:
        parser().error(f"name the sets to fetch: {', '.join(DOWNLOADS)}")
    folder = data_folder(options.data)
    if folder is None:
        parser().error("name a folder for the files: --data DIR, or set POLYAK_DATA")
    for file in (file for name in options.names for file in DOWNLOADS[name]):
        try:
            with Interrupts(), Bar(Path(file.path).name) as bar:
                what = fetch(file, folder, bar.show)
        except (OSError, ValueError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("stopped; the same command resumes the download", file=sys.stderr)
            return 130
        print(f"{folder / file.path}: {FETCHED[what]}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""``polyak data``: which sets there are, and how to get the real ones."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from polyak.cli.errors import UsageError, say
from polyak.cli.options.arguments import Parser, add_json
from polyak.cli.progress.bar import Bar

if TYPE_CHECKING:
    from polyak.paper.datasets.download_urls import RemoteFile

HOW = """\
list   show the data sets of the paper: where they come from, their shape, and whether the real
       files are there or generated data takes their place
fetch  download the real files of some sets; an interrupted download is resumed

example:
  polyak data fetch rcv1 --data ~/data
"""


def parser() -> Parser:
    """Read the arguments."""
    parser = Parser("data", "List the data sets of the paper, and download real ones.", epilog=HOW)
    parser.add_argument("action", choices=("list", "fetch"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets to download")
    parser.add_argument(
        "--data", metavar="DIR", help="folder with the real files (default: $POLYAK_DATA)"
    )
    add_json(parser)
    return parser


def run(options: Namespace) -> int:
    """Do it."""
    return _list(options) if options.action == "list" else _fetch(options)


def _list(options: Namespace) -> int:
    from polyak.cli.output import print_json
    from polyak.paper.datasets import PAPER_SETS
    from polyak.paper.datasets.benchmark import form_here
    from polyak.paper.datasets.download_urls import DOWNLOADS

    sets = [
        {
            "name": paper.name,
            "here": form_here(paper.name, options.data),
            "train_rows": paper.n_train,
            "test_rows": paper.n_test,
            "features": paper.n_features,
            "what": paper.description + (", sparse" if paper.sparse else ""),
            "from": _home(DOWNLOADS[paper.name]),
        }
        for paper in PAPER_SETS.values()
        if not options.names or paper.name in options.names
    ]
    unknown = set(options.names) - set(PAPER_SETS)
    if unknown:
        raise UsageError(f"there is no set {min(unknown)!r}; there are {', '.join(PAPER_SETS)}")
    if options.json:
        print_json(sets)
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


def _home(files: tuple[RemoteFile, ...]) -> str:
    from urllib.parse import urlsplit

    return urlsplit(files[0].url).netloc


def _fetch(options: Namespace) -> int:
    from polyak.paper.datasets.data_paths import data_folder
    from polyak.paper.datasets.download_urls import DOWNLOADS
    from polyak.paper.datasets.fetching import fetch
    from polyak.training.interrupts import Interrupts

    if not options.names:
        raise UsageError(f"say which sets to fetch: {', '.join(DOWNLOADS)}")
    for name in options.names:
        if name not in DOWNLOADS:
            raise UsageError(f"there is no set {name!r} to fetch; there are {', '.join(DOWNLOADS)}")
    folder = data_folder(options.data)
    if folder is None:
        raise UsageError("say where to put the files: --data DIR, or set POLYAK_DATA")
    for file in (file for name in options.names for file in DOWNLOADS[name]):
        with Interrupts(), Bar(Path(file.path).name) as bar:
            what = fetch(file, folder, bar.show)
        say(f"{folder / file.path}: {_WORDS[what]}")
    return 0


_WORDS = {
    "there": "was there already",
    "checked": "fetched, and its checksum is right",
    "recorded": "fetched; no checksum of it is published, so this one's was written beside it",
}

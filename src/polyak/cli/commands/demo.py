"""``polyak demo``: the main job on data made on the spot."""

from __future__ import annotations

from argparse import Namespace

from polyak.cli.options.arguments import Parser

EXAMPLE = """\
example:
  polyak demo
"""


def parser() -> Parser:
    """Read the arguments."""
    return Parser("demo", "Learn from generated data, and show the results.", epilog=EXAMPLE)


def run(options: Namespace) -> int:
    """Do it."""
    from polyak.paper.demo import main

    main()
    return 0

"""``polyak report``: a page about a model, to look at in a browser."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from polyak.cli.arguments import Parser, add_model
from polyak.cli.errors import say
from polyak.cli.outputs import check_outputs

if TYPE_CHECKING:
    from polyak.model.linear import LinearModel


def parser() -> Parser:
    """Read the arguments."""
    parser = Parser("report", "Show a model and how it was learned on one HTML page.")
    add_model(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the page to write (MODEL's name with .html)"
    )
    return parser


def run(options: Namespace) -> int:
    """Do it."""
    from polyak.model.linear import LinearModel
    from polyak.storage.container import check_writable
    from polyak.training.interrupts import Interrupts

    output = options.output or options.model.removesuffix(".polyak") + ".html"
    check_outputs({"report": output}, {"model": options.model})
    with Interrupts():  # so that a file that is not complete is taken away
        check_writable(output)
        model = LinearModel.load(options.model)
        write(model, options.model, output)
    say(f"the report is in {output}")
    return 0


def write(model: LinearModel, name: str, output: str) -> None:
    """Write the page about a model that is in a file of this name."""
    from polyak.reporting import report

    report(model, output, title=os.path.basename(name))

"""``polyak report``: a page about a model, to look at in a browser."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING

from polyak.cli.errors import say
from polyak.cli.options.arguments import Parser, add_model, add_reading
from polyak.cli.overwriting import check_outputs

if TYPE_CHECKING:
    from polyak.data.tables.look import TableLook
    from polyak.model.linear import LinearModel
    from polyak.model.training_report import CheckReport

EXAMPLE = """\
example:
  polyak report flights.polyak --on tomorrow.csv -o flights.html
"""


def parser() -> Parser:
    """Return the parser of the arguments."""
    parser = Parser(
        "report", "Write an HTML page about a model and how it was learned.", epilog=EXAMPLE
    )
    add_model(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="page to write (default: named after MODEL)"
    )
    parser.add_argument(
        "--on",
        action="append",
        metavar="FILE",
        help="evaluate the model on this file and show the results",
    )
    add_reading(parser)
    return parser


def run(options: Namespace) -> int:
    """Run the command."""
    from polyak.model.linear import LinearModel
    from polyak.storage.container import check_writable
    from polyak.training.interrupts import Interrupts

    output = options.output or options.model.removesuffix(".polyak") + ".html"
    check_outputs({"report": output}, {"model": options.model, "file to evaluate on": options.on})
    with Interrupts():  # removes an incomplete file
        check_writable(output)
        model = LinearModel.load(options.model)
        write(model, options.model, output, _evaluated(model, options))
    say(f"the report is in {output}")
    return 0


def write(
    model: LinearModel,
    name: str,
    output: str,
    evaluated: tuple[list[str], CheckReport] | None = None,
) -> None:
    """Write the page about a model that is in a file of this name."""
    from polyak.reporting.page import write_page

    on = None if evaluated is None else (_named(evaluated[0]), evaluated[1])
    write_page(model, output, title=os.path.basename(name), on=on)


def with_source(model: LinearModel, source: list[str], look: TableLook | None) -> LinearModel:
    """Let a model say what it was learned from."""
    from polyak.model.training_report import ColumnReport, SourceReport

    if model.report is None:
        return model
    told = SourceReport(_named(source))
    if look is not None:
        columns = tuple(ColumnReport(*column) for column in look.columns)
        told = told._replace(columns=columns, others=look.others, rows=look.rows)
    return replace(model, report=replace(model.report, source=told))


def _evaluated(model: LinearModel, options: Namespace) -> tuple[list[str], CheckReport] | None:
    if not options.on:
        return None
    from polyak.cli.commands.evaluate import Measured

    measured = Measured(model)
    measured.read(options.on, options)
    return options.on, measured.check.report()


def _named(source: list[str]) -> str:
    """Call a source by the name of its first file.

    Examples
    --------
    >>> _named(["data/a.csv"]), _named(["a.csv", "b.csv", "c.csv"]), _named(["-"])
    ('a.csv', 'a.csv and 2 more', 'standard input')
    """
    first = getattr(source[0], "name", source[0])
    name = "standard input" if first == "-" else os.path.basename(str(first).rstrip("/"))
    return f"{name} and {len(source) - 1} more" if len(source) > 1 else name

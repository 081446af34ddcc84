"""``polyak export``: a model for other programs."""

from __future__ import annotations

from argparse import Namespace

from polyak.cli.errors import UsageError, say
from polyak.cli.options.arguments import Parser, add_model
from polyak.cli.overwriting import check_outputs

FORMATS = ("onnx", "skops", "csv", "tsv", "txt")


EXAMPLE = """\
example:
  polyak export flights.polyak flights.onnx
"""


def parser() -> Parser:
    """Return the parser of the arguments."""
    parser = Parser(
        "export",
        "Write a model for other programs, or its weights as a table.",
        epilog=EXAMPLE,
    )
    add_model(parser)
    parser.add_argument(
        "output",
        nargs="?",
        metavar="FILE",
        help="file to write, or - for standard output (default: named after MODEL)",
    )
    parser.add_argument("--to", choices=FORMATS, help="format, if not clear from the name of FILE")
    return parser


def run(options: Namespace) -> int:
    """Run the command."""
    from polyak.exports import export, format_of
    from polyak.storage.container import check_writable
    from polyak.training.interrupts import Interrupts

    output = options.output
    if output is None:
        if options.to is None:
            raise UsageError(f"name a file to write, or --to {'|'.join(FORMATS)}")
        output = f"{options.model.removesuffix('.polyak')}.{options.to}"
    to = options.to or format_of(output)
    check_outputs({"export": output}, {"model": options.model})
    with Interrupts():  # removes an incomplete file
        if output != "-":
            check_writable(output)
        remarks = export(options.model, output, to)
    for remark in remarks:
        say(remark)
    if options.output is None:
        say(f"the model is in {output}")
    return 0

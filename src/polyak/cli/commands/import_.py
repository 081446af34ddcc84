"""``polyak import``: a model that another program learned."""

from __future__ import annotations

from argparse import Namespace

from polyak.cli.options.arguments import Parser
from polyak.cli.outputs import check_outputs

EXAMPLE = """\
example:
  polyak import heart_scale.model heart_scale.polyak
"""


def parser() -> Parser:
    """Read the arguments."""
    parser = Parser("import", "Convert a model file of LIBLINEAR.", epilog=EXAMPLE)
    parser.add_argument("file", metavar="FILE", help="model file of LIBLINEAR")
    parser.add_argument("model", metavar="MODEL", help="model file to write")
    return parser


def run(options: Namespace) -> int:
    """Do it."""
    from polyak.exports import liblinear
    from polyak.storage.container import check_writable
    from polyak.training.interrupts import Interrupts

    check_outputs({"model": options.model}, {"file": options.file})
    with Interrupts():  # so that a file that is not complete is taken away
        check_writable(options.model)
        model = liblinear.read(options.file)
        model.save(options.model)
    return 0

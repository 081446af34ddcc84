"""``polyak import``: a model that another program learned."""

from __future__ import annotations

from argparse import Namespace

from polyak.cli.arguments import Parser


def parser() -> Parser:
    """Read the arguments."""
    parser = Parser("import", "Make a model of one that LIBLINEAR wrote.")
    parser.add_argument("file", metavar="FILE", help="a model file of LIBLINEAR's")
    parser.add_argument("model", metavar="MODEL", help="the model file to write")
    return parser


def run(options: Namespace) -> int:
    """Do it."""
    from polyak.container import check_writable
    from polyak.model import LinearModel

    check_writable(options.model)
    LinearModel.from_liblinear(options.file).save(options.model)
    return 0

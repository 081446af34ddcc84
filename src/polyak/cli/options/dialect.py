"""The options that say how a table's text is written, where that cannot be told from it."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyak.cli.options.parser import Parser
    from polyak.model.dialect import Dialect

NAMED = {"tab": "\t", "\\t": "\t", "space": " "}


def add_dialect(parser: Parser) -> None:
    """Add the options for tables of text; a model remembers them."""
    text = parser.add_rare_group("text of a table (default: detected, or as in the model)")
    text.add_argument(
        "--delimiter", metavar="C", help="character between fields, such as ';' or tab"
    )
    text.add_argument(
        "--no-header",
        dest="header",
        action="store_false",
        help="the first line is data; columns are named column_1, column_2, ...",
    )
    text.add_argument(
        "--skip-rows", type=int, default=0, metavar="N", help="lines above the header"
    )
    text.add_argument("--encoding", metavar="NAME", help="such as cp1252 (default: utf-8)")
    text.add_argument("--decimal", choices=(".", ","), help="decimal separator")
    text.add_argument(
        "--missing",
        action="append",
        default=[],
        metavar="WORDS",
        help="values that mean missing, separated by commas, such as -999,unknown",
    )
    text.add_argument("--comment", metavar="C", help="ignore lines that start with this")
    text.add_argument("--dates", choices=("d/m/y", "m/d/y"), help="order of day and month in dates")
    text.add_argument("--member", metavar="NAME", help="file to read from a zip archive")


def dialect_of(options: Namespace) -> Dialect:
    """Return the dialect that the options describe; raise ValueError if it makes no sense."""
    from polyak.model.dialect import Dialect

    return Dialect(
        delimiter=NAMED.get(options.delimiter, options.delimiter),
        header=options.header,
        encoding=options.encoding,
        decimal=options.decimal,
        missing=split(options.missing),
        skip_rows=options.skip_rows,
        comment=options.comment,
        dates=options.dates,
    )


def split(given: list[str]) -> tuple[str, ...]:
    """Return the names that options list, separated by commas; a name with a comma is quoted.

    Examples
    --------
    >>> split(["a, b", '"price, EUR"'])
    ('a', 'b', 'price, EUR')
    """
    import csv  # not needed by most commands

    rows = csv.reader(given, skipinitialspace=True)
    return tuple(name.strip() for names in rows for name in names if name.strip())

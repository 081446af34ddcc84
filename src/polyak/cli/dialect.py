"""The options that say how a table's text is written, where that cannot be told from it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polyak.model.dialect import Dialect

NAMED = {"tab": "\t", "\\t": "\t", "space": " "}


def add_dialect(parser: ArgumentParser) -> None:
    """Add the options for tables of text; a model remembers them."""
    text = parser.add_argument_group(
        "text of a table (if not given: found out, or as in the model)"
    )
    text.add_argument(
        "--delimiter", metavar="C", help="the character between fields, such as ';' or tab"
    )
    text.add_argument(
        "--no-header",
        action="store_true",
        help="the first line is a row; columns are column_1, column_2, ...",
    )
    text.add_argument("--encoding", metavar="NAME", help="such as latin-1 or utf-16 (utf-8)")
    text.add_argument("--decimal", choices=(".", ","), help="the decimal point")
    text.add_argument(
        "--missing",
        action="append",
        default=[],
        metavar="WORDS",
        help="more words for a missing value, separated by commas, such as -999,unknown",
    )
    text.add_argument("--comment", metavar="C", help="leave out lines that begin with this")
    text.add_argument(
        "--dates", choices=("d/m/y", "m/d/y"), help="whether dates begin with the day or the month"
    )
    text.add_argument("--member", metavar="NAME", help="the file to read in a zip archive")


def dialect_of(options: Namespace) -> Dialect:
    """Give what the options say; ValueError if they make no sense."""
    from polyak.model.dialect import Dialect

    missing = [word.strip() for words in options.missing for word in words.split(",")]
    return Dialect(
        delimiter=NAMED.get(options.delimiter, options.delimiter),
        header=not options.no_header,
        encoding=options.encoding,
        decimal=options.decimal,
        missing=tuple(word for word in missing if word),
        comment=options.comment,
        dates=options.dates,
    )

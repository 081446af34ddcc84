"""The options that say what a table's columns are for, and all that they say about reading."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from polyak.cli.arguments import Parser, positive
from polyak.cli.dialect import dialect_of

if TYPE_CHECKING:
    from polyak.data.options import Columns, ReadOptions


def add_columns(parser: Parser) -> None:
    """Add the options for tables: CSV, TSV, JSON lines, Parquet, Arrow."""
    table = parser.add_argument_group("columns of a table (names are separated by commas)")
    table.add_argument("--target", metavar="COLUMN", help="the column to predict")
    table.add_argument(
        "--positive",
        metavar="VALUE",
        help="the target's value that positive scores mean; all others are one class",
    )
    table.add_argument("--weight", metavar="COLUMN", help="the column of the rows' weights")
    for name, what in {
        "--drop": "columns to leave out",
        "--only": "the only columns to learn from",
        "--categorical": "columns whose values are names, even if they look like numbers",
        "--text": "columns of text: lower-cased words, hashed one by one",
        "--interact": "columns to cross, such as origin:dest",
    }.items():
        table.add_argument(name, action="append", default=[], metavar="COLUMNS", help=what)
    table.add_argument(
        "--ngrams", type=positive, default=1, metavar="N", help="hash runs of up to N words too (1)"
    )
    table.add_argument(
        "--bits", type=positive, default=18, metavar="B", help="hash words into 2^B slots (18)"
    )
    table.add_argument(
        "--names",
        action="store_true",
        help="remember the names of the heaviest hashed features, for 'polyak inspect'",
    )


def read_options(options: Namespace) -> ReadOptions:
    """Give what a command's options say about reading; ValueError if they make no sense."""
    from polyak.data.options import Columns, ReadOptions

    names = {"format", "member", "skip_bad_lines", "longest_line", "threads"}
    names |= vars(options).keys() & {"n_features", "shuffle_buffer", "block_bytes", "keep"}
    return ReadOptions(
        zero_based="auto" if options.zero_based is None else options.zero_based,
        columns=columns_of(options) if "drop" in options else Columns(),
        dialect=dialect_of(options),
        **{name: getattr(options, name) for name in names},
    )


def columns_of(options: Namespace) -> Columns:
    """Give what the options say; ValueError if they make no sense."""
    from polyak.data.options import Columns

    return Columns(
        target=options.target,
        positive=options.positive,
        weight=options.weight,
        drop=_split(options.drop),
        only=_split(options.only),
        categorical=_split(options.categorical),
        text=_split(options.text),
        interact=_split(options.interact),
        ngrams=options.ngrams,
        bits=options.bits,
        names=options.names,
    )


def _split(given: list[str]) -> tuple[str, ...]:
    return tuple(name.strip() for names in given for name in names.split(",") if name.strip())

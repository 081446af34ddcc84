"""The options that say what a table's columns are for, and all that they say about reading."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from polyak.cli.options.arguments import Parser, not_negative, positive
from polyak.cli.options.dialect import dialect_of, split

if TYPE_CHECKING:
    from polyak.data.options import Columns, ReadOptions


def add_columns(parser: Parser) -> None:
    """Add the options for tables: CSV, TSV, JSON lines, Parquet, Arrow."""
    table = parser.add_argument_group("columns of a table (separate several by commas)")
    table.add_argument(
        "--target", metavar="COLUMN", help="column to predict, or y.npy beside X.npy"
    )
    table.add_argument("--weight", metavar="COLUMN", help="column with the weight of each row")
    for name, what in {
        "--drop": "columns, or namespaces of VW text, to ignore",
        "--only": "use only these columns as features",
        "--categorical": "columns to read as categories, not as numbers",
        "--numeric": "columns to read as numbers, words as missing",
        "--text": "columns of text: each lower-case word is a feature",
        "--interact": "products of columns or namespaces, as origin:dest",
    }.items():
        table.add_argument(name, action="append", default=[], metavar="COLUMNS", help=what)
    hashing = parser.add_rare_group("classes, rates and hashing")
    hashing.add_argument(
        "--positive",
        metavar="VALUE",
        help="value of the target that is the positive class; all others are the negative class",
    )
    hashing.add_argument(
        "--exposure",
        metavar="COLUMN",
        help="learn the target per unit of this column, with --loss poisson or gamma",
    )
    hashing.add_argument(
        "--offset",
        metavar="COLUMN",
        help="add this column to the score, as a feature whose weight is one",
    )
    hashing.add_argument(
        "--ngrams",
        type=positive,
        default=1,
        metavar="N",
        help="hash sequences of up to N words of text (default: 1)",
    )
    hashing.add_argument(
        "--bits",
        type=positive,
        metavar="B",
        help="hash categories and words into 2^B slots (default: 18; for tables of more than 32 "
        "classes fewer)",
    )
    hashing.add_argument(
        "--names",
        type=not_negative,
        metavar="N",
        help="store the names of up to N hashed features, those with the largest weights "
        "(default: 100000; for VW text 0)",
    )


def read_options(options: Namespace) -> ReadOptions:
    """Return the read options of a command; raise ValueError if they make no sense."""
    from polyak.data.options import Columns, ReadOptions

    names = {"format", "member", "skip_bad_lines", "longest_line", "threads"}
    names |= vars(options).keys() & {
        "n_features",
        "shuffle_buffer",
        "block_bytes",
        "keep",
        "multilabel",
    }
    return ReadOptions(
        zero_based="auto" if options.zero_based is None else options.zero_based,
        columns=columns_of(options) if "drop" in options else Columns(names=0),
        dialect=dialect_of(options),
        **{name: getattr(options, name) for name in names},
    )


def columns_of(options: Namespace) -> Columns:
    """Return the columns that the options choose; raise ValueError if they make no sense."""
    from polyak.data.options import Columns

    return Columns(
        target=options.target,
        positive=options.positive,
        weight=options.weight,
        exposure=options.exposure,
        offset=options.offset,
        drop=split(options.drop),
        only=split(options.only),
        categorical=split(options.categorical),
        numeric=split(options.numeric),
        text=split(options.text),
        interact=split(options.interact),
        ngrams=options.ngrams,
        bits=options.bits,
        names=options.names,
    )

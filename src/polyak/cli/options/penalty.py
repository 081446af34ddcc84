"""Which penalty the weights have, and whether they may be negative."""

from __future__ import annotations

import argparse

from polyak.cli.options.arguments import Parser


def add_penalty(parser: Parser) -> None:
    """Add the options."""
    how = parser.add_rare_group("penalty")
    how.add_argument(
        "--penalty",
        choices=("l2", "l1", "elasticnet", "none"),
        help="l1 and elasticnet make weights exactly zero; none: no penalty (default: l2)",
    )
    how.add_argument(
        "--l1-ratio",
        type=_share,
        metavar="R",
        help="share of L1 in the penalty elasticnet (default: 0.5)",
    )
    how.add_argument(
        "--non-negative",
        action="store_true",
        help="let no weight be below zero",
    )
    how.add_argument(
        "--sparsify",
        action="store_true",
        help="exports of the model have only the features whose weights are not zero",
    )


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1")
    return share

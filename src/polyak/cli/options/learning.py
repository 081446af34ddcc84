"""The options of `train` about learning: the loss, the penalty, and several machines."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from polyak.cli.options.arguments import Parser, number_or_auto, positive


class LossNames:
    """The names of all losses, looked up when someone asks for help.

    Whether a name is among them is found out later: to know takes NumPy, which can wait.
    """

    def __iter__(self) -> Iterator[str]:
        from polyak.losses import LOSSES

        return iter(LOSSES)

    def __contains__(self, name: object) -> bool:
        return True


def add_loss(how: Any) -> None:
    """Add the option to a group of arguments."""
    how.add_argument(
        "--loss",
        choices=LossNames(),
        metavar="NAME",
        help="%(choices)s (default: log_loss for classes, else squared_error)",
    )


def add_loss_parameters(parser: Parser) -> None:
    """Add the options that few losses have."""
    some = parser.add_rare_group("parameters of losses")
    some.add_argument(
        "--epsilon",
        "--delta",
        type=number_or_auto,
        default="auto",
        metavar="X|auto",
        help="where huber stops being a square, and epsilon_insensitive being zero",
    )
    some.add_argument(
        "--quantile", metavar="Q,...", help="quantiles to learn with --loss quantile (default: 0.5)"
    )


def chosen_loss(options: Namespace) -> str:
    """Return the loss as text with its parameter; raise ValueError for another loss's parameter."""
    from polyak.losses import DEFAULT_LOSS, LOSSES, get_loss, loss_text

    name = get_loss(options.loss or DEFAULT_LOSS).name
    given = {"epsilon": options.epsilon, "quantile": options.quantile}
    for parameter, value in given.items():
        if value not in (None, "auto") and LOSSES[name].parameter != parameter:
            having = [one for one, loss in LOSSES.items() if loss.parameter == parameter]
            raise ValueError(f"--{parameter} is for the loss {' or '.join(having)}, not {name}")
    if options.quantile is not None:
        try:
            given["quantile"] = [float(word) for word in options.quantile.split(",")]
        except ValueError as error:
            raise ValueError(
                f"--quantile takes numbers between 0 and 1, not {options.quantile!r}"
            ) from error
    return loss_text(name, **given)


def add_penalty(parser: Parser) -> None:
    """Add the options for the penalty and the sign of the weights."""
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
    for name, dest, what in (
        ("--non-negative-columns", "positive_columns", "let no weight of these be below zero"),
        ("--non-positive-columns", "negative", "let no weight of these be above zero"),
        ("--increasing", "increasing", "columns whose curves never fall"),
        ("--decreasing", "decreasing", "columns whose curves never rise"),
    ):
        how.add_argument(name, dest=dest, action="append", default=[], metavar="COLUMNS", help=what)
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


def add_engine(parser: Parser) -> None:
    """Add the options for several machines or processes."""
    engine = parser.add_rare_group("several machines or processes")
    engine.add_argument("--engine", choices=("dask",), help="learn on the workers of a cluster")
    engine.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of the cluster, such as tcp://host:8786"
    )
    engine.add_argument(
        "--workers",
        type=positive,
        metavar="N",
        help="number of local workers to start (default: one per processor)",
    )
    engine.add_argument(
        "--rounds",
        type=positive,
        metavar="N",
        help="how often the workers' models are averaged (default: chosen from the data)",
    )

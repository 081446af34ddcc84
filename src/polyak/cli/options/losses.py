"""Which loss to learn with, and its parameter."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from polyak.cli.options.arguments import Parser, number_or_auto


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

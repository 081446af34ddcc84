"""The losses, as functions of scores and targets.

These are the NumPy versions, for the Newton steps, reports and tests; the compiled core has its
own in ``core/learn/losses.hpp``, and tests compare the two. This is the only list of losses: the
command line, the estimators and the model file use it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from polyak.losses.base import Floats, Loss
from polyak.losses.of_classes import Hinge, LogLoss, ModifiedHuber, SquaredHinge
from polyak.losses.of_means import Gamma, Poisson
from polyak.losses.of_numbers import EpsilonInsensitive, Huber, Quantile, SquaredError

__all__ = [
    "DEFAULT_LOSS",
    "LOSSES",
    "Floats",
    "Loss",
    "get_loss",
    "loss_text",
    "names_of",
    "parameter_given",
]

LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        SquaredError,
        SquaredHinge,
        Hinge,
        LogLoss,
        ModifiedHuber,
        Huber,
        Quantile,
        EpsilonInsensitive,
        Poisson,
        Gamma,
    )
}
DEFAULT_LOSS = LogLoss.name


def names_of(*, classifies: bool) -> list[str]:
    """Return the names of the losses for classification, or of those for regression."""
    return [name for name, loss in LOSSES.items() if loss.classifies == classifies]


@lru_cache(maxsize=64)
def get_loss(text: str) -> Loss:
    """Return the loss of this name, which may have parameters in parentheses.

    Examples
    --------
    >>> get_loss("quantile(0.05,0.95)").parameters
    (0.05, 0.95)
    """
    name, _, inside = text.partition("(")
    if name not in LOSSES:
        raise ValueError(f"there is no loss called {name!r}; there are {', '.join(LOSSES)}")
    if inside[-1:] != ")" and inside:
        raise ValueError(f"{text!r} is no loss: a parenthesis is missing")
    own, _, estimated = inside[:-1].partition(";")
    try:
        parameters, scales = (
            tuple(float(word) for word in words.split(",") if word) for words in (own, estimated)
        )
    except ValueError as error:
        raise ValueError(f"{text!r} is no loss: its parameters are not numbers") from error
    return LOSSES[name](parameters, scales)


def loss_text(name: str, **given: Any) -> str:
    """Return a loss as text, with the value of its own parameter among those given.

    A parameter that is None or "auto" is left out: it is found from the first rows, or has a
    default.

    Examples
    --------
    >>> loss_text("huber", epsilon=1.5, quantile=0.5), loss_text("huber", epsilon="auto")
    ('huber(1.5)', 'huber')
    >>> loss_text("quantile", quantile=[0.05, 0.95])
    'quantile(0.05,0.95)'
    """
    loss = get_loss(name)
    value = given.get(loss.parameter or "")
    if value is None or (isinstance(value, str) and value == "auto"):
        return loss.text
    values = value if isinstance(value, Iterable) else [value]
    return type(loss)(tuple(float(one) for one in values)).text


def parameter_given(loss: Loss) -> dict[str, Any]:
    """Return the parameter of a loss as a keyword argument: a number or a list.

    Examples
    --------
    >>> parameter_given(get_loss("huber(1.5)")), parameter_given(get_loss("hinge"))
    ({'epsilon': 1.5}, {})
    """
    if loss.parameter is None or not loss.parameters:
        return {}
    one = len(loss.parameters) == 1
    return {loss.parameter: loss.parameters[0] if one else list(loss.parameters)}

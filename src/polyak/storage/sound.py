"""Shapes that both model files and checkpoints have.

A file is checked whole before anything is made of it, so that nothing in it can end in an error of
another kind, now or an hour later.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from polyak.losses import get_loss
from polyak.storage.shapes import (
    Shape,
    either,
    flag,
    many,
    maybe,
    real,
    record,
    whole,
    word,
)

Arrays = dict[str, NDArray[Any]]

FLOATS = ("float32", "float64")
LABEL = either(flag, whole(-(2**63)), real(), word())
LABELS = record({"type": word(), "values": many(LABEL)})
CLASSES = record({"type": word(), "values": many(LABEL, least=2)})
RATE = record({"gamma0": real(0), "a": real(0), "c": real(0)})
AUTO_OR_REAL = either(word("auto"), real(0))
CANDIDATE: dict[str, Shape] = {
    "alpha": real(0),
    "schedule": RATE,
    "averaging": record({"start": either(word("auto"), maybe(whole())), "power": real(0)}),
    "step": word("explicit", "implicit", "proximal"),
    "precondition": real(0),
    "capped": flag,
    "largest_squared_length": real(0),
}
NEWTON_CANDIDATE: dict[str, Shape] = {"penalty": real(0)}
CONSTANT_CANDIDATE: dict[str, Shape] = {"constant": flag}


def loss_text(value: Any, name: str) -> None:
    """Accept a loss in writing; what is wrong is told by `get_loss`."""
    word()(value, name)
    get_loss(value)


RECIPE = record(
    {
        "loss": loss_text,
        "recipe": word("auto", "sgd", "paper"),
        **dict.fromkeys(("alpha", "eta0", "decay", "power_t", "precondition"), AUTO_OR_REAL),
        "average": either(word("auto"), flag, whole()),
        "step": word("auto", "explicit", "implicit"),
        "fit_intercept": flag,
        "intervals": flag,
        "seed": whole(0, 2**64),
    },
    penalty=word("l2", "l1", "elasticnet"),
    l1_ratio=real(0),
    positive=flag,
    multi_class=word("auto", "ovr"),
)

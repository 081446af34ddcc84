"""The classes of a table's target by its schema, before the first row is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DataError
from polyak.losses import Loss

if TYPE_CHECKING:
    from polyak.model.schema import Schema

MOST_CLASSES = 100
"""A table's numbers of more different values than that are no classes."""


def classes_of(schema: Schema, loss: Loss) -> NDArray[Any] | None:
    """Return the classes of a table's target, if its schema names them.

    Raises
    ------
    DataError
        If there is no target, or none that the loss can learn.
    """
    target = schema.target
    if target is None:
        raise DataError("which column is to be learned? name it with target=")
    if not loss.classifies and (target.kind == "class" or target.positive is not None):
        raise DataError(
            f"the target column {target.name} names classes, but {loss.name} is a loss for "
            "numbers; choose another, such as log_loss"
        )
    numbers = target.kind == "number" and target.positive is None
    if loss.classifies and numbers and target.values > MOST_CLASSES:
        raise DataError(
            f"the target column {target.name} has {target.values} different numbers in the "
            "first rows, too many for classes; to predict numbers, choose the loss "
            "squared_error"
        )
    if loss.classifies and target.positive is not None:
        return np.array([target.negative, target.positive])
    return None

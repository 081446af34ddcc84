"""A table's model in the units of its columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.model.linear import LinearModel
from polyak.model.schema import HASHED, Schema


def in_units(model: LinearModel, schema: Schema) -> LinearModel:
    """Undo the centring and scaling of a table's columns: weights per unit, intercept at zero.

    A column x of weight w counts as w (x - offset) / scale where it is present. So its weight per
    unit is w / scale, the intercept loses w offset / scale, and a missing value, which stands for
    the offset, gains that. The replicas go the same way, and with them the standard errors. The
    model must have a weight for every feature of the schema.

    Examples
    --------
    >>> from polyak.model.schema import Column
    >>> schema = Schema((Column("year", "number", "number", offset=2000.0, scale=10.0),))
    >>> model = LinearModel(np.array([[5.0], [1.0]]), np.zeros(1), "squared_error")
    >>> moved = in_units(model, schema)
    >>> moved.weights.ravel().tolist(), moved.intercept.tolist()
    ([0.5, 1001.0], [-1000.0])
    """
    weights, intercept = _moved(model.weights, model.intercept, schema)
    replicas: Any = None
    if model.replicas is not None:
        moved = (_moved(each[:-1], each[-1], schema) for each in model.replicas)
        replicas = np.stack([np.concatenate([table, last[None]]) for table, last in moved])
    return replace(model, weights=weights, intercept=intercept, replicas=replicas)


def _moved(
    weights: NDArray[Any], intercept: NDArray[Any], schema: Schema
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    weights, intercept = weights.astype(np.float64), intercept.astype(np.float64)
    for column, first in zip(schema.columns, schema.first_features(), strict=True):
        if column.kind in HASHED:
            continue
        weights[first] /= column.scale
        away = weights[first] * column.offset
        intercept -= away
        weights[first + 1] += away  # "is missing" comes next
    return weights, intercept

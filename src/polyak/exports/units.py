"""A table's model in the units of its columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.model.linear import LinearModel
from polyak.model.schema import HASHED, Schema
from polyak.storage.sandwich import Sandwich


def in_units(model: LinearModel, schema: Schema) -> LinearModel:
    """Undo the centring and scaling of a table's columns: weights per unit, intercept at zero.

    A column x of weight w counts as w (x - offset) / scale where it is present. So its weight per
    unit is w / scale, the intercept loses w offset / scale, and a missing value, which stands for
    the offset, gains that. The replicas, or the covariance, go the same way, and with them the
    standard errors. The model must have a weight for every feature of the schema.

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
    sandwich = None if model.sandwich is None else _moved_sandwich(model.sandwich, schema)
    return replace(
        model, weights=weights, intercept=intercept, replicas=replicas, sandwich=sandwich
    )


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


def _moved_sandwich(sandwich: Sandwich, schema: Schema) -> Sandwich:
    """Do the same to a covariance: the score at the origin stays, and the origin moves."""
    numbers = [
        (column, first)
        for column, first in zip(schema.columns, schema.first_features(), strict=True)
        if column.kind not in HASHED
    ]
    wanted = [feature for _, first in numbers for feature in (first, first + 1)]
    new = np.setdiff1d(np.array(wanted, dtype=np.int64), sandwich.features)
    features, more = np.concatenate([sandwich.features, new]), len(new)
    origin = np.pad(sandwich.origin, (0, more))
    place = {int(feature): column for column, feature in enumerate(features)}
    matrix = np.eye(1 + len(features))
    for column, first in numbers:
        value, missing = place[first], place[first + 1]
        matrix[1 + value, 1 + value] = 1.0 / column.scale
        matrix[1 + missing, 1 + value] = column.offset / column.scale
        origin[value] = origin[value] * column.scale + column.offset * (1.0 - origin[missing])
    covariance = np.pad(sandwich.covariance, [(0, 0), (0, more), (0, more)])
    return Sandwich(
        features,
        origin,
        matrix @ np.pad(sandwich.weights, [(0, more), (0, 0)]),
        matrix @ covariance @ matrix.T,
        sandwich.degrees,
    )

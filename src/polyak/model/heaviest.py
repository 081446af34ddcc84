"""The largest weights, by feature name and in the units of the columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polyak.model.intervals import interval_kind, weight_interval
from polyak.model.linear import LinearModel


class Heavy(NamedTuple):
    """A weight with its feature, its output and its confidence interval, if known."""

    feature: int
    output: int
    name: str | None
    weight: float
    interval: tuple[float, float] | None


def heaviest(model: LinearModel, most: int) -> list[Heavy]:
    """Return the ``most`` largest nonzero weights in decreasing order.

    Examples
    --------
    >>> from polyak.model.features import FeatureMap
    >>> features = FeatureMap.hashed(2, {1: "city=Rome"})
    >>> weights = np.array([[0.0], [-2.0], [1.0]])
    >>> model = LinearModel(weights, np.zeros(1), "squared_error", features=features)
    >>> [(heavy.name, heavy.weight) for heavy in heaviest(model, 10)]
    [('city=Rome', -2.0), (None, 1.0)]
    """
    sizes = np.abs(model.weights).ravel()
    interval = None if interval_kind(model) is None else weight_interval(model)
    units = model.features.units(model.n_features)
    found = []
    for place in np.argsort(-sizes, kind="stable")[:most].tolist():
        if not sizes[place] > 0:
            break
        feature, output = divmod(place, model.weights.shape[1])
        low_high = None
        if interval is not None:
            low, high = (float(end[feature, output] / units[feature]) for end in interval)
            low_high = low, high
        weight = float(model.weights[feature, output] / units[feature])
        found.append(Heavy(feature, output, model.features.name(feature), weight, low_high))
    return found

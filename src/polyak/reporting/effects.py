"""Weights ordered by effect: the weight times the standard deviation of its feature."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polyak.model.intervals import interval_kind, weight_interval
from polyak.model.linear import LinearModel
from polyak.rows.label_text import label_text

MOST_SHOWN = 20


class Effect(NamedTuple):
    """A weight: its effect per standard deviation of the feature, and the weight per unit."""

    name: str
    output: str | None
    effect: float
    interval: tuple[float, float] | None
    weight: float


def effects(model: LinearModel, most: int = MOST_SHOWN) -> tuple[list[Effect], bool]:
    """Return the largest effects in decreasing order, and whether standard deviations are known.

    Where they are not, the effect is the weight per unit.

    Examples
    --------
    >>> from polyak.model.features import FeatureMap
    >>> features = FeatureMap.hashed(2, {1: "city=Rome"})
    >>> weights = np.array([[0.0], [-2.0], [1.0]])
    >>> model = LinearModel(weights, np.zeros(1), "squared_error", features=features)
    >>> [(one.name, one.effect) for one in effects(model)[0]]
    [('city=Rome', -2.0), ('feature 2', 1.0)]
    """
    report = {} if model.report is None else model.report.spreads
    spreads = {j: spread for j, spread in report.items() if j < model.n_features}
    units = model.features.units(model.n_features)
    features = np.array(list(spreads)) if spreads else np.arange(model.n_features)
    factors = np.array(list(spreads.values())) if spreads else 1.0 / units
    weights = model.weights[features].astype(np.float64)
    # Without standard deviations, the stored weights are comparable: columns have been scaled.
    sizes = np.abs(weights * factors[:, None] if spreads else weights).ravel()
    interval = None if interval_kind(model) is None else weight_interval(model)
    found = []
    for place in np.argsort(-sizes, kind="stable")[:most].tolist():
        if not sizes[place] > 0.0:
            break
        row, output = divmod(place, weights.shape[1])
        feature, factor = int(features[row]), factors[row]
        limits = None
        if interval is not None:
            low, high = (float(end[feature, output] * factor) for end in interval)
            limits = low, high
        found.append(
            Effect(
                model.features.name(feature) or f"feature {model.features.number(feature)}",
                output_name(model, output),
                float(weights[row, output] * factor),
                limits,
                float(weights[row, output] / units[feature]),
            )
        )
    return sorted(found, key=lambda one: -abs(one.effect)), bool(spreads)


def output_name(model: LinearModel, output: int) -> str | None:
    """Return the class or number of an output; None for a single output."""
    if model.weights.shape[1] == 1:
        return None
    return f"output {output + 1}" if model.classes is None else label_text(model.classes[output])

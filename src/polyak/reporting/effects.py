"""Weights ordered by effect: the weight times the standard deviation of its feature."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polyak.model.heaviest import heaviest
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

    Where they are not, the effect is the weight itself.
    """
    spreads = {} if model.report is None else model.report.spreads
    if not any(j < model.n_features for j in spreads):
        return _by_weight(model, most), False
    features = np.array([j for j in spreads if j < model.n_features], dtype=np.int64)
    spread = np.array([spreads[int(j)] for j in features])
    sizes = model.weights[features].astype(np.float64) * spread[:, None]
    interval = None if interval_kind(model) is None else weight_interval(model)
    names, units = model.features.all_names(), model.features.units(model.n_features)
    found = []
    for place in np.argsort(-np.abs(sizes).ravel(), kind="stable")[:most].tolist():
        row, output = divmod(place, sizes.shape[1])
        if sizes[row, output] == 0.0:
            break
        feature = int(features[row])
        ends = None
        if interval is not None:
            ends = tuple(float(end[feature, output] * spread[row]) for end in interval)
        found.append(
            Effect(
                names.get(feature) or f"feature {model.features.number(feature)}",
                output_name(model, output),
                float(sizes[row, output]),
                None if ends is None else (ends[0], ends[1]),
                float(model.weights[feature, output] / units[feature]),
            )
        )
    return found, True


def output_name(model: LinearModel, output: int) -> str | None:
    """Return the class or number of an output; None for a single output."""
    if model.weights.shape[1] == 1:
        return None
    return f"output {output + 1}" if model.classes is None else label_text(model.classes[output])


def _by_weight(model: LinearModel, most: int) -> list[Effect]:
    found = [
        Effect(
            one.name or f"feature {model.features.number(one.feature)}",
            output_name(model, one.output),
            one.weight,
            one.interval,
            one.weight,
        )
        for one in heaviest(model, most)
    ]
    return sorted(found, key=lambda one: -abs(one.weight))

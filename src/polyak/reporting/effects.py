"""What matters most: weights times the standard deviation of their features, or terms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.model.effects import Effect as TermEffect
from polyak.model.effects import columns_of_model, effect, kinds, knots_of
from polyak.model.intervals import interval_kind, weight_interval
from polyak.model.linear import LinearModel
from polyak.model.training_report import TermReport
from polyak.reporting.words import number
from polyak.rows.label_text import label_text

MOST_SHOWN, MOST_PANELS = 20, 24
SMALLEST = 1e-16
"""Smaller p-values are not told apart."""


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


class Panel(NamedTuple):
    """A term of an additive model for one output; ``note`` tells its kind and its test."""

    name: str
    kind: str
    output: str | None
    effect: TermEffect
    knots: NDArray[np.float64]
    note: str

    @property
    def title(self) -> str:
        """The name with the output, if there are several."""
        return self.name if self.output is None else f"{self.name} · {self.output}"

    @property
    def range(self) -> str:
        """The least and the largest effect, as text."""
        value = self.effect.value
        return f"from {number(float(value.min()), 2)} to {number(float(value.max()), 2)}"


def panels(model: LinearModel, most: int = MOST_PANELS) -> list[Panel]:
    """Return the terms whose effects vary most, in decreasing order."""
    tests = {} if model.report is None else {term.name: term for term in model.report.terms}
    columns, found = columns_of_model(model), []
    for name, kind in kinds(model).items():
        grid, *band = effect(model, name)
        knots = knots_of(model, columns, name) if kind == "curve" else np.empty(0)
        if kind == "curve" and len(knots) < 3:
            grid, *band = effect(model, name, grid=knots)
        note = kind if name not in tests else term_words(tests[name])
        several = len(model.intercept) > 1
        for output in range(len(model.intercept)):
            own = [one[..., output] for one in band] if several else band
            # Without a covariance there is no band.
            shown = TermEffect(grid, *(np.where(np.isnan(one), own[0], one) for one in own))
            if np.any(shown.value):
                found.append(Panel(name, kind, output_name(model, output), shown, knots, note))
    return sorted(found, key=lambda one: -float(one.effect.value.std()))[:most]


def term_words(term: TermReport) -> str:
    """Return the kind of a term, its effective degrees of freedom and its p-value.

    Examples
    --------
    >>> term_words(TermReport("age", "curve", 5.26, 80.1, 3.2e-12))
    'curve, 5.3 df, p = 3.2 × 10⁻¹²'
    """
    p = "" if term.p_value is None else f", p = {number(term.p_value, 2)}"
    p = p if term.p_value is None or term.p_value > SMALLEST else ", p < 10⁻¹⁶"
    return f"{term.kind}, {term.edf:.1f} df{p}"


def output_name(model: LinearModel, output: int) -> str | None:
    """Return the class or number of an output; None for a single output."""
    if model.weights.shape[1] == 1:
        return None
    return f"output {output + 1}" if model.classes is None else label_text(model.classes[output])

"""A model's coefficients as a table: each feature's weight, effect, standard error and p-value."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from polyak.model import intervals
from polyak.model.features import FeatureMap
from polyak.model.training_report import TrainingReport
from polyak.rows.sparse import SparseRows

Floats = NDArray[np.float64]

INTERCEPT = -1
"""What stands for a feature in the lines of the intercepts."""


class _Model(intervals._Model, Protocol):
    """What is asked of a `polyak.model.linear.LinearModel`, beside what intervals ask."""

    @property
    def report(self) -> TrainingReport | None: ...
    @property
    def classes(self) -> NDArray[Any] | None: ...


class Coefficients(NamedTuple):
    """Lines of a table: the intercept of each output, then the weights in order of the features.

    Attributes
    ----------
    features, outputs : int64 arrays
    numbers : dict of str to array
        ``weight``, per unit of a table's column; ``effect``, the weight times the spread of the
        feature, where that is known; with intervals ``standard_error``, ``z``, ``p_value``,
        ``low`` and ``high``.
    """

    features: NDArray[np.int64]
    outputs: NDArray[np.int64]
    numbers: dict[str, Floats]

    def take(self, places: Any) -> Coefficients:
        """Give some of the lines."""
        numbers = {name: column[places] for name, column in self.numbers.items()}
        return Coefficients(self.features[places], self.outputs[places], numbers)

    def largest(self, most: int, by: str = "effect") -> Coefficients:
        """Give the intercepts, then the features that are largest by one of the numbers.

        None of weight zero is among them. Where that number is not known, the weights decide.
        """
        sizes = np.abs(self.numbers.get(by, self.numbers["weight"]))
        there = (self.features != INTERCEPT) & (self.numbers["weight"] != 0)
        order = np.argsort(-np.nan_to_num(sizes, nan=-1.0), kind="stable")
        first = np.flatnonzero(self.features == INTERCEPT)
        return self.take(np.concatenate([first, order[there[order]][:most]]))

    def names(self, features: FeatureMap) -> list[str]:
        """Say what each line's feature is called."""
        return [
            "intercept" if j == INTERCEPT else features.name(j) or features.slot(j)
            for j in self.features.tolist()
        ]


def coefficients(model: _Model, level: float = 0.95) -> Coefficients:
    """Find the coefficients of a model, with intervals of this confidence where there are any.

    Examples
    --------
    >>> from polyak.model.linear import LinearModel
    >>> from polyak.model.schema import Column, Schema
    >>> year = Column("year", "number", "number", offset=2000.0, scale=1000.0, spread=5.0)
    >>> features = FeatureMap.table(Schema((year,)))
    >>> model = LinearModel(np.array([[50.0]]), np.ones(1), "squared_error", features=features)
    >>> found = coefficients(model)
    >>> found.names(features), found.numbers["weight"].tolist()
    (['intercept', 'year'], [-99.0, 0.05])
    >>> found.numbers["effect"].tolist()
    [nan, 0.25]
    """
    shown = _shown(model)
    units = model.features.units(model.n_features)[shown, None]
    zero = _zero_row(model.features)
    tables = {"weight": (model.scores(zero), model.weights[shown] / units)}
    spreads = _spreads(model)
    if spreads is not None:
        unknown = np.full((1, len(model.intercept)), np.nan)
        tables["effect"] = unknown, model.weights[shown] * spreads[shown, None]
    if intervals.interval_kind(model) is not None:
        first, first_error = intervals.score_errors(model, zero)
        centre = intervals.centres(model)[0][shown] / units
        error = intervals.standard_errors(model)[0][shown] / units
        tables |= _tested(model, np.vstack([first, centre]), np.vstack([first_error, error]), level)
    outputs = model.weights.shape[1]
    return Coefficients(
        np.repeat(np.concatenate([[INTERCEPT], shown]), outputs),
        np.tile(np.arange(outputs), 1 + len(shown)),
        {name: np.vstack(parts).astype(np.float64).ravel() for name, parts in tables.items()},
    )


def as_frame(model: _Model, level: float) -> Any:
    """Give them as a data frame, or where pandas is not installed, as a dict of columns."""
    found = coefficients(model, level)
    columns: dict[str, Any] = {"feature": np.array(found.names(model.features), dtype=object)}
    if model.weights.shape[1] > 1:
        if model.classes is None:
            columns["output"] = found.outputs
        else:
            columns["class"] = np.asarray(model.classes)[found.outputs]
    columns |= found.numbers
    try:
        import pandas as pd
    except ImportError:
        return columns
    return pd.DataFrame(columns)


def _shown(model: _Model) -> NDArray[np.int64]:
    """Give the features of an array, or those of words that weigh anything and a table's numbers.

    Whether a value is missing is left out where none ever was.
    """
    if model.features.width is None:
        return np.arange(model.n_features)
    shown = np.asarray(model.weights.any(axis=1))
    schema = model.features.schema
    names = [] if schema is None else schema.feature_names[: len(shown)]
    plain = np.array([not name.endswith(" is missing") for name in names], dtype=bool)
    shown[: len(plain)] |= plain
    if schema is not None and schema.is_as_written:  # the others stand for the columns' means
        varied = {} if model.report is None else model.report.spreads
        shown[: len(plain)] &= plain | np.isin(np.arange(len(plain)), list(varied))
    return np.flatnonzero(shown)


def _spreads(model: _Model) -> Floats | None:
    """Give how far features spread: a table's columns, else as the report of training has it."""
    if model.features.schema is not None:
        return model.features.spreads(model.n_features)
    known = {} if model.report is None else model.report.spreads
    known = {j: spread for j, spread in known.items() if j < model.n_features}
    if not known:
        return None
    spreads = np.full(model.n_features, np.nan)
    spreads[list(known)] = list(known.values())
    return spreads


def _zero_row(features: FeatureMap) -> SparseRows:
    """Return a row whose score is the intercept: all numbers zero, as its table has them."""
    row = {} if features.schema is None else features.schema.zero()
    indices = np.array(list(row), dtype=np.int64)
    values = np.array(list(row.values()), dtype=np.float64)
    return SparseRows(np.array([0, len(row)]), indices, values, int(indices.max(initial=-1)) + 1)


def _tested(model: _Model, centre: Floats, error: Floats, level: float) -> dict[str, Any]:
    z = np.divide(centre, error, out=np.full_like(centre, np.nan), where=error > 0)
    reach = intervals.quantile(model, level) * error
    columns = {
        "standard_error": error,
        "z": z,
        "p_value": intervals.p_values(model, z),
        "low": centre - reach,
        "high": centre + reach,
    }
    return {name: (column,) for name, column in columns.items()}

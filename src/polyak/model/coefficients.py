"""A model's coefficients as a table: each feature's weight, effect, standard error and p-value."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.model import intervals
from polyak.model.effects import effects_table
from polyak.model.features import FeatureMap
from polyak.rows.sparse import SparseRows

if TYPE_CHECKING:
    from polyak.model.linear import LinearModel

Floats = NDArray[np.float64]

INTERCEPT = -1
"""The feature index of the intercept's lines."""


class Coefficients(NamedTuple):
    """Lines of a table: the intercept of each output, then the weights in feature order.

    Attributes
    ----------
    features, outputs : int64 arrays
    numbers : dict of str to array
        ``weight``, per unit of a table's column; ``effect``, the weight times the standard
        deviation of the feature, where that is known; with intervals ``standard_error``, ``z``,
        ``p_value``, ``low`` and ``high``.
    """

    features: NDArray[np.int64]
    outputs: NDArray[np.int64]
    numbers: dict[str, Floats]

    def take(self, places: Any) -> Coefficients:
        """Return the lines at these places."""
        numbers = {name: column[places] for name, column in self.numbers.items()}
        return Coefficients(self.features[places], self.outputs[places], numbers)

    def largest(self, most: int, by: str = "effect") -> Coefficients:
        """Return the intercepts, then the ``most`` largest features by one of the numbers.

        Features of weight zero are left out. Where that number is not known, the weights decide.
        """
        sizes = np.abs(self.numbers.get(by, self.numbers["weight"]))
        there = (self.features != INTERCEPT) & (self.numbers["weight"] != 0)
        order = np.argsort(-np.nan_to_num(sizes, nan=-1.0), kind="stable")
        first = np.flatnonzero(self.features == INTERCEPT)
        return self.take(np.concatenate([first, order[there[order]][:most]]))

    def names(self, features: FeatureMap) -> list[str]:
        """Return the name of each line's feature."""
        return [
            "intercept" if j == INTERCEPT else features.name(j) or features.slot(j)
            for j in self.features.tolist()
        ]


def coefficients(
    model: LinearModel, level: float = 0.95, *, features: NDArray[np.int64] | None = None
) -> Coefficients:
    """Return the coefficients of a model, with intervals at this level if it has any.

    By default they are of all features of an array; of a table those that have something to show.

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
    shown = _shown(model) if features is None else features
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


def as_frame(model: LinearModel, level: float) -> Any:
    """Return the coefficients as a data frame, or as a dict of columns without pandas.

    Those of an additive model are its effects: the weight of a basis function has no meaning.
    """
    columns = _columns(model, level) if model.terms is None else effects_table(model, level)
    try:
        import pandas as pd
    except ImportError:
        return columns
    return pd.DataFrame(columns)


def _columns(model: LinearModel, level: float) -> dict[str, Any]:
    found = coefficients(model, level)
    columns: dict[str, Any] = {"feature": np.array(found.names(model.features), dtype=object)}
    if model.weights.shape[1] > 1:
        if model.classes is None:
            columns["output"] = found.outputs
        else:
            columns["class"] = np.asarray(model.classes)[found.outputs]
    return columns | found.numbers


def _shown(model: LinearModel) -> NDArray[np.int64]:
    """Return the features to list: all of an array; of a table, its numbers and nonzero words.

    The indicator of a missing value is left out if no value was missing.
    """
    if model.features.width is None:
        return np.arange(model.n_features)
    shown = np.asarray(model.weights.any(axis=1))
    schema = model.features.schema
    names = [] if schema is None else schema.feature_names[: len(shown)]
    plain = np.array([not name.endswith(" is missing") for name in names], dtype=bool)
    shown[: len(plain)] |= plain
    if schema is not None and schema.is_as_written:
        # Columns that never varied have the weight of the intercept; they are left out.
        varied = {} if model.report is None else model.report.spreads
        shown[: len(plain)] &= plain | np.isin(np.arange(len(plain)), list(varied))
    found = np.flatnonzero(shown)
    if schema is None or not schema.is_hashed:
        return found
    # Words follow each other as their columns do, in alphabetical order, and not by their hashes.
    places = {column.name: place for place, column in enumerate(schema.columns)}
    firsts, last = schema.first_features(), len(schema.columns)

    def place(feature: int) -> tuple[int, int, str]:
        if feature < len(names):
            return bisect_right(firsts, feature) - 1, feature, ""
        name = model.features.name(feature)
        column = last if name is None else places.get(name.partition("=")[0], last)
        return column, len(names) + (name is None) * feature, name or ""

    return np.array(sorted(found.tolist(), key=place), np.int64)


def _spreads(model: LinearModel) -> Floats | None:
    """Return the features' standard deviations from the schema or report; None if unknown."""
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
    """Return a row whose score is the intercept: every number is zero in the table's units."""
    row = {} if features.schema is None else features.schema.zero()
    indices = np.array(list(row), dtype=np.int64)
    values = np.array(list(row.values()), dtype=np.float64)
    return SparseRows(np.array([0, len(row)]), indices, values, int(indices.max(initial=-1)) + 1)


def _tested(model: LinearModel, centre: Floats, error: Floats, level: float) -> dict[str, Any]:
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

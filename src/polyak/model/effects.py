"""Effects: what each column contributes to the score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.model.columns import SourceColumns
from polyak.model.intervals import quantile
from polyak.model.terms import Axis, Term
from polyak.rows.sparse import SparseRows, as_rows, dense_as_sparse

if TYPE_CHECKING:
    from polyak.model.linear import LinearModel

Floats = NDArray[np.float64]

GRID = 100
"""The number of values at which a curve is returned by default."""


class Effect(NamedTuple):
    """The contribution of a column to the score, with a pointwise band.

    Attributes
    ----------
    grid : array
        Values of the column: numbers in its own units, or levels.
    value, lower, upper : arrays of shape (values,), or (values, outputs)
        The contribution, centred over the rows learned from, and the band.
    """

    grid: NDArray[Any]
    value: Floats
    lower: Floats
    upper: Floats


def effect(model: LinearModel, column: str, level: float = 0.95, grid: Any = None) -> Effect:
    """Return the effect of a column of an additive model."""
    terms, columns = model.terms, columns_of_model(model)
    columns.place(column)
    names = [] if terms is None else [term.name for term in terms.terms]
    if terms is not None and column in names:
        place = names.index(column)
        axis = terms.terms[place].axes[0]
        offset, scale = columns.units[columns.place(column)]
        values = grid_of(axis) * scale + offset if grid is None else np.asarray(grid, float)
        functions = axis.at((values - offset) / scale)
        return _effect(model, values, terms.features_of(place), functions, level)
    levels = {
        name.partition("=")[2]: index
        for index, name in model.features.names.items()
        if name.partition("=")[0] == column
    }
    if columns.place(column) not in columns.numbers:
        shown = list(levels) if grid is None else [str(one) for one in grid]
        own = np.array([levels[one] for one in shown if one in levels], dtype=np.int64)
        there = [one for one in shown if one in levels]
        return _effect(model, np.array(there), own, np.eye(len(own)), level)
    feature = columns.numbers[columns.place(column)][0]
    offset, scale = columns.units[columns.place(column)]
    around = [offset - 2 * scale, offset + 2 * scale]
    values = np.array(around if grid is None else grid, dtype=np.float64)
    at = ((values - offset) / scale)[:, None]
    return _effect(model, values, np.array([feature]), at, level)


def grid_of(axis: Axis) -> Floats:
    """Return values along an axis: its knots and values between them."""
    knots = np.array(axis.knots)
    between = np.linspace(knots[0], knots[-1], GRID)
    return np.unique(np.concatenate([knots, between]))


def _effect(
    model: LinearModel,
    grid: NDArray[Any],
    features: NDArray[np.int64],
    functions: Floats,
    level: float,
) -> Effect:
    value = functions @ model.weights[features]
    reach = np.full_like(value, np.nan)
    if model.sandwich is not None:
        places = {feature: place for place, feature in enumerate(model.sandwich.features.tolist())}
        known = [k for k, feature in enumerate(features.tolist()) if feature in places]
        rows = 1 + np.array([places[features[k]] for k in known], dtype=np.int64)
        times = quantile(model, level)
        for output, matrix in enumerate(model.sandwich.covariance):
            own = functions[:, known]
            variance = np.einsum("ij,ij->i", own @ matrix[np.ix_(rows, rows)], own)
            reach[:, output] = times[output] * np.sqrt(np.maximum(variance, 0.0))
    if value.shape[1] == 1:
        value, reach = value[:, 0], reach[:, 0]
    return Effect(grid, value, value - reach, value + reach)


def contributions(model: LinearModel, X: Any) -> tuple[list[str], Floats]:
    """Return what each column and pair contributes to the scores of rows.

    The contributions have the shape (rows, terms), or (rows, terms, outputs) where there are
    several outputs. They add up to the score, the intercept being the last.
    """
    columns, terms = columns_of_model(model), model.terms
    rows = as_rows(model.rows(X))
    sparse = rows if isinstance(rows, SparseRows) else dense_as_sparse(rows)
    features, values = sparse.entries()
    begin = columns.n_features if terms is None else terms.begin
    names = [*columns.names, "other features"]
    number = np.full(len(features), len(columns.names))
    plain = features < begin
    number[plain] = columns.column_numbers(features[plain].astype(np.int64))
    if terms is not None:
        of_term = np.array([_place(term, names) for term in terms.terms], dtype=np.int64)
        number[~plain] = of_term[terms.numbers(features[~plain])]
    used = np.unique(number)
    rank = np.searchsorted(used, number)
    found = np.zeros((len(sparse), len(used) + 1, model.weights.shape[1]))
    np.add.at(found, (sparse.entry_rows(), rank), values[:, None] * model.weights[features])
    found[:, -1] = model.intercept
    shown = [*(names[k] for k in used), "intercept"]
    return shown, found[:, :, 0] if found.shape[2] == 1 else found


def _place(term: Term, names: list[str]) -> int:
    """Return the place of a term's name, which is added if it is not there."""
    if term.name not in names:
        names.append(term.name)
    return names.index(term.name)


def columns_of_model(model: LinearModel) -> SourceColumns:
    """Return the columns that a model's features come from."""
    schema, features = model.features.schema, model.features
    if schema is None:
        width = model.n_features if model.terms is None else model.terms.begin
        names = [features.name(index) or f"x{index}" for index in range(width)]
        return SourceColumns.of_array(width, names)
    return SourceColumns.of_schema(schema, lambda: features.names)

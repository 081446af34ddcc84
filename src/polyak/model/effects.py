"""Effects: what each column, and each pair of columns, contributes to the score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DataError
from polyak.model.columns import SourceColumns
from polyak.model.intervals import quantile
from polyak.model.terms import Axis, Term
from polyak.rows.sparse import SparseRows, as_rows, dense_as_sparse

if TYPE_CHECKING:
    from polyak.model.linear import LinearModel

Floats = NDArray[np.float64]
Features = NDArray[np.int64]

GRID = 100
"""The number of values at which a curve is returned by default."""
MOST_CONTRIBUTIONS = 4096
"""The most columns whose contributions are computed: they are not sparse."""
MISSING, OTHER = "(missing)", "(other)"
"""What missing values and levels without a weight are called in tables."""


class Effect(NamedTuple):
    """The contribution of a term to the score, with a pointwise band.

    Attributes
    ----------
    grid : array, or a pair of arrays
        Values of the column: numbers in its own units, or levels. For a pair those of each column.
    value, lower, upper : arrays of shape (values,) or (values, values of the second column)
        The contribution and the band; with several outputs, these are a last dimension. Curves are
        centred over the rows learned from, levels around their mean.
    """

    grid: Any
    value: Floats
    lower: Floats
    upper: Floats


def effect(model: LinearModel, name: str, level: float = 0.95, grid: Any = None) -> Effect:
    """Return the effect of a column, or of a pair such as "age × city", of a model.

    NaN in the ``grid`` of numbers stands for a missing value.
    """
    terms, columns = () if model.terms is None else model.terms.terms, columns_of_model(model)
    place = next((k for k, term in enumerate(terms) if term.name == name), None)
    if place is not None and len(terms[place].axes) > 1:
        return _of_pair(model, columns, place, level)
    column = columns.place(name)
    if column not in columns.numbers:
        return _of_levels(model, columns, name, level, grid)
    features, (offset, scale) = columns.numbers[column], columns.units[column]
    if grid is None:
        at = np.array([-2.0, 2.0]) if place is None else grid_of(terms[place].axes[0])
        values = at * scale + offset
    else:
        values = _numbers(name, grid)
        at = (values - offset) / scale
    missing = np.isnan(at)
    functions = np.stack([np.where(missing, 0.0, at), missing][: len(features)], axis=1)
    own = np.array(features)
    if place is not None:
        assert model.terms is not None
        curve = terms[place].axes[0].of(functions)
        functions = np.hstack([functions[:, 1:], curve])
        own = np.concatenate([own[1:], model.terms.features_of(place)])
    return Effect(values, *_band(model, own, functions, level))


def _numbers(name: str, grid: Any) -> Floats:
    """Return the grid of a column of numbers as an array; a single number is one of length one."""
    try:
        return np.atleast_1d(np.asarray(grid, dtype=np.float64))
    except ValueError:
        raise DataError(f"the column {name} is of numbers, but its grid is not") from None


def kinds(model: LinearModel) -> dict[str, str]:
    """Return the kind of each term: the columns that have a weight, then the pairs."""
    terms, columns = () if model.terms is None else model.terms.terms, columns_of_model(model)
    curves = {term.name for term in terms if term.kind == "curve"}
    used = np.flatnonzero(model.weights[: columns.n_features].any(axis=1))
    there = set(columns.column_numbers(used).tolist())
    found = {}
    for place, name in enumerate(columns.names):
        if name in curves:
            found[name] = "curve"
        elif place in there:
            found[name] = "linear" if place in columns.numbers else "category"
    return found | {term.name: term.kind for term in terms if term.kind == "pair"}


def effects_table(model: LinearModel, level: float = 0.95) -> dict[str, Any]:
    """Return the effects of an additive model as columns, a line per term and knot or level.

    Between knots effects are linear, beyond the outermost constant. With those of a row's values
    they add up to its score, the first lines being the intercept.
    """
    columns, covered = columns_of_model(model), set[int]()
    lines: list[tuple[str, str, str, str, Floats]] = []
    centre: dict[int, float] = {}

    def add(name: str, kind: str, first: Any, second: Any, band: tuple[Floats, ...]) -> None:
        table = np.stack(band, axis=-1).reshape(len(first), -1, len(model.intercept), 3)
        for i, at in enumerate(first):
            for k, other in enumerate(second):
                lines.append((name, kind, _text(at), _text(other), table[i, k]))

    for name, kind in kinds(model).items():
        if kind == "pair":
            found = effect(model, name, level)
            add(name, kind, found.grid[0], found.grid[1], found[1:])
            continue
        column = columns.place(name)
        if kind == "category":
            own = _levels(model, columns, name)
            covered |= set(own.values())
            centre |= dict(zip(own.values(), _shares(own).tolist(), strict=True))
            grid: Any = [*own, OTHER]
        else:
            features, (offset, scale) = columns.numbers[column], columns.units[column]
            covered |= set(features[:2])
            ends = np.array([offset - 2 * scale, offset + 2 * scale])
            at = knots_of(model, columns, name) if kind == "curve" else ends
            grid = [*at, *[np.nan] * (len(features) - 1)]
        found = effect(model, name, level, grid)
        add(name, kind, found.grid, [""], found[1:])
    used = np.flatnonzero(model.weights[: columns.n_features].any(axis=1))
    for feature in [j for j in used.tolist() if j not in covered]:
        name = model.features.name(feature) or model.features.slot(feature)
        band = _band(model, np.array([feature]), np.ones((1, 1)), level)
        add(name, "linear", [1.0], [""], band)
    own_features = np.array(list(centre), dtype=np.int64)
    first = _band(model, own_features, np.array([list(centre.values())]), level, intercept=True)
    add("intercept", "intercept", [""], [""], first)
    lines = [lines[-1], *lines[:-1]]
    outputs = len(model.intercept)
    table: dict[str, Any] = {
        head: np.repeat(np.array([line[k] for line in lines], dtype=object), outputs)
        for k, head in enumerate(("term", "kind", "at", "at_2"))
    }
    if outputs > 1:
        labels = np.arange(outputs) if model.classes is None else np.asarray(model.classes)
        table["output" if model.classes is None else "class"] = np.tile(labels, len(lines))
    numbers = np.concatenate([line[4] for line in lines])
    return table | dict(zip(("value", "lower", "upper"), numbers.T, strict=True))


def _text(value: Any) -> str:
    """Return a value of a column as text."""
    if isinstance(value, str):
        return value
    return MISSING if np.isnan(value) else repr(float(value))


def knots_of(model: LinearModel, columns: SourceColumns, name: str) -> Floats:
    """Return the knots of a column's curve in its own units."""
    assert model.terms is not None
    axes = {axis.column: axis for term in model.terms.terms for axis in term.axes}
    offset, scale = columns.units[columns.place(name)]
    return np.array(axes[name].knots) * scale + offset


def grid_of(axis: Axis) -> Floats:
    """Return values along an axis: its knots and values between them."""
    knots = np.array(axis.knots)
    between = np.linspace(knots[0], knots[-1], GRID)
    return np.unique(np.concatenate([knots, between]))


def _of_pair(model: LinearModel, columns: SourceColumns, place: int, level: float) -> Effect:
    """Return the effect of a pair at the knots or levels of its columns."""
    assert model.terms is not None
    grids: list[NDArray[Any]] = []
    for axis in model.terms.terms[place].axes:
        if axis.knots:
            grids.append(knots_of(model, columns, axis.column))
        else:
            names = [model.features.name(j) or model.features.slot(j) for j in axis.features]
            grids.append(np.array([name.removeprefix(f"{axis.column}=") for name in names]))
    a, b = (axis.values for axis in model.terms.terms[place].axes)
    products: Floats = np.asarray(np.kron(a, b), dtype=np.float64)
    band = _band(model, model.terms.features_of(place), products, level)
    shape = (len(a), len(b), *band[0].shape[1:])
    return Effect(tuple(grids), *(one.reshape(shape) for one in band))


def _of_levels(
    model: LinearModel, columns: SourceColumns, name: str, level: float, grid: Any
) -> Effect:
    levels = _levels(model, columns, name)
    shown = list(levels) if grid is None else [str(one) for one in grid]
    place = {one: k for k, one in enumerate(levels)}
    functions = np.tile(-_shares(levels), (len(shown), 1))
    for row, one in enumerate(shown):
        if one in place:
            functions[row, place[one]] += 1.0
    own = np.array(list(levels.values()), dtype=np.int64)
    return Effect(np.array(shown), *_band(model, own, functions, level))


def _levels(model: LinearModel, columns: SourceColumns, name: str) -> dict[str, int]:
    """Return the features of a category's levels by their names, and of missing values."""
    missing = columns.owners.index(columns.place(name))
    called = [(missing, MISSING)]
    for index, named in sorted(model.features.names.items()):
        if columns.owner(named) == columns.place(name):
            called.append((index, named.removeprefix(f"{name}=")))
    used = set(np.flatnonzero(model.weights.any(axis=1)).tolist())
    return {one: index for index, one in called if index in used}


def _shares(levels: dict[str, int]) -> Floats:
    """Return the share of each level in their mean, around which effects are shown.

    The penalty makes it zero already, but all levels share the error of the intercept, and a band
    around a difference from the mean does not contain that.
    """
    there = np.array([name != MISSING for name in levels], dtype=np.float64)
    return np.asarray(there / max(there.sum(), 1.0))


def _covariance(model: LinearModel, features: Features) -> Floats:
    """Return the covariance of the weights of some features, a matrix per output."""
    assert model.sandwich is not None
    known = model.sandwich.features
    order = np.argsort(known, kind="stable")
    found = np.minimum(np.searchsorted(known, features, sorter=order), len(known) - 1)
    there, rows = known[order[found]] == features, 1 + order[found]
    both = there[:, None] & there
    return np.where(both, model.sandwich.covariance[:, rows[:, None], rows], 0.0)


def _band(
    model: LinearModel, features: Features, functions: Floats, level: float, intercept: bool = False
) -> tuple[Floats, Floats, Floats]:
    """Return linear combinations of weights, one per row of ``functions``, and their intervals.

    With ``intercept`` the intercept is added to them.
    """
    value = functions @ model.weights[features] + intercept * model.intercept
    reach = np.full_like(value, np.nan)
    if model.sandwich is not None:
        times = quantile(model, level)
        if intercept:  # the score at the origin takes its place
            known = model.sandwich.features
            place = {int(feature): k for k, feature in enumerate(known)}
            combined = np.zeros((len(functions), 1 + len(known)))
            combined[:, 0], combined[:, 1:] = 1.0, -model.sandwich.origin
            for k, feature in enumerate(features.tolist()):
                combined[:, 1 + place[feature]] += functions[:, k]
            functions, matrices = combined, model.sandwich.covariance
        else:
            matrices = _covariance(model, features)
        for output, matrix in enumerate(matrices):
            variance = np.einsum("ij,ij->i", functions @ matrix, functions)
            reach[:, output] = times[output] * np.sqrt(np.maximum(variance, 0.0))
    if value.shape[1] == 1:
        value, reach = value[:, 0], reach[:, 0]
    return value, value - reach, value + reach


def contributions(model: LinearModel, X: Any) -> tuple[list[str], Floats]:
    """Return what each column and pair contributes to the scores of rows.

    The contributions have the shape (rows, terms), or (rows, terms, outputs) where there are
    several outputs. They add up to the score, the intercept being the last.
    """
    names, weighted, rank = contribution_owners(model)
    rows = as_rows(model.rows(X))
    sparse = rows if isinstance(rows, SparseRows) else dense_as_sparse(rows)
    features, values = sparse.entries()
    there = features < model.n_features
    there[there] = weighted[features[there]]
    features, values, row = features[there], values[there], sparse.entry_rows()[there]
    found = np.zeros((len(sparse), len(names), model.weights.shape[1]))
    np.add.at(found, (row, rank[features]), values[:, None] * model.weights[features])
    found[:, -1] = model.intercept
    return names, found[:, :, 0] if found.shape[2] == 1 else found


def contribution_owners(
    model: LinearModel,
) -> tuple[list[str], NDArray[np.bool_], NDArray[np.intp]]:
    """Return the names of all contributions, which features have a weight, and whose each is.

    They depend on the model alone, so those of several batches have the same columns.
    """
    columns, terms = columns_of_model(model), model.terms
    names, weighted = [*columns.names, "other features"], np.asarray(model.weights.any(axis=1))
    begin = model.n_features if terms is None else terms.begin
    number = np.full(model.n_features, len(columns.names))
    used = np.flatnonzero(weighted[:begin])
    number[used] = columns.column_numbers(used)
    if terms is not None:
        of_term = np.array([_place(term, names) for term in terms.terms], dtype=np.int64)
        number[begin:] = of_term[terms.numbers(np.arange(begin, model.n_features))]
    shown = np.unique(number[weighted])
    if len(shown) > MOST_CONTRIBUTIONS:
        raise DataError(
            f"contributions of {len(shown):,} columns are too many: {MOST_CONTRIBUTIONS:,} at most"
        )
    called = [*(names[k] for k in shown), "intercept"]
    return called, weighted, np.searchsorted(shown, number)


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

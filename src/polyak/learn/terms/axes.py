"""From columns and rows to the terms of a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polyak.learn.recipes import Recipe
from polyak.learn.terms.basis import MOST_KNOTS, curve_axis, level_axis, monotone_axis
from polyak.learn.terms.pairs import (
    FUNCTIONS_OF_A_PAIR,
    MOST_LEVELS,
    Binned,
    bins_of_levels,
    bins_of_numbers,
    sizes_of_pairs,
)
from polyak.model.columns import SourceColumns
from polyak.model.terms import Axis, Term, Terms, columns_of
from polyak.rows.sparse import Rows, SparseRows

Floats = NDArray[np.float64]

OF_CURVES, OF_PAIRS = 0.4, 0.45
"""The shares of all features there may be that curves and pairs take at most."""


class Axes:
    """The columns of a source as terms are made of them.

    Parameters
    ----------
    columns : SourceColumns
    widest : int
        The most features there may be.
    recipe : Recipe
        Which columns have curves, and which have constraints.
    """

    def __init__(self, columns: SourceColumns, widest: int, recipe: Recipe) -> None:
        self.columns, self.widest, self.recipe = columns, widest, recipe

    def term_numbers(self, features: NDArray[np.int64], terms: Terms) -> NDArray[np.int64]:
        """Return the number of each feature's term: of its column, or after those its own."""
        own = features >= terms.begin
        found = np.empty(len(features), dtype=np.int64)
        plain = features[~own]
        found[~own] = self.columns.column_numbers(plain)
        found[~own] += np.where(self.columns.is_missing(plain), self.missing, 0)
        found[own] = self.first_term + terms.numbers(features[own])
        return found

    @property
    def missing(self) -> int:
        """The distance from the number of a column to that of its missing values."""
        return len(self.columns.names) + 1

    @property
    def first_term(self) -> int:
        """The number of the first curve."""
        return 2 * self.missing

    def curves(self, rows: Rows) -> Terms:
        """Return the curves that are asked for, with knots from these rows."""
        names, linear = self.columns.names, self.recipe.signed_linear
        columns = self.columns.numbers_named(self.recipe.curves or ())
        columns = [column for column in columns if names[column] not in linear]
        found = {column: self.axis(column, rows, MOST_KNOTS) for column in columns}
        sizes, most = [one.size for one in found.values() if one is not None], MOST_KNOTS
        while most > 1 and sum(min(size, most) for size in sizes) > OF_CURVES * self.widest:
            most -= 1
        made = []
        for column, axis in found.items():
            if axis is not None and names[column] in self.recipe.signs:
                axis = self.axis(column, rows, most)  # whose functions are in no order
            if axis is not None:
                made.append(Term((axis.first(most),)))
        terms = tuple(made)
        return Terms(self.columns.n_features, terms, tuple(t.features[0] for t in terms))

    def with_pairs(
        self, before: Terms, pairs: Sequence[tuple[int, int]], gains: Floats, rows: Rows
    ) -> Terms:
        """Return terms and those of pairs of columns, the finer the more a pair gains."""
        known = {axis.column: axis for term in before.terms for axis in term.axes}
        wanted, most = [], FUNCTIONS_OF_A_PAIR[1]
        for pair in pairs:
            names = [self.columns.names[column] for column in pair]
            own = zip(pair, names, strict=True)
            axes = [known.get(name) or self.axis(column, rows, most) for column, name in own]
            wanted.append([axis for axis in axes if axis is not None])
        sizes = [[a.size for a in axes] if len(axes) == 2 else [0, 0] for axes in wanted]
        functions = sizes_of_pairs(np.array(sizes), gains, OF_PAIRS * self.widest)
        made = [
            Term(tuple(axis.first(size) for axis in axes))
            for axes, size in zip(wanted, functions.tolist(), strict=True)
            if size
        ]
        return Terms(before.begin, (*before.terms, *made), before.replaced)

    def axis(self, column: int, rows: Rows, most: int) -> Axis | None:
        """Return the axis of a column; None if it does not vary in these rows."""
        name = self.columns.names[column]
        if column not in self.columns.numbers:
            levels = self._levels(column, rows)
            return level_axis(name, levels, (columns_of(rows, levels) != 0).astype(float))
        features = self.columns.numbers[column]
        values = columns_of(rows, features)
        there = values[:, 1] == 0 if len(features) > 1 else slice(None)
        made = monotone_axis if name in self.recipe.signs else curve_axis
        return made(name, features, values[there, 0], most)

    def binned(self, rows: Rows) -> list[tuple[int, Binned]]:
        """Return the columns that vary and have no constraint, and the bins of rows."""
        found = []
        for column, name in enumerate(self.columns.names):
            if name in self.recipe.signs:
                continue
            if column in self.columns.numbers:
                values = columns_of(rows, self.columns.numbers[column])
                missing = values[:, 1] != 0 if values.shape[1] > 1 else None
                one = bins_of_numbers(values[:, 0], missing)
            else:
                one = bins_of_levels(rows, self._levels(column, rows))
            if (one.bins != one.bins[0]).any():
                found.append((column, one))
        return found

    def _levels(self, column: int, rows: Rows) -> tuple[int, ...]:
        """Return the features of the most frequent levels of a category."""
        if not isinstance(rows, SparseRows):
            return ()
        features, counts = np.unique(rows.entries()[0], return_counts=True)
        features = features.astype(np.int64)
        own = (features >= len(self.columns.owners)) & (
            self.columns.column_numbers(features) == column
        )
        order = np.argsort(-counts[own], kind="stable")[:MOST_LEVELS]
        return tuple(np.sort(features[own][order]).tolist())

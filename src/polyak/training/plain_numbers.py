"""Tables of nothing but numbers, none of them missing: learned as the matrix that they are.

So the model is that of an estimator that was given the same numbers as an array, to the last bit.
Afterwards each column has its weight, and what is missing is taken to be the column's mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.model.features import FeatureMap
from polyak.model.linear import LinearModel
from polyak.model.schema import Schema
from polyak.rows.sparse import SparseRows


@dataclass(frozen=True, slots=True)
class PlainNumbers:
    """The schema of such a table, its columns as they are: neither shifted nor scaled.

    Each column becomes two features: its value, and whether that is missing.
    """

    schema: Schema

    @classmethod
    def of(cls, schema: Schema) -> PlainNumbers | None:
        """Return that of a table's schema; None if any column is not of numbers."""
        if not schema.is_of_numbers:
            return None
        columns = tuple(replace(column, offset=0.0, scale=1.0) for column in schema.columns)
        return cls(replace(schema, columns=columns))

    def model(self, model: LinearModel, means: NDArray[np.float64]) -> LinearModel:
        """Make a model of matrices one of tables."""

        def spread(weights: NDArray[Any]) -> NDArray[Any]:
            found = np.zeros((2 * len(weights), *weights.shape[1:]), weights.dtype)
            found[::2] = weights
            found[1::2] = weights * means[:, None]
            return found

        weights = spread(model.weights)
        report = model.report
        if report is not None:  # columns are every other feature now
            report = replace(report, spreads={2 * j: s for j, s in report.spreads.items()})
        offset = None if model.offset is None else 2 * model.offset
        features = FeatureMap.table(self.schema)
        return replace(model, weights=weights, offset=offset, features=features, report=report)


def matrix_of(rows: SparseRows) -> NDArray[Any]:
    """Return the rows of a table of plain numbers as a matrix, with NaN for missing values.

    Examples
    --------
    >>> rows = SparseRows(np.array([0, 1, 2]), np.array([0, 1]), np.array([5.0, 1.0]), 2)
    >>> matrix_of(rows).ravel()
    array([ 5., nan])
    """
    features, values = rows.entries()
    found = np.zeros((len(rows), rows.n_features // 2), values.dtype)
    found[rows.entry_rows(), features // 2] = np.where(features % 2, np.nan, values)
    return found

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
        if schema.is_hashed or any(c.kind not in ("number", "boolean") for c in schema.columns):
            return None
        columns = tuple(replace(column, offset=0.0, scale=1.0) for column in schema.columns)
        return cls(replace(schema, columns=columns))

    def matrix(self, rows: SparseRows) -> NDArray[np.float64] | None:
        """Return the table as a matrix; None if a value is missing.

        Examples
        --------
        >>> from polyak.model.schema import Column
        >>> plain = PlainNumbers(Schema((Column("a", "number", "number"),)))
        >>> plain.matrix(SparseRows(np.array([0, 1, 1]), np.array([0]), np.array([5.0]), 2)).ravel()
        array([5., 0.])
        """
        features, values = rows.entries()
        if (features % 2).any():
            return None
        columns = len(self.schema.columns)
        found = np.zeros((len(rows), columns))
        found[rows.entry_rows(), features // 2] = values
        return found

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
        features = FeatureMap.table(self.schema)
        return replace(model, weights=weights, features=features, report=report)

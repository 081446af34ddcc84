"""Input rows of an estimator: data frames encoded, missing values filled in, batches joined.

Frames with words, dates or missing values are encoded by a schema, as files are. Frames of numbers
without missing values become dense arrays, as in scikit-learn.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from polyak._core import column_moments
from polyak.data.options import Columns, ReadOptions
from polyak.data.tables.advice import FRAME
from polyak.data.tables.arrow_types import with_strings_as
from polyak.data.tables.frames import as_table, is_frame
from polyak.model.features import rows_of_numbers
from polyak.model.schema import Schema
from polyak.optional_imports import pyarrow
from polyak.rows.huge_values import largest_of
from polyak.rows.sparse import as_rows, join_rows
from polyak.rows.tensors import concatenated, is_tensor
from polyak.storage.feature_names import FeatureNames
from polyak.training.in_memory import Data

Floats = NDArray[np.float64]

SCHEMA_ROWS = 1000
"""The number of first rows from which a schema is inferred."""
SUM_ROWS = 1 << 12
"""Columns are summed in blocks of this number of rows."""


def needs_schema(X: Any) -> bool:
    """Whether a frame has a column that is not numeric, or one with missing values.

    Examples
    --------
    >>> import pandas as pd
    >>> [needs_schema(pd.DataFrame({"a": a})) for a in ([1, 2], ["x", "y"], [1.5, None])]
    [False, True, True]
    """
    if not is_frame(X):
        return False
    if hasattr(X, "iloc"):  # pandas, whose frames may hold anything
        of_words = any(_has_words(X.iloc[:, i]) for i in range(X.shape[1]))
        return of_words or bool(X.isna().to_numpy().any())
    if hasattr(X, "dtypes"):  # polars
        if any(not (kind.is_numeric() or str(kind) == "Boolean") for kind in X.dtypes):
            return True
    else:
        from polyak.data.tables.arrow_types import stored_as

        if any(stored_as(field.type) not in ("number", "boolean") for field in X.schema):
            return True
    return any(column.null_count or _has_nan(column) for column in as_table(X).columns)


def _any_nan(values: Any) -> bool:
    # A NaN anywhere makes the sum NaN, and a sum is much faster than isnan.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(values.sum())) and bool(np.isnan(values).any())


def _has_nan(column: Any) -> bool:
    return str(column.type) in ("float", "double", "halffloat") and _any_nan(column.to_numpy())


def table_of(X: Any, names: list[str]) -> Any:
    """Return an array as a pyarrow table with these column names."""
    pa = pyarrow()
    return pa.table({name: pa.array(column) for name, column in zip(names, X.T, strict=True)})


def with_last_column(X: Any, name: str, values: Floats) -> Any:
    """Return a frame, an array or a sparse matrix with one more column.

    Examples
    --------
    >>> with_last_column(np.zeros((2, 1), np.float32), "offset", np.array([1.0, 2.0]))
    array([[0., 1.],
           [0., 2.]], dtype=float32)
    """
    if is_frame(X):
        return as_table(X).append_column(name, pyarrow().array(values))
    column = values[:, None].astype(X.dtype)
    if sparse.issparse(X):
        return sparse.hstack([X, column], format="csr")
    return np.hstack([X, column])


def with_known_columns(X: Any, names: list[str]) -> Any:
    """Return a frame with the columns ``names``; those that it lacks are null, with a warning."""
    from polyak.data.tables.reader import absent_columns

    if column_names(X) == names:
        return X
    table, pa = as_table(X), pyarrow()
    for name in absent_columns(names, table, FRAME):
        table = table.append_column(name, pa.nulls(len(table), pa.float64()))
    return table.select(names)


def _has_words(column: Any) -> bool:
    kind = str(column.dtype)
    if kind != "object":
        numeric = getattr(column.dtype, "kind", "O") in "iufbc"
        return not (numeric or kind.startswith("Sparse"))
    present = column.iloc[:SCHEMA_ROWS].dropna()
    return any(isinstance(value, str) for value in present) or (
        len(present) > 0 and not all(np.isscalar(value) for value in present)
    )


def find_schema(X: Any, columns: Columns, source: str = FRAME) -> Schema:
    """Infer the schema of a frame from its rows; ``source`` is what messages call it."""
    from polyak.data.tables.flatten import Layout
    from polyak.data.tables.frames import FrameSource
    from polyak.data.tables.inference import choose_schema

    layout = Layout()
    sample, _ = layout.flatten(FrameSource(as_table(X)).sample())
    return choose_schema(sample, layout.named(columns), source, lists=layout.lists)


def encode_with_names(
    X: Any, schema: Schema, names: int | None = None, threads: int | None = None
) -> tuple[Any, FeatureNames]:
    """Encode a frame as a scipy sparse matrix; return it and the names of its hashed features."""
    from polyak.data.open import open_stream

    if len(X) == 0:
        return sparse.csr_matrix((0, schema.n_features), dtype=np.float64), FeatureNames.of({})
    options = ReadOptions(
        schema=schema,
        columns=Columns(names=names),
        targets=False,
        dtype=np.float64,
        threads=threads,
    )
    with open_stream(X, options) as stream:
        rows = join_rows([batch.rows for batch in stream])
        seen = stream.names()
    return _matrix(rows), seen


def encode_array(X: Any, schema: Schema) -> Any:
    """Encode an array of numbers as a scipy sparse matrix; None if that takes a table reader."""
    rows = rows_of_numbers(X, schema)
    return None if rows is None else _matrix(rows)


def _matrix(rows: Any) -> Any:
    return sparse.csr_matrix((rows.values, rows.indices, rows.indptr), shape=rows.shape)


# -- missing values in arrays -----------------------------------------------------------------


def is_float_array(X: Any) -> bool:
    """Whether ``X`` is a two-dimensional array of floats, of which no copy is made."""
    kinds = (np.float16, np.float32, np.float64)
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in kinds


def means_of(X: NDArray[Any]) -> tuple[Floats, bool]:
    """Return the mean of each column, which is finite only if all its values are.

    And whether no value can be too large to learn from: see `polyak.rows.huge_values`.

    Examples
    --------
    >>> means_of(np.array([[1.0, 2.0], [3.0, np.nan]]))
    (array([ 2., nan]), False)
    """
    sums, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for begin in range(0, len(X), SUM_ROWS):
            block: Any = as_rows(X[begin : begin + SUM_ROWS])
            of_block, squares_of_block = column_moments(block)
            sums, squares = sums + of_block, squares + squares_of_block
        usual = bool(squares.max(initial=0.0) < largest_of(X.shape[1]))
        return sums / max(len(X), 1), usual


def fill_missing(X: Any, means: Floats | None, name: str) -> Any:
    """Return ``X`` with each missing value replaced by the mean of its column.

    Examples
    --------
    >>> fill_missing(np.array([[np.nan, 5.0]]), np.array([2.0, 4.0]), "ASGDRegressor")
    array([[2., 5.]])
    """
    values = X.data if sparse.issparse(X) else X
    if is_tensor(X) or not _any_nan(values):
        return X
    if means is None or sparse.issparse(X):
        raise ValueError(
            f"Input X contains NaN, but this {name} has learned from rows without missing values; "
            "fit it on rows that have some, or fill them in."
        )
    return np.where(np.isnan(X), means.astype(X.dtype), X)


# -- batches joined ---------------------------------------------------------------------------


def head(rows: Any, count: int) -> Any:
    """Return the first ``count`` rows.

    Examples
    --------
    >>> head(np.arange(6.0).reshape(3, 2), 1)
    array([[0., 1.]])
    """
    if hasattr(rows, "iloc"):
        return rows.iloc[:count]
    return rows.slice(0, count) if is_frame(rows) else rows[:count]


def join_data(parts: list[Data]) -> Data:
    """Concatenate batches; where only some have weights, the rows of the others weigh one."""
    if len(parts) == 1:
        return parts[0]
    weights = [np.ones(len(p.targets)) if p.weights is None else p.weights for p in parts]
    return Data(
        _join_rows([part.rows for part in parts]),
        np.concatenate([part.targets for part in parts]),
        None if all(part.weights is None for part in parts) else np.concatenate(weights),
    )


def _join_rows(parts: list[Any]) -> Any:
    if any(map(sparse.issparse, parts)):
        return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    if not any(map(is_frame, parts)):
        return concatenated(parts)
    names = next(column_names(part) for part in parts if is_frame(part))
    for part in parts:
        if is_frame(part):
            check_columns(column_names(part), names)
    pandas = sys.modules.get("pandas")
    if pandas is not None and all(isinstance(part, pandas.DataFrame) for part in parts):
        return pandas.concat(parts, ignore_index=True)
    tables = [as_table(part if is_frame(part) else table_of(part, names)) for part in parts]
    tables = [with_strings_as(tables[0].schema, table) for table in tables]
    return pyarrow().concat_tables(tables, promote_options="permissive")


def check_columns(names: list[str], first: list[str]) -> None:
    """Raise ValueError if a batch has other columns than the ``first``."""
    if names != first:
        raise ValueError(
            f"the columns of this batch are {', '.join(names)}, but those of the first batch are "
            f"{', '.join(first)}"
        )


def column_names(frame: Any) -> list[str]:
    """Return the names of a frame's columns."""
    names = frame.columns if hasattr(frame, "dtypes") else frame.schema.names
    return [str(name) for name in names]

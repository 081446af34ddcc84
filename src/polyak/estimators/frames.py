"""Data frames with words, dates or missing values in them: encoded by a schema, as files are.

Frames of nothing but numbers, none of them missing, stay what they are to scikit-learn: dense rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from polyak.data.tables.frames import as_table, is_frame
from polyak.model.schema import Schema
from polyak.optional_imports import pyarrow
from polyak.storage.feature_names import FeatureNames

ROWS_TO_TELL = 1000
"""How many first rows decide how rows are represented: as many as schemas are inferred from."""


def needs_schema(X: Any) -> bool:
    """Whether a frame has a column that is not of numbers, or one with missing values.

    Examples
    --------
    >>> import pandas as pd
    >>> [needs_schema(pd.DataFrame({"a": a})) for a in ([1, 2], ["x", "y"], [1.5, None])]
    [False, True, True]
    """
    if not is_frame(X):
        return False
    if hasattr(X, "iloc"):  # pandas, whose frames may hold anything
        of_words = any(_is_of_words(X.iloc[:, i]) for i in range(X.shape[1]))
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
    # A NaN anywhere is a NaN in the sum, which is found much faster.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(values.sum())) and bool(np.isnan(values).any())


def _has_nan(column: Any) -> bool:
    return str(column.type) in ("float", "double", "halffloat") and _any_nan(column.to_numpy())


def table_of(X: Any, names: list[str]) -> Any:
    """Return an array as a table."""
    pa = pyarrow()
    return pa.table({name: pa.array(column) for name, column in zip(names, X.T, strict=True)})


def _is_of_words(column: Any) -> bool:
    kind = str(column.dtype)
    if kind != "object":
        numeric = getattr(column.dtype, "kind", "O") in "iufbc"
        return not (numeric or kind.startswith("Sparse"))
    present = column.iloc[:ROWS_TO_TELL].dropna()
    return any(isinstance(value, str) for value in present) or (
        len(present) > 0 and not all(np.isscalar(value) for value in present)
    )


def find_schema(X: Any) -> Schema:
    """Say what the columns of a frame mean."""
    from polyak.data.options import Columns
    from polyak.data.tables.advice import FRAME
    from polyak.data.tables.flat.columns import flattened
    from polyak.data.tables.inference import SAMPLE_ROWS, choose_schema

    sample, layout = flattened(as_table(X).slice(0, SAMPLE_ROWS), {})
    return choose_schema(sample, Columns(), FRAME, lists=layout.lists)


def encode_with_names(
    X: Any, schema: Schema, names: int | None = None, threads: int | None = None
) -> tuple[Any, FeatureNames]:
    """Encode a frame as scipy's sparse rows, and return the names of the hashed features in it."""
    from polyak.data.open import open_stream
    from polyak.data.options import Columns, ReadOptions
    from polyak.rows.sparse import SparseRows, join_rows

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
    assert isinstance(rows, SparseRows)
    return sparse.csr_matrix((rows.values, rows.indices, rows.indptr), shape=rows.shape), seen

"""Data frames with words, dates or lists in them: encoded by a schema, as files of tables are.

Frames of nothing but numbers stay what they are to scikit-learn: dense rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from polyak.data.tables.frames import as_table, is_frame
from polyak.model.schema import Schema

ROWS_TO_TELL = 1000


def needs_schema(X: Any) -> bool:
    """Tell whether a frame has a column that is not of numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> needs_schema(pd.DataFrame({"a": [1, 2]})), needs_schema(pd.DataFrame({"a": ["x", "y"]}))
    (False, True)
    """
    if not is_frame(X):
        return False
    if hasattr(X, "iloc"):  # pandas, whose frames may hold anything
        return any(_is_of_words(X.iloc[:, i]) for i in range(X.shape[1]))
    if hasattr(X, "dtypes"):  # polars
        return any(not (kind.is_numeric() or str(kind) == "Boolean") for kind in X.dtypes)
    from polyak.data.tables.arrow_types import stored_as

    return any(stored_as(field.type) not in ("number", "boolean") for field in X.schema)


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
    from polyak.data.tables.inference import SAMPLE_ROWS, choose_schema

    return choose_schema(as_table(X).slice(0, SAMPLE_ROWS), Columns(), "the frame")


def encode(X: Any, schema: Schema) -> Any:
    """Encode a frame as scipy's sparse rows."""
    from polyak.data.open import open_stream
    from polyak.rows.sparse import SparseRows, join_rows

    table = as_table(X)
    if table.num_rows == 0:
        return sparse.csr_matrix((0, schema.n_features), dtype=np.float64)
    with open_stream(table, schema=schema, targets=False, dtype=np.float64) as stream:
        rows = join_rows([batch.rows for batch in stream])
    assert isinstance(rows, SparseRows)
    return sparse.csr_matrix((rows.values, rows.indices, rows.indptr), shape=rows.shape)

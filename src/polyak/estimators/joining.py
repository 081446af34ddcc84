"""Joining batches of any kind: arrays, sparse rows and frames."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy import sparse

from polyak.data.tables.frames import as_table, is_frame
from polyak.estimators.frames import table_of
from polyak.optional_imports import pyarrow
from polyak.training.in_memory import Data


def head(rows: Any, count: int) -> Any:
    """Return the first rows.

    Examples
    --------
    >>> head(np.arange(6.0).reshape(3, 2), 1)
    array([[0., 1.]])
    """
    if hasattr(rows, "iloc"):
        return rows.iloc[:count]
    return rows.slice(0, count) if is_frame(rows) else rows[:count]


def joined(parts: list[Data]) -> Data:
    """Return rows of several batches as one; where only some have weights, others weigh one."""
    if len(parts) == 1:
        return parts[0]
    weights = [np.ones(len(p.targets)) if p.weights is None else p.weights for p in parts]
    return Data(
        _joined_rows([part.rows for part in parts]),
        np.concatenate([part.targets for part in parts]),
        None if all(part.weights is None for part in parts) else np.concatenate(weights),
    )


def _joined_rows(parts: list[Any]) -> Any:
    if any(map(sparse.issparse, parts)):
        return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    if not any(map(is_frame, parts)):
        return np.concatenate(parts)
    names = next(_names(part) for part in parts if is_frame(part))
    for part in parts:
        if is_frame(part) and _names(part) != names:
            raise ValueError(
                f"the columns of this batch are {', '.join(_names(part))}, but those of the rows "
                f"before are {', '.join(names)}"
            )
    pandas = sys.modules.get("pandas")
    if pandas is not None and all(isinstance(part, pandas.DataFrame) for part in parts):
        return pandas.concat(parts, ignore_index=True)
    tables = [as_table(part if is_frame(part) else table_of(part, names)) for part in parts]
    return pyarrow().concat_tables(tables, promote_options="permissive")


def _names(frame: Any) -> list[str]:
    return [str(name) for name in getattr(frame, "column_names", frame.columns)]

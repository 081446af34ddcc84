"""What a race is given to learn, and parts of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Given = tuple[Any, NDArray[Any], Floats | None, NDArray[np.int64] | None]
"""Rows, targets, weights, and which of the rows to learn in which order."""


def slice_of(
    rows: Any,
    targets: NDArray[Any],
    weights: Floats | None,
    order: NDArray[np.int64] | None,
    begin: int,
    end: int,
) -> Given:
    """Give the rows that are learned from begin to end."""
    if order is not None:
        return rows, targets, weights, order[begin:end]
    if end - begin == len(rows):
        return rows, targets, weights, None
    some = None if weights is None else weights[begin:end]
    return rows[begin:end], targets[begin:end], some, None

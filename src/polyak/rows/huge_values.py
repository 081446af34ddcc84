"""Values too large to learn from: their squares would overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.rows.sparse import Rows, SparseRows
from polyak.rows.tensors import is_tensor

LARGEST = 1e150
"""Squares of larger values, or sums of them, overflow."""
TOO_LARGE = f"too large; the largest allowed is {LARGEST:g}"
SMALLEST = 1 / LARGEST
"""Inverses of smaller squares overflow: a column of such values is treated as zero."""


def huge_value(rows: Rows, targets: NDArray[Any] | None) -> tuple[int, str] | None:
    """Return the first row with a value too large to learn from, and the message.

    Examples
    --------
    >>> huge_value(np.array([[1.0, 2.0], [3.0, -1e200]]), None)
    (1, 'the value -1e+200 for feature 1 is too large; the largest allowed is 1e+150')
    >>> huge_value(np.eye(2), np.array([1e150, 1.0])) is None
    True
    """
    begin, values = 0, rows
    if is_tensor(rows):  # of 32 bits at most, which have no such values
        values = np.empty(0)
    if isinstance(rows, SparseRows) and len(rows.indptr):
        begin, end = int(rows.indptr[0]), int(rows.indptr[-1])
        values = rows.values[begin:end]
    if not isinstance(values, SparseRows) and _any_huge(values):
        place = int(np.argmax(np.abs(values) > LARGEST))
        if isinstance(rows, SparseRows):
            row = int(np.searchsorted(rows.indptr, begin + place, side="right")) - 1
            feature = int(rows.indices[begin + place])
        else:
            row, feature = divmod(place, rows.shape[1])
        value = values.ravel()[place]
        return row, f"the value {value:g} for feature {feature} is {TOO_LARGE}"
    if targets is not None and targets.ndim == 1 and _any_huge(targets):
        row = int(np.argmax(np.abs(targets) > LARGEST))
        return row, f"the target {targets[row]:g} is {TOO_LARGE}"
    return None


def _any_huge(numbers: NDArray[Any]) -> bool:
    if numbers.dtype.kind != "f" or numbers.itemsize < 8:
        return False
    if numbers.flags.c_contiguous:  # one pass at memory speed in the usual case
        flat = numbers.ravel()
        with np.errstate(over="ignore", invalid="ignore"):
            # Not np.dot: BLAS wakes a thread that spins for a while afterwards, which with every
            # batch kept one of two processors from reading the next.
            if float(np.einsum("i,i->", flat, flat)) < LARGEST:
                return False
    most = max(numbers.max(initial=0.0), -numbers.min(initial=0.0))
    return bool(LARGEST < most < np.inf)  # the core refuses values that are not finite

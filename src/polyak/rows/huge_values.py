"""Values too large to learn from: their squares would overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.rows.sparse import Rows, SparseRows
from polyak.rows.tensors import is_tensor, on_host

LARGEST, LARGEST_IN_32_BITS = 1e150, 1e15
"""Squares of larger values, or sums of them, overflow."""
WIDE = 256
"""Dense rows of at least this many columns are learned by matrix products, in 32 bits, unless a
setting asks for something else; rows of several classes from fewer on."""
SMALLEST = 1 / LARGEST
"""Inverses of smaller squares overflow: a column of such values is treated as zero."""


def huge_value(
    rows: Rows,
    targets: NDArray[Any] | None,
    *,
    in_32_bits: bool = False,
    are_usual: bool = False,
) -> tuple[int, str] | None:
    """Return the first row with a value too large to learn from, and the message.

    Rows that ``are_usual`` are known to have none, and are not looked at.

    Examples
    --------
    >>> huge_value(np.array([[1.0, 2.0], [3.0, -1e200]]), None)
    (1, 'the value -1e+200 for feature 1 is too large; the largest allowed is 1e+150')
    >>> huge_value(np.eye(2), np.array([1e150, 1.0])) is None
    True
    """
    begin, values, largest = 0, rows, LARGEST_IN_32_BITS
    if isinstance(rows, SparseRows):
        begin, end = (int(rows.indptr[0]), int(rows.indptr[-1])) if len(rows.indptr) else (0, 0)
        values, largest = rows.values[begin:end], LARGEST
    elif not in_32_bits:
        largest = largest_of(rows.shape[1])
    if not are_usual and _any_huge(values, largest):
        values = on_host(values)
        place = int(np.argmax(np.abs(values) > largest))
        if isinstance(rows, SparseRows):
            row = int(np.searchsorted(rows.indptr, begin + place, side="right")) - 1
            feature = int(rows.indices[begin + place])
        else:
            row, feature = divmod(place, rows.shape[1])
        return row, f"the value {values.flat[place]:g} for feature {feature} is {_too(largest)}"
    if targets is not None and targets.ndim == 1 and _any_huge(targets, LARGEST):
        row = int(np.argmax(np.abs(targets) > LARGEST))
        return row, f"the target {targets[row]:g} is {_too(LARGEST)}"
    return None


def largest_of(columns: int) -> float:
    """Return the largest value that dense rows with this many columns may have."""
    return LARGEST_IN_32_BITS if columns >= WIDE else LARGEST


def squares_are_below(largest: float, values: NDArray[Any]) -> bool:
    """Whether the sum of squares is below ``largest``, so that all values are finite and small.

    Examples
    --------
    >>> [squares_are_below(LARGEST, np.array([1.0, last])) for last in (2.0, 1e100, np.nan)]
    [True, False, False]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        # Not np.dot: BLAS wakes a thread that spins for a while afterwards, which with every
        # batch kept one of two processors from reading the next.
        return float(np.einsum("i,i->", values, values)) < largest


def _too(largest: float) -> str:
    return f"too large; the largest allowed is {largest:g}"


def _any_huge(numbers: Any, largest: float) -> bool:
    if 0 in numbers.shape:
        return False
    if is_tensor(numbers):
        return largest < max(float(numbers.max()), -float(numbers.min())) < np.inf
    if numbers.dtype.kind != "f" or largest > float(np.finfo(numbers.dtype).max):
        return False
    if numbers.flags.c_contiguous and squares_are_below(largest, numbers.ravel()):
        return False
    # The core refuses values that are not finite.
    return largest < max(float(numbers.max()), -float(numbers.min())) < np.inf

"""Tables of numbers as text, some rows at a time, each number spelled so that it comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS_AT_A_TIME = 1 << 14


def lines_of_numbers(table: NDArray[Any]) -> Iterator[str]:
    r"""Spell the rows of a table, numbers apart by a space, in blocks of lines.

    Wide models are mostly zeros, so a row of zeros costs next to nothing.

    Examples
    --------
    >>> "".join(lines_of_numbers(np.array([[0.1, -2.0], [0.0, 0.0]])))
    '0.1 -2.0\n0 0\n'
    """
    zeros = " ".join(["0"] * table.shape[1])
    for begin in range(0, len(table), ROWS_AT_A_TIME):
        block = table[begin : begin + ROWS_AT_A_TIME].astype(np.float64)
        lines = [zeros] * len(block)
        used = np.flatnonzero(block.any(axis=1))
        for place, row in zip(used.tolist(), block[used].tolist(), strict=True):
            lines[place] = " ".join(map(repr, row))
        yield "\n".join(lines) + "\n"

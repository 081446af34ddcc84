"""The standard error of a weighted mean, from running sums."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class MeanError:
    """The standard error of the weighted mean of the values added.

    Examples
    --------
    >>> error = MeanError()
    >>> error.add(np.array([1.0, 2.0, 4.0, 5.0]), np.ones(4))
    >>> round(error.value(), 4), round(float(np.std([1, 2, 4, 5], ddof=1) / 2), 4)
    (0.9129, 0.9129)
    """

    __slots__ = ("_first", "_rows", "_sums")

    def __init__(self) -> None:
        self._first = 0.0  # subtracted from each value to avoid cancellation
        self._rows = 0
        self._sums = np.zeros(5)  # w, w x, and w² times 1, x and x²

    def add(self, values: Floats, weights: Floats) -> None:
        """Add rows."""
        if not self._rows and len(values):
            self._first = float(values[0])
        x, squares = values - self._first, np.square(weights)
        self._rows += int(np.count_nonzero(weights))
        self._sums += [
            weights.sum(),
            weights @ x,
            squares.sum(),
            squares @ x,
            squares @ np.square(x),
        ]

    def value(self) -> float:
        """Return the standard error; NaN for fewer than two rows."""
        total, first, *squares = self._sums.tolist()
        if self._rows < 2:
            return math.nan
        mean = first / total
        away = squares[2] - 2.0 * mean * squares[1] + mean * mean * squares[0]
        return math.sqrt(max(away, 0.0) * self._rows / (self._rows - 1)) / total

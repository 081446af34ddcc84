"""Differences between two algorithms that saw the same rows in the same orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reproduction.claims import Holds


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean of paired differences, and its standard error.

    Examples
    --------
    >>> found = difference([1.0, 1.1, 1.2], [1.5, 1.7, 1.6])
    >>> round(found.mean, 3), round(found.error, 3), found.word
    (-0.5, 0.058, 'better')
    >>> difference([1.0, 1.1], [1.1, 1.0]).word
    'ties'
    """

    mean: float
    error: float

    @property
    def word(self) -> str:
        """Whether the first has the lower values: "better", "worse" or "ties"."""
        if abs(self.mean) <= 2 * self.error:
            return "ties"
        return "better" if self.mean < 0 else "worse"

    def below(self, limit: float) -> Holds:
        """Whether the mean is below a limit, by two standard errors either way."""
        if abs(self.mean - limit) <= 2 * self.error:
            return "undecided"
        return self.mean < limit

    def __str__(self) -> str:
        """Write both numbers."""
        return f"{self.mean:.3g} ± {self.error:.1g}"


def difference(ours: Sequence[float | None], others: Sequence[float | None]) -> Difference:
    """Pair two lists; what overflowed (None) is worse than any number, by as much as can be."""
    if any(value is None for value in others) or any(value is None for value in ours):
        mine, theirs = (sum(value is None for value in values) for values in (ours, others))
        return Difference(float(np.sign(mine - theirs)) * np.inf if mine != theirs else 0.0, 0.0)
    return mean_of(np.array(ours, float) - np.array(others, float))


def mean_of(values: Sequence[float] | np.ndarray) -> Difference:
    """Return the mean of values, one per seed or order, and its standard error.

    Of a single value the error is not known, and taken to be infinite.
    """
    found = np.asarray(values, float)
    error = float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else np.inf
    return Difference(float(found.mean()), error)

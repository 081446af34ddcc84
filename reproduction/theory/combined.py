"""The corollaries of sections 3 and 4: all that there is, put together."""

from __future__ import annotations

import numpy as np

from reproduction.theory.constants import Floats
from reproduction.theory.linear import Bound


def combined_bound(linear: Bound, *more: Floats) -> Floats:
    """Bound ``t E‖θ̄_t - θ*‖_A²`` where there is more than the linear equation's noise.

    ``more`` is `regression_bound`, for least squares, or that and `non_quadratic_bound`, for
    losses that are not quadratic. Roots of mean squares add up, at most (Minkowski): start, noise
    at the optimum, noise away from it, and curvature that changes.

    Examples
    --------
    >>> linear = Bound(np.array([4.0]), np.array([5.0]), np.array([1.0]))
    >>> combined_bound(linear, np.array([4.0]))  # (1 + 3 + 2)²
    array([36.])
    """
    parts = (linear.start, linear.asymptotic + linear.decay, *more)
    return np.asarray(np.square(sum(np.sqrt(part) for part in parts)))

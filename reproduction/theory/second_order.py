"""Second-order SGD, the yardstick: nothing is nearer to the optimum after t rows (section 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reproduction.theory.constants import Floats, asymptotic_variance


def second_order_error(
    t: ArrayLike,
    A: ArrayLike,
    S: ArrayLike,
    delta0: ArrayLike | None = None,
    prior_rows: float = 0.0,
) -> Floats:
    """Return ``E‖θ_t - θ*‖_A²`` of second-order SGD, exactly: ``γ_t = A⁻¹ / (t + n)``.

    With ``n = prior_rows = 0``, the paper's optimal matrix learning rate, ``t (θ_t - θ*)`` is the
    sum of ``-A⁻¹ ξ_j``: the start is forgotten with the first row, and the error is
    ``tr(A⁻¹S) / t`` from then on. Otherwise the start counts as ``n`` rows.

    Examples
    --------
    >>> A, S = np.diag([1.0, 0.01]), np.eye(2)
    >>> second_order_error([1, 100], A, S)
    array([101.  ,   1.01])
    >>> second_order_error([1, 100], A, S, delta0=[1, 1], prior_rows=1).round(3)
    array([25.502,  0.99 ])
    """
    t = np.asarray(t, float)
    start = 0.0
    if prior_rows:
        if delta0 is None:
            raise ValueError("a start that counts as rows needs delta0")
        delta = np.asarray(delta0, float)
        start = prior_rows**2 * float(delta @ np.asarray(A, float) @ delta)
    return np.asarray((start + t * asymptotic_variance(A, S)) / (t + prior_rows) ** 2)

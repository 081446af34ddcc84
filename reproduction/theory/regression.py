"""Section 3: what the gradient's noise away from the optimum adds for least squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reproduction.theory.constants import Floats, c0


def regression_bound(
    t: ArrayLike,
    *,
    lambda0: float,
    gamma0: float,
    a: float,
    c: float,
    c1: float,
    c2: float,
    c3: float,
    delta0: float,
) -> Floats:
    """Bound ``t E‖I⁽²⁾‖_A²``, what the gradient's noise away from the optimum adds.

    From `LemmaRegression`, for least squares. ``c1`` bounds that noise (assumption `A_Xi2Bound`;
    see `c1`), ``c2`` and ``c3`` the distance of the iterates (`A_DeltaBound`), and ``delta0`` is
    ``‖Δ_0‖_A²``. The proof uses `A_DeltaBound` for all rows from the start on, and for no others.

    Examples
    --------
    >>> constants = dict(c1=50.0, c2=1.0, c3=1.0, delta0=1.0)
    >>> rate = dict(lambda0=0.02, gamma0=1.0, a=0.02, c=2 / 3)
    >>> regression_bound([1e3, 1e6], **rate, **constants).round(2)
    array([80.29,  0.83])
    """
    t = np.asarray(t, float)
    if not c < 1:
        raise ValueError(f"c must be below 1, not {c}")
    outer = (1.0 + c0(lambda0, gamma0, a, c)) ** 2 * c1
    return np.asarray(
        outer * ((1 + c2) * delta0 / t + c3 * gamma0 / (1 - c) * (1 + a * gamma0 * t) ** -c)
    )


def regression_bound_at(
    K: ArrayLike,
    *,
    lambda0: float,
    gamma0: float,
    c: float,
    c2: float,
    c3: float,
    delta0: float,
) -> Floats:
    """Bound ``E‖I⁽²⁾‖_A²`` at ``t = K / (λ0 γ0)`` rows of equal length, with ``a = λ0``.

    The display after `LemmaC1`: ``c1 ≤ M / λ0``, and ``M ≤ 2 / γ0`` because learning would diverge
    otherwise (`LemmaMaxGamma`). Beside SGD's own error, `iterate_bound_at`, it is soon negligible.

    Examples
    --------
    >>> given = dict(lambda0=0.02, gamma0=1.0, c=2 / 3, c2=25.0, c3=1.0, delta0=1.0)
    >>> regression_bound_at([1, 10], **given).round(2)
    array([19.54,  0.53])
    """
    K = np.asarray(K, float)
    if not c < 1:
        raise ValueError(f"c must be below 1, not {c}")
    outer = 2.0 * (1.0 + c0(lambda0, gamma0, lambda0, c)) ** 2
    start = (1 + c2) * lambda0 * gamma0 * delta0 / K**2
    return np.asarray(outer * (start + c3 * gamma0 / ((1 - c) * K * (1 + K) ** c)))

"""The constants that the bounds are made of, and the conditions that they ask for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def asymptotic_variance(A: ArrayLike, S: ArrayLike) -> float:
    """Return ``tr(A⁻¹S)``, the limit of ``t E‖θ̄_t - θ*‖_A²``.

    From `CoralloryLinearAymptoticConvergence`. It is Fabian's bound: the error of the batch
    optimum has the same limit.

    Examples
    --------
    >>> asymptotic_variance(np.diag([1.0, 0.5]), np.eye(2))
    3.0
    """
    A, S = np.asarray(A, float), np.asarray(S, float)
    return float(np.trace(np.linalg.solve(A, S)))


def c0(lambda0: float, gamma0: float, a: float, c: float) -> float:
    """Return the constant of `ThmLinearAvg`: the cost of the falling learning rate.

    ``c0 = a c (1 + a c γ0) / (λ0 - max(0, 2c - 1) a)``.

    Examples
    --------
    >>> round(c0(lambda0=0.02, gamma0=1.0, a=0.02, c=2 / 3), 4)
    1.0133
    >>> c0(lambda0=0.02, gamma0=1.0, a=0.0, c=2 / 3)
    0.0
    """
    return c * c0_over_c(lambda0, gamma0, a, c)


def c0_over_c(lambda0: float, gamma0: float, a: float, c: float) -> float:
    """Return ``c0 / c``, which is defined for ``c = 0`` too."""
    check_rate(lambda0, gamma0, a, c)
    left = lambda0 - max(0.0, 2.0 * c - 1.0) * a
    if not left > 0:
        raise ValueError(
            f"(2c - 1) a must be below lambda0, but c = {c:.6g}, a = {a:.6g} and "
            f"lambda0 = {lambda0:.6g}"
        )
    return a * (1.0 + a * c * gamma0) / left


def c1(M: float, lambda0: float) -> float:
    """Return the constant of assumption `A_Xi2Bound` for least squares, ``M / λ0`` (`LemmaC1`).

    ``M`` bounds ``‖x‖²``: the paper prints ``‖x‖ ≤ M``, but its proof needs the square.

    Examples
    --------
    >>> c1(M=1.0, lambda0=0.02)
    50.0
    """
    return M / lambda0


def largest_stable_rate(M: float) -> float:
    """Return the learning rate above which least squares diverges, ``2 / M`` (`LemmaMaxGamma`).

    ``M`` is the ``‖x‖²`` of every row. The paper proposes half of it.

    Examples
    --------
    >>> largest_stable_rate(M=4.0)
    0.5
    """
    return 2.0 / M


def best_power(*, quadratic: bool) -> float:
    """Return the best exponent ``c`` of the learning rate.

    The corollaries after `LemmaRegression` and `LemmaNonQuadratic` bound the error beyond
    ``tr(A⁻¹S)`` by ``O(t^(-c/2)) + O(t^(c-1))`` for quadratic and by ``O(t^(1/2-c)) + O(t^(c-1))``
    for other losses; the slower of the two falls fastest where both are alike.

    Examples
    --------
    >>> round(best_power(quadratic=True), 4), best_power(quadratic=False)
    (0.6667, 0.75)
    """
    return 2 / 3 if quadratic else 3 / 4


def rate_sum(t: ArrayLike, gamma0: float, a: float, c: float) -> Floats:
    """Add up the learning rates of the first ``t`` rows, from above: ``∫ γ_s ds`` up to ``t``.

    Examples
    --------
    >>> float(rate_sum(100, gamma0=0.1, a=0.0, c=0.5))
    10.0
    """
    t = np.asarray(t, float)
    if a == 0 or c == 0:
        return np.asarray(gamma0 * t)
    if c == 1:
        return np.asarray(np.log1p(a * gamma0 * t) / a)
    return np.asarray(((1.0 + a * gamma0 * t) ** (1.0 - c) - 1.0) / (a * (1.0 - c)))


def rates(t: int, gamma0: float, a: float, c: float) -> Floats:
    """Return the learning rates ``γ_0 … γ_t`` (`EqGammaSchedule`).

    Examples
    --------
    >>> rates(2, gamma0=1.0, a=1.0, c=1.0).round(3)
    array([1.   , 0.5  , 0.333])
    """
    return np.asarray(gamma0 * (1.0 + a * gamma0 * np.arange(t + 1)) ** -c)


class Curvature(NamedTuple):
    """Smallest and largest eigenvalue of ``A``."""

    lambda0: float
    lambda1: float


def curvature(A: ArrayLike, gamma0: float) -> Curvature:
    """Return the extreme eigenvalues; raise for a first learning rate above ``1 / λ1``."""
    eigenvalues = np.linalg.eigvalsh(np.asarray(A, float))
    found = Curvature(float(eigenvalues[0]), float(eigenvalues[-1]))
    if gamma0 * found.lambda1 > 1.0 + 1e-12:
        raise ValueError(f"gamma0 = {gamma0:.6g} times lambda1 = {found.lambda1:.6g} is above 1")
    return found


def check_rate(lambda0: float, gamma0: float, a: float, c: float) -> None:
    """Refuse what no learning rate of the paper has."""
    wanted = {
        f"lambda0 must be above zero, not {lambda0}": lambda0 > 0,
        f"gamma0 must be above zero, not {gamma0}": gamma0 > 0,
        f"a must be at least zero, not {a}": a >= 0,
        f"c must be between 0 and 1, not {c}": 0 <= c <= 1,
    }
    for words, holds in wanted.items():
        if not holds:
            raise ValueError(words)

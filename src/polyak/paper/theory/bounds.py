"""The bounds of sections 2 to 4: how far the averaged iterate is from the optimum after t rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Bound(NamedTuple):
    """The three terms of the bound on ``t E‖θ̄_t - θ*‖_A²`` (`ThmLinearAvg`).

    Attributes
    ----------
    asymptotic : array
        ``tr(A⁻¹S)``, what no algorithm can beat in the end: batch has it too.
    decay : array
        What the falling learning rate costs; it vanishes like ``t^(c-1)``.
    start : array
        What is left of the distance at the start; it vanishes like ``1/t``.
    """

    asymptotic: Floats
    decay: Floats
    start: Floats

    @property
    def total(self) -> Floats:
        """The bound itself."""
        return self.asymptotic + self.decay + self.start


def asymptotic_variance(A: ArrayLike, S: ArrayLike) -> float:
    """Give ``tr(A⁻¹S)``, the limit of ``t E‖θ̄_t - θ*‖_A²``.

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
    """Give the constant of `ThmLinearAvg`: how much the falling learning rate can cost.

    ``c0 = a c (1 + a c γ0) / (λ0 - max(0, 2c - 1) a)``.

    Examples
    --------
    >>> round(c0(lambda0=0.02, gamma0=1.0, a=0.02, c=2 / 3), 4)
    1.0133
    >>> c0(lambda0=0.02, gamma0=1.0, a=0.0, c=2 / 3)
    0.0
    """
    return c * _c0_over_c(lambda0, gamma0, a, c)


def averaged_bound(
    t: ArrayLike,
    A: ArrayLike,
    S: ArrayLike,
    delta0: ArrayLike,
    gamma0: float,
    a: float,
    c: float,
) -> Bound:
    """Bound ``t E‖θ̄_t - θ*‖_A²`` for the stochastic linear equation (`ThmLinearAvg`).

    The iterates are ``θ_t = θ_(t-1) - γ_t (A θ_(t-1) - b + ξ_t)`` with noise of covariance ``S``,
    and ``θ̄_t`` is the mean of the first ``t`` of them.

    Parameters
    ----------
    t : float or array
    A, S : matrices
    delta0 : vector
        ``θ_0 - θ*``.
    gamma0, a, c : float
        The learning rate. ``γ0 λ1 ≤ 1`` and ``(2c - 1) a < λ0`` are required.

    Examples
    --------
    >>> bound = averaged_bound([10, 1e6], np.eye(2), np.eye(2), [1, 1], gamma0=0.5, a=1.0, c=0.5)
    >>> bound.total.round(3)
    array([6.792, 2.009])
    """
    t = np.asarray(t, float)
    A, delta0 = np.asarray(A, float), np.asarray(delta0, float)
    eigenvalues = np.linalg.eigvalsh(A)
    lambda0, lambda1 = float(eigenvalues[0]), float(eigenvalues[-1])
    if gamma0 * lambda1 > 1.0 + 1e-12:
        raise ValueError(f"gamma0 = {gamma0:.6g} times lambda1 = {lambda1:.6g} is above 1")
    per_c = _c0_over_c(lambda0, gamma0, a, c)
    constant = c * per_c
    variance = asymptotic_variance(A, S)
    away = float(delta0 @ np.linalg.solve(A, delta0))
    return Bound(
        asymptotic=np.full_like(t, variance),
        # (2 c0 + c0²) / c, written so that c may be zero.
        decay=(2.0 + constant) * per_c * (1.0 + a * gamma0 * t) ** (c - 1.0) * variance,
        start=(1.0 + constant) ** 2 * away / (gamma0**2 * t),
    )


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
    ``‖Δ_0‖_A²``.

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


def non_quadratic_bound(
    t: ArrayLike,
    *,
    lambda0: float,
    gamma0: float,
    a: float,
    c: float,
    c2: float,
    c3: float,
    c4: float,
    c5: float,
    c6: float,
    delta0: float,
) -> Floats:
    """Bound ``t E‖I⁽³⁾‖_A²``, what the curvature's change away from the optimum adds.

    From `LemmaNonQuadratic`, for losses that are not quadratic. ``c4`` bounds that change
    (assumption `A_Xi3Bound`), ``c2``, ``c3``, ``c5`` and ``c6`` the distance of the iterates
    (`A_DeltaBound`, `A_DeltaBound2`), and ``delta0`` is ``‖Δ_0‖_A²``. It vanishes for
    ``c > 1/2`` only.

    Examples
    --------
    >>> constants = dict(c2=1.0, c3=0.1, c4=1.0, c5=1.0, c6=0.1, delta0=1.0)
    >>> rate = dict(lambda0=0.1, gamma0=0.5, a=0.1, c=3 / 4)
    >>> non_quadratic_bound([1e3, 1e6], **rate, **constants).round(3)
    array([0.531, 0.022])
    """
    t = np.asarray(t, float)
    outer = (1.0 + c0(lambda0, gamma0, a, c)) ** 2 * c4**2 / t
    total = rate_sum(t, gamma0, a, c)
    middle = 2 * c2 * c3 * delta0 + (1 + 2 * c2) * c6
    return np.asarray(outer * ((1 + 2 * c2) * c5 * delta0**2 + middle * total + c3**2 * total**2))


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


def c1(M: float, lambda0: float) -> float:
    """Give the constant of assumption `A_Xi2Bound` for least squares, ``M / λ0`` (`LemmaC1`).

    ``M`` bounds ``‖x‖²``: the paper prints ``‖x‖ ≤ M``, but its proof needs the square.

    Examples
    --------
    >>> c1(M=1.0, lambda0=0.02)
    50.0
    """
    return M / lambda0


def largest_stable_rate(M: float) -> float:
    """Give the learning rate above which least squares diverges, ``2 / M`` (`LemmaMaxGamma`).

    ``M`` is the ``‖x‖²`` of every row. The paper proposes half of it.

    Examples
    --------
    >>> largest_stable_rate(M=4.0)
    0.5
    """
    return 2.0 / M


def best_power(*, quadratic: bool) -> float:
    """Give the best exponent ``c`` of the learning rate.

    The corollaries after `LemmaRegression` and `LemmaNonQuadratic` bound the error beyond
    ``tr(A⁻¹S)`` by ``O(t^(-c/2)) + O(t^(c-1))`` for quadratic and by ``O(t^(1/2-c)) + O(t^(c-1))``
    for other losses; the slower of the two falls fastest where both are alike.

    Examples
    --------
    >>> round(best_power(quadratic=True), 4), best_power(quadratic=False)
    (0.6667, 0.75)
    """
    return 2 / 3 if quadratic else 3 / 4


def _c0_over_c(lambda0: float, gamma0: float, a: float, c: float) -> float:
    _check(lambda0, gamma0, a, c)
    left = lambda0 - max(0.0, 2.0 * c - 1.0) * a
    if not left > 0:
        raise ValueError(
            f"(2c - 1) a must be below lambda0, but c = {c:.6g}, a = {a:.6g} and "
            f"lambda0 = {lambda0:.6g}"
        )
    return a * (1.0 + a * c * gamma0) / left


def _check(lambda0: float, gamma0: float, a: float, c: float) -> None:
    wanted: Any = {
        f"lambda0 must be above zero, not {lambda0}": lambda0 > 0,
        f"gamma0 must be above zero, not {gamma0}": gamma0 > 0,
        f"a must be at least zero, not {a}": a >= 0,
        f"c must be between 0 and 1, not {c}": 0 <= c <= 1,
    }
    for words, holds in wanted.items():
        if not holds:
            raise ValueError(words)

"""Section 2: what averaged SGD and SGD miss a linear equation's root by, after t noisy rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from reproduction.theory.constants import (
    Floats,
    asymptotic_variance,
    c0,
    c0_over_c,
    check_rate,
    curvature,
)


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


class ErrorBound(NamedTuple):
    """The two terms of a bound on ``E‖θ - θ*‖_A²``: what is left of the start, and the noise."""

    start: Floats
    noise: Floats

    @property
    def total(self) -> Floats:
        """The bound itself."""
        return self.start + self.noise


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
    lambda0, _ = curvature(A, gamma0)
    per_c = c0_over_c(lambda0, gamma0, a, c)
    constant = c * per_c
    variance = asymptotic_variance(A, S)
    away = float(delta0 @ np.linalg.solve(A, delta0))
    return Bound(
        asymptotic=np.full_like(t, variance),
        # (2 c0 + c0²) / c, written so that c may be zero.
        decay=(2.0 + constant) * per_c * (1.0 + a * gamma0 * t) ** (c - 1.0) * variance,
        start=(1.0 + constant) ** 2 * away / (gamma0**2 * t),
    )


def averaged_bound_at(
    K: ArrayLike, A: ArrayLike, S: ArrayLike, delta0: ArrayLike, gamma0: float, c: float
) -> ErrorBound:
    """Bound ``E‖θ̄_t - θ*‖_A²`` at ``t = K / (λ0 γ0)`` rows, with ``a = λ0`` (`EqAvgRate`).

    It is `averaged_bound` over ``t``, with ``λ0² ‖Δ_0‖²`` in the norm of ``A⁻¹`` bounded by
    ``‖Δ_0‖_A²``. ``c`` must be below 1.

    Examples
    --------
    >>> bound = averaged_bound_at([1, 100], np.diag([1, 0.1]), np.eye(2), [1, 1], 1.0, c=2 / 3)
    >>> bound.total.round(3)
    array([10.082,  0.023])
    """
    K = np.asarray(K, float)
    A, delta0 = np.asarray(A, float), np.asarray(delta0, float)
    lambda0, _ = curvature(A, gamma0)
    constant, per_c = (f(lambda0, gamma0, lambda0, c) for f in (c0, c0_over_c))
    decay = (2.0 + constant) * per_c * (1.0 + K) ** (c - 1.0)
    return ErrorBound(
        start=np.asarray((1.0 + constant) ** 2 / K**2 * float(delta0 @ A @ delta0)),
        noise=np.asarray(lambda0 * gamma0 / K * (1.0 + decay) * asymptotic_variance(A, S)),
    )


def iterate_bound_at(
    K: ArrayLike, A: ArrayLike, S: ArrayLike, delta0: ArrayLike, gamma0: float
) -> ErrorBound:
    """Bound SGD's own ``E‖θ_t - θ*‖_A²`` at ``t = K / (λ0 γ0)`` rows (`EqRate`).

    The learning rate is the best that plain SGD can have, ``a = λ0`` and ``c = 1``. The paper
    leaves the proof out. In one direction of curvature ``λ`` the error of the noise obeys
    ``v_t = (1 - γ_t λ)² v_(t-1) + γ_t² s``, and ``λ v_t ≤ γ_t s`` is kept from row to row because
    ``γ_(t-1) = γ_t / (1 - λ0 γ_t)``; the start shrinks by ``Π (1 - γ_i λ) ≤ 1 / (1 + K)``.

    Examples
    --------
    >>> bound = iterate_bound_at([1, 100], np.diag([1, 0.1]), np.eye(2), [1, 1], 1.0)
    >>> bound.total.round(3)
    array([1.275, 0.02 ])
    """
    K = np.asarray(K, float)
    A, S, delta0 = (np.asarray(given, float) for given in (A, S, delta0))
    lambda0, _ = curvature(A, gamma0)
    check_rate(lambda0, gamma0, lambda0, 1.0)
    return ErrorBound(
        start=np.asarray(float(delta0 @ A @ delta0) / (1.0 + K) ** 2),
        noise=np.asarray(gamma0 * float(np.trace(S)) / (1.0 + K)),
    )

"""Sections 2 to 4: what a gradient has beside the linear equation's noise, and bounds of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from reproduction.theory.constants import Floats, c0, rate_sum
from reproduction.theory.linear import Bound


class Decomposition(NamedTuple):
    """The parts of each row's gradient beside ``A (θ - θ*)``; rows by features, but for the last.

    Attributes
    ----------
    xi1, xi2 : arrays
        Noise at the optimum, and noise away from it. The mean over the rows is zero.
    xi3 : array
        What the mean gradient has beyond its linear part; zero for squared error.
    """

    xi1: Floats
    xi2: Floats
    xi3: Floats


def decomposition(
    theta: Floats, optimum: Floats, A: Floats, gradients: Callable[[Floats], Floats]
) -> Decomposition:
    """Return ``ξ⁽¹⁾``, ``ξ⁽²⁾`` and ``ξ⁽³⁾`` of equally likely rows at θ (`EqSGDDecomposed`).

    ``gradients`` returns every row's gradient at a point, and ``A`` is the derivative of their mean
    at the optimum.

    Examples
    --------
    >>> X, y = np.array([[1.0], [2.0]]), np.array([1.0, -0.5])  # least squares: the optimum is 0
    >>> decomposition(np.ones(1), np.zeros(1), X.T @ X / 2, lambda w: X * (X @ w - y)[:, None])
    Decomposition(xi1=array([[-1.],
           [ 1.]]), xi2=array([[-1.5],
           [ 1.5]]), xi3=array([0.]))
    """
    at_theta, at_optimum = gradients(theta), gradients(optimum)
    mean = at_theta.mean(axis=0)
    return Decomposition(at_optimum, at_theta - at_optimum - mean, mean - A @ (theta - optimum))


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
    start = (1 + c2) * delta0 / t
    return np.asarray(outer * (start + c3 * gamma0 / (1 - c) * (1 + a * gamma0 * t) ** -c))


def regression_bound_at(
    K: ArrayLike, *, lambda0: float, gamma0: float, c: float, c2: float, c3: float, delta0: float
) -> Floats:
    """Bound ``E‖I⁽²⁾‖_A²`` at ``t = K / (λ0 γ0)`` rows of equal length, with ``a = λ0``.

    The display after `LemmaC1`: ``c1 ≤ M / λ0``, and ``M ≤ 2 / γ0`` because learning would diverge
    otherwise (`LemmaMaxGamma`). Over the paper's bound of SGD's error it falls like ``K^-c`` from
    ``2 (1 + c0)² / (1 - c)``, about 24 for c = 2/3: as bounds, it is below SGD's from some hundred
    times ``1 / (λ0 γ0)`` rows on, not at once. What it bounds is far smaller.

    Examples
    --------
    >>> given = dict(lambda0=0.02, gamma0=1.0, c=2 / 3, c2=25.0, c3=1.0, delta0=1.0)
    >>> K = np.array([1, 10, 1000])
    >>> sgd = 1 / (1 + K) ** 2 + 1 / (1 + K)
    >>> (regression_bound_at(K, **given) / sgd).round(2)
    array([26.05,  5.38,  0.25])
    """
    K = np.asarray(K, float)
    if not c < 1:
        raise ValueError(f"c must be below 1, not {c}")
    outer = 2.0 * (1.0 + c0(lambda0, gamma0, lambda0, c)) ** 2
    start = (1 + c2) * lambda0 * gamma0 * delta0 / K**2
    return np.asarray(outer * (start + c3 * gamma0 / ((1 - c) * K * (1 + K) ** c)))


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
    printed: bool = False,
) -> Floats:
    """Bound ``t E‖I⁽³⁾‖_A²``, what the curvature's change away from the optimum adds.

    From `LemmaNonQuadratic`, for losses that are not quadratic. ``c4`` bounds that change
    (assumption `A_Xi3Bound`), ``c2``, ``c3``, ``c5`` and ``c6`` the distance of the iterates
    (`A_DeltaBound`, `A_DeltaBound2`), and ``delta0`` is ``‖Δ_0‖_A²``. It vanishes for
    ``c > 1/2`` only.

    The paper's proof has the index off by one: ``ξ⁽³⁾_j`` depends on ``Δ_(j-1)``, not on ``Δ_j``,
    so that ``‖Δ_0‖`` is in both of its sums and has to be added to what the assumptions say of the
    rows from the first on. That makes ``1 + c5`` of ``c5``, and ``2 (1 + c2) c3`` of ``2 c2 c3``.
    ``printed=True`` returns the bound as printed; the gradient ``θ + θ²`` without noise, from
    ``θ_0 = 0.1`` at a learning rate of 1, exceeds it ten thousand times over.

    Examples
    --------
    >>> constants = dict(c2=1.0, c3=0.1, c4=1.0, c5=1.0, c6=0.1, delta0=1.0)
    >>> rate = dict(lambda0=0.1, gamma0=0.5, a=0.1, c=3 / 4)
    >>> non_quadratic_bound([1e3, 1e6], **rate, **constants).round(3)
    array([0.638, 0.023])
    >>> non_quadratic_bound([1e3, 1e6], **rate, **constants, printed=True).round(3)
    array([0.531, 0.022])
    """
    t = np.asarray(t, float)
    first = 0.0 if printed else 1.0
    outer = (1.0 + c0(lambda0, gamma0, a, c)) ** 2 * c4**2 / t
    total = rate_sum(t, gamma0, a, c)
    start = (1 + 2 * c2) * (first + c5) * delta0**2
    middle = 2 * (first + c2) * c3 * delta0 + (1 + 2 * c2) * c6
    return np.asarray(outer * (start + middle * total + c3**2 * total**2))


def combined_bound(linear: Bound, *more: Floats) -> Floats:
    """Bound ``t E‖θ̄_t - θ*‖_A²`` where there is more than the linear equation's noise.

    ``more`` is `regression_bound`, for least squares, or that and `non_quadratic_bound`. Roots of
    mean squares add up, at most (Minkowski): start, noise at the optimum, noise away from it, and
    curvature that changes (the corollaries of sections 3 and 4).

    Examples
    --------
    >>> linear = Bound(np.array([4.0]), np.array([5.0]), np.array([1.0]))
    >>> combined_bound(linear, np.array([4.0]))  # (1 + 3 + 2)²
    array([36.])
    """
    parts = (linear.start, linear.asymptotic + linear.decay, *more)
    return np.asarray(np.square(sum(np.sqrt(part) for part in parts)))

"""Errors without simulation: second moments of SGD and of its average, followed row by row.

Along each eigenvector of ``A`` three numbers are enough: ``E Δ²`` of the iterate, ``E (ΣΔ)²`` of
the sum of the iterates, and ``E Δ ΣΔ``. Iterate and sum of other directions enter only where rows
mix them, and then only through ``E‖Δ‖_A²``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from reproduction.theory.constants import Floats, asymptotic_variance, rates
from reproduction.theory.lemmas import lemma1


class Errors(NamedTuple):
    """``E‖θ - θ*‖_A²`` after given numbers of rows, of the average and of the iterate."""

    average: Floats
    iterate: Floats


class Problem(NamedTuple):
    """Rows whose moments are known: what a step of size γ does to ``E Δ²`` in each direction.

    ``E Δ² ← (1 - 2γλ + γ² square) E Δ² + γ² (mixed λ E‖Δ‖_A² + noise)``

    Attributes
    ----------
    values : array
        The eigenvalues λ of ``A``.
    square : array
    mixed : float
    noise : array
    copies : array or 1
        How many directions each entry stands for.
    """

    values: Floats
    square: Floats
    mixed: float
    noise: Floats
    copies: Floats | float = 1.0

    @classmethod
    def linear(cls, values: ArrayLike, noise: ArrayLike, copies: ArrayLike = 1.0) -> Problem:
        """Return the stochastic linear equation of section 2 (`EqSGDLinear`)."""
        lam = np.asarray(values, float)
        return cls(lam, lam**2, 0.0, np.asarray(noise, float), np.asarray(copies, float))

    @classmethod
    def gaussian(cls, values: ArrayLike, variance: float = 1.0) -> Problem:
        """Return least squares on Gaussian rows: ``E xxᵀCxxᵀ = 2ACA + A tr(AC)``."""
        lam = np.asarray(values, float)
        return cls(lam, 2 * lam**2, 1.0, variance * lam)

    @classmethod
    def one_feature(cls, p: ArrayLike, M: float = 1.0, variance: float = 1.0) -> Problem:
        """Return least squares on rows ``√M e_i`` with probability ``p_i``: ``‖x‖² = M``."""
        lam = M * np.asarray(p, float)
        return cls(lam, M * lam, 0.0, variance * lam)


def errors(
    problem: Problem,
    rows: Sequence[int],
    delta0: ArrayLike,
    gammas: Sequence[ArrayLike],
    t0: ArrayLike = 0,
) -> Errors:
    """Follow SGD with several learning rates at once; the results are rates by rows.

    Parameters
    ----------
    problem : Problem
    rows : sequence of int
        After which rows to report, in ascending order.
    delta0 : array
        ``θ_0 - θ*`` in each direction.
    gammas : sequence of arrays
        The learning rates ``γ_0 … γ_t`` of each algorithm.
    t0 : int or array
        The rows after which each begins to average.

    Examples
    --------
    >>> problem = Problem.one_feature([0.5, 0.5])
    >>> found = errors(problem, [1, 1000], np.zeros(2), [rates(1000, 1.0, 0.5, 0.5)])
    >>> (found.average * [1, 1000]).round(3)
    array([[0.333, 2.093]])
    """
    lam, weight = problem.values, problem.values * problem.copies
    gamma = np.array(gammas, float)[:, :, None]
    starts = np.broadcast_to(np.asarray(t0), len(gamma))[:, None]
    square = np.tile(np.square(np.asarray(delta0, float)), (len(gamma), 1))
    cross, total = np.zeros((2, *square.shape))
    average, iterate = [], []
    wanted, latest = set(rows), int(starts.max())
    for t in range(1, rows[-1] + 1):
        g = gamma[:, t]
        mixed = problem.mixed * (square @ weight)[:, None] * lam if problem.mixed else 0.0
        square = (1 - g * (2 * lam - g * problem.square)) * square + g**2 * (mixed + problem.noise)
        cross = (1 - g * lam) * cross
        added = square if t > latest else square * (t > starts)
        total += (2 * cross if t > latest else 2 * cross * (t > starts)) + added
        cross = cross + added
        if t in wanted:
            average.append(total @ weight / np.maximum(t - starts[:, 0], 1) ** 2)
            iterate.append(square @ weight)
    return Errors(np.array(average).T, np.array(iterate).T)


def linear_errors(
    rows: Sequence[int],
    A: ArrayLike,
    S: ArrayLike,
    delta0: ArrayLike,
    gamma0: float,
    a: float,
    c: float,
) -> Errors:
    """Return the errors of the stochastic linear equation of section 2 with any ``A`` and ``S``.

    Examples
    --------
    >>> found = linear_errors([1, 1000], np.eye(1), np.eye(1), [1.0], gamma0=0.5, a=0.0, c=0.5)
    >>> found.average.round(5), found.iterate.round(5)
    (array([0.5    , 0.001]), array([0.5    , 0.33333]))
    """
    values, axes = np.linalg.eigh(np.asarray(A, float))
    noise = np.diagonal(axes.T @ np.asarray(S, float) @ axes)
    start = axes.T @ np.asarray(delta0, float)
    problem = Problem.linear(values, noise)
    found = errors(problem, rows, start, [rates(rows[-1], gamma0, a, c)])
    return Errors(found.average[0], found.iterate[0])


def second_order_error(t: ArrayLike, A: ArrayLike, S: ArrayLike) -> Floats:
    """Return ``E‖θ_t - θ*‖_A²`` of second-order SGD, ``γ_t = A⁻¹ / t``: ``tr(A⁻¹S) / t``.

    ``t (θ_t - θ*)`` is the sum of ``-A⁻¹ ξ_j``: the start is forgotten with the first row.

    Examples
    --------
    >>> second_order_error([1, 100], np.diag([1.0, 0.01]), np.eye(2))
    array([101.  ,   1.01])
    """
    return np.asarray(asymptotic_variance(A, S) / np.asarray(t, float))


def noise_away(problem: Problem, M: float, t: int, delta0: Floats, rate: dict[str, float]) -> float:
    """Return ``t E‖I⁽²⁾‖_A²`` of `Problem.one_feature`, which `LemmaRegression` bounds."""
    lam, gammas = problem.values, rates(t, **rate)
    square, away = np.square(delta0), np.empty((t, len(lam)))
    for row in range(1, t + 1):
        away[row - 1] = lam * (M - lam) * square  # E of ξ⁽²⁾ squared
        g = gammas[row]
        square = (1 - g * (2 * lam - g * problem.square)) * square + g**2 * problem.noise
    weights = lemma1(t, lam, **rate).exact[1:]
    return float((weights**2 * away).sum(axis=0) @ lam / t)

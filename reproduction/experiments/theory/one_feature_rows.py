"""Least squares on rows of one feature each: exactly what `LemmaRegression` bounds.

A row is ``√M e_i`` with probability ``p_i``, so that all rows have the squared norm ``M``, the
Hessian is ``A = diag(M p)``, and features do not mix: means and mean squares can be followed from
row to row. The target is the truth plus noise of variance ``σ²``, so that ``S = σ² A``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduction.theory.constants import rates
from reproduction.theory.lemmas import lemma1

Floats = NDArray[np.float64]


class OneFeatureRows(NamedTuple):
    """The problem: probabilities of the features, squared norm of the rows, variance of noise."""

    p: Floats
    M: float = 1.0
    variance: float = 1.0

    @property
    def eigenvalues(self) -> Floats:
        """Those of the Hessian."""
        return self.M * self.p

    @property
    def c1(self) -> float:
        """The smallest constant of `A_Xi2Bound`; `LemmaC1` says ``M / λ0``, which is one more."""
        return float(np.max((1.0 - self.p) / self.p))

    def squares(self, t: int, delta0: Floats, rate: dict[str, float]) -> tuple[Floats, Floats]:
        """Return ``E Δ²`` before and after each row: of the start alone, and of the noise alone."""
        start, noise = np.zeros((2, t + 1, len(self.p)))
        start[0] = np.square(delta0)
        gammas, values = rates(t, **rate), self.eigenvalues
        for row in range(1, t + 1):
            gamma = gammas[row]
            keep = 1.0 - gamma * values * (2.0 - gamma * self.M)
            start[row] = keep * start[row - 1]
            noise[row] = keep * noise[row - 1] + gamma**2 * values * self.variance
        return start, noise

    def distance_constants(
        self, t: int, delta0: Floats, rate: dict[str, float]
    ) -> tuple[float, float]:
        """Return the smallest ``c2`` and ``c3`` for which `A_DeltaBound` holds from the start."""
        start, noise = (square @ self.eigenvalues for square in self.squares(t, delta0, rate))
        c2 = float(start[1:].sum() / start[0])
        c3 = float(np.max(np.cumsum(noise[1:]) / np.cumsum(rates(t, **rate)[1:])))
        return c2, c3

    def away_noise(self, t: int, delta0: Floats, rate: dict[str, float]) -> float:
        """Return ``t E‖I⁽²⁾‖_A²``, which `LemmaRegression` bounds."""
        weights = lemma1(t, self.eigenvalues, **rate).exact[1:]
        start, noise = self.squares(t, delta0, rate)
        away = self.M**2 * self.p * (1.0 - self.p) * (start + noise)[:-1]  # E of ξ⁽²⁾ squared
        return float((weights**2 * away).sum(axis=0) @ self.eigenvalues / t)


def average_errors(
    problem: OneFeatureRows,
    rows: Sequence[int],
    delta0: Floats,
    gamma0: float,
    a: float,
    powers: Floats,
) -> Floats:
    """Return ``t E‖θ̄_t - θ*‖_A²`` for several powers ``c`` at once: powers by rows.

    Examples
    --------
    >>> problem = OneFeatureRows(np.array([0.5, 0.5]))
    >>> average_errors(problem, [1, 1000], np.zeros(2), 1.0, 0.5, np.array([0.5])).round(3)
    array([[0.333, 2.093]])
    """
    values = problem.eigenvalues
    square = np.tile(np.square(delta0), (len(powers), 1))
    cross, total = np.zeros((2, *square.shape))
    found = []
    for t in range(1, rows[-1] + 1):
        gamma = (gamma0 * (1.0 + a * gamma0 * t) ** -powers)[:, None]
        step = gamma * values
        square = square - step * (2.0 - gamma * problem.M) * square
        square += gamma * step * problem.variance
        cross = cross - step * cross
        total += 2.0 * cross + square
        cross += square
        if t in rows:
            found.append(total @ values / t)
    return np.array(found).T

"""A gradient that is not linear, with noise of two values: exactly what `LemmaNonQuadratic` bounds.

The mean gradient is ``A Δ + Q(Δ, Δ)``, and each row adds ``+s`` or ``-s``, so that after t rows
there are ``2^t`` iterates, all equally likely. Every expectation of the lemma and of its
assumptions, given any iterate before, is a mean over some of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.theory import non_quadratic_bound
from reproduction.theory.constants import rates
from reproduction.theory.lemmas import lemma1

Floats = NDArray[np.float64]


class NoiseTree:
    """All that can happen in ``rows`` rows.

    Attributes
    ----------
    values : array
        The eigenvalues of ``A``, which is diagonal.
    bend : array
        ``Q``, features by features by features.
    noise : array
        ``s``.
    """

    def __init__(
        self,
        values: Floats,
        bend: Floats,
        noise: Floats,
        delta0: Floats,
        rate: dict[str, float],
        rows: int,
    ) -> None:
        self.values, self.rate, self.rows = values, rate, rows
        self.gammas = rates(rows, **rate)
        signs = np.array([[1.0], [-1.0]]) if noise.any() else np.zeros((1, 1))
        self.branches = len(signs)
        self.deltas, self.bends = [delta0[None, :]], []
        for gamma in self.gammas[1:]:
            delta = self.deltas[-1]
            self.bends.append(np.einsum("ijk,nj,nk->ni", bend, delta, delta))
            mean = delta - gamma * (values * delta + self.bends[-1])
            self.deltas.append((mean[:, None] - gamma * signs * noise).reshape(-1, len(values)))

    @cached_property
    def squares(self) -> list[Floats]:
        """``‖Δ_i‖_A²`` of every iterate after ``i`` rows."""
        return [np.square(delta) @ self.values for delta in self.deltas]

    def _given(self, values: Floats, rows: int) -> Floats:
        """Return the expectations given the iterate after this number of rows."""
        return np.asarray(values.reshape(self.branches**rows, -1).mean(axis=1))

    def left(self, t: int) -> float:
        """Return ``t E‖I⁽³⁾‖_A²`` after ``t`` rows."""
        weights = lemma1(t, self.values, **self.rate).exact
        leaves = self.branches**t
        total = sum(
            np.repeat(weights[j] * bend, leaves // len(bend), axis=0)
            for j, bend in enumerate(self.bends[:t], 1)
        )
        return float((np.square(total) @ self.values).mean() / t)

    def constants(self, c3: float, c6: float) -> dict[str, float]:
        """Return the smallest ``c2``, ``c4`` and ``c5`` that satisfy the assumptions with these."""
        c2 = 0.0
        for j in range(1, self.rows + 1):
            square, total, gamma = self.squares[j - 1], np.zeros(1), 0.0
            for i in range(j, self.rows + 1):  # up to every later row
                total = total + self._given(self.squares[i], j - 1)
                gamma += self.gammas[i]
                c2 = max(c2, _largest_ratio(total - c3 * gamma, square))
        fourth = np.cumsum([float(np.square(square).mean()) for square in self.squares[1:]])
        c5 = np.max(fourth - c6 * np.cumsum(self.gammas[1:])) / self.squares[0][0] ** 2
        c4 = max(
            _largest_ratio(np.sqrt(np.square(bend) @ (1.0 / self.values)), square)
            for bend, square in zip(self.bends, self.squares, strict=False)
        )
        return {"c2": c2, "c3": c3, "c4": c4, "c5": max(0.0, float(c5)), "c6": c6}

    def shares(self, constants: dict[str, float], *, printed: bool) -> list[float]:
        """Return ``t E‖I⁽³⁾‖_A²`` over its bound after each of the rows: above 1 is a violation."""
        given: dict[str, Any] = {"lambda0": float(self.values.min()), **self.rate, **constants}
        delta0 = float(self.squares[0][0])
        found = []
        for t in range(1, self.rows + 1):
            bound = float(non_quadratic_bound(t, **given, delta0=delta0, printed=printed))
            found.append(self.left(t) / bound if bound else np.inf)
        return found


def _largest_ratio(over: Floats, under: Floats) -> float:
    there = under > 0  # at the optimum itself all is zero
    return float(np.max(over[there] / under[there], initial=0.0))


def counter_example(c: float = 0.0, a: float = 0.0, rows: int = 10) -> NoiseTree:
    """Return the gradient ``θ + θ²`` without noise, from 0.1 at a first learning rate of 1."""
    one, rate = np.ones(1), {"gamma0": 1.0, "a": a, "c": c}
    return NoiseTree(one, np.ones((1, 1, 1)), np.zeros(1), 0.1 * one, rate, rows)


def random_tree(number: int, rows: int) -> tuple[NoiseTree, dict[str, float]]:
    """Draw a problem, and constants for which the lemma's assumptions hold on it."""
    random = np.random.default_rng([20111115, number])
    d = int(random.integers(1, 4))
    values = 10 ** random.uniform(-1, 0, d)
    delta0 = random.standard_normal(d)
    delta0 /= np.sqrt(np.square(delta0) @ values)
    bend = random.standard_normal((d, d, d)) * values.min() * 10 ** random.uniform(-2, -0.5)
    noise = random.standard_normal(d) * np.sqrt(values) * 10 ** random.uniform(-3, 0)
    c = float(random.uniform(0.0, 0.95))
    most = 0.9 * min(2.0, 1.0 / max(2 * c - 1, 1e-9)) * values.min()
    rate = {
        "gamma0": float(random.uniform(0.3, 1.0) / values.max()),
        "a": float(random.uniform(0.0, 1.0) * most),
        "c": c,
    }
    tree = NoiseTree(values, bend, noise, delta0, rate, rows)
    c3, c6 = random.uniform(0.1, 3.0, 2) * float(np.square(noise).sum())
    return tree, tree.constants(float(c3), float(c6))

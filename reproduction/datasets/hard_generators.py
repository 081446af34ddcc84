"""Two kinds of rows that learners of one pass find hard: ill-conditioned, and with heavy tails."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.datasets.generators import Block, Factors, noisy_signs, unit_rows


class Spectrum:
    """Gaussian features whose covariance has the eigenvalues ``1 / k ** power``.

    The axes are turned by two reflections, so that no feature stands for an eigenvalue alone. What
    the target depends on falls more slowly than the spectrum: along axis ``k`` it has a share of
    ``1 / k`` of the variance, so the flat directions matter too.
    """

    def __init__(
        self, rng: np.random.Generator, n_features: int, power: float, error: float, unit: bool
    ) -> None:
        self.unit = unit
        k = np.arange(1.0, n_features + 1)
        self.sizes = (k ** (-power / 2)).astype(np.float32)
        truth = rng.normal(size=n_features) / np.sqrt(k)
        self.truth = (truth / np.linalg.norm(truth)).astype(np.float32)
        axes = rng.normal(size=(2, n_features))
        self.axes = (axes / np.linalg.norm(axes, axis=1, keepdims=True)).astype(np.float32)
        self.signal = np.cos(np.pi * error)

    def draw(self, rng: np.random.Generator, n_rows: int) -> Block:
        """Draw rows and targets."""
        X = rng.standard_normal((n_rows, len(self.sizes)), np.float32)
        y = noisy_signs(X @ self.truth, self.signal, 0.0, rng)
        X *= self.sizes
        for axis in self.axes:
            X -= 2 * (X @ axis)[:, None] * axis
        return (unit_rows(X) if self.unit else X), y

    def finish(self, rows: NDArray[Any]) -> Any:
        """Leave dense rows as they are."""
        return rows


class HeavyTails(Factors):
    """Rows of `Factors`, each times a number of its own: Student's t with four degrees of freedom.

    One row in a thousand is several times as long as most, which is what a learning rate of one
    over the longest of a thousand rows has to live with.
    """

    FREEDOM = 4

    def draw(self, rng: np.random.Generator, n_rows: int) -> Block:
        """Draw rows and targets."""
        X, y = super().draw(rng, n_rows)
        lengths = np.sqrt(self.FREEDOM / rng.chisquare(self.FREEDOM, n_rows))
        X *= lengths[:, None].astype(np.float32)
        return X, y

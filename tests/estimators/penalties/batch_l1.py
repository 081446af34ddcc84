"""The batch optimum of a loss with an L1 penalty, and the proof that it is one."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyak._core import coordinate_descent
from polyak.losses import get_loss


class Batch:
    """All rows at once: ``mean loss + alpha (ratio |w| + (1 - ratio) / 2 w w)``."""

    def __init__(self, loss: str, X: Any, y: Any, alpha: float, ratio: float) -> None:
        self.loss, self.y, self.alpha, self.ratio = get_loss(loss), y, alpha, ratio
        self.mean, self.spread = X.mean(axis=0), X.std(axis=0)
        self.spread[self.spread == 0] = 1.0
        self.Z = np.column_stack([np.ones(len(X)), (X - self.mean) / self.spread])
        self.l1 = np.concatenate([[0.0], alpha * ratio / self.spread])
        self.l2 = np.concatenate([[0.0], alpha * (1 - ratio) / self.spread**2])

    def inward(self, coef: Any, intercept: float) -> Any:
        return np.concatenate([[intercept + coef @ self.mean], coef * self.spread])

    def objective(self, v: Any) -> float:
        lost = self.loss.value(self.Z @ v, self.y).mean()
        return float(lost + self.l1 @ np.abs(v) + 0.5 * self.l2 @ (v * v))

    def optimum(self, start: Any) -> Any:
        """Take Newton's steps until nothing is left to gain, from anywhere."""
        v, free = start.copy(), np.full(len(start), -np.inf)
        for _ in range(50):
            scores = self.Z @ v
            slope = self.Z.T @ self.loss.slope(scores, self.y) / len(self.y)
            bend = self.loss.curvature_at(scores, self.y)
            H = (self.Z * bend[:, None]).T @ self.Z / len(self.y) + 1e-10 * np.eye(len(v))
            c, to = slope - H @ v, v.copy()
            coordinate_descent(H, c, self.l2, self.l1, free, to, 1e-18, 1000)
            away, length, now = to - v, 1.0, self.objective(v)
            gain = -(slope @ away + self.l1 @ (np.abs(to) - np.abs(v)) + self.l2 @ (v * away))
            while length > 1e-9 and self.objective(v + length * away) > now - 1e-4 * length * gain:
                length /= 2
            v = to if length == 1.0 else v + length * away
            if gain < 1e-11 * now:
                break
        self._prove(v)
        return v

    def _prove(self, v: Any) -> None:
        """At an optimum every slope is what its penalty makes up for."""
        slope = self.Z.T @ self.loss.slope(self.Z @ v, self.y) / len(self.y) + self.l2 * v
        there = v != 0
        left = np.where(there, np.abs(slope + self.l1 * np.sign(v)), np.abs(slope) - self.l1)
        assert left.max() < 1e-4 * max(np.abs(slope).max(), self.l1.max(), 1e-6), left.max()


def compare(loss: str, X: Any, y: Any, model: Any, alpha: float, ratio: float) -> Any:
    """Return a model's objective as a share of the optimum's, and how many zeros agree."""
    batch = Batch(loss, X, y, alpha, ratio)
    ours = batch.inward(np.ravel(model.coef_).astype(float), float(np.ravel(model.intercept_)[0]))
    best = batch.optimum(ours)
    agree = ((ours != 0) == (best != 0))[1:].mean()
    return batch.objective(ours) / batch.objective(best), float(agree)

"""Losses for regression, as functions of the residual: score minus target."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyak.losses.base import Floats, Loss, array_of
from polyak.losses.corners import Rounded, rounded_bandwidth, weighted_quantile


class SquaredError(Loss):
    """Half the squared residual: least squares."""

    name, title = "squared_error", "squared error"
    classifies = False
    power = 2 / 3

    def value(self, score: Any, target: Any) -> Floats:
        return np.asarray(0.5 * np.square(np.subtract(score, target)))

    def slope(self, score: Any, target: Any) -> Floats:
        return np.asarray(np.subtract(score, target))

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:
        return np.asarray(self.slope(score, target) / (1.0 + q))

    def value_and_slope(self, score: Floats, target: Floats) -> tuple[Floats, Floats]:
        away = score - target
        return 0.5 * away * away, away

    def curvature_at(self, score: Floats, target: Floats, *, safe: bool = False) -> Floats:
        return np.ones_like(score)


class _Robust(Loss):
    """What losses that grow at most linearly have in common."""

    classifies = False
    starts_at_constant = True

    @property
    def needs_rows(self) -> bool:
        return not self.scales


class Huber(_Robust):
    """Half the squared residual up to epsilon, linear beyond, so that outliers count less.

    By default, epsilon is 1.345 times the robust scale of the first rows' residuals, which has 95%
    efficiency for normal noise.
    """

    name, title, parameter = "huber", "Huber", "epsilon"
    is_flat_far_away = True

    def _check_parameter(self, value: float) -> None:
        if not 0.0 < value < math.inf:
            raise ValueError(f"epsilon of huber must be above zero and finite, not {value:g}")

    @staticmethod
    def parameter_of(scale: float) -> float:
        """Return the default parameter for residuals of this scale."""
        return 1.345 * scale

    def value(self, score: Any, target: Any) -> Floats:
        away, delta = np.abs(np.subtract(score, target)), array_of(self.parameters)
        square, line = 0.5 * np.square(away), delta * (away - 0.5 * delta)
        return np.asarray(np.where(away <= delta, square, line))

    def slope(self, score: Any, target: Any) -> Floats:
        delta = array_of(self.parameters)
        return np.asarray(np.clip(np.subtract(score, target), -delta, delta))

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:
        delta = array_of(self.parameters)
        return np.asarray(np.clip(np.subtract(score, target) / (1.0 + q), -delta, delta))

    def curvature_at(self, score: Floats, target: Floats, *, safe: bool = False) -> Floats:
        away, delta = np.abs(score - target), array_of(self.parameters)
        if safe:
            return np.asarray(delta / np.maximum(away, delta))
        return np.asarray(away <= delta, dtype=np.float64)

    @property
    def typical_curvature(self) -> float:
        share = float(np.mean(self.parameters)) / self._scale if self.scales else 1.0
        return min(1.0, 0.8 * share)

    def constant_of(self, targets: Floats, weights: Floats) -> float:
        at = weighted_quantile(targets, weights, 0.5)
        for _ in range(100):  # each is the minimum of a parabola that lies above the loss
            curvature = weights * self.curvature_at(np.full(len(targets), at), targets, safe=True)
            before, at = at, float(curvature @ targets / curvature.sum())
            if abs(at - before) <= 1e-12 * (abs(at) + abs(before)):
                break
        return at


class _Cornered(_Robust):
    """What piecewise linear losses have in common: Newton steps minimise a smoothed version."""

    is_smooth = False

    def for_newton(self, rows: float, columns: int) -> Loss:
        return Rounded(self, rounded_bandwidth(rows, columns) * self._scale)

    def corners(self) -> tuple[Any, list[tuple[Any, Any]]]:
        """Return a and the (b, c) of the loss ``a r + sum of b |r - c|`` of the residual r."""
        raise NotImplementedError

    def _beyond(self, score: Any, target: Any) -> Floats:
        """Return how far a score is from the corner in its way."""
        return np.asarray(np.subtract(score, target))

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:
        """Return the slope, or that of a step to the corner if a full step would cross it."""
        slope, q = self.slope(score, target), np.asarray(q, float)
        away = np.asarray(self._beyond(score, target), float)
        lands = np.abs(away) < q * np.abs(slope)
        return np.asarray(np.divide(away, q, out=np.array(slope * np.ones_like(q)), where=lands))

    def largest_curvature(self, score: Any, target: Any) -> Floats:
        """Return the curvature of the parabola whose minimum is at the corner."""
        slope, away = self.slope(score, target), np.asarray(self._beyond(score, target), float)
        return np.asarray(np.divide(slope, away, out=np.zeros_like(away * slope), where=away != 0))


class Quantile(_Cornered):
    """The pinball loss: predicts a quantile of the target, by default the median."""

    name, title, parameter = "quantile", "quantile", "quantile"

    def __init__(
        self, parameters: tuple[float, ...] = (0.5,), scales: tuple[float, ...] = ()
    ) -> None:
        super().__init__(parameters or (0.5,), scales)
        if any(b <= a for a, b in zip(self.parameters, self.parameters[1:], strict=False)):
            raise ValueError("several quantiles must be in increasing order")

    def _check_parameter(self, value: float) -> None:
        if not 0.0 < value < 1.0:
            raise ValueError(f"a quantile must be between 0 and 1, not {value:g}")

    @property
    def outputs(self) -> int:
        return len(self.parameters)

    def value(self, score: Any, target: Any) -> Floats:
        away = np.subtract(score, target)
        return np.asarray(away * self.slope(score, target))

    def slope(self, score: Any, target: Any) -> Floats:
        away, tau = np.subtract(score, target), array_of(self.parameters)
        return np.asarray(np.where(away > 0, 1.0 - tau, np.where(away < 0, -tau, 0.0)))

    def corners(self) -> tuple[Any, list[tuple[Any, Any]]]:
        return 0.5 - array_of(self.parameters), [(0.5, 0.0)]

    @property
    def typical_curvature(self) -> float:
        # Approximately the density of normal noise at its quantile.
        return float(np.mean([1.6 * tau * (1.0 - tau) for tau in self.parameters])) / self._scale

    def constant_of(self, targets: Floats, weights: Floats) -> float:
        return weighted_quantile(targets, weights, self.parameters[0])

    def predictions(self, scores: Floats) -> Floats:
        return np.sort(scores, axis=-1) if self.outputs > 1 else scores


class EpsilonInsensitive(_Cornered):
    """The absolute residual beyond epsilon, zero within: support vector regression.

    By default, epsilon is a tenth of the robust scale of the first rows' residuals.
    """

    name, title, parameter = "epsilon_insensitive", "epsilon-insensitive", "epsilon"

    def _check_parameter(self, value: float) -> None:
        if not 0.0 <= value < math.inf:
            raise ValueError(f"epsilon must be at least zero and finite, not {value:g}")

    @staticmethod
    def parameter_of(scale: float) -> float:
        """Return the default parameter for residuals of this scale."""
        return 0.1 * scale

    def _beyond(self, score: Any, target: Any) -> Floats:
        away = np.subtract(score, target)
        return np.asarray(np.sign(away) * np.maximum(np.abs(away) - array_of(self.parameters), 0.0))

    def value(self, score: Any, target: Any) -> Floats:
        return np.asarray(np.abs(self._beyond(score, target)))

    def slope(self, score: Any, target: Any) -> Floats:
        return np.asarray(np.sign(self._beyond(score, target)))

    def corners(self) -> tuple[Any, list[tuple[Any, Any]]]:
        epsilon = array_of(self.parameters)
        return 0.0, [(0.5, epsilon), (0.5, -epsilon)]

    @property
    def typical_curvature(self) -> float:
        within = float(np.mean(self.parameters)) / self._scale if self.scales else 0.0
        return max(0.8 * math.exp(-0.5 * within * within), 0.05) / self._scale

    def constant_of(self, targets: Floats, weights: Floats) -> float:
        # Equal weight is beyond on either side at the median of all interval ends.
        epsilon = self.parameters[0]
        ends = np.concatenate([targets - epsilon, targets + epsilon])
        return weighted_quantile(ends, np.concatenate([weights, weights]), 0.5)

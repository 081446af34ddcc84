"""Losses with a log link, for counts and positive amounts: a score is the log of the mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.losses.base import Floats, Loss

LARGEST_SCORE = 300.0
"""Scores are clipped here before the exponential, so that its square does not overflow."""


def bounded_exp(x: Any) -> Floats:
    """Return the exponential of x, clipped so that it is finite."""
    return np.asarray(np.exp(np.minimum(x, LARGEST_SCORE)))


class _LogLink(Loss):
    classifies = False
    log_link = True
    starts_at_constant = True
    wants: str

    def accepts(self, targets: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which targets are valid."""
        raise NotImplementedError

    def unfit(self, targets: NDArray[Any]) -> tuple[int, Any, str] | None:
        columns = targets.reshape(len(targets), -1)
        fits = self.accepts(columns)
        if fits.all():
            return None
        row, output = np.unravel_index(int(np.argmin(fits)), fits.shape)
        return int(row), columns[row, output], self.wants

    def predictions(self, scores: Floats) -> Floats:
        return bounded_exp(scores)

    def constant_of(self, targets: Floats, weights: Floats) -> float:
        return math.log(max(float(weights @ targets / weights.sum()), 1e-9))

    def value(self, score: Any, target: Any) -> Floats:
        return self.value_and_slope(score, target)[0]


class Poisson(_LogLink):
    """Half the Poisson deviance: for counts, and for rates with exposures as weights."""

    name, title = "poisson", "Poisson"
    wants = "poisson needs numbers of zero or more"

    @property
    def needs_rows(self) -> bool:
        return not self.scales

    def accepts(self, targets: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(~(targets < 0))

    def value_and_slope(self, score: Any, target: Any) -> tuple[Floats, Floats]:
        y, slope = np.asarray(target, float), self.slope(score, target)
        counts = y > 0  # of claims or visits, most rows have none
        log_ratio = np.log(y, out=np.zeros_like(y), where=counts) - score
        return np.asarray(slope + np.where(counts, y * log_ratio, 0.0)), slope

    def slope(self, score: Any, target: Any) -> Floats:
        return np.asarray(bounded_exp(score) - target)

    def best_intercept(self, targets: Floats, weights: Floats, offsets: Floats) -> float:
        most = float(offsets.max())
        sizes = np.exp(np.maximum(offsets - most, -LARGEST_SCORE))
        return self.constant_of(targets / sizes, weights * sizes) - most

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:
        # The score after the step, u, solves u + q e^u = s + q y.
        own, size = np.add(score, np.multiply(q, target)), np.asarray(q, float)
        return _by_omega(own, size, lambda e: e - target, self.slope(score, target))

    def curvature_at(self, score: Floats, target: Floats, *, safe: bool = False) -> Floats:
        curvature = bounded_exp(score)
        return np.asarray(np.maximum(curvature, target)) if safe else curvature

    def largest_curvature(self, score: Any, target: Any) -> Floats:
        return np.asarray(np.maximum(bounded_exp(score), target))

    @property
    def typical_curvature(self) -> float:
        return self._scale


class Gamma(_LogLink):
    """Half the gamma deviance: for amounts whose standard deviation grows with their mean."""

    name, title = "gamma", "gamma"
    wants = "gamma needs numbers above zero"

    def accepts(self, targets: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(~(targets <= 0))

    def value_and_slope(self, score: Any, target: Any) -> tuple[Floats, Floats]:
        slope = self.slope(score, target)
        return np.asarray(score - np.log(target) - slope), slope

    def slope(self, score: Any, target: Any) -> Floats:
        return 1.0 - self._ratio(score, target)

    def best_intercept(self, targets: Floats, weights: Floats, offsets: Floats) -> float:
        least = float(offsets.min())
        return self.constant_of(self._ratio(offsets - least, targets), weights) - least

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:
        # The score after the step, u, solves q y e^-u - u = q - s.
        own, size = np.subtract(q, score), np.asarray(q, float)
        rest = own + np.log(target)
        return _by_omega(rest, size, lambda e: 1.0 - e, self.slope(score, target))

    def curvature_at(self, score: Floats, target: Floats, *, safe: bool = False) -> Floats:
        curvature = self._ratio(score, target)
        return np.maximum(curvature, 1.0) if safe else curvature

    def largest_curvature(self, score: Any, target: Any) -> Floats:
        return np.maximum(self._ratio(score, target), 1.0)

    @staticmethod
    def _ratio(score: Any, target: Any) -> Floats:
        return np.asarray(target * bounded_exp(-np.asarray(score, float)))


def _by_omega(
    rest: Any, q: Floats, slope_of: Callable[[Floats], Floats], without: Floats
) -> Floats:
    """Solve ``w + log w = rest + log q`` for w, and return the slope at w/q.

    For a step size of zero, or one lost in rounding, return the slope ``without`` a step.
    """
    from scipy.special import wrightomega  # the core uses Newton's method instead

    there = q > 1e-290
    size = np.where(there, q, 1.0)
    omega = wrightomega(rest + np.log(size))
    return np.asarray(np.where(there, slope_of(omega / size), without))

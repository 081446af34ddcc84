"""Piecewise linear losses, smoothed at their corners for Newton steps, which need a curvature.

Convolved with a uniform kernel of bandwidth h, |r| becomes a parabola within h of its corner and is
unchanged elsewhere. The curvature there, 1/h, estimates the density of the residuals at the corner,
so that the Hessian of many rows estimates that of the expected loss. The bandwidth falls with the
number of rows, slowly enough that more rows than columns are near a corner.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polyak.losses.base import Floats, Loss

NARROW_BANDWIDTH = 0.1
"""In scales of the residuals, for fewer rows than columns. Nothing can be averaged there, and a
wider kernel put the optimum up to 24% above the best constant's loss on training rows."""


class Rounded(Loss):
    """A piecewise linear loss, smoothed over a bandwidth at its corners.

    Examples
    --------
    >>> from polyak.losses import get_loss
    >>> median = Rounded(get_loss("quantile(0.5)"), 0.1)
    >>> [round(float(median.value(score, 1.0)), 3) for score in (3.0, 1.1, 1.0)]
    [1.0, 0.05, 0.025]
    """

    name, title = "rounded", "rounded"
    classifies = False
    is_flat_far_away = True

    def __init__(self, loss: Any, bandwidth: float) -> None:
        super().__init__()
        self.loss, self.bandwidth = loss, bandwidth
        self.tilt, self.corners = loss.corners()

    def of_output(self, output: int) -> Any:
        """Return the loss of one output."""
        return Rounded(self.loss.of_output(output), self.bandwidth)

    def value(self, score: Any, target: Any) -> Floats:
        away, h = np.subtract(score, target), self.bandwidth
        total = self.tilt * away
        for height, place in self.corners:
            r = np.abs(away - place)
            total = total + height * np.where(r < h, 0.5 * (r * r / h + h), r)
        return np.asarray(total)

    def slope(self, score: Any, target: Any) -> Floats:
        away, h = np.subtract(score, target), self.bandwidth
        total = self.tilt + np.zeros_like(away)
        for height, place in self.corners:
            total = total + height * np.clip((away - place) / h, -1.0, 1.0)
        return np.asarray(total)

    def curvature_at(self, score: Floats, target: Floats, *, safe: bool = False) -> Floats:
        away, h = score - target, self.bandwidth
        total = np.zeros_like(away)
        for height, place in self.corners:
            r = np.abs(away - place)
            total = total + (height / np.maximum(r, h) if safe else height / h * (r < h))
        return np.asarray(total)


def rounded_bandwidth(rows: float, columns: int) -> float:
    """Return the bandwidth for this number of rows and columns, in scales of the residuals.

    Examples
    --------
    >>> round(rounded_bandwidth(1000, 10), 3), round(rounded_bandwidth(1_000_000, 10), 3)
    (0.196, 0.014)
    """
    share = (columns + math.log(max(rows, 2.0))) / max(rows, 2.0)
    return float(share**0.4) if share < 1.0 else NARROW_BANDWIDTH


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    """Return the smallest value with at least this share of the weights at or below it.

    Examples
    --------
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.ones(3), 0.5)
    2.0
    """
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    place = int(np.searchsorted(sums, share * sums[-1] * (1.0 - 1e-12)))
    return float(values[order[min(place, len(order) - 1)]])

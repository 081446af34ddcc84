"""The losses that have a curvature: their values, slopes and second derivatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LOSSES = ("squared_error", "log_loss", "squared_hinge")
"""Those that have a curvature."""


def value_and_slope(loss: str, scores: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """Give the loss of each score and its derivative, together: they share the dear part."""
    if loss == "squared_error":
        away = scores - targets
        return 0.5 * away * away, away
    margin = targets * scores
    if loss == "squared_hinge":
        left = np.maximum(1.0 - margin, 0.0)
        return 0.5 * left * left, -targets * left
    small = np.exp(-np.abs(margin))
    value = np.log1p(small)
    value -= np.minimum(margin, 0.0)
    slope = np.where(margin > 0, small, 1.0)
    slope /= 1.0 + small
    slope *= -targets
    return value, slope


def curvature(loss: str, scores: Floats, targets: Floats, *, safe: bool = False) -> Floats:
    """Give the second derivative of the loss at each score.

    Where a score is large and wrong, the second derivative of the logistic loss is next to nothing,
    and a step that goes by it far too long. The ``safe`` one is that of the parabola which touches
    the loss there and lies above it everywhere: a step that goes by it always gains.
    """
    if loss == "squared_error":
        return np.ones_like(scores)
    if loss == "squared_hinge":
        return (targets * scores < 1.0).astype(np.float64)
    if safe:
        away = np.maximum(np.abs(scores), 1e-4)
        return np.asarray(np.tanh(0.5 * away) / (2.0 * away))
    small = np.exp(-np.abs(scores))
    return np.asarray(small / np.square(1.0 + small))

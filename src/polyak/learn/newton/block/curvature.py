"""The losses that Newton's steps go by: their values, slopes and second derivatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.losses import Loss, get_loss

Floats = NDArray[np.float64]


def value_and_slope(loss: str | Loss, scores: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """Give the loss of each score and its derivative, together: they share the dear part."""
    return _loss(loss).value_and_slope(scores, targets)


def curvature(loss: str | Loss, scores: Floats, targets: Floats, *, safe: bool = False) -> Floats:
    """Give the second derivative of the loss at each score, or a safe one: see `Loss`."""
    if scores.ndim == 1 and not safe and is_logistic(loss):
        return _core.logistic_curvature(np.ascontiguousarray(scores))
    return _loss(loss).curvature_at(scores, targets, safe=safe)


def is_logistic(loss: str | Loss) -> bool:
    """Tell whether it is the logistic loss of one score."""
    return _loss(loss).name == "log_loss"


def _loss(loss: str | Loss) -> Loss:
    return get_loss(loss) if isinstance(loss, str) else loss

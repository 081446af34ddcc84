"""Which L1 penalties to try by default: from one that leaves next to no weight down."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.losses import Loss
from polyak.rows.sparse import Rows, SparseRows

Floats = NDArray[np.float64]

STEPS = 9
"""The number of penalties to try."""
LEAST = 1e-3
"""The smallest penalty, as a share of the one that sets the weight of a typical feature to zero."""


def penalties_to_try(
    loss: Loss,
    rows: Rows,
    targets: NDArray[Any],
    weights: Floats | None,
    offsets: Floats | None = None,
    *,
    classes: int | None,
    l1_ratio: float,
    fit_intercept: bool,
) -> list[float]:
    """Return penalties that are likely to enclose the best one, the largest first.

    A weight stays zero as long as the slope of the mean loss there is no more than the penalty, so
    the slopes at the best constant of the first rows bound the largest.

    Examples
    --------
    >>> from polyak.losses import get_loss
    >>> X, y = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([2.0, -2.0])
    >>> how = dict(classes=None, l1_ratio=1.0, fit_intercept=True)
    >>> penalties_to_try(get_loss("squared_error"), X, y, None, **how)[:2]
    [0.928, 0.431]
    """
    goals = targets.reshape(len(targets), -1).astype(np.float64)
    if classes is not None and classes > 2:
        goals = np.where(goals == np.arange(classes), 1.0, -1.0)
    own = np.ones(len(goals)) if weights is None else weights / weights.mean()
    shift, slopes = np.zeros(len(goals)) if offsets is None else offsets, np.empty_like(goals)
    for k, goal in enumerate(goals.T):
        one = loss.of_output(k)
        constant = one.best_intercept(goal, own, shift) if fit_intercept else 0.0
        slopes[:, k] = own * one.value_and_slope(constant + shift, goal)[1]
    steep = np.abs(_transposed_product(rows, slopes)).max(axis=1) / len(goals)
    # Of the smallest of all numbers the least penalty would be zero.
    steep = steep[steep * LEAST > 0] / max(l1_ratio, 0.01)
    if not len(steep):
        return [1.0]
    low = LEAST * float(np.sort(steep)[len(steep) // 2])
    found = np.geomspace(float(steep.max()), low, STEPS + 1)[1:]
    return [float(f"{alpha:.3g}") for alpha in found]


def _transposed_product(rows: Rows, slopes: Floats) -> Floats:
    if not isinstance(rows, SparseRows):
        return np.asarray(np.asarray(rows, np.float64).T @ slopes)
    indices, values = rows.entries()
    features, place = np.unique(indices, return_inverse=True)
    row = rows.entry_rows()
    found = [np.bincount(place, values * own[row], minlength=len(features)) for own in slopes.T]
    return np.stack(found, axis=1)

"""The learning rate that did best on a sample: how SGD2 and SGD-QN begin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak.learn.schedules import largest_squared_length
from polyak.losses import get_loss
from polyak.paper.rivals.iterate import Iterate
from polyak.rows.sparse import Rows

MOST_STEPS = 20
"""How many doublings or halvings away from the first guess to look."""


def best_gamma0(
    rows: Rows,
    targets: NDArray[np.float64],
    *,
    loss: str,
    alpha: float,
    fit_intercept: bool,
) -> float:
    """Try learning rates on a sample, each for one pass, and give the one of lowest cost.

    The first guess is one over the largest squared norm of the sample. From there the rate is
    doubled, or halved, for as long as the cost falls. A cost that is not finite is infinite.

    Examples
    --------
    >>> X, y = np.array([[1.0], [-1.0]] * 50), np.array([1.0, -1.0] * 50)
    >>> best_gamma0(X, y, loss="squared_hinge", alpha=1e-4, fit_intercept=False)
    1.0
    """

    def cost(gamma0: float) -> float:
        with np.errstate(all="ignore"):
            return _cost(rows, targets, loss, alpha, gamma0, fit_intercept)

    best = 1.0 / largest_squared_length(rows, fit_intercept=fit_intercept)
    lowest = cost(best)
    for factor in (2.0, 0.5):
        moved = False
        for _ in range(MOST_STEPS):
            tried = cost(best * factor)
            # Equally bad, because nothing is finite yet: go on towards smaller rates.
            if not (tried < lowest or (factor < 1.0 and not np.isfinite(lowest))):
                break
            best, lowest, moved = best * factor, tried, True
        if moved and np.isfinite(lowest):
            break
    return best


def _cost(
    rows: Rows,
    targets: NDArray[np.float64],
    loss: str,
    alpha: float,
    gamma0: float,
    fit_intercept: bool,
) -> float:
    """Measure the objective on the sample after one pass over it."""
    iterate = Iterate(rows.shape[1], loss, alpha, gamma0, decay=alpha, fit_intercept=fit_intercept)
    try:
        iterate.learn(rows, targets)
        losses = get_loss(loss).value(iterate.scores(rows), targets)
    except ArithmeticError:
        return np.inf
    found = float(np.mean(losses) + alpha / 2 * np.sum(np.square(iterate.coef)))
    return found if np.isfinite(found) else np.inf

"""The first learning rate as Bottou's programs choose it: how SGD2 and SGD-QN begin."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.losses import get_loss
from polyak.rows.sparse import Rows, core_rows
from reproduction.rivals.iterate import Iterate

SAMPLE = 1001
"""The rows that the programs look at: those with the numbers 0 to 1000."""

INTERCEPT_RATE = 0.01
"""The learning rate of the intercept over that of the weights, as in the programs."""

MOST_STEPS = 60
"""How many doublings or halvings away from 1 to look; the programs have no such limit."""


def best_gamma0(
    rows: Rows,
    targets: NDArray[np.float64],
    *,
    loss: str,
    alpha: float,
    fit_intercept: bool,
) -> float:
    """Try constant learning rates on a sample, each for one pass, as ``svmsgd`` of sgd-2.x does.

    It begins with 1 and 2, and follows the falling cost downwards or upwards by factors of two. Of
    the last two that it has tried, it takes the lower rate: on the way down that is the next lower
    neighbour of the best rate, on the way up the best. Where not even a cost is a finite number,
    as on rows that are not of unit length, it goes on downwards, which the program does not.

    Examples
    --------
    >>> X, y = np.array([[1.0], [-1.0]] * 50), np.array([1.0, -1.0] * 50)
    >>> best_gamma0(X, y, loss="squared_hinge", alpha=1e-4, fit_intercept=False)
    0.5
    """

    def cost(gamma: float) -> float:
        with np.errstate(all="ignore"):
            return _cost(rows, targets, loss, alpha, gamma, fit_intercept)

    return lower_of_the_last_two(cost)


def lower_of_the_last_two(cost: Callable[[float], float]) -> float:
    """Follow a falling cost from 1 and 2 in steps of two, and give the lower of the last two.

    Examples
    --------
    >>> lower_of_the_last_two(lambda rate: abs(rate - 8)), lower_of_the_last_two(lambda rate: rate)
    (8.0, 8.673617379884035e-19)
    """
    low, high = 1.0, 2.0
    low_cost, high_cost = cost(low), cost(high)
    if high_cost < low_cost:
        for _ in range(MOST_STEPS):
            if not high_cost < low_cost:
                break
            low, low_cost = high, high_cost
            high = 2.0 * low
            high_cost = cost(high)
        return low
    for _ in range(MOST_STEPS):
        if not (low_cost < high_cost or not np.isfinite(low_cost)):
            break
        high_cost = low_cost
        low /= 2.0
        low_cost = cost(low)
    return low


def _cost(
    rows: Rows,
    targets: NDArray[np.float64],
    loss: str,
    alpha: float,
    gamma: float,
    fit_intercept: bool,
) -> float:
    """Measure the objective on the sample after one pass over it at a constant rate."""
    iterate = Iterate(
        rows.shape[1], loss, alpha, gamma, 0.0, fit_intercept, intercept_rate=INTERCEPT_RATE
    )
    try:
        iterate.learn(rows, targets)
    except ArithmeticError:
        return np.inf
    return objective(rows, targets, loss, alpha, iterate.coef, iterate.intercept)


def objective(
    rows: Rows,
    targets: NDArray[np.float64],
    loss: str,
    alpha: float,
    coef: NDArray[np.float64],
    intercept: float,
) -> float:
    """Return the mean loss plus the penalty; infinite where it is not finite."""
    with np.errstate(all="ignore"):
        weights = np.ascontiguousarray(coef[:, None])
        scores = _core.score_rows(core_rows(rows), weights)[:, 0] + intercept
        losses = get_loss(loss).value(scores, targets)
        found = float(np.mean(losses) + alpha / 2 * np.sum(np.square(coef)))
    return found if np.isfinite(found) else np.inf

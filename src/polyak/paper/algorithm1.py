"""Algorithm 1 in dense NumPy: slow, plain, and what every test of the core compares with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyak.learn.averaging import Averaging
from polyak.learn.schedules import Polynomial
from polyak.losses import Loss

Floats = NDArray[np.float64]


@dataclass(slots=True)
class Result:
    """What one pass ends with."""

    coef: Floats
    intercept: float
    last_coef: Floats
    last_intercept: float
    start: float
    progressive_loss: float
    """Summed over the rows."""


def learn(
    X: Floats,
    y: Floats,
    loss: Loss,
    alpha: float,
    rate: Polynomial,
    averaging: Averaging,
    *,
    implicit: bool = False,
    precondition: float = 0.0,
    capped: bool = True,
    fit_intercept: bool = True,
    weights: Floats | None = None,
) -> Result:
    """Learn one model in one pass, every step of it as a formula of the paper.

    Examples
    --------
    >>> from polyak.losses import get_loss
    >>> X, y = np.eye(2), np.array([1.0, -1.0])
    >>> rate = Polynomial(0.5, 0.0, 0.75)
    >>> learn(X, y, get_loss("hinge"), 0.0, rate, Averaging(0), fit_intercept=False).coef
    array([ 0.5 , -0.25])
    """
    X = np.hstack([X, np.full((len(X), 1), float(fit_intercept))])  # the intercept is a feature
    penalty = np.append(np.full(X.shape[1] - 1, alpha), 0.0)  # that is never penalised
    theta, mean, trial = np.zeros((3, X.shape[1]))  # iterate, average, the detector's average
    squares, running, total, t, progressive = np.zeros(X.shape[1]), np.zeros(2), 0.0, 0, 0.0
    start = averaging.first_start
    for x, target, w in zip(X, y, np.ones(len(y)) if weights is None else weights, strict=True):
        if w == 0:
            continue
        t += 1
        score = x @ theta
        progressive += w * float(loss.value(x @ mean if total > 0 else score, target))
        if start < 0:
            losses = loss.value(np.array([x @ trial, score]), target)
            running = 0.99 * running + 0.01 * losses
            if t >= 100 and running[0] < running[1]:
                start = float(t)
        squares += np.where(squares > 0, np.minimum(x * x, 1e4 * squares), x * x)
        d = np.zeros_like(x)
        d[x != 0] = (squares[x != 0] / t) ** -precondition
        if fit_intercept:
            d[-1] = 1.0
        gamma = rate(t)
        q = gamma * w * (x @ (d * x))
        if implicit:
            g = loss.implicit_slope(score, target, q)
            theta = theta / (1 + gamma * penalty) - gamma * w * g * d * x
        else:
            bend = float(loss.largest_curvature(score, target))
            cap = max(1.0, bend * q) if capped else 1.0
            g = loss.slope(score, target) / cap
            theta = (1 - gamma * penalty) * theta - gamma * w * g * d * x
        trial = 0.99 * trial + 0.01 * theta
        if 0 <= start < t:
            count = (t - start) ** averaging.power
            total += count
            mean = mean + (count / total) * (theta - mean)
    best = mean if total > 0 else theta
    return Result(
        best[:-1], float(best[-1]), theta[:-1], float(theta[-1]), start, float(progressive)
    )

"""The core's averaged SGD in dense NumPy, safeguards included: what its tests compare with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polyak.learn.averaging import Averaging
from polyak.learn.schedules import Polynomial
from polyak.losses import Loss
from reproduction.algorithm1 import AveragingRule

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
    theta, mean, squares = np.zeros((3, X.shape[1]))  # iterate, average, sums of squares
    total, t, progressive = 0.0, 0, 0.0
    start, rule = averaging.first_start, AveragingRule(X.shape[1])
    for x, target, w in zip(X, y, np.ones(len(y)) if weights is None else weights, strict=True):
        if w == 0:
            continue
        t += 1
        score = x @ theta
        progressive += w * float(loss.value(x @ mean if total > 0 else score, target))
        if start < 0 and rule.begins(loss.value, theta, x, target) and t >= averaging.earliest:
            start = float(t)
        squares += np.where(squares > 0, np.minimum(x * x, 1e4 * squares), x * x)
        d = _gains(x, squares / t, precondition, fit_intercept=fit_intercept)
        row = x, target, w
        theta = _step(loss, theta, row, rate(t), d, penalty, implicit=implicit, capped=capped)
        rule.follow(theta)
        if 0 <= start < t:
            count = (t - start) ** averaging.power
            total += count
            mean = mean + (count / total) * (theta - mean)
    best = mean if total > 0 else theta
    last = theta[:-1], float(theta[-1])
    return Result(best[:-1], float(best[-1]), *last, start, float(progressive))


def _gains(x: Floats, squares: Floats, precondition: float, *, fit_intercept: bool) -> Floats:
    """How far each coordinate moves for one unit of its slope, by its mean of squares."""
    d = np.zeros_like(x)
    d[x != 0] = squares[x != 0] ** -precondition
    if fit_intercept:
        d[-1] = 1.0
    return d


def _step(
    loss: Loss,
    theta: Floats,
    row: tuple[Floats, float, float],
    gamma: float,
    d: Floats,
    penalty: Floats,
    *,
    implicit: bool,
    capped: bool,
) -> Floats:
    """Move the iterate by the slope at a row; the penalty is implicit where the slope is."""
    x, target, w = row
    score = x @ theta
    q = float(gamma * w * (x @ (d * x)))  # how far the score moves where the slope is one
    if implicit:
        g = loss.implicit_slope(score, target, q)
        return theta / (1 + gamma * penalty) - gamma * w * g * d * x
    bend = float(loss.largest_curvature(score, target))
    cap = max(1.0, bend * q) if capped else 1.0
    g = loss.slope(score, target) / cap
    return (1 - gamma * penalty) * theta - gamma * w * g * d * x

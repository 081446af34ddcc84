"""Rows to learn from, and the batch optimum to hold one pass against."""

from __future__ import annotations

import numpy as np

from polyak.learn.newton.limits import PENALTIES, WIDEST
from polyak.learn.newton.objective import Objective
from polyak.learn.newton.solver import NewtonSolver
from polyak.losses import get_loss


def solver_of(loss, first_rows, *, penalties=PENALTIES, widest=WIDEST, **settings):
    return NewtonSolver(Objective(loss, np.array(penalties), **settings), first_rows, widest)


def ridge_of(solver):
    """Return each column's penalty at a size of one, the constant's first, all rows learned."""
    learned = solver._finished()._learned
    return learned.objective.shrink(learned.standard)[:, 0] / learned.objective.penalties[0]


def correlated(n, d, seed=0, rho=0.9):
    """Draw features of which each follows the one before, with a correlation of rho."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho * rho) * X[:, j]
    return X


def labels(scores, seed=1):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(scores)) < 1 / (1 + np.exp(-scores)), 1.0, -1.0)


def problem(loss, n=6000, d=8, seed=0):
    X = correlated(n, d, seed)
    truth = np.random.default_rng(7).normal(size=d)
    if loss == "squared_error":
        return X, X @ truth + np.random.default_rng(seed + 1).normal(size=n)
    return X, labels(X @ truth / 2, seed + 1)


def mean_loss(loss, coef, intercept, X, y):
    return float(get_loss(loss).value(X @ coef + intercept, y).mean())


def batch_optimum(loss, X, y, tau=1e-9, weights=None, steps=100):
    """Minimise the sum of the losses and tau |w|^2 / 2 by Newton's method with step halving."""
    Z = np.column_stack([np.ones(len(X)), X])
    ridge = np.full(Z.shape[1], tau)
    ridge[0] = 0.0
    counts = np.ones(len(y)) if weights is None else weights
    value, slope = get_loss(loss).value, get_loss(loss).slope

    def objective(w):
        return counts @ value(Z @ w, y) + 0.5 * ridge @ w**2

    w = np.zeros(Z.shape[1])
    for _ in range(steps):
        s = Z @ w
        if loss == "log_loss":
            p = 1 / (1 + np.exp(-s))
            h = p * (1 - p)
        else:
            h = (y * s < 1.0) if loss == "squared_hinge" else np.ones(len(y))
        gradient = Z.T @ (counts * slope(s, y)) + ridge * w
        hessian = (Z * (counts * h)[:, None]).T @ Z + np.diag(ridge + 1e-10)
        step, length = np.linalg.solve(hessian, gradient), 1.0
        while objective(w - length * step) > objective(w) and length > 1e-12:
            length /= 2
        w = w - length * step
        if gradient @ step < 1e-17 * max(objective(w), 1e-3):  # nothing but rounding is left
            break
    return w[1:], w[0]


def assert_same(one, other):
    """Compare two lanes: what they would store, and what they have learned."""
    (page, arrays), (other_page, other_arrays) = _everything(one), _everything(other)
    assert page == other_page
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, other_arrays[name], err_msg=name)


def _everything(lane):
    page, arrays = lane.state()
    coef, intercept = lane.weights()
    return page, arrays | {"sums": lane.sums(), "coef": coef, "intercept": intercept}

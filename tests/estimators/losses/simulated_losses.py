"""Rows and targets such as each loss is for, and the optimum of all rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from polyak.losses import Loss


def _heavy(s: Any, rng: np.random.Generator) -> Any:
    return 20.0 + 5.0 * s + 3.0 * rng.standard_t(3, size=len(s))


TARGETS = {
    "huber": _heavy,
    "quantile": lambda s, rng: 20.0 + 5.0 * s + rng.gamma(2.0, 3.0, size=len(s)),
    "epsilon_insensitive": _heavy,
    "poisson": lambda s, rng: rng.poisson(np.exp(0.5 * s + 1.0)).astype(float),
    "gamma": lambda s, rng: rng.gamma(2.0, np.exp(0.5 * s + 5.0)),
}


def made(loss: str, rows: int, seed: int = 0) -> tuple[Any, Any]:
    """Draw correlated features, far from zero and of unlike sizes, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6)) @ (np.eye(6) + 0.3)
    s = X @ rng.normal(size=6) / 3.0
    return X * 10.0 ** np.arange(-2, 4) + 3.0, TARGETS[loss](s, rng)


def batch_optimum(loss: Loss, X: Any, y: Any, weights: Any = None) -> float:
    """Return the lowest mean loss, found by smoothing corners less and less."""
    if loss.needs_rows:
        loss = type(loss)(loss.parameters, (float(np.std(y)),))
    Z = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / X.std(axis=0)])
    own = np.ones(len(y)) / len(y) if weights is None else weights / weights.sum()
    w = np.zeros(Z.shape[1])
    w[0] = loss.constant_of(y, own)
    for rows in 10.0 ** np.arange(2, 11):
        kind = loss.for_newton(rows, 1)

        def cost(w: Any, kind: Loss = kind) -> tuple[float, Any]:
            scores = Z @ w
            return float(own @ kind.value(scores, y)), Z.T @ (own * kind.slope(scores, y))

        w = minimize(cost, w, jac=True, method="L-BFGS-B", options={"maxiter": 1000}).x
        if kind is loss:
            break
    return float(own @ loss.value(Z @ w, y))

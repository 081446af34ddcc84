"""Rows of many features, few of which matter, and the batch optimum with an L1 penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

Floats = Any


def made(rows: int = 8000, features: int = 3000, seed: int = 0) -> tuple[Any, Floats]:
    """Draw rows of some forty words each, common ones and rare, and scores by a few of them."""
    rng = np.random.default_rng(seed)
    often = 1.0 / np.arange(2, features + 2)
    counts = rng.poisson(40, rows)
    words = rng.choice(features, counts.sum(), p=often / often.sum())
    X = sparse.csr_matrix((np.ones(len(words)), words, np.append(0, np.cumsum(counts))))
    X.resize((rows, features))
    X.sum_duplicates()
    truth = np.zeros(features)
    truth[1:60:3] = np.where(np.arange(20) % 2, 1.0, -1.0)
    return X, X @ truth + 0.3 * rng.normal(size=rows)


def objective(X: Any, y: Floats, w: Floats, b: float, alpha: float, ratio: float) -> float:
    penalty = ratio * np.abs(w).sum() + 0.5 * (1.0 - ratio) * w @ w
    return float(np.logaddexp(0.0, -y * (X @ w + b)).mean() + alpha * penalty)


def batch_optimum(X: Any, y: Floats, alpha: float, ratio: float) -> tuple[Floats, float]:
    """Minimise the mean logistic loss with the penalty over positive and negative parts."""
    X = X.astype(np.float64)
    l1, l2, w, b = alpha * ratio, alpha * (1.0 - ratio), np.zeros(X.shape[1]), 0.0
    XT = X.T.tocsr()

    def slopes() -> Floats:
        return XT @ (-y / (1.0 + np.exp(y * (X @ w + b))) / len(y)) + l2 * w

    steep = np.argsort(-np.abs(slopes()))[:2000]
    for _ in range(10):  # only those may be there whose slope is steep
        some = X[:, steep]
        back, k = some.T.tocsr(), len(steep)

        def value(p: Floats, some: Any = some, back: Any = back, k: int = k) -> Any:
            v = p[:k] - p[k : 2 * k]
            margin = y * (some @ v + p[-1])
            g = -y / (1.0 + np.exp(margin)) / len(y)
            down = back @ g + l2 * v
            lost = np.logaddexp(0.0, -margin).mean() + l1 * p[:-1].sum() + 0.5 * l2 * v @ v
            return lost, np.concatenate([down + l1, l1 - down, [g.sum()]])

        start = np.concatenate([np.maximum(w[steep], 0), np.maximum(-w[steep], 0), [b]])
        bounds = [(0, None)] * (2 * k) + [(None, None)]
        how = {"maxiter": 3000, "maxfun": 4000, "ftol": 1e-13, "gtol": 1e-8, "maxcor": 20}
        found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=how).x
        w, b = np.zeros(X.shape[1]), float(found[-1])
        w[steep] = found[:k] - found[k : 2 * k]
        missed = np.flatnonzero((w == 0) & (np.abs(slopes()) > 1.001 * l1))
        if not len(missed):
            break
        steep = np.union1d(np.flatnonzero(w), missed)
    left = np.abs(slopes() + l1 * np.sign(w))[w != 0]
    assert left.max(initial=0.0) < 0.01 * l1, "this is no optimum"
    return w, b

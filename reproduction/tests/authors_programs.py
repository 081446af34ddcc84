"""What the authors' programs do, row by row, in plain NumPy and in our own words.

``svmsgd`` and ``svmsgdqn`` are the programs of Bottou's sgd-2.x. They write a loss as a function of
the margin ``z = y s`` and use minus its derivative, which is how it is written here too.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def pull(loss: str, z: float) -> float:
    """Minus the derivative of a loss of the margin."""
    if loss == "hinge":
        return float(z < 1)
    if loss == "squared_hinge":
        return max(0.0, 1 - z)
    return float(1 / (1 + np.exp(z)))  # the logistic loss


def value(loss: str, z: Any) -> Any:
    if loss == "hinge":
        return np.maximum(0, 1 - z)
    if loss == "squared_hinge":
        return np.maximum(0, 1 - z) ** 2 / 2
    return np.logaddexp(0, -z)


def svmsgd(X: Any, y: Any, loss: str, alpha: float, rate: Any) -> Any:
    """The last iterate of ``svmsgd``; ``rate(t)`` is that of row t, counted from zero."""
    w = np.zeros(X.shape[1])
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        w = (1 - rate(t) * alpha) * w + rate(t) * pull(loss, target * (w @ x)) * target * x
    return w


def svmsgd_eta0(X: Any, y: Any, loss: str, alpha: float) -> float:
    """The first rate that ``svmsgd`` finds on the rows 0 to 1000."""
    X, y = X[:1001], y[:1001]

    def cost(eta: float) -> float:
        w = svmsgd(X, y, loss, alpha, lambda t: eta)
        return float(np.mean(value(loss, y * (X @ w))) + alpha / 2 * w @ w)

    lower, upper = 1.0, 2.0
    lower_cost, upper_cost = cost(lower), cost(upper)
    if lower_cost < upper_cost:
        while lower_cost < upper_cost:
            upper_cost, lower = lower_cost, lower / 2
            lower_cost = cost(lower)
    else:
        while upper_cost < lower_cost:
            lower, lower_cost, upper = upper, upper_cost, 2 * upper
            upper_cost = cost(upper)
    return lower


def svmsgdqn(X: Any, y: Any, loss: str, alpha: float, eta0: float, skip: int) -> Any:
    """The last iterate of ``svmsgdqn``."""
    n_features = X.shape[1]
    w, gains = np.zeros(n_features), np.full(n_features, eta0)
    before, asked, last, left = w, False, 0, skip
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        d = pull(loss, target * (w @ x))
        if asked:
            change = d - pull(loss, target * (before @ x))
            if change != 0:
                curvature = np.full(n_features, alpha)
                for j in np.flatnonzero(x):
                    if before[j] != w[j]:
                        ratio = alpha + target * change * x[j] / (before[j] - w[j])
                        curvature[j] = min(max(ratio, 0.1 * alpha), 100 * alpha)
                    else:
                        curvature[j] = alpha + 100 * alpha
                gains = 1 / (1 / gains + (t - last) * curvature)
                last = t
            asked = False
        left -= 1
        if left <= 0:
            before, asked, left = w, True, skip
            w = w - skip * alpha * gains * w
        w = w + d * target * gains * x
    return w


def pseudo_code_of_2009(X: Any, y: Any, loss: str, alpha: float, t0: float, skip: int) -> Any:
    """The last iterate of SGD-QN as its publication printed it."""
    n_features = X.shape[1]
    w, B, r = np.zeros(n_features), np.full(n_features, 1 / alpha), 2
    asked, left = False, skip
    for t, (x, target) in enumerate(zip(X, y, strict=True)):

        def gradient(w: Any, x: Any = x, target: float = target) -> Any:
            return -pull(loss, target * (w @ x)) * target * x + alpha * w

        new = w - (gradient(w) - alpha * w) * B / (t + t0)
        if asked:
            ratio = np.full(n_features, 1 / alpha)  # where nothing moved: the penalty alone
            moved, change = new - w, gradient(new) - gradient(w)
            np.divide(moved, change, out=ratio, where=moved != 0)
            B, r, asked = np.maximum(B + 2 / r * (ratio - B), 0.01 / alpha), r + 1, False
        left -= 1
        if left <= 0:
            new, left, asked = new - skip / (t + t0) * alpha * B * new, skip, True
        w = new
    return w


def pegasos(X: Any, y: Any, loss: str, alpha: float) -> Any:
    """The last iterate of Pegasos with mini-batches of one row."""
    w = np.zeros(X.shape[1])
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        w = (1 - 1 / t) * w + pull(loss, target * (w @ x)) * target * x / (alpha * t)
        w = w * min(1.0, 1 / (np.sqrt(alpha) * np.linalg.norm(w))) if w.any() else w
    return w


def olbfgs(X: Any, y: Any, loss: str, alpha: float, gain: dict[str, float], batch: int) -> Any:
    """The last iterate of oLBFGS, with the inverse Hessian as a whole matrix."""
    w, pairs = np.zeros(X.shape[1]), []
    for t, begin in enumerate(range(0, len(X), batch)):
        rows, targets = X[begin : begin + batch], y[begin : begin + batch]

        def gradient(w: Any, rows: Any = rows, targets: Any = targets) -> Any:
            pulls = [pull(loss, z) for z in targets * (rows @ w)]
            return -rows.T @ (pulls * targets) / len(rows) + alpha * w

        scale = np.mean([s @ c / (c @ c) for s, c in pairs]) if pairs else 1e-6
        B = scale * np.eye(len(w))
        for s, c in pairs:
            V = np.eye(len(w)) - np.outer(s, c) / (s @ c)
            B = V @ B @ V.T + np.outer(s, s) / (s @ c)
        move = -gain["eta0"] * gain["tau"] / (gain["tau"] + t) * B @ gradient(w)
        change = gradient(w + move) - gradient(w) + gain["damping"] * move
        if move @ change > 0:
            pairs = [*pairs, (move, change)][-10:]
        w = w + move
    return w

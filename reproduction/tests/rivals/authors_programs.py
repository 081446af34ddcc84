"""What the authors' programs do, row by row, in plain NumPy and in our own words.

``svmsgd`` and ``svmsgdqn`` are the programs of Bottou's sgd-2.x. They write a loss as a function of
the margin ``z = y s`` and use minus its derivative, which is how it is written here too. Iterates
have the weight of a constant feature at their end, zero where a program has no intercept.
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


def svmsgd_iterates(X: Any, y: Any, loss: str, alpha: float, rate: Any, bias: bool) -> Any:
    """Every iterate of ``svmsgd``; ``rate(t)`` is that of row t, counted from zero."""
    w, b, found = np.zeros(X.shape[1]), 0.0, []
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        eta = rate(t)
        d = pull(loss, target * (w @ x + b)) * target
        w = (1 - eta * alpha) * w + eta * d * x
        b += bias * 0.01 * eta * d
        found.append(np.append(w, b))
    return np.array(found)


def svmsgd_eta0(X: Any, y: Any, loss: str, alpha: float, bias: bool) -> float:
    """The first rate that ``svmsgd`` finds on the rows 0 to 1000."""
    X, y = X[:1001], y[:1001]

    def cost(eta: float) -> float:
        last = svmsgd_iterates(X, y, loss, alpha, lambda t: eta, bias)[-1]
        w, b = last[:-1], last[-1]
        return float(np.mean(value(loss, y * (X @ w + b))) + alpha / 2 * w @ w)

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


def svmsgdqn_iterates(
    X: Any, y: Any, loss: str, alpha: float, eta0: float, skip: int
) -> tuple[Any, Any]:
    """Every iterate of ``svmsgdqn``, and the gains in the end."""
    n_features = X.shape[1]
    w, gains = np.zeros(n_features), np.full(n_features, eta0)
    before, asked, last, left, found = w, False, 0, skip, []
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
        found.append(np.append(w, 0.0))
    return np.array(found), gains


def pseudo_code_of_2009(
    X: Any, y: Any, loss: str, alpha: float, t0: float, skip: int
) -> tuple[Any, Any]:
    """Every iterate of SGD-QN as its paper printed it, and its matrix B in the end."""
    n_features = X.shape[1]
    w, B, r = np.zeros(n_features), np.full(n_features, 1 / alpha), 2
    asked, left, found = False, skip, []
    for t, (x, target) in enumerate(zip(X, y, strict=True)):

        def gradient(w: Any, x: Any = x, target: float = target) -> Any:
            return -pull(loss, target * (w @ x)) * target * x + alpha * w

        new = w - (gradient(w) - alpha * w) * B / (t + t0)
        if asked:
            ratio = np.full(
                n_features, 1 / alpha
            )  # where nothing moved the penalty is all there is
            moved, change = new - w, gradient(new) - gradient(w)
            np.divide(moved, change, out=ratio, where=moved != 0)
            B, r, asked = np.maximum(B + 2 / r * (ratio - B), 0.01 / alpha), r + 1, False
        left -= 1
        if left <= 0:
            new, left, asked = new - skip / (t + t0) * alpha * B * new, skip, True
        w = new
        found.append(np.append(w, 0.0))
    return np.array(found), B

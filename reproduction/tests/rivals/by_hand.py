"""The rivals' updates in plain dense NumPy, a line a formula, unlike anything in the core."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyak.losses import get_loss


def with_constant(X: Any) -> Any:
    return np.column_stack([X, np.ones(len(X))])


def sgd_iterates(X: Any, y: Any, loss: str, alpha: float, rate: Any) -> Any:
    """Every iterate of SGD; ``rate(t)`` is the learning rate of row t, counted from one."""
    X = with_constant(X)
    penalty = np.append(np.full(X.shape[1] - 1, alpha), 0.0)
    w, iterates = np.zeros(X.shape[1]), []
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        gradient = float(get_loss(loss).slope(x @ w, target)) * x + penalty * w
        w = w - rate(t) * gradient
        iterates.append(w)
    return np.array(iterates)


def pegasos_iterates(X: Any, y: Any, loss: str, alpha: float, k: int) -> Any:
    """Every iterate of Pegasos, one a mini-batch of k rows."""
    X = with_constant(X)
    w, iterates = np.zeros(X.shape[1]), []
    for t, begin in enumerate(range(0, len(X), k), start=1):
        rows, targets = X[begin : begin + k], y[begin : begin + k]
        slopes = get_loss(loss).slope(rows @ w, targets)
        gamma = 1 / (alpha * t)
        w = (1 - gamma * alpha) * w - gamma * (slopes[:, None] * rows).mean(axis=0)
        w = w * min(1.0, 1 / (np.sqrt(alpha) * np.linalg.norm(w))) if w.any() else w
        iterates.append(w)
    return np.array(iterates)


def olbfgs_iterates(X: Any, y: Any, loss: str, alpha: float, rule: dict[str, Any]) -> Any:
    """Every iterate of oLBFGS, one a mini-batch, with the inverse Hessian as a whole matrix."""
    X = with_constant(X)
    penalty = np.append(np.full(X.shape[1] - 1, alpha), 0.0)
    w, pairs, iterates = np.zeros(X.shape[1]), [], []
    for t, begin in enumerate(range(0, len(X), rule["batch_size"])):
        rows, targets = X[begin : begin + rule["batch_size"]], y[begin : begin + rule["batch_size"]]

        def gradient(w: Any, rows: Any = rows, targets: Any = targets) -> Any:
            slopes = get_loss(loss).slope(rows @ w, targets)
            return rows.T @ slopes / len(rows) + penalty * w

        scale = np.mean([s @ c / (c @ c) for s, c in pairs]) if pairs else 1e-6
        B = scale * np.eye(len(w))
        for s, c in pairs:
            V = np.eye(len(w)) - np.outer(s, c) / (s @ c)
            B = V @ B @ V.T + np.outer(s, s) / (s @ c)
        move = -rule["eta0"] * rule["tau"] / (rule["tau"] + t) * B @ gradient(w)
        change = gradient(w + move) - gradient(w) + rule["damping"] * move
        if move @ change > 0:
            pairs = [*pairs, (move, change)][-rule["memory"] :]
        w = w + move
        iterates.append(w)
    return np.array(iterates)

"""Averaged SGD exactly as Wei Xu's paper prints it, in plain NumPy: read it beside section 5.

Variables have the paper's names: ``u``, ``u_hat``, ``alpha``, ``beta`` and ``tau`` are those of
Algorithm 1, ``theta`` is the iterate, ``lam`` the penalty λ, ``gamma(t)`` the learning rate γ_t.
There are no safeguards: a learning rate that is too large diverges. ``recipe="paper-strict"`` of
polyak's estimators computes the same numbers, faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# L(s, y) and its derivative L_s(s, y), section 1. y is -1 or +1 for all but the squared error.
LOSSES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "squared_error": (lambda s, y: (y - s) ** 2 / 2, lambda s, y: s - y),
    "squared_hinge": (
        lambda s, y: np.maximum(0, 1 - y * s) ** 2 / 2,
        lambda s, y: -y * np.maximum(0, 1 - y * s),
    ),
    "hinge": (lambda s, y: np.maximum(0, 1 - y * s), lambda s, y: -y * (y * s < 1)),
    "log_loss": (
        lambda s, y: np.logaddexp(0, -y * s),
        lambda s, y: -y * np.exp(-np.logaddexp(0, y * s)),
    ),
}


def schedule(gamma0: float, a: float, c: float) -> Callable[[int], float]:
    """Return the learning rate γ_t = γ₀(1 + aγ₀t)^(-c) (EqGammaSchedule)."""
    return lambda t: gamma0 * (1 + a * gamma0 * t) ** -c


def proposed_schedule(X: Floats, loss: str, lam: float) -> Callable[[int], float]:
    """Return the proposed learning rate: γ₀ = 1/M, a = λ, c = 2/3 or 3/4 (sections 3, 4, 6.3)."""
    M = np.square(X[:1000]).sum(axis=1).max()  # section 6.3: "max ‖x‖² … from 1000 samples"
    return schedule(1 / M, lam, 2 / 3 if loss == "squared_error" else 3 / 4)


class AveragingRule:
    """The rule at the end of section 5: averaging begins once θ̂ is better than θ."""

    def __init__(self, features: int) -> None:
        self.theta_hat = np.zeros(features)
        self.losses = np.zeros(2)  # moving averages of the losses of θ̂ and θ

    def begins(self, L: Callable[[Any, Any], Any], theta: Floats, x: Floats, y: float) -> bool:
        """Whether θ̂ is better than θ, with one more row, which neither has learned."""
        losses = L(np.array([self.theta_hat @ x, theta @ x]), y)
        self.losses = 0.99 * self.losses + 0.01 * losses
        return bool(self.losses[0] < self.losses[1])

    def follow(self, theta: Floats) -> None:
        """Take the next iterate into θ̂."""
        self.theta_hat = 0.99 * self.theta_hat + 0.01 * theta


def asgd(
    X: Floats,
    y: Floats,
    loss: str,
    lam: float,
    gamma: Callable[[int], float],
    t0: int | None = None,
) -> tuple[Floats, Floats]:
    """Return the average θ̄_T and the last iterate θ_T of one pass over the rows.

    ``t0`` is the row after which averaging begins: 0 averages all iterates, None finds it by the
    rule at the end of section 5.

    Examples
    --------
    Section 6.2 (Figure 2): y = xᵀθ* + ε with 100 features, γ₀ = 1/tr(A) and a = λ₀ = 0.01. After a
    few times 10⁴ rows ASGD is close to batch, and SGD (c = 1) more than 10 times worse than ASGD.

    >>> rng = np.random.default_rng(0)
    >>> A, rows = np.linspace(0.01, 1, 100), 30_000
    >>> X = rng.standard_normal((rows, 100)) * np.sqrt(A)
    >>> y = X @ np.ones(100) + rng.standard_normal(rows)
    >>> average, _ = asgd(X, y, "squared_error", 0.0, schedule(1 / A.sum(), 0.01, 2 / 3))
    >>> _, sgd = asgd(X, y, "squared_error", 0.0, schedule(1 / A.sum(), 0.01, 1.0), t0=0)
    >>> batch = np.linalg.solve(X.T @ X, X.T @ y)
    >>> excess = {name: A @ (theta - 1) ** 2 / 2
    ...           for name, theta in {"ASGD": average, "SGD": sgd, "batch": batch}.items()}
    >>> print(f"ASGD / batch {excess['ASGD'] / excess['batch']:.2f}, "
    ...       f"SGD / ASGD {excess['SGD'] / excess['ASGD']:.1f}")
    ASGD / batch 1.98, SGD / ASGD 11.9
    """
    L, L_s = LOSSES[loss]
    theta, rule = np.zeros(X.shape[1]), AveragingRule(X.shape[1])
    rows = enumerate(zip(X, y, strict=True), start=1)

    for t, (x, y_t) in rows:  # before averaging: SGD (EqSGD), and the search for t0
        if t0 is None and rule.begins(L, theta, x, y_t):
            t0 = t  # "Once θ̂ is better than θ, we begin the ASGD procedure"
        theta = (1 - lam * gamma(t)) * theta - gamma(t) * L_s(theta @ x, y_t) * x
        rule.follow(theta)
        if t0 is not None and t > t0:
            break  # θ is the first iterate of the average

    # Algorithm 1, begun with θ̄₀ = θ; η_t = 1/(t - t₀) makes θ̄ the mean of the iterates since t₀.
    alpha, beta, tau, u, u_hat = 1.0, 1.0, 0.0, theta, theta
    for t, (x, y_t) in rows:
        assert t0 is not None
        eta = 1 / (t - t0)
        g = L_s(u @ x / alpha, y_t) * x
        alpha = alpha / (1 - lam * gamma(t))
        beta = beta / (1 - eta)
        u = u - alpha * gamma(t) * g
        u_hat = u_hat + tau * alpha * gamma(t) * g
        tau = tau + eta * beta / alpha
    return (tau * u + u_hat) / beta, u / alpha

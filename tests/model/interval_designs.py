"""Designs whose best weights are known, and how often intervals hold them."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from polyak import ASGDClassifier, ASGDRegressor

DESIGNS = (
    "independent",
    "correlated",
    "far from zero",
    "rare class",
    "units",
    "heteroscedastic",
    "misspecified",
)
LOSSES = ("squared_error", "log_loss")
RARE = -4.039
"""The intercept that makes 2.5% of the rows positive."""


def truth_of(design):
    d = 50 if design == "correlated" else 10
    return np.random.default_rng(5).normal(size=d) / np.sqrt(d)


def mean_of(design, loss, score, x):
    """Return the mean of the targets, 0 and 1 of classes, from the score and feature 0."""
    if design == "rare class":
        return expit(score + RARE)
    if design == "misspecified":
        score = score + 0.5 * (x * x - 1.0)
    if loss == "squared_error":
        return score
    return expit(score * np.exp(-x / 2.0) if design == "heteroscedastic" else score)


def draw(design, loss, rows, seed):
    """Draw rows and targets of a design."""
    rng = np.random.default_rng(seed)
    truth = truth_of(design)
    X = rng.normal(size=(rows, len(truth)))
    if design == "correlated":
        for j in range(1, len(truth)):
            X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(0.19) * X[:, j]
    mean = mean_of(design, loss, X @ truth, X[:, 0])
    if loss == "log_loss" or design == "rare class":
        y = (rng.random(rows) < mean).astype(float)
    else:
        noise = rng.normal(size=rows)
        y = mean + noise * (np.exp(X[:, 0]) if design == "heteroscedastic" else 1.0)
    if design == "far from zero":
        X += 3.0
    return X * units_of(design, len(truth)), y


def units_of(design, d):
    return 10 ** np.random.default_rng(1).uniform(-3, 3, d) if design == "units" else np.ones(d)


def best_weights(design, loss):
    """Return the weights that infinitely many rows would lead to.

    Where the model is not true they are those that minimise the expected loss. Features being
    normal, that depends on two directions alone, the truth's and feature 0's, and so is a sum over
    the nodes of a quadrature.
    """
    truth = truth_of(design)
    if design in ("independent", "correlated", "far from zero", "units"):
        return truth / units_of(design, len(truth))
    nodes, mass = np.polynomial.hermite_e.hermegauss(80)
    basis = np.linalg.qr(np.column_stack([np.eye(len(truth))[0], truth]))[0]
    plane = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    mass = np.outer(mass, mass).ravel() / mass.sum() ** 2
    mean = mean_of(design, loss, plane @ (basis.T @ truth), plane @ basis[0])
    Z = np.column_stack([np.ones(len(plane)), plane])
    w = np.zeros(3)
    for _ in range(50):
        fitted = Z @ w if loss == "squared_error" else expit(Z @ w)
        bend = np.ones(len(Z)) if loss == "squared_error" else fitted * (1.0 - fitted)
        w -= np.linalg.solve((Z * (mass * bend)[:, None]).T @ Z, Z.T @ (mass * (fitted - mean)))
    return basis @ w[1:]


def learned(loss, X, y):
    kind = ASGDRegressor if loss == "squared_error" else ASGDClassifier
    return kind(loss=loss, intervals=True, shuffle=False, random_state=0).fit(X, y)


def coverage(design, loss, rows, runs):
    """Return the share of the best weights that lie within their 95% intervals."""
    truth, inside = best_weights(design, loss), []
    for run in range(runs):
        low, high = learned(loss, *draw(design, loss, rows, 1000 + run)).coef_interval()
        inside.append((np.ravel(low) <= truth) & (truth <= np.ravel(high)))
    return float(np.mean(inside))


# -- what batch learning has of the same rows ----------------------------------------------------


def batch(loss, X, y, tau=0.01):
    """Return the weights that minimise the penalised loss, and their errors by the sandwich."""
    Z = np.column_stack([np.ones(len(X)), X])
    ridge, w = np.full(Z.shape[1], tau), np.zeros(Z.shape[1])
    ridge[0] = 0.0
    for _ in range(30):
        fitted = Z @ w if loss == "squared_error" else expit(Z @ w)
        bend = np.ones(len(Z)) if loss == "squared_error" else fitted * (1.0 - fitted)
        inverse = np.linalg.inv((Z * bend[:, None]).T @ Z + np.diag(ridge))
        step = inverse @ (Z.T @ (fitted - y) + ridge * w)
        w -= step
        if np.abs(step).max() < 1e-9:
            break
    M = (Z * np.square(fitted - y)[:, None]).T @ Z
    return w[1:], np.sqrt(np.diagonal(inverse @ M @ inverse))[1:]


def batch_coverage(design, loss, rows, runs):
    truth, inside = best_weights(design, loss), []
    for run in range(runs):
        w, errors = batch(loss, *draw(design, loss, rows, 1000 + run))
        inside.append(np.abs(w - truth) <= 1.96 * errors)
    return float(np.mean(inside))

"""The optimum of wide dense rows: gradients by finite differences, weights by scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from tests.learn.dense.dense_problems import made

from polyak.learn.dense.losses import slopes, values
from polyak.learn.dense.optimum import Block, Moments, Past, Units, gradient, solve

KINDS = ("softmax", "log_loss", "squared_error")


def problem(kind: str, rows: int = 400, width: int = 30, outputs: int = 3) -> tuple[Any, Any]:
    X, classes = made(rows, outputs, width)
    if kind == "softmax":
        return X, classes
    targets = np.eye(outputs, dtype=np.float32)[classes]
    return X, 2 * targets - 1 if kind == "log_loss" else 3 * targets + X[:, :outputs]


def units_of(blocks: list[Block]) -> Units:
    moments = Moments.none(np, blocks[0].rows[0])
    for block in blocks:
        moments.add(block)
    return Units.of(np, moments)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_finite_differences(kind: str) -> None:
    X, targets = problem(kind, rows=60, width=4)
    rng = np.random.default_rng(1)
    rows = X.astype(np.float64)
    own = rng.uniform(0, 3, size=60)
    goals = targets if kind == "softmax" else targets.astype(np.float64)
    blocks = [Block(rows[:25], goals[:25], own[:25]), Block(rows[25:], goals[25:], own[25:])]
    units = units_of(blocks)
    W, b = rng.normal(size=(4, 2, 3)), rng.normal(size=(2, 3))
    lost, G, g = gradient(np, kind, blocks, units, W, b)

    def value(W: Any, b: Any) -> Any:
        standard = (rows - units.mean) / units.scale
        scores = np.tensordot(standard, W, axes=1) + b
        return np.average(values(np, kind, scores, goals).sum(axis=2), axis=0, weights=own)

    np.testing.assert_allclose(lost, value(W, b), rtol=1e-9)
    step = 1e-5
    for place in np.ndindex(W.shape):
        up, down = (W + sign * step * _unit(W, place) for sign in (1, -1))
        slope = (value(up, b) - value(down, b)) / (2 * step)
        assert G[place] == pytest.approx(slope[place[1]], abs=1e-7)
    for place in np.ndindex(b.shape):
        up, down = (b + sign * step * _unit(b, place) for sign in (1, -1))
        slope = (value(W, up) - value(W, down)) / (2 * step)
        assert g[place] == pytest.approx(slope[place[0]], abs=1e-7)


def _unit(like: Any, place: tuple[int, ...]) -> Any:
    unit = np.zeros_like(like)
    unit[place] = 1.0
    return unit


@pytest.mark.parametrize("kind", KINDS)
def test_losses_of_huge_scores_are_finite(kind: str) -> None:
    scores = np.array([[[1e4, -1e4, 0.0]], [[-1e4, 1e4, 0.0]]], np.float32)
    targets = np.array([0, 0]) if kind == "softmax" else np.ones((2, 3), np.float32)
    lost, slope = slopes(np, kind, scores, targets)
    assert np.isfinite(lost).all()
    assert np.isfinite(slope).all()
    np.testing.assert_allclose(values(np, kind, scores, targets).sum(axis=2), lost)


@pytest.mark.parametrize("kind", KINDS)
def test_optima_are_those_of_scikit_learn(kind: str) -> None:
    """The penalty is in rows, and of weights in units of the columns' scales."""
    X, targets = problem(kind, rows=600, width=300)
    X = X * np.linspace(0.1, 30, 300, dtype=np.float32) + 5  # in units of their own
    blocks = [Block(X[:256], targets[:256]), Block(X[256:], targets[256:])]
    units = units_of(blocks)
    penalties = np.array([3.0, 100.0], np.float32)
    start = np.zeros((300, 2, 3), np.float32), np.zeros((2, 3), np.float32)
    W, b = solve(
        np,
        kind,
        blocks,
        units,
        start,
        penalties / 600,
        fit_intercept=True,
        most=300,
        least_gain=1e-7,
    )
    rows = (X - units.mean) / units.scale
    for place, penalty in enumerate(penalties):
        best_W, best_b = batch(kind, rows.astype(np.float64), targets, float(penalty))
        ours, best = (
            values(np, kind, (rows @ A + c)[:, None], targets).sum(axis=2).mean()
            + penalty / 1200 * np.square(A).sum()
            for A, c in ((W[:, place], b[place]), (best_W, best_b))
        )
        assert ours == pytest.approx(best, rel=1e-4)


def batch(kind: str, X: Any, targets: Any, penalty: float) -> tuple[Any, Any]:
    """Return the weights and intercepts of scikit-learn's batch fit."""
    if kind == "squared_error":
        ridge = Ridge(penalty).fit(X, targets)
        return ridge.coef_.T, ridge.intercept_
    batch = LogisticRegression(C=1 / penalty, max_iter=5000, tol=1e-8)
    if kind == "softmax":
        batch.fit(X, targets)
        return batch.coef_.T, batch.intercept_
    each = [(one.coef_[0], one.intercept_[0]) for one in (batch.fit(X, y) for y in targets.T)]
    weights, intercepts = zip(*each, strict=True)
    return np.array(weights).T, np.array(intercepts)


def test_rows_that_are_gone_count_exactly_for_squared_errors_at_any_penalty() -> None:
    X, targets = problem("squared_error", rows=500)
    first, second = Block(X[:300], targets[:300]), Block(X[300:], targets[300:])
    units = units_of([first, second])

    def fit(blocks: list[Block], penalty: float, past: Past | None = None) -> Any:
        rows = sum(len(block.rows) for block in blocks)
        start = np.zeros((30, 1, 3), np.float32), np.zeros((1, 3), np.float32)
        per_row = np.array([penalty / rows], np.float32)
        how = {"fit_intercept": True, "most": 200, "least_gain": 1e-9, "past": past}
        found = solve(np, "squared_error", blocks, units, start, per_row, **how)
        return units.plain(np, *found)

    A, c = fit([first], 500.0)
    past = Past.none(np, A[:, 0], c[0]).with_rows(np, "squared_error", [first], A[:, 0], c[0])
    for one, all_rows in zip(fit([second], 5.0, past), fit([first, second], 5.0), strict=True):
        np.testing.assert_allclose(one, all_rows, atol=2e-3)


def test_the_past_has_the_gradient_of_its_rows_and_moves_with_them() -> None:
    X, targets = problem("softmax", rows=300)
    rng = np.random.default_rng(0)
    W, b = rng.normal(size=(30, 3)).astype(np.float32), rng.normal(size=3).astype(np.float32)
    zero = Past.none(np, 0 * W, 0 * b)
    past = zero.with_rows(np, "softmax", [Block(X, targets)], W, b)
    scores = X @ W + b
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True) - np.eye(3)[targets]
    np.testing.assert_allclose(past.slopes, X.T @ chances, atol=1e-3)
    np.testing.assert_allclose(past.intercept_slopes, chances.sum(axis=0), atol=1e-3)

    by = rng.normal(size=30).astype(np.float32)
    there = zero.with_rows(np, "softmax", [Block(X + by, targets)], W, b - by @ W)
    moved = past.moved(by)
    for name in ("intercepts", "slopes", "strength"):
        np.testing.assert_allclose(getattr(moved, name), getattr(there, name), atol=5e-3)
    np.testing.assert_allclose(moved.moments.products, there.moments.products, rtol=1e-3, atol=1e-2)
    joined = Past.joined(np, [(past, 1.0), (there.moved(-by), 1.0)])
    np.testing.assert_allclose(joined.slopes, 2 * past.slopes, atol=1e-2)


def test_weights_of_rows_of_one_class_are_no_trap() -> None:
    """There the loss has no curvature, and steps that would suit it lead nowhere."""
    X, classes = made(600, 2, 30)
    rare = (classes == 1) & (np.arange(600) % 8 == 0)
    targets = np.where(rare, 1, -1).astype(np.float32)[:, None]
    block = Block(X, targets)
    units = units_of([block])
    how = {"fit_intercept": True, "most": 40, "least_gain": 1e-4}
    found = []
    for intercept in (0.0, -17.0):
        start = np.zeros((30, 1, 1), np.float32), np.full((1, 1), intercept, np.float32)
        constant = np.log(rare.mean() / (1 - rare.mean())).astype(np.float32)
        W, b = solve(
            np, "log_loss", [block], units, start, np.array([0.01]), constant=constant, **how
        )
        found.append(gradient(np, "log_loss", [block], units, W, b)[0])
    assert found[1] == pytest.approx(found[0], rel=1e-3)

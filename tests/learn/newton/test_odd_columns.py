"""Columns and rows that break lesser methods."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from simulated import batch_optimum, labels, mean_loss, problem, solver_of

from polyak.rows.sparse import as_rows

LOSSES = ("squared_error", "log_loss", "squared_hinge")


def learned(loss, X, y, **settings):
    lane = solver_of(loss, as_rows(X)[:1000], **settings)
    lane.learn(X, y)
    return lane


def progressive(lane):
    sums = lane.sums()
    return sums[1] / sums[0]


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_a_column_that_appears_after_the_first_thousand_rows(unit, form):
    X, _ = problem("log_loss", 20_000)
    X[:, 7] = 0.0
    late = np.random.default_rng(2).random(len(X)) < 0.3
    X[1500:, 7] = late[1500:]
    y = labels(X @ np.array([1.0, 0, 0, 0, 0, 0, 0, 3.0]) - 1)
    other = X.copy()
    other[:, 7] *= unit
    lane = learned("log_loss", form(other), y)
    coef, intercept = lane.weights(8)
    w, b = batch_optimum("log_loss", X, y)
    best = int(np.argmin(progressive(lane)))
    np.testing.assert_allclose(coef[best] * [1, 1, 1, 1, 1, 1, 1, unit], w, atol=0.05)
    assert intercept[best] == pytest.approx(b, abs=0.05)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_column_that_wanders_off(loss):
    """Time: it ends ten million spreads of its first rows away."""
    X, y = problem(loss, 30_000)
    wandering = np.column_stack([X, np.random.default_rng(0).normal(size=len(X))])
    wandering[:, -1] += np.r_[np.zeros(1000), np.linspace(0, 1e7, len(X) - 1000)]
    late = []
    for rows in (X, wandering):  # at first it is all guesswork how the column goes on
        lane = solver_of(loss, rows[:1000])
        lane.learn(rows, y, stops=[15_000])
        late.append(lane.sums()[1])
    assert late[1].min() == pytest.approx(late[0].min(), rel=0.01)


def test_a_centre_moves_exactly():
    """A jump after the first rows: rounding would leave five digits of a centre not moved."""
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(size=1000), 1e6 + rng.normal(size=19_000)]
    X = np.column_stack([x, rng.normal(size=len(x))])
    y = np.where(x > 1e5, x - 1e6, 0.0) + X[:, 1]
    lane = learned("squared_error", X[1000:], y[1000:], penalties=(1e-6,))
    moved = solver_of("squared_error", X[:1000], penalties=(1e-6,))
    moved.learn(X[1000:], y[1000:])
    assert moved._learned.standard.centre[0] == pytest.approx(1e6, rel=1e-3)
    np.testing.assert_allclose(moved.weights()[0], lane.weights()[0], rtol=1e-6)
    scores = [X[1000:] @ lane.weights()[0][0] + lane.weights()[1][0] for lane in (lane, moved)]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-5)


@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge"])
@pytest.mark.parametrize("row", [10, 6000])
def test_one_absurd_row_is_as_harmless_as_in_a_batch(loss, row):
    X, y = problem(loss, 20_000)
    X_test, y_test = X[10_000:], y[10_000:]
    X, y = X[:10_000].copy(), y[:10_000]
    X[row] *= 1e6
    lane = learned(loss, X, y)
    batch = batch_optimum(loss, X, y, tau=1.0)
    coef, intercept = lane.weights()
    ours = [mean_loss(loss, *pair, X_test, y_test) for pair in zip(coef, intercept, strict=True)]
    assert min(ours) < 1.02 * mean_loss(loss, *batch, X_test, y_test)


def test_targets_far_from_zero():
    X, y = problem("squared_error")
    coef, intercept = learned("squared_error", X, y + 1e9).weights()
    plain = learned("squared_error", X, y).weights()
    np.testing.assert_allclose(coef, plain[0], atol=1e-5)
    np.testing.assert_allclose(intercept - 1e9, plain[1], atol=1e-4)


def test_the_lane_leaves_at_the_row_that_is_too_wide():
    dense = np.random.default_rng(0).normal(size=(300, 30))
    dense[:, 20:] = 0.0
    dense[200, 20:] = 1.0
    rows = as_rows(csr_matrix(dense))
    y = np.where(dense[:, 0] > 0, 1.0, -1.0)
    whole, parts, narrow = (
        solver_of("log_loss", rows[:100], widest=25, intervals=True) for _ in range(3)
    )
    whole.learn(rows, y)
    for begin in range(0, 300, 7):
        parts.learn(rows[begin : begin + 7], y[begin : begin + 7])
    narrow.learn(rows[:200], y[:200])
    for lane in (whole, parts):
        assert lane.left == "there are too many features"
        np.testing.assert_array_equal(lane.sums(), narrow.sums())
        with pytest.raises(ValueError, match="has left the race"):
            lane.weights()
    assert solver_of("log_loss", dense, widest=29, intervals=True).left is not None
    assert solver_of("log_loss", dense, widest=30, intervals=True).left is None


def test_one_absurd_row_is_left_out():
    X, y = problem("squared_error", 100)
    X[5] = 1e200  # before any weights are found
    with np.errstate(all="ignore"):
        lane = learned("squared_error", X, y)
        weights = lane.weights()
    assert lane.left is None
    assert np.isfinite(lane.sums()[1]).all()
    assert all(np.isfinite(numbers).all() for numbers in weights)


def test_numbers_that_overflow():
    X, y = problem("squared_error", 100)
    y[10:12] = 1e308
    with np.errstate(all="ignore"):
        lane = learned("squared_error", X, y)
    assert lane.left == "its numbers are too large"

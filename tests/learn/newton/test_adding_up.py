"""Lanes that learned different rows, added up."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from simulated import problem, solver_of

from polyak.learn.stored_state import StoredState
from polyak.rows.sparse import as_rows

LOSSES = ("squared_error", "log_loss", "squared_hinge")


def lane_of(loss, X, y, **settings):
    lane = solver_of(loss, as_rows(X)[:1000], intervals=True, penalties=(0.1, 10.0), **settings)
    lane.learn(X, y)
    return lane


def copied(lane, loss, X):
    other = solver_of(loss, as_rows(X)[:1000], intervals=True, penalties=(0.1, 10.0))
    other.set_state(StoredState(*lane.state()))
    return other


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("with_base", [False, True])
def test_parts_add_up_to_the_whole(loss, with_base):
    X, y = problem(loss, 30_000)
    X = X * [1, 10, 100, 1, 1, 1, 1, 1] + [0, 0, 50, 1000, 0, 0, 0, 0]
    whole = lane_of(loss, X, y)
    if with_base:
        base = lane_of(loss, X[:5000], y[:5000])
        parts = [copied(base, loss, X) for _ in range(3)]
        for part, piece in zip(parts, np.array_split(np.arange(5000, 30_000), 3), strict=True):
            part.learn(X[piece], y[piece])
    else:  # each with centres and spreads of its own
        base = None
        pieces = np.array_split(np.arange(30_000), 3)
        parts = [lane_of(loss, X[piece], y[piece]) for piece in pieces]
    parts[0].merge(parts[1:], base)
    assert parts[0].clock == 30_000
    assert not parts[0].sums().any()  # the race keeps those of the parts
    errors = np.sqrt(np.diagonal(whole.sandwich().covariance[0]))[1:]
    away = np.abs(parts[0].weights()[0] - whole.weights()[0]) / errors
    assert away.max() < (0.01 if loss == "squared_error" else 0.5)
    variances = [np.diagonal(lane.sandwich().covariance[0]) for lane in (parts[0], whole)]
    np.testing.assert_allclose(variances[0], variances[1], rtol=0.05)
    more = slice(0, 9000)  # and it goes on learning
    parts[0].learn(X[more], y[more])
    assert parts[0].clock == 39_000


def test_parts_that_know_different_features():
    rng = np.random.default_rng(0)
    X = (rng.random((20_000, 6)) < 0.3).astype(float)
    X[:10_000, 4] = 0.0
    X[10_000:, 5] = 0.0
    y = X @ np.arange(6.0) + rng.normal(size=len(X))
    parts = [
        lane_of("squared_error", csr_matrix(X[half]), y[half])
        for half in (slice(0, 10_000), slice(10_000, None))
    ]
    parts[0].merge(parts[1:])
    whole = lane_of("squared_error", csr_matrix(X), y)
    np.testing.assert_allclose(parts[0].weights(6)[0], whole.weights(6)[0], rtol=2e-3, atol=2e-3)


def test_a_part_that_left_takes_the_others_along():
    X, y = problem("log_loss", 2000)
    lanes = [lane_of("log_loss", X, y), lane_of("log_loss", X, y, widest=3)]
    lanes[0].merge(lanes[1:])
    assert lanes[0].left == "there are too many features"

"""Lanes that learned different rows, added up."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from simulated import labels, problem

from polyak.learn.newton.lane import NewtonLane
from polyak.rows.sparse import as_rows

LOSSES = ("squared_error", "log_loss", "squared_hinge")


def lane_of(loss, X, y, **settings):
    lane = NewtonLane(loss, as_rows(X)[:1000], intervals=True, penalties=(0.1, 10.0), **settings)
    lane.learn(X, y)
    return lane


def copied(lane, loss, X):
    other = NewtonLane(loss, as_rows(X)[:1000], intervals=True, penalties=(0.1, 10.0))
    other.set_state(*lane.state())
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
    assert parts[0].sums()[0, 0] == 30_000
    errors = np.sqrt(np.diagonal(whole.covariance()[0]))[1:]
    away = np.abs(parts[0].weights()[0] - whole.weights()[0]) / errors
    assert away.max() < (0.01 if loss == "squared_error" else 0.5)
    np.testing.assert_allclose(
        np.diagonal(parts[0].covariance()[0]), np.diagonal(whole.covariance()[0]), rtol=0.05
    )
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


# -- intervals ---------------------------------------------------------------------------------


def design(name, loss, n, rng):
    d = 50 if name == "correlated" else 10
    X = rng.normal(size=(n, d))
    if name == "correlated":
        for j in range(1, d):
            X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(0.19) * X[:, j]
    if name == "far away":
        X += 3.0
    unit = 10 ** np.random.default_rng(1).uniform(-3, 3, d) if name == "units" else np.ones(d)
    truth = np.random.default_rng(5).normal(size=d) / np.sqrt(d)
    if loss == "squared_error":
        noise = rng.normal(size=n)
        if name == "heteroscedastic":
            noise *= np.exp(X[:, 0])
        return X * unit, X @ truth + noise, truth / unit
    scores = X @ truth - (4.2 if name == "rare class" else 0.0)
    return X * unit, labels(scores, rng.integers(1 << 30)), truth / unit


def coverage(name, loss, n, runs):
    inside = []
    for run in range(runs):
        X, y, truth = design(name, loss, n, np.random.default_rng(1000 + run))
        lane = NewtonLane(loss, X[:1000], penalties=(1e-3,), intervals=True)
        lane.learn(X, y)
        coef, errors = lane.weights()[0][0], np.sqrt(np.diagonal(lane.covariance()[0]))[1:]
        inside.append(np.abs(coef - truth) < 1.96 * errors)
    return float(np.mean(inside))


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
@pytest.mark.parametrize("name", ["plain", "far away"])
def test_intervals_cover(name, loss):
    assert 0.92 < coverage(name, loss, 2000, 60) < 0.975


@pytest.mark.slow
@pytest.mark.parametrize("n", [2000, 20_000])
@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("correlated", "squared_error"),
        ("correlated", "log_loss"),
        ("far away", "log_loss"),
        ("units", "squared_error"),
        ("units", "log_loss"),
        ("heteroscedastic", "squared_error"),
        ("rare class", "log_loss"),
    ],
)
def test_intervals_cover_in_harder_designs(name, loss, n):
    lowest = 0.91 if (name, n) == ("rare class", 2000) else 0.92  # some 50 rows of the class
    assert lowest < coverage(name, loss, n, 100) < 0.975

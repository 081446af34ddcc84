"""Each rival against its own paper's formulas, in NumPy, and against exact methods."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import olbfgs_iterates, pegasos_iterates, sgd_iterates
from rival_problems import learned, problem
from scipy.optimize import minimize

from polyak.losses import get_loss
from reproduction.rivals import OLBFGS, SGD, Batch, Pegasos, _kernels

ALPHA = 1e-3


def iterates(rival, X, y, k=1):
    """The estimator's iterate after every k rows."""
    engine, found = rival.fit(X, y)._begin(X[:k], y[:k]), []
    for i in range(0, len(y), k):
        engine.learn(X[i : i + k], y[i : i + k])
        found.append(np.append(engine.coef, engine.intercept))
    np.testing.assert_array_equal(found[-1], learned(rival))  # what the estimator gives
    return np.array(found)


@pytest.mark.parametrize("loss", SGD.losses)
def test_every_iterate_of_sgd(loss):
    X, y = problem(loss, 100)
    expected = sgd_iterates(X, y, loss, ALPHA, lambda t: 0.05 / (1 + 0.02 * 0.05 * t))
    found = iterates(SGD(loss=loss, alpha=ALPHA, eta0=0.05, decay=0.02), X, y)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("loss", SGD.losses)
def test_sgd_begins_as_the_paper_says(loss):
    X, y = problem(loss)
    M = np.square(X[:1000]).sum(axis=1).max() + 1
    sgd = SGD(loss=loss, alpha=ALPHA).fit(X, y)
    assert sgd.eta0_ == pytest.approx(1 / M, rel=1e-12)
    expected = sgd_iterates(X, y, loss, ALPHA, lambda t: 1 / (M + ALPHA * t))[-1]
    np.testing.assert_allclose(learned(sgd), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("loss", Pegasos.losses)
def test_first_thousand_iterates_of_pegasos(loss, k):
    X, y = problem(loss, 1000 * k)
    alpha = 0.05
    expected = pegasos_iterates(X, y, loss, alpha, k)
    found = iterates(Pegasos(loss=loss, alpha=alpha, batch_size=k), X, y, k)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    lengths = np.linalg.norm(found, axis=1)
    assert lengths.max() <= alpha**-0.5 * (1 + 1e-9)
    assert (lengths > alpha**-0.5 * (1 - 1e-9)).any()  # the ball was needed


def test_the_ball_of_pegasos_holds_the_minimiser():
    for loss in Pegasos.losses:
        X, y = problem(loss, 500)
        for alpha in (1e-3, 1e-1, 10.0):
            best = Batch(loss=loss, alpha=alpha, fit_intercept=False).fit(X, y)
            assert np.linalg.norm(best.coef_) <= alpha**-0.5


def quadratic(features=20, seed=0):
    """Rows and targets whose least squares have a badly conditioned Hessian."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, features)) * np.logspace(0, -1.5, features)
    return X, X @ rng.normal(size=features) + 0.1 * rng.normal(size=400)


def run_olbfgs(X, y, steps, **options):
    """oLBFGS where every mini-batch is the whole set: then there is no noise to be careful of."""
    features = X.shape[1]
    weights, state = np.zeros(features + 1), np.zeros(3)
    memory = options.pop("memory", 10)
    moves, changes = np.zeros((memory, features + 1)), np.zeros((memory, features + 1))
    settings = {"alpha": 1e-3, "eta0": 1.0, "tau": 1e12, "damping": 0.0, "intercept": True}
    for _ in range(steps):
        _kernels.olbfgs(
            None, None, X, y, "squared_error", weights, moves, changes, state,
            batch=len(y), **(settings | options),
        )  # fmt: skip
    return weights, moves, changes


def test_olbfgs_on_a_quadratic_finds_what_exact_lbfgs_finds():
    X, y = quadratic()

    def objective(w):
        left = X @ w[:-1] + w[-1] - y
        value = 0.5 * np.mean(left**2) + 5e-4 * w[:-1] @ w[:-1]
        return value, np.append(X.T @ left / len(y) + 1e-3 * w[:-1], left.mean())

    exact = minimize(
        objective, np.zeros(21), jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-12}
    )
    weights, _, _ = run_olbfgs(X, y, 300)
    np.testing.assert_allclose(weights, exact.x, atol=1e-7)
    # It takes quasi-Newton steps: gradient descent of the same number is nowhere near.
    plain, step = np.zeros(21), 1 / np.linalg.norm(X.T @ X / len(y), 2)
    for _ in range(300):
        plain = plain - step * objective(plain)[1]
    assert np.linalg.norm(plain - exact.x) > 1e4 * np.linalg.norm(weights - exact.x)


@pytest.mark.parametrize("loss", OLBFGS.losses)
def test_first_thousand_iterates_of_olbfgs(loss):
    X, y = problem(loss, 20_000)
    rule = {"batch_size": 20, "memory": 4, "eta0": 0.5, "tau": 50.0, "damping": 0.2}
    expected = olbfgs_iterates(X, y, loss, ALPHA, rule)
    assert len(expected) == 1000
    found = iterates(OLBFGS(loss=loss, alpha=ALPHA, **rule), X, y, 20)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_olbfgs_measures_both_gradients_on_the_same_mini_batch():
    X, y = problem("squared_hinge", 400)
    model = OLBFGS(batch_size=100, damping=0.0, alpha=ALPHA).fit(X, y)
    engine = model._stream.settled()
    A, w = np.c_[X[300:], np.ones(100)], np.append(engine.coef, engine.intercept)
    move, change = engine.moves[3], engine.changes[3]

    def gradient(w):
        slopes = -y[300:] * np.maximum(0, 1 - y[300:] * (A @ w))
        return A.T @ slopes / 100 + ALPHA * np.append(w[:-1], 0)

    np.testing.assert_allclose(change, gradient(w) - gradient(w - move), rtol=1e-8, atol=1e-12)


def cost_on(X, y, model):
    """The objective that a model reaches on rows."""
    with np.errstate(all="ignore"):
        losses = get_loss("squared_hinge").value(X @ model.coef_[0] + model.intercept_[0], y)
    return losses.mean() + ALPHA / 2 * np.sum(model.coef_**2)


def test_olbfgs_chooses_its_gain_on_the_first_rows_alone():
    X, y = problem("squared_hinge", 12_000)
    model = OLBFGS(alpha=ALPHA, tau=1000).fit(X[:3000], y[:3000])
    few = X[:1000], y[:1000]
    costs = {
        gain: cost_on(*few, OLBFGS(alpha=ALPHA, eta0=gain, tau=1e15).fit(*few))
        for gain in 2.0 ** np.arange(-8, 4)
    }
    best = min(costs, key=costs.get)
    assert model.eta0_ in (best, best / 2)
    assert OLBFGS(alpha=ALPHA).fit(X, y).eta0_ == model.eta0_  # later rows: unseen


@pytest.mark.parametrize("seed", range(3))
def test_olbfgs_chooses_its_decay_on_the_first_ten_thousand_rows(seed):
    X, y = problem("squared_hinge", 12_000, seed=seed)
    model = OLBFGS(alpha=ALPHA).fit(X, y)
    few, eta0 = (X[:10_000], y[:10_000]), model.eta0_
    costs = {
        tau: cost_on(*few, OLBFGS(alpha=ALPHA, eta0=eta0, tau=tau).fit(*few))
        for tau in (10, 100, 1_000, 10_000)
    }
    assert model.tau_ == min(costs, key=costs.get)
    again = OLBFGS(alpha=ALPHA)
    for part in np.array_split(np.arange(len(y)), 7):
        again.partial_fit(X[part], y[part], classes=[-1.0, 1.0])
    np.testing.assert_array_equal(learned(again), learned(model))
    y[10_000:] *= -1
    assert OLBFGS(alpha=ALPHA).fit(X, y).tau_ == model.tau_  # later rows: unseen

"""SGD2 and SGD-QN against their authors' programs, written once more in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from authors_programs import (
    pseudo_code_of_2009,
    svmsgd_eta0,
    svmsgd_iterates,
    svmsgdqn_iterates,
)
from rival_problems import learned, problem

from polyak.losses import get_loss
from reproduction.rivals import SGD2, SGDQN
from reproduction.rivals.calibrate import SAMPLE, best_gamma0

ALPHA = 1e-3
LOSSES = ("squared_hinge", "hinge", "log_loss")


def unit_rows(loss, rows=1500, features=6):
    """Rows of unit length, as the programs make them, some with zeros in them."""
    X, y = problem(loss, rows, features)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1.0), y


def first_iterates(model, X, y, count):
    """The iterates before the sample is full, which the estimator would still keep back."""
    engine, found = model._begin(X[:SAMPLE], y[:SAMPLE]), []
    for i in range(count):
        engine.learn(X[i : i + 1], y[i : i + 1])
        found.append(np.append(engine.coef, engine.intercept))
    return np.array(found)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_sgd2_is_svmsgd(loss, intercept):
    X, y = unit_rows(loss)
    model = SGD2(loss=loss, alpha=ALPHA, fit_intercept=intercept).fit(X, y)
    eta0 = svmsgd_eta0(X, y, loss, ALPHA, intercept)
    assert model.eta0_ == eta0
    expected = svmsgd_iterates(
        X, y, loss, ALPHA, lambda t: eta0 / (1 + ALPHA * eta0 * t), intercept
    )
    found = first_iterates(model, X, y, 1000)
    np.testing.assert_allclose(found, expected[:1000], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(learned(model), expected[-1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("unit", [1e-2, 30.0])
def test_the_rate_follows_the_length_of_the_rows(unit):
    X, y = unit_rows("squared_hinge")
    X = X * unit
    rate = best_gamma0(
        X[:SAMPLE], y[:SAMPLE], loss="squared_hinge", alpha=1e-6, fit_intercept=False
    )
    if unit < 1:  # upwards, where the program knows what to do
        assert rate == svmsgd_eta0(X, y, "squared_hinge", 1e-6, False) > 2
    else:  # downwards from where nothing is finite, where it does not
        assert 0 < rate * unit**2 < 4
        model = SGD2(alpha=ALPHA).fit(X, y)
        assert np.isfinite(learned(model)).all()


def test_a_cost_that_is_never_finite_ends_too():
    X, y = np.array([[1.0]] * 40), np.full(40, 1e160)
    settings = {"loss": "squared_error", "alpha": 1e-9, "fit_intercept": False}
    with np.errstate(all="ignore"):
        assert not np.isfinite(np.mean(get_loss("squared_error").value(0.0, y)))
        assert 0 < best_gamma0(X, y, **settings) < 1e-5


@pytest.mark.parametrize("skip", [5, 16])
@pytest.mark.parametrize("loss", LOSSES)
def test_sgd_qn_is_svmsgdqn(loss, skip):
    X, y = unit_rows(loss)
    model = SGDQN(loss=loss, alpha=ALPHA, skip=skip, fit_intercept=False).fit(X, y)
    assert model.eta0_ == svmsgd_eta0(X, y, loss, ALPHA, False)
    expected, gains = svmsgdqn_iterates(X, y, loss, ALPHA, model.eta0_, skip)
    found = first_iterates(model, X, y, 1000)
    np.testing.assert_allclose(found, expected[:1000], rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(learned(model), expected[-1], rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(model.gains_, gains, rtol=1e-8)


def test_the_gains_of_sgd_qn_differ_on_dense_rows():
    X = np.random.default_rng(0).normal(size=(3000, 6)) * np.geomspace(1, 0.1, 6)
    y = np.sign(X @ np.ones(6))
    gains = {
        rule: SGDQN(alpha=1e-4, rule=rule, fit_intercept=False).fit(X, y).gains_
        for rule in ("sgd-2.x", "2009 pseudo-code")
    }
    assert gains["sgd-2.x"].max() > 1.2 * gains["sgd-2.x"].min()
    # A row's own step tells every coordinate the same: what the next row is asked for instead.
    assert gains["2009 pseudo-code"].max() < 1.0001 * gains["2009 pseudo-code"].min()


@pytest.mark.parametrize("loss", LOSSES)
def test_the_pseudo_code_of_2009(loss):
    X, y = unit_rows(loss)
    model = SGDQN(loss=loss, alpha=ALPHA, skip=7, rule="2009 pseudo-code", fit_intercept=False).fit(
        X, y
    )
    t0 = 1 / (ALPHA * model.eta0_)
    expected, B = pseudo_code_of_2009(X, y, loss, ALPHA, t0, 7)
    found = first_iterates(model, X, y, 1000)
    np.testing.assert_allclose(found, expected[:1000], rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(model.gains_, B / (len(y) + t0), rtol=1e-7)


def test_skip_of_sgd_qn_follows_the_density():
    X, y = problem("squared_hinge", 2000)
    share = np.count_nonzero(X[:SAMPLE]) / X[:SAMPLE].size
    assert SGDQN().fit(X, y).skip_ == int(16 / share)
    assert SGDQN(skip=3).fit(X, y).skip_ == 3

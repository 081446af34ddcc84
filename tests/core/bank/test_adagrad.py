"""Rates that follow gradients: the core against plain formulas, one model or several."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polyak.learn.averaging import Averaging
from polyak.learn.bank import Bank
from polyak.learn.schedules import Polynomial
from polyak.losses import get_loss
from polyak.rows.sparse import as_rows

LEAST = 1e-3


def rows(n=300, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4) * rng.uniform(0.1, 3.0, d)
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)


def reference(X, y, loss, rates, p, alpha=0.0):
    """Learn a model a rate; all share the mean of their squared slopes."""
    loss = get_loss(loss)
    theta, bias = np.zeros((len(rates), X.shape[1])), np.zeros(len(rates))
    squares = np.full(X.shape[1], LEAST)
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        scores = theta @ x + bias
        slopes = np.array([float(loss.slope(s, target)) for s in scores])
        squares += np.minimum(np.mean(slopes**2) * x * x, 1e4 * squares)
        d = np.where(x != 0, (squares / t) ** -p, 0.0)
        for k, rate in enumerate(rates):
            gamma = rate(t)
            slope = loss.implicit_slope(scores[k], target, gamma * (x @ (d * x) + 1.0))
            theta[k] = theta[k] / (1.0 + gamma * alpha) - gamma * slope * d * x
            bias[k] -= gamma * slope
    return theta, bias


def bank_of(loss, rates, p, alpha=0.0, **more):
    return Bank(
        loss=loss,
        alpha=alpha,
        schedule=rates,
        averaging=Averaging(None),
        step="implicit",
        precondition=p,
        adagrad=LEAST,
        **more,
    )


@settings(max_examples=5)
@given(
    loss=st.sampled_from(["log_loss", "squared_hinge", "hinge", "modified_huber"]),
    p=st.sampled_from([0.5, 0.625, 0.4]),
    sparse=st.booleans(),
)
def test_as_plain_formulas_say(loss, p, sparse):
    X, y = rows()
    rates = [Polynomial(g, 1.0 / g, p) for g in (0.3, 1.0, 2.0)]
    for some in ([rates[0]], rates):
        bank = bank_of(loss, some, p, alpha=1e-3)
        bank.learn(as_rows(X) if not sparse else sparse_of(X), y)
        theta, bias = reference(X, y, loss, some, p, alpha=1e-3)
        np.testing.assert_allclose(bank.coef, theta, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(bank.intercept, bias, rtol=1e-9, atol=1e-11)


def sparse_of(X):
    from scipy.sparse import csr_matrix

    return csr_matrix(X)


def test_two_classes_together_are_one_model_of_half_the_rate():
    # A softmax of scores s and -s has the slopes g and -g of the logistic loss at 2 s.
    X, y = rows()
    rate = Polynomial(0.5, 2.0, 0.5)
    both = bank_of("log_loss", [rate], 0.5, outputs=[0, 1], group=2, one_vs_rest=True, softmax=True)
    both.learn(X, (y > 0).astype(np.int64))
    np.testing.assert_allclose(both.coef[0], -both.coef[1], rtol=1e-9)
    doubled = Polynomial(1.0, 1.0, 0.5)  # the scores' difference moves twice as far
    one = bank_of("log_loss", [doubled], 0.5)
    one.learn(X, y)
    np.testing.assert_allclose(both.coef[1] - both.coef[0], one.coef[0], rtol=1e-6)


def test_showing_rows_beforehand_changes_nothing():
    X, y = rows()
    banks = [bank_of("log_loss", [Polynomial(0.5, 2.0, 0.5)], 0.5) for _ in range(2)]
    banks[1].warm_up(X)
    for bank in banks:
        bank.learn(X, y)
    np.testing.assert_array_equal(banks[0].coef, banks[1].coef)


def test_split_saved_and_put_back_it_is_the_same():
    X, y = rows()
    rates = [Polynomial(g, 1.0 / g, 0.625) for g in (0.5, 1.0)]
    whole, part = (bank_of("log_loss", rates, 0.625) for _ in range(2))
    whole.learn(X, y)
    part.learn(X[:77], y[:77])
    rest = bank_of("log_loss", rates, 0.625)
    rest.set_state(part.state())
    rest.learn(X[77:], y[77:])
    np.testing.assert_array_equal(whole.coef, rest.coef)

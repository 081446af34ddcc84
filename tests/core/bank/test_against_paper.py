"""The core against Algorithm 1 as the paper prints it, and against a naive average."""

from __future__ import annotations

import numpy as np
import pytest
from problems import OF_THE_PAPER, RATE, distance, make_bank, problem

from polyak.learn.averaging import Averaging
from polyak.losses import get_loss

ALPHA = 1e-2


def algorithm_1(X, y, loss, rate, eta, u, first=1):
    """Section 5, line by line; `u` is the state it begins with, `first` the number of row one."""
    alpha, beta, tau, u_hat = 1.0, 1.0, 0.0, u.copy()
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=first):
        gamma = rate(t)
        g = loss.slope(u @ x / alpha, target) * x
        alpha = alpha / (1 - ALPHA * gamma)
        beta = beta / (1 - eta(t))
        u = u - alpha * gamma * g
        u_hat = u_hat + tau * alpha * gamma * g
        tau = tau + eta(t) * beta / alpha
    return u / alpha, (tau * u + u_hat) / beta


def naive(X, y, loss, rate):
    """Every iterate in full, so that any average of them can be taken."""
    theta, iterates = np.zeros(X.shape[1]), []
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        gamma = rate(t)
        theta = (1 - ALPHA * gamma) * theta - gamma * loss.slope(theta @ x, target) * x
        iterates.append(theta)
    return np.array(iterates)


def learned(name, X, y, start, power=0.0):
    bank = make_bank(
        name, alpha=ALPHA, averaging=Averaging(start, power), fit_intercept=False, capped=False
    )
    bank.learn(X, y)
    return bank


@pytest.mark.parametrize("name", OF_THE_PAPER)
def test_algorithm_1_as_printed(name, kernels):
    """Eta is 1/t from the second row on, so the zero model counts once and the first row never."""
    X, y = problem(name, 2000, 12)
    last, mean = algorithm_1(
        X, y, get_loss(name), RATE, lambda t: 1 / t if t > 1 else 0.0, np.zeros(12)
    )
    bank = learned(name, X, y, start=1)
    assert distance(bank.last_coef[0], last) < 1e-12
    assert distance(bank.coef[0] * (len(X) - 1) / len(X), mean) < 1e-12


@pytest.mark.parametrize("name", OF_THE_PAPER)
def test_algorithm_1_entered_after_the_first_row(name, kernels):
    """Begun with the iterate of row one, the same lines give the mean of all iterates."""
    X, y = problem(name, 2000, 12)
    first = naive(X[:1], y[:1], get_loss(name), RATE)[0]
    last, mean = algorithm_1(
        X[1:], y[1:], get_loss(name), RATE, lambda t: 1 / t, first.copy(), first=2
    )
    bank = learned(name, X, y, start=0)
    assert distance(bank.last_coef[0], last) < 1e-12
    assert distance(bank.coef[0], mean) < 1e-12


@pytest.mark.parametrize("name", OF_THE_PAPER)
def test_naive_averages(name, kernels):
    X, y = problem(name, 2000, 12)
    iterates = naive(X, y, get_loss(name), RATE)
    for start, power in [(0, 0.0), (300, 0.0), (0, 3.0), (300, 1.0)]:
        bank = learned(name, X, y, start, power)
        counts = np.maximum(np.arange(1, len(X) + 1) - start, 0.0) ** power
        counts[:start] = 0.0
        assert distance(bank.coef[0], np.average(iterates, axis=0, weights=counts)) < 1e-12
        assert distance(bank.last_coef[0], iterates[-1]) < 1e-12


def test_no_average_is_the_last_iterate(kernels):
    X, y = problem("hinge", 500, 12)
    bank = learned("hinge", X, y, start=None)
    assert np.array_equal(bank.coef, bank.last_coef)
    assert np.isnan(bank.average_start).all()

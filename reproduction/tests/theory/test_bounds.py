"""The theory against simulation: the bounds hold, are tight where they should be, and separate."""

from __future__ import annotations

import numpy as np
import pytest

from polyak.learn.averaging import Averaging
from polyak.learn.bank import Bank
from polyak.learn.schedules import Polynomial
from polyak.losses import LOSSES
from reproduction.experiments.theory.bound_terms import first_problem
from reproduction.experiments.theory.linear_equation import simulate
from reproduction.experiments.theory.random_settings import random_setting
from reproduction.theory import (
    asymptotic_variance,
    averaged_bound,
    best_power,
    c0,
    c1,
    largest_stable_rate,
    linear_errors,
    rows_to_asymptotics,
)


def exact_error(A, S, delta0, gamma0, a, c, marks):
    """Return ``t E‖θ̄_t - θ*‖_A²`` without any noise."""
    return linear_errors(marks, A, S, delta0, gamma0, a, c).average * np.array(marks)


def drawn(number, rows):
    """Draw a setting that Theorem 1 speaks of."""
    random = np.random.default_rng([7, number])
    d = int(random.integers(2, 9))
    axes = [np.linalg.qr(random.normal(size=(d, d)))[0] for _ in range(2)]
    A, S = ((q * 10 ** random.uniform(-2, 0, d)) @ q.T for q in axes)
    eigenvalues = np.linalg.eigvalsh(A)
    c = random.uniform(0.0, 1.0)
    a = random.uniform(0, 1) * min(10.0, 1 / max(2 * c - 1, 1e-9)) * eigenvalues[0] * 0.99
    rate = {"gamma0": random.uniform(0.05, 1.0) / eigenvalues[-1], "a": a, "c": c}
    marks = sorted({round(10**p) for p in np.arange(0, np.log10(rows) + 1e-9, 0.2)})
    return A, S, random.normal(size=d) * 10 ** random.uniform(-2, 2), rate, marks


@pytest.mark.parametrize("number", range(24))
def test_the_bound_holds_at_every_row_measured(number):
    A, S, delta0, rate, marks = drawn(number, 2000)
    exact = exact_error(A, S, delta0, *rate.values(), marks)
    assert (exact <= averaged_bound(marks, A, S, delta0, **rate).total).all()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(24, 100))
def test_the_bound_holds_at_every_row_measured_of_many(number):
    A, S, delta0, rate, marks = drawn(number, 20_000)
    exact = exact_error(A, S, delta0, *rate.values(), marks)
    assert (exact <= averaged_bound(marks, A, S, delta0, **rate).total).all()


def test_simulation_and_exact_error_agree():
    A, S, delta0, rate, _ = drawn(3, 10)
    marks = [1, 10, 100, 300]
    means, errors = simulate(A, S, delta0, rate, marks, 500, np.random.default_rng(0))
    exact = exact_error(A, S, delta0, *rate.values(), marks)
    assert (np.abs(np.array(means) - exact) <= 5 * np.array(errors)).all()


def test_the_simulated_error_stays_below_the_bound():
    for number in (0, 1):
        result = random_setting(number, runs=200, rows=300)
        assert (np.array(result["simulated"]) <= result["bound"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(24))
def test_the_simulated_error_stays_below_the_bound_on_many_settings(number):
    result = random_setting(number, runs=400, rows=3000)
    assert (np.array(result["simulated"]) <= result["bound"]).all()


@pytest.mark.parametrize("c", [0.5, 2 / 3])
def test_the_bound_is_within_a_factor_of_two_in_the_end(c):
    A, S = np.diag([1.0, 0.3, 0.1]), np.array([[1.0, 0.2, 0], [0.2, 0.5, 0], [0, 0, 0.1]])
    delta0, marks = np.ones(3), [100, 30_000]
    rate = {"gamma0": 1.0, "a": 0.1, "c": c}
    exact = exact_error(A, S, delta0, *rate.values(), marks)
    bound = averaged_bound(marks, A, S, delta0, **rate)
    assert exact[1] <= bound.total[1] <= 2 * exact[1]
    assert exact[1] == pytest.approx(asymptotic_variance(A, S), rel=0.05)


@pytest.mark.slow
def test_the_bound_is_within_a_factor_of_two_of_the_simulated_error():
    result = first_problem(a=0.02, c=2 / 3, rows=100_000, runs=400)
    bound = result["asymptotic"][-1] + result["decay"][-1] + result["start"][-1]
    assert result["simulated"][-1] <= bound <= 2 * result["simulated"][-1]


def test_the_terms_are_those_of_the_theorem():
    A, S, delta0 = np.diag([0.5, 0.25]), np.diag([1.0, 2.0]), np.array([1.0, -1.0])
    bound = averaged_bound(100.0, A, S, delta0, gamma0=1.0, a=0.2, c=0.75)
    constant = 0.2 * 0.75 * (1 + 0.2 * 0.75) / (0.25 - 0.5 * 0.2)
    assert c0(0.25, 1.0, 0.2, 0.75) == pytest.approx(constant)
    assert bound.asymptotic == pytest.approx(1 / 0.5 + 2 / 0.25)
    assert bound.decay == pytest.approx(
        (2 * constant + constant**2) * (1 + 0.2 * 100) ** -0.25 / 0.75 * 10
    )
    assert bound.start == pytest.approx((1 + constant) ** 2 / 100 * (1 / 0.5 + 1 / 0.25))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gamma0": 1.1}, "gamma0 = 1.1 times lambda1 = 1 is above 1"),
        ({"a": 0.9, "c": 0.9}, r"\(2c - 1\) a must be below lambda0"),
        ({"c": 1.5}, "c must be between 0 and 1"),
        ({"a": -1.0}, "a must be at least zero"),
    ],
)
def test_what_the_theorem_does_not_speak_of_is_refused(change, words):
    rate = {"gamma0": 0.5, "a": 0.1, "c": 0.5} | change
    with pytest.raises(ValueError, match=words):
        averaged_bound(10, np.diag([1.0, 0.5]), np.eye(2), np.ones(2), **rate)


def test_rows_to_asymptotics_is_the_order_that_both_corollaries_have():
    lambda0, gamma0, a, c = 0.01, 0.5, 0.2, 0.6
    t = rows_to_asymptotics(lambda0, gamma0, a, c)
    assert t == pytest.approx((a / lambda0) ** (c / (1 - c)) / (lambda0 * gamma0))
    # With c0 = a c / λ0 the proof's condition, 2 c0 / c (a γ0 t)^(c-1) ≤ 1, is met at twice the
    # rows for twice the decay.
    proof = 2 * rows_to_asymptotics(lambda0, gamma0, 2 * a, c)
    assert 2 * (a / lambda0) * (a * gamma0 * proof) ** (c - 1) == pytest.approx(1.0)
    assert rows_to_asymptotics(lambda0, gamma0) == pytest.approx(1 / (lambda0 * gamma0))
    assert rows_to_asymptotics(lambda0, gamma0, a=1e-9) == pytest.approx(1 / (lambda0 * gamma0))
    assert rows_to_asymptotics(1e-300, gamma0, a=1.0, c=0.75) == np.inf


@pytest.mark.parametrize("c", [0.0, 0.5, 2 / 3, 0.75, 0.95])
def test_rows_to_asymptotics_does_not_jump(c):
    lambda0, gamma0 = 0.02, 0.7
    a = np.sort(np.r_[0.0, lambda0, np.geomspace(1e-3, 100.0, 20_000) * lambda0])
    rows = np.array([rows_to_asymptotics(lambda0, gamma0, one, c) for one in a])
    assert (rows[1:] / rows[:-1] < 1.05).all()
    assert rows[0] == rows_to_asymptotics(lambda0, gamma0, None, c)
    assert (np.diff(rows) >= 0).all()


@pytest.mark.parametrize("c", [0.5, 2 / 3, 0.75])
def test_rows_to_asymptotics_is_where_the_noise_costs_no_more_than_twice_the_limit(c):
    lambda0, gamma0 = 0.05, 1.0
    A, S = np.diag([1.0, lambda0]), np.diag([0.0, 1.0])  # all noise where the decay hurts most
    for times in (1.0, 4.0):
        t = round(rows_to_asymptotics(lambda0, gamma0, times * lambda0, c))
        error = t * linear_errors([t], A, S, np.zeros(2), gamma0, times * lambda0, c).average[0]
        assert error <= 2 * asymptotic_variance(A, S)


def test_the_best_powers_balance_the_slower_terms():
    c = np.linspace(0.51, 0.99, 4801)
    for quadratic, other in ((True, c / 2), (False, c - 0.5)):
        best = c[np.argmax(np.minimum(other, 1 - c))]
        assert best_power(quadratic=quadratic) == pytest.approx(best, abs=2e-4)
    for loss in LOSSES.values():
        assert loss.power == best_power(quadratic=loss.name == "squared_error")


def least_squares(gamma, M=4.0, rows=3000):
    """Learn from rows of one length with the core, at a constant learning rate."""
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, 5))
    X *= np.sqrt(M) / np.linalg.norm(X, axis=1, keepdims=True)
    y = X.sum(axis=1) + 0.1 * random.normal(size=rows)
    bank = Bank(
        loss="squared_error",
        alpha=0.0,
        schedule=Polynomial(gamma, 0.0, 0.5),
        averaging=Averaging(None),
        fit_intercept=False,
        capped=False,
    )
    bank.learn(X, y)
    return np.linalg.norm(bank.last_coef[0] - 1.0)


def test_the_largest_stable_rate_separates_converging_from_diverging():
    limit = largest_stable_rate(4.0)
    assert least_squares(0.5 * limit) < 0.5  # the paper's own choice
    assert least_squares(0.95 * limit) < 2.0
    assert least_squares(1.05 * limit) > 1e6


def test_c1_bounds_the_noise_away_from_the_optimum():
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 4)) * [1.0, 0.7, 0.4, 0.2]
    A = X.T @ X / len(X)
    M, lambda0 = float(np.square(X).sum(axis=1).max()), float(np.linalg.eigvalsh(A)[0])
    for _ in range(20):
        delta = random.normal(size=4)
        xi = X * (X @ delta)[:, None] - A @ delta
        noise = np.einsum("ij,ij->i", xi @ np.linalg.inv(A), xi).mean()
        assert noise <= c1(M, lambda0) * (delta @ A @ delta)

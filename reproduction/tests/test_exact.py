"""Exact moments against simulation, and the paper's bounds against exact moments."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.algorithm1 import LOSSES
from reproduction.theory import (
    Problem,
    averaged_bound,
    averaged_bound_at,
    best_power,
    decomposition,
    errors,
    iterate_bound_at,
    linear_errors,
    noise_away,
    rates,
    second_order_error,
)

RUNS, ROWS = 4000, 60


def drawn_rows(kind, random, runs, values):
    """Draw one row for each run: of Gaussian features, or of one feature each."""
    if kind == "gaussian":
        return random.normal(size=(runs, len(values))) * np.sqrt(values)
    chosen = random.choice(len(values), runs, p=values / values.sum())
    return np.eye(len(values))[chosen] * np.sqrt(values.sum())


@pytest.mark.parametrize("kind", ["gaussian", "one_feature"])
def test_least_squares_is_simulated_to_have_these_errors(kind):
    values, random, t0 = np.array([0.6, 0.3, 0.1]), np.random.default_rng(0), 20
    problem = Problem.gaussian(values) if kind == "gaussian" else Problem.one_feature(values)
    gamma = rates(ROWS, 0.4, 0.3, 0.6)
    found = errors(problem, [ROWS], np.ones(3), [gamma, gamma], [0, t0])
    delta = np.ones((RUNS, 3))
    total, late = np.zeros((2, RUNS, 3))
    for t in range(1, ROWS + 1):
        x = drawn_rows(kind, random, RUNS, values)
        residual = np.einsum("ij,ij->i", x, delta) - random.normal(size=RUNS)
        delta = delta - gamma[t] * residual[:, None] * x
        total += delta
        late += delta * (t > t0)
    for exact, one in (
        (found.iterate[0, 0], delta),
        (found.average[0, 0], total / ROWS),
        (found.average[1, 0], late / (ROWS - t0)),
    ):
        each = np.square(one) @ values
        assert abs(each.mean() - exact) < 4 * each.std() / np.sqrt(RUNS)


def drawn(number):
    """Draw a problem whose rows K / (λ0 γ0) are few enough to follow."""
    random = np.random.default_rng([11, number])
    d = int(random.integers(1, 7))
    axes = [np.linalg.qr(random.normal(size=(d, d)))[0] for _ in range(2)]
    A, S = ((q * 10 ** random.uniform(-1.5, 0, d)) @ q.T for q in axes)
    eigenvalues = np.linalg.eigvalsh(A)
    gamma0 = float(random.uniform(0.1, 1.0)) / eigenvalues[-1]
    delta0 = random.normal(size=d) * 10 ** random.uniform(-2, 2)
    return A, S, delta0, gamma0, float(eigenvalues[0]), [1, 3, 10, 31, 100, 316, 1000]


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize("c", [0.4, 2 / 3, 0.75])
def test_exact_errors_stay_below_the_bounds(number, c):
    A, S, delta0, gamma0, lambda0, rows = drawn(number)
    K = lambda0 * gamma0 * np.array(rows)
    exact = linear_errors(rows, A, S, delta0, gamma0, lambda0, c).average
    theorem = averaged_bound(rows, A, S, delta0, gamma0, lambda0, c)
    later = averaged_bound_at(K, A, S, delta0, gamma0, c)
    assert (exact * rows <= theorem.total * (1 + 1e-9)).all()
    np.testing.assert_allclose(later.noise * rows, theorem.asymptotic + theorem.decay)
    assert (later.start * rows >= theorem.start * (1 - 1e-9)).all()
    sgd = linear_errors(rows, A, S, delta0, gamma0, lambda0, 1.0).iterate
    assert (sgd <= iterate_bound_at(K, A, S, delta0, gamma0).total * (1 + 1e-9)).all()


def test_nothing_beats_second_order_sgd_in_the_end():
    A, S, delta0, gamma0, lambda0, _ = drawn(3)
    found = linear_errors([300_000], A, S, delta0, gamma0, lambda0, 2 / 3).average
    assert found[0] == pytest.approx(second_order_error(300_000, A, S), rel=0.05)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gamma0": 1.5}, "gamma0 = 1.5 times lambda1 = 1 is above 1"),
        ({"a": 3.0, "c": 0.9}, r"\(2c - 1\) a must be below lambda0"),
        ({"c": 1.5}, "c must be between 0 and 1"),
        ({"a": -1.0}, "a must be at least zero"),
    ],
)
def test_what_the_theorem_does_not_speak_of_is_refused(change, words):
    rate = {"gamma0": 0.5, "a": 0.1, "c": 0.5} | change
    with pytest.raises(ValueError, match=words):
        averaged_bound([1], np.eye(2), np.eye(2), np.ones(2), **rate)


def test_without_noise_away_from_the_optimum_least_squares_is_the_linear_equation():
    one = Problem.one_feature([1.0])  # every row is the same: nothing mixes, nothing is away
    rate = {"gamma0": 0.5, "a": 0.1, "c": 0.5}
    assert noise_away(one, 1.0, 50, np.ones(1), rate) == 0
    found = errors(one, [50], np.ones(1), [rates(50, **rate)])
    linear = linear_errors([50], np.eye(1), np.eye(1), np.ones(1), **rate)
    assert found.average[0, 0] == pytest.approx(linear.average[0])


def test_the_best_powers_balance_the_slower_terms():
    c = best_power(quadratic=True)
    assert c / 2 == pytest.approx(1 - c)
    c = best_power(quadratic=False)
    assert c - 1 / 2 == pytest.approx(1 - c)


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_a_gradient_is_its_linear_part_and_three_more(loss):
    random, slope = np.random.default_rng(1), LOSSES[loss][1]
    X = random.normal(size=(500, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] + random.logistic(size=500) > 0, 1.0, -1.0)

    def gradients(theta):
        return slope(X @ theta, y)[:, None] * X

    def hessian(theta):
        s = X @ theta
        return (X.T * (slope(s + 1e-5, y) - slope(s - 1e-5, y)) / 2e-5) @ X / 500

    optimum = np.zeros(3)
    for _ in range(10):
        optimum = optimum - np.linalg.solve(hessian(optimum), gradients(optimum).mean(axis=0))
    A, bend = hessian(optimum), []
    for far in (0.1, 0.01):
        delta = far * np.array([1.0, 2.0, -1.0])
        parts = decomposition(optimum + delta, optimum, A, gradients)
        np.testing.assert_allclose(
            A @ delta + parts.xi1 + parts.xi2 + parts.xi3, gradients(optimum + delta)
        )
        np.testing.assert_allclose(parts.xi1.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(parts.xi2.mean(axis=0), 0, atol=1e-12)
        bend.append(np.linalg.norm(parts.xi3))
    if loss == "squared_error":
        assert max(bend) < 1e-9
    else:  # of the order of the squared distance
        assert 80 < bend[0] / bend[1] < 120

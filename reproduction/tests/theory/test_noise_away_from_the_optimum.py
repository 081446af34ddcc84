"""`LemmaRegression` against least squares whose moments are followed exactly."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.experiments.theory.one_feature_rows import (
    OneFeatureRows,
    average_errors,
)
from reproduction.theory import (
    averaged_bound,
    best_power,
    c0,
    c1,
    combined_bound,
    non_quadratic_bound,
    regression_bound,
    regression_bound_at,
)
from reproduction.theory.constants import rate_sum, rates


def drawn(number):
    random = np.random.default_rng([17, number])
    d = int(random.integers(2, 6))
    problem = OneFeatureRows(
        random.dirichlet(np.ones(d)) * 0.9 + 0.1 / d,
        float(10 ** random.uniform(-1, 1)),
        float(10 ** random.uniform(-2, 1)),
    )
    lambda0 = float(problem.eigenvalues.min())
    c = float(random.uniform(0.05, 0.95))
    a = float(random.uniform(0.0, 0.9)) * lambda0 / max(2 * c - 1, 0.5)
    rate = {"gamma0": float(random.uniform(0.3, 1.0)) / problem.M, "a": a, "c": c}
    return problem, random.normal(size=d) * 3, lambda0, rate


@pytest.mark.parametrize("number", range(30))
def test_the_noise_away_from_the_optimum_stays_below_the_lemma(number):
    problem, delta0, lambda0, rate = drawn(number)
    start = float(np.square(delta0) @ problem.eigenvalues)
    for t in (1, 5, 40, 600):
        c2, c3 = problem.distance_constants(t, delta0, rate)
        given = {"lambda0": lambda0, **rate, "c2": c2, "c3": c3, "delta0": start}
        found = problem.away_noise(t, delta0, rate)
        assert 0 < found <= regression_bound(t, **given, c1=problem.c1)
        # LemmaC1's constant is larger by one, and so is its bound.
        assert found <= regression_bound(t, **given, c1=c1(problem.M, lambda0))
    assert c1(problem.M, lambda0) == pytest.approx(problem.c1 + 1)


def test_moments_of_rows_with_one_feature_are_those_of_simulation():
    problem = OneFeatureRows(np.array([0.6, 0.4]), 2.0, 0.5)
    delta0, rate, runs, rows = np.array([1.0, -2.0]), (0.4, 0.5, 0.7), 20_000, [1, 10, 40]
    random = np.random.default_rng(5)
    delta, total, found = np.tile(delta0, (runs, 1)), np.zeros((runs, 2)), []
    for t, gamma in enumerate(rates(rows[-1], *rate)[1:], 1):
        x = np.sqrt(2.0) * np.eye(2)[(random.random(runs) > 0.6).astype(int)]
        noise = np.sqrt(0.5) * random.standard_normal(runs)
        delta = delta - gamma * x * (np.einsum("ij,ij->i", x, delta) - noise)[:, None]
        total += delta
        if t in rows:
            each = np.square(total) @ problem.eigenvalues / t
            found.append((each.mean(), each.std() / np.sqrt(runs)))
    means, errors = np.array(found).T
    exact = average_errors(problem, rows, delta0, *rate[:2], np.array([rate[2]]))[0]
    assert (np.abs(means - exact) <= 5 * errors).all()
    start, noise = problem.squares(40, delta0, dict(zip(("gamma0", "a", "c"), rate, strict=True)))
    spread = 5 * np.square(delta).std(axis=0) / np.sqrt(runs)
    assert (np.abs(np.square(delta).mean(axis=0) - start[-1] - noise[-1]) <= spread).all()


@pytest.mark.parametrize("number", range(12))
def test_the_average_of_least_squares_stays_below_the_combined_bound(number):
    problem, delta0, lambda0, rate = drawn(number)
    A, rows = np.diag(problem.eigenvalues), [1, 10, 100, 1000]
    power = np.array([rate["c"]])
    exact = average_errors(problem, rows, delta0, rate["gamma0"], rate["a"], power)[0]
    start = float(np.square(delta0) @ problem.eigenvalues)
    for t, error in zip(rows, exact, strict=True):
        c2, c3 = problem.distance_constants(t, delta0, rate)
        linear = averaged_bound(t, A, problem.variance * A, delta0, **rate)
        given = {"c1": problem.c1, "c2": c2, "c3": c3, "delta0": start}
        assert error <= combined_bound(
            linear, regression_bound(t, lambda0=lambda0, **rate, **given)
        )


def test_the_regression_bound_is_as_printed():
    rate = {"lambda0": 0.1, "gamma0": 0.5, "a": 0.05, "c": 0.7}
    constant = c0(**rate)
    t, delta0 = 300.0, 2.0
    found = regression_bound(t, **rate, c1=3.0, c2=0.5, c3=0.2, delta0=delta0)
    inner = 1.5 / t * delta0 + 0.2 * 0.5 / 0.3 * (1 + 0.05 * 0.5 * t) ** -0.7
    assert found == pytest.approx((1 + constant) ** 2 * 3.0 * inner)
    assert rate_sum(t, 0.5, 0.05, 0.7) <= t * 0.5


@pytest.mark.parametrize("number", range(6))
def test_the_regression_bound_at_k_rows_is_that_with_the_longest_rows_that_do_not_diverge(number):
    problem, delta0, lambda0, rate = drawn(number)
    rate = rate | {"a": lambda0}
    start = float(np.square(delta0) @ problem.eigenvalues)
    for t in (3, 300):
        c2, c3 = problem.distance_constants(t, delta0, rate)
        given = {"lambda0": lambda0, "c2": c2, "c3": c3, "delta0": start}
        K = lambda0 * rate["gamma0"] * t
        found = regression_bound_at(K, gamma0=rate["gamma0"], c=rate["c"], **given)
        longest = c1(2 / rate["gamma0"], lambda0)
        assert found * t == pytest.approx(regression_bound(t, **rate, **given, c1=longest))
        assert problem.away_noise(t, delta0, rate) <= found * t


@pytest.mark.parametrize("quadratic", [True, False])
def test_the_combined_bounds_fall_fastest_with_the_powers_of_the_paper(quadratic):
    A, delta0, t = np.diag([1.0, 0.1]), np.ones(2), np.array([1e40, 1e44])
    away = {"c1": 10.0, "c2": 1.0, "c3": 1.0, "delta0": 1.1}
    bend = {"c2": 1.0, "c3": 1.0, "c4": 1.0, "c5": 1.0, "c6": 1.0, "delta0": 1.1}
    powers, fall = np.linspace(0.55, 0.95, 81), []
    for c in powers:
        rate = {"gamma0": 1.0, "a": 0.1, "c": float(c)}
        linear = averaged_bound(t, A, A, delta0, **rate)
        more = [regression_bound(t, lambda0=0.1, **rate, **away)]
        if not quadratic:
            more.append(non_quadratic_bound(t, lambda0=0.1, **rate, **bend))
        # What is beyond tr(A⁻¹S), without the digits that subtracting it would lose.
        parts = np.sqrt([linear.asymptotic + linear.decay, linear.start, *more])
        others = parts[1:].sum(axis=0)
        excess = linear.decay + others * (2 * parts[0] + others)
        np.testing.assert_allclose(linear.asymptotic + excess, combined_bound(linear, *more))
        fall.append(np.log(excess[0] / excess[1]) / np.log(t[1] / t[0]))
    best = powers[int(np.argmax(fall))]
    assert best == pytest.approx(best_power(quadratic=quadratic), abs=0.01)
    other = powers / 2 if quadratic else powers - 0.5
    np.testing.assert_allclose(fall, np.minimum(other, 1 - powers), atol=0.02)

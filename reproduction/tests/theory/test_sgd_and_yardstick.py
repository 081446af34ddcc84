"""SGD's own bound, the average's at K / (λ0 γ0) rows, and the yardstick of second-order SGD."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.theory import (
    asymptotic_variance,
    averaged_bound,
    averaged_bound_at,
    iterate_bound_at,
    linear_errors,
    second_order_error,
)


def drawn(number):
    """Draw a problem whose rows K / (λ0 γ0) are few enough to follow."""
    random = np.random.default_rng([11, number])
    d = int(random.integers(1, 7))
    axes = [np.linalg.qr(random.normal(size=(d, d)))[0] for _ in range(2)]
    A, S = ((q * 10 ** random.uniform(-1.5, 0, d)) @ q.T for q in axes)
    eigenvalues = np.linalg.eigvalsh(A)
    gamma0 = float(random.uniform(0.1, 1.0)) / eigenvalues[-1]
    delta0 = random.normal(size=d) * 10 ** random.uniform(-2, 2)
    rows = sorted({round(10**power) for power in np.arange(0, 3.6, 0.2)})
    return A, S, delta0, gamma0, float(eigenvalues[0]), rows


@pytest.mark.parametrize("number", range(30))
def test_the_iterate_stays_below_its_bound(number):
    A, S, delta0, gamma0, lambda0, rows = drawn(number)
    exact = linear_errors(rows, A, S, delta0, gamma0, lambda0, 1.0).iterate
    bound = iterate_bound_at(lambda0 * gamma0 * np.array(rows), A, S, delta0, gamma0)
    assert (exact <= bound.total * (1 + 1e-9)).all()


def test_the_iterates_bound_is_reached():
    # In one direction the start shrinks by exactly 1 / (1 + K), and by no more.
    K = 0.5 * np.array([1, 10, 100])
    exact = linear_errors([1, 10, 100], np.eye(1), np.zeros((1, 1)), [3.0], 0.5, 1.0, 1.0).iterate
    np.testing.assert_allclose(
        iterate_bound_at(K, np.eye(1), np.zeros((1, 1)), [3.0], 0.5).total, exact
    )
    # And the noise of many equal directions comes within a factor of (1 + 1/K) of its part.
    exact = linear_errors([1000], np.eye(3), np.eye(3), np.zeros(3), 0.5, 1.0, 1.0).iterate
    bound = iterate_bound_at([500.0], np.eye(3), np.eye(3), np.zeros(3), 0.5)
    assert bound.noise[0] == pytest.approx(exact[0] * (1 + 1 / 500))


@pytest.mark.parametrize("number", range(30))
@pytest.mark.parametrize("c", [0.4, 2 / 3, 0.75])
def test_the_average_stays_below_its_bound_at_k_over_lambda_gamma(number, c):
    A, S, delta0, gamma0, lambda0, rows = drawn(number)
    K = lambda0 * gamma0 * np.array(rows)
    bound = averaged_bound_at(K, A, S, delta0, gamma0, c)
    theorem = averaged_bound(rows, A, S, delta0, gamma0, lambda0, c)
    np.testing.assert_allclose(bound.noise * rows, theorem.asymptotic + theorem.decay)
    assert (bound.start * rows >= theorem.start * (1 - 1e-9)).all()
    exact = linear_errors(rows, A, S, delta0, gamma0, lambda0, c).average
    assert (exact <= bound.total).all()


def test_the_terms_are_those_of_the_paper():
    A, S, delta0 = np.diag([0.5, 0.25]), np.diag([1.0, 2.0]), np.array([1.0, -1.0])
    constant = 0.25 * 0.75 * (1 + 0.25 * 0.75) / (0.25 - 0.5 * 0.25)
    found = averaged_bound_at(4.0, A, S, delta0, gamma0=1.0, c=0.75)
    assert found.start == pytest.approx((1 + constant) ** 2 / 16 * 0.75)
    decay = (2 * constant + constant**2) * 5**-0.25 / 0.75
    assert found.noise == pytest.approx(0.25 / 4 * (1 + decay) * 10)
    found = iterate_bound_at(4.0, A, S, delta0, gamma0=1.0)
    assert found.start == pytest.approx(0.75 / 25)
    assert found.noise == pytest.approx(3 / 5)


def test_what_the_paper_does_not_speak_of_is_refused():
    with pytest.raises(ValueError, match="times lambda1 = 1 is above 1"):
        iterate_bound_at(1.0, np.eye(2), np.eye(2), np.ones(2), gamma0=2.0)
    with pytest.raises(ValueError, match=r"\(2c - 1\) a must be below lambda0"):
        averaged_bound_at(1.0, np.eye(2), np.eye(2), np.ones(2), gamma0=0.5, c=1.0)
    with pytest.raises(ValueError, match="needs delta0"):
        second_order_error(1.0, np.eye(2), np.eye(2), prior_rows=1)


@pytest.mark.parametrize("prior_rows", [0.0, 5.0])
def test_second_order_sgd_is_simulated_to_have_its_error(prior_rows):
    random = np.random.default_rng(3)
    A, S, delta0, *_ = drawn(4)
    runs, rows = 4000, [1, 3, 30]
    delta, step = np.tile(delta0, (runs, 1)), np.linalg.inv(A)
    found = []
    for t in range(1, rows[-1] + 1):
        noise = random.multivariate_normal(np.zeros(len(A)), S, runs)
        delta = delta - (delta @ A + noise) @ step / (t + prior_rows)
        if t in rows:
            each = np.einsum("ij,ij->i", delta @ A, delta)
            found.append((each.mean(), each.std() / np.sqrt(runs)))
    means, errors = np.array(found).T
    exact = second_order_error(rows, A, S, delta0, prior_rows)
    assert (np.abs(means - exact) <= 5 * errors).all()


@pytest.mark.parametrize("number", range(12))
def test_the_yardstick_is_not_beaten_in_the_end(number):
    A, S, _, gamma0, lambda0, rows = drawn(number)
    best = second_order_error(rows[-1], A, S)
    assert best * rows[-1] == pytest.approx(asymptotic_variance(A, S))
    for c in (0.5, 2 / 3, 1.0):
        # From far away, so that an estimate that has not moved yet is no good.
        start = np.full(len(A), 1e3)
        found = linear_errors(rows[-1:], A, S, start, gamma0, lambda0, c)
        assert min(found.average[0], found.iterate[0]) >= 0.9 * best

"""The appendix's lemmas on learning rates, both sides of them computed."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.theory import c0, gamma_lemma, lemma1
from reproduction.theory.constants import rate_sum, rates


def drawn(number):
    random = np.random.default_rng([13, number])
    d = int(random.integers(1, 6))
    values = 10 ** random.uniform(-3, 0.5, d)
    c = float(random.uniform(0.01, 0.99))
    most = values.min() / max(2 * c - 1, 1e-9)
    a = float(random.uniform(0.01, 0.99)) * min(most, 20 * values.min())
    return values, {"gamma0": float(random.uniform(0.05, 1.0)) / values.max(), "a": a, "c": c}


@pytest.mark.parametrize("number", range(60))
def test_one_over_gamma_grows_no_faster_than_the_lemma_says(number):
    values, rate = drawn(number)
    k = np.unique(np.geomspace(1, 1e6, 200).round())
    left, right = gamma_lemma(k, float(values.min()), **rate)
    assert (left <= right * (1 + 1e-12)).all()


def test_the_sides_are_those_of_the_lemma():
    lambda0, rate = 0.3, {"gamma0": 0.8, "a": 0.25, "c": 0.9}
    inverse = 1 / rates(6, **rate)
    kappa = 1 - 0.8 * 0.25 / 0.3
    left, right = gamma_lemma(np.arange(1, 6), lambda0, **rate)
    grown = np.diff(inverse) * inverse[1:]
    np.testing.assert_allclose(left, grown[1:])
    shrink = (1 - lambda0 / inverse[1:-1]) ** (kappa - 1)
    np.testing.assert_allclose(right, grown[:-1] * shrink)


def test_without_its_last_factor_the_lemma_would_be_wrong_above_one_half():
    k = np.arange(1, 50)
    left, right = gamma_lemma(k, 0.1, gamma0=1.0, a=0.1, c=0.75)
    factor = (1 - 0.1 * rates(49, 1.0, 0.1, 0.75)[1:]) ** -0.5
    assert (left > right / factor).any()


@pytest.mark.parametrize("number", range(40))
def test_the_weights_of_the_noise_are_between_their_bounds(number):
    values, rate = drawn(number)
    found = lemma1(400, values, **rate)
    rounding = 1e-9 / values
    assert (found.lower <= found.exact + rounding).all()
    assert (found.exact <= found.upper + rounding).all()
    limit = (1 + c0(float(values.min()), **rate)) / values
    assert (found.upper <= limit + rounding).all()


def test_the_weights_are_those_of_the_average():
    values, rate = np.array([0.7, 0.1]), {"gamma0": 1.2, "a": 0.1, "c": 0.7}
    random = np.random.default_rng(0)
    start, noise = random.normal(size=2), random.normal(size=(31, 2))
    delta, total = start, np.zeros(2)
    for gamma, xi in zip(rates(30, **rate)[1:], noise[1:], strict=True):
        delta = delta - gamma * (values * delta + xi)
        total = total + delta
    found = lemma1(30, values, **rate).exact
    away = (found[0] / rate["gamma0"] - 1) * start
    np.testing.assert_allclose(away - (found[1:] * noise[1:]).sum(axis=0), total)


def test_the_sum_of_the_rates_is_bounded_from_above():
    for rate in ((0.5, 0.05, 0.7), (1.0, 2.0, 1.0), (0.3, 0.0, 0.5)):
        exact = rates(300, *rate)[1:].sum()
        above = float(rate_sum(300, *rate))
        assert exact * (1 - 1e-12) <= above <= exact + rate[0]

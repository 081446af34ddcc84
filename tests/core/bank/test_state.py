"""Resumed is uninterrupted, to the last bit."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import RATE, distance, make_bank, problem, same_bits, stored
from scipy.signal import lfilter

from polyak.learn.averaging import Averaging
from polyak.learn.bank import Bank
from polyak.learn.schedules import Polynomial
from polyak.losses import get_loss

SETTINGS = [
    {"averaging": Averaging(), "precondition": 0.25, "step": "implicit"},
    {"averaging": Averaging(30, 3.0), "dtype": np.float32, "replicas": [-1, 0, 1]},
    {"averaging": Averaging("auto", 3.0), "precondition": 1.0, "dtype": np.float32},
]


def fresh(options, **more) -> Bank:
    return make_bank("log_loss", alpha=[1e-3, 1e-2, 0.1], **options, **more)


def by_state(bank: Bank, options: dict) -> Bank:
    other = fresh(options)
    other.set_state(bank.state())
    return other


def by_pickle(bank: Bank, options: dict) -> Bank:
    return pickle.loads(pickle.dumps(bank))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 399),
    st.sampled_from(SETTINGS),
    st.sampled_from([by_state, by_pickle]),
    st.sampled_from(["sparse", "dense"]),
)
def test_going_on_gives_the_bits_of_never_stopping(stop, options, carry, storage):
    X, y = problem("log_loss", 400, 9)
    X = stored(X, storage)
    whole, begun = fresh(options), fresh(options)
    whole.learn(X, y)
    begun.learn(X[:stop], y[:stop])
    resumed = carry(begun, options)
    assert same_bits(begun, resumed)
    resumed.learn(X[stop:], y[stop:])
    assert same_bits(whole, resumed)


def test_a_state_is_a_copy():
    X, y = problem("log_loss", 400, 9)
    bank = fresh(SETTINGS[0])
    bank.learn(X[:200], y[:200])
    state = bank.state()
    kept = pickle.dumps(state)
    bank.learn(X[200:], y[200:])
    assert pickle.dumps(state) == kept


@pytest.mark.parametrize("options", SETTINGS)
@pytest.mark.parametrize("models", [[1], [2, 0], [-1], [True, False, True]])
def test_selected_models_go_on_as_they_would_have(options, models):
    X, y = problem("log_loss", 400, 9)
    bank = fresh(options)
    bank.learn(X[:200], y[:200])
    chosen = bank.select(models)
    assert np.array_equal(chosen.coef, bank.coef[models])
    assert np.array_equal(chosen.alpha, bank.alpha[models])
    bank.learn(X[200:], y[200:])
    chosen.learn(X[200:], y[200:])
    rounding = 1e-5 if bank.dtype == np.float32 else 1e-12
    assert distance(chosen.coef, bank.coef[models]) < rounding
    assert np.array_equal(chosen.field("weight"), bank.field("weight")[models])


def test_a_state_of_another_shape_is_refused():
    X, y = problem("log_loss", 400, 9)
    bank = fresh(SETTINGS[0])
    bank.learn(X, y)
    before = bank.state()
    for other in (make_bank("log_loss"), fresh(SETTINGS[0], n_features=5), fresh(SETTINGS[1])):
        kept = other.state()
        with pytest.raises(ValueError, match="state"):
            other.set_state(before)
        assert pickle.dumps(other.state()) == pickle.dumps(kept)


def test_the_clock_counts_beyond_thirty_two_bits(kernels):
    """Set far ahead, the clock goes on row by row, and the learning rate with it."""
    X, y = problem("squared_error", 50, 4)
    bank = make_bank("squared_error", fit_intercept=False, averaging=Averaging(None), n_features=4)
    ahead = {**bank.state(), "clock": 2**40}
    bank.set_state(ahead)
    bank.learn(X, y)
    theta, slope = np.zeros(4), get_loss("squared_error").slope
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=2**40 + 1):
        gamma = RATE(t)
        theta = (1 - 1e-2 * gamma) * theta - gamma * slope(theta @ x, target) * x
    assert bank.clock == 2**40 + 50
    assert distance(bank.last_coef[0], theta) < 1e-12


def test_a_cubic_average_does_not_outgrow_its_numbers(kernels):
    """Counts of m^3 pass 2^64 within a hundred thousand rows; the sums are rescaled on the way."""
    n = 300_000
    rng = np.random.default_rng(0)
    y = rng.normal(size=n)
    bank = make_bank(
        "squared_error",
        alpha=0.0,
        schedule=Polynomial(1e-3, 0.0, 0.0),
        averaging=Averaging(0, 3.0),
        fit_intercept=False,
        dtype=np.float32,
    )
    bank.learn(np.ones((n, 1), np.float32), y)
    iterates = lfilter([1e-3], [1.0, -(1 - 1e-3)], y)
    want = np.average(iterates, weights=np.arange(1.0, n + 1) ** 3)
    assert bank.coef[0, 0] == pytest.approx(want, rel=1e-3)
    assert bank.field("unit")[0] == 2.0**-64

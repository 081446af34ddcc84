"""The core against the dense NumPy version, over everything a user can choose."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
import reference_sgd as reference
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from problems import LOSSES, RATE, distance, make_bank, problem, stored
from scipy.optimize import brentq

from polyak.learn.averaging import Averaging
from polyak.losses import LogLoss, Loss, get_loss

N_ROWS, N_FEATURES = 5000, 37
TOLERANCE = {np.float64: 1e-10, np.float32: 1e-5}


class QuickLogLoss(LogLoss):
    """The bisection of `polyak.losses` takes too long for a hundred thousand rows."""

    def implicit_slope(self, score, target, q):
        start = float(target * score)

        def too_far(m: float) -> float:
            return m - start - q / (1.0 + math.exp(m))

        m = brentq(too_far, start, start + q, xtol=1e-15, rtol=1e-15)
        return -target / (1.0 + math.exp(m))


def reference_loss(name: str) -> Loss:
    return QuickLogLoss() if name == "log_loss" else get_loss(name)


@functools.cache
def expected(loss: str, implicit: bool, p: float, averaging: Averaging) -> reference.Result:
    X, y = problem(loss, N_ROWS, N_FEATURES)
    return reference.learn(
        X, y, reference_loss(loss), 1e-2, RATE, averaging, implicit=implicit, precondition=p
    )


@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    start=st.sampled_from(["auto", 0]),
    power=st.sampled_from([0.0, 3.0]),
    p=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    step=st.sampled_from(["explicit", "implicit"]),
)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_choice_agrees_with_the_reference(loss, step, p, power, start, kernels):
    averaging = Averaging(start, power)
    want = expected(loss, step == "implicit", p, averaging)
    X, y = problem(loss, N_ROWS, N_FEATURES)
    for dtype, tolerance in TOLERANCE.items():
        for storage in ("sparse", "dense"):
            bank = make_bank(loss, step=step, precondition=p, averaging=averaging, dtype=dtype)
            bank.learn(stored(X.astype(dtype), storage), y)
            mean = np.append(bank.coef, bank.intercept)
            last = np.append(bank.last_coef, bank.last_intercept)
            assert bank.coef.dtype == dtype
            assert bank.field("start")[0] == want.start
            assert distance(mean, np.append(want.coef, want.intercept)) <= tolerance
            assert distance(last, np.append(want.last_coef, want.last_intercept)) <= 2 * tolerance
            progressive = bank.field("loss")[0]
            assert progressive == pytest.approx(want.progressive_loss, rel=tolerance)


@functools.cache
def expected_of_weighted(loss, fit_intercept):
    X, y = problem(loss, 2000, 9)
    weights = np.random.default_rng(1).choice([0.0, 0.3, 1.0, 2.5], size=2000)
    return weights, reference.learn(
        X, y, get_loss(loss), 1e-2, RATE, Averaging(), weights=weights, fit_intercept=fit_intercept
    )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weighted_rows_agree_with_the_reference(loss, fit_intercept, kernels):
    X, y = problem(loss, 2000, 9)
    weights, want = expected_of_weighted(loss, fit_intercept)
    bank = make_bank(loss, fit_intercept=fit_intercept)
    bank.learn(X, y, weights)
    assert bank.clock == np.count_nonzero(weights)
    assert distance(bank.coef[0], want.coef) <= 1e-10
    assert bank.intercept[0] == pytest.approx(want.intercept, rel=1e-10, abs=1e-15)
    assert bank.field("loss")[0] == pytest.approx(want.progressive_loss, rel=1e-10)


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_any_power_of_the_average_agrees_with_the_reference(power, kernels):
    X, y = problem("log_loss", 2000, 9)
    want = reference.learn(X, y, get_loss("log_loss"), 1e-2, RATE, Averaging(50, power))
    bank = make_bank("log_loss", averaging=Averaging(50, power))
    bank.learn(X, y)
    assert distance(bank.coef[0], want.coef) <= 1e-10


def test_types_of_rows_and_weights_mix(kernels):
    """Float64 rows into float32 weights and the other way round."""
    X, y = problem("log_loss", 1000, 20)
    want = make_bank("log_loss")
    want.learn(X, y)
    for values, weights, tolerance in [
        (np.float32, np.float64, 1e-14),
        (np.float64, np.float32, 1e-5),
    ]:
        bank = make_bank("log_loss", dtype=weights)
        bank.learn(X.astype(values), y)
        assert distance(bank.coef, want.coef) <= tolerance

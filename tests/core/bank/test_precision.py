"""Long streams with a strong penalty: the scale falls a thousand times below one half."""

from __future__ import annotations

import numpy as np
import pytest
from problems import distance, make_bank

from polyak.learn.averaging import Averaging
from polyak.learn.schedules import Polynomial

ALPHA = 1e-2
RATE = Polynomial(gamma0=0.2, a=ALPHA, c=0.75)


def stream(n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 2)).astype(np.float32).astype(np.float64)
    y = np.where(X @ [1.0, -0.5] + rng.normal(size=n_rows) > 0, 1.0, -1.0)
    return X, y


def rates(n_rows):
    return RATE.gamma0 * (1 + RATE.a * RATE.gamma0 * np.arange(1.0, n_rows + 1)) ** -RATE.c


def naive(X, y):
    """The squared hinge on plain floats: two weights, their two sums, nothing clever."""
    a = b = sum_a = sum_b = 0.0
    for x0, x1, target, gamma in zip(
        *X.T.tolist(), y.tolist(), rates(len(y)).tolist(), strict=True
    ):
        left = 1.0 - target * (a * x0 + b * x1)
        push = gamma * target * left if left > 0.0 else 0.0
        shrink = 1.0 - ALPHA * gamma
        a = shrink * a + push * x0
        b = shrink * b + push * x1
        sum_a += a
        sum_b += b
    return np.array([sum_a, sum_b]) / len(y), np.array([a, b])


def learned(X, y, dtype=np.float64):
    bank = make_bank(
        alpha=ALPHA,
        schedule=RATE,
        averaging=Averaging(0),
        fit_intercept=False,
        capped=False,
        dtype=dtype,
    )
    bank.learn(X.astype(dtype), y)
    return bank


def check(n_rows, double, single):
    X, y = stream(n_rows)
    mean, last = naive(X, y)
    bank = learned(X, y)
    assert distance(bank.coef[0], mean) < double
    assert distance(bank.last_coef[0], last) < double
    bank = learned(X, y, np.float32)
    assert distance(bank.coef[0], mean) < single
    assert distance(bank.last_coef[0], last) < single


def test_two_hundred_thousand_rows_lose_no_precision(kernels):
    check(200_000, double=1e-12, single=1e-4)


@pytest.mark.slow
def test_ten_million_rows_lose_no_precision():
    check(10_000_000, double=1e-11, single=1e-3)


def literal_folding(X, y):
    """Single precision by the letter: "v halves, s and tau double", and u is left as it is."""
    v, u = np.zeros((2, 2), np.float32)
    s, tau, folds = 1.0, 0.0, 0
    for x, target, gamma in zip(X.astype(np.float32), y, rates(len(y)), strict=True):
        left = max(0.0, 1.0 - target * s * float(v @ x))
        s *= 1.0 - ALPHA * gamma
        delta = gamma * target * left / s
        v += np.float32(delta) * x
        u += np.float32(-tau * delta) * x
        tau += s
        if s < 0.5:
            v *= np.float32(0.5)
            s, tau, folds = 2 * s, 2 * tau, folds + 1
    return (tau * v + u) / len(y), folds


def test_folding_must_move_what_tau_carries():
    """Halving v and doubling tau leaves tau * v and u as they were, both large and of unlike sign.

    The two cancel, and the more rows the worse: they grow like one over the true scale, folded or
    not. Moving tau * v into u is what keeps the sum the size of its parts.
    """
    X, y = stream(100_000)
    mean, _ = naive(X, y)
    literal, folds = literal_folding(X, y)
    ours = learned(X, y, np.float32)
    assert folds > 10
    assert distance(ours.coef[0], mean) < 2e-5
    assert distance(literal, mean) > 100 * distance(ours.coef[0], mean)

"""Proximal steps against their formulas in plain NumPy, and against the batch optimum."""

from __future__ import annotations

import numpy as np
import pytest
from problems import distance, problem, stored
from sklearn.linear_model import ElasticNet

from polyak.learn.averaging import Averaging
from polyak.learn.bank import Bank
from polyak.learn.bank.merging import merge_banks
from polyak.learn.schedules import Polynomial
from polyak.losses import get_loss

ETA, HOLD, ALPHA = 0.3, 0.2, 0.02
LOSSES = ["log_loss", "squared_hinge", "squared_error", "huber(0.7)", "poisson"]


def in_numpy(X, y, loss, ratio, *, positive=False, weights=None):
    """Minimise what is known of all rows so far anew for every row, as ``proximal.hpp`` says it."""
    z, squares, size = np.zeros((3, X.shape[1]))
    bias, bias_squares, t, lost = 0.0, 0.0, 0.0, 0.0

    def held():
        return np.sqrt(size) * (HOLD * np.sqrt(size) + np.sqrt(squares)) / ETA

    def minimum():
        h = held()
        w = -np.sign(z) * np.maximum(np.abs(z) - ALPHA * ratio * t, 0.0)
        w = np.divide(w, h + ALPHA * (1 - ratio) * t, out=np.zeros_like(w), where=h > 0)
        return np.maximum(w, 0.0) if positive else w

    for x, target, weight in zip(
        X, y, np.ones(len(y)) if weights is None else weights, strict=True
    ):
        if weight == 0:
            continue
        w, before = minimum(), held()
        score = x @ w + bias
        lost += weight * float(loss.value(score, target))
        g = weight * float(loss.slope(score, target))
        size, squares = np.maximum(size, np.abs(x)), squares + (g * x) ** 2
        z += g * x - (held() - before) * w
        bias_squares += g * g
        bias -= ETA * g / (HOLD + np.sqrt(bias_squares))
        t += weight
    return minimum(), bias, lost


def proximal_bank(loss, ratio, *, positive=False, dtype=np.float64, models=1):
    return Bank(
        loss=loss,
        alpha=np.full(models, ALPHA),
        schedule=[Polynomial(ETA, HOLD, 0.5)] * models,
        averaging=Averaging(None),
        step="proximal",
        precondition=0.5,
        dtype=dtype,
        l1_ratio=ratio,
        positive=positive,
    )


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_choice_agrees_with_the_formulas(loss, ratio, positive, kernels):
    X, y = problem(loss, 1500, 23)
    weights = np.random.default_rng(0).integers(0, 3, 1500).astype(float)
    coef, bias, lost = in_numpy(X, y, get_loss(loss), ratio, positive=positive, weights=weights)
    for storage in ("sparse", "dense"):
        for models in (1, 5):
            bank = proximal_bank(loss, ratio, positive=positive, models=models)
            bank.learn(stored(X, storage), y, weights)
            for k in range(models):
                assert distance(bank.coef[k], coef) < 1e-10
                np.testing.assert_array_equal(bank.coef[k] == 0, coef == 0)
                assert bank.intercept[k] == pytest.approx(bias, rel=1e-10)
            assert bank.field("loss")[0] == pytest.approx(lost, rel=1e-10)
    if ratio == 1.0 or positive:
        assert (coef == 0).any()
    assert (coef != 0).any()


def test_half_the_precision_gives_nearly_the_same(kernels):
    X, y = problem("log_loss", 1500, 23)
    coef, _, _ = in_numpy(X, y, get_loss("log_loss"), 1.0)
    bank = proximal_bank("log_loss", 1.0, dtype=np.float32)
    bank.learn(X.astype(np.float32), y)
    assert distance(bank.coef[0], coef) < 1e-4


def sparse_problem(rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 12)) * rng.uniform(0.3, 2.0, 12)
    truth = np.where(np.arange(12) % 3 == 0, 1.0, 0.0)
    return X, X @ truth + 0.5 + 0.2 * rng.normal(size=rows)


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_the_penalty_of_each_row_is_that_of_the_mean_loss(ratio):
    X, y = sparse_problem(20_000)
    batch = ElasticNet(alpha=ALPHA, l1_ratio=ratio, tol=1e-10).fit(X, y)
    bank = proximal_bank("squared_error", ratio)
    for _ in range(5):
        bank.learn(X, y)

    def objective(w, b):
        penalty = ratio * np.abs(w).sum() + 0.5 * (1 - ratio) * w @ w
        return 0.5 * np.square(X @ w + b - y).mean() + ALPHA * penalty

    ours = objective(bank.coef[0], bank.intercept[0])
    assert ours < 1.002 * objective(batch.coef_, batch.intercept_)
    np.testing.assert_array_equal(bank.coef[0] == 0, batch.coef_ == 0)
    assert (batch.coef_ == 0).sum() == 8


def test_batches_and_a_stop_leave_no_trace():
    X, y = problem("log_loss", 1000, 23)
    whole = proximal_bank("log_loss", 1.0, models=3)
    whole.learn(X, y)
    parts = proximal_bank("log_loss", 1.0, models=3)
    for some in np.split(np.arange(1000), [1, 300, 301, 800]):
        parts.learn(X[some], y[some])
        other = proximal_bank("log_loss", 1.0, models=3)
        other.set_state(parts.state())
        parts = other
    np.testing.assert_array_equal(parts.coef, whole.coef)
    np.testing.assert_array_equal(parts.intercept, whole.intercept)


def test_what_parts_know_adds_up():
    X, y = sparse_problem(30_000)
    base, whole = proximal_bank("squared_error", 1.0), proximal_bank("squared_error", 1.0)
    whole.learn(X, y)
    base.learn(X[:2000], y[:2000])
    parts = []
    for some in np.array_split(np.arange(2000, 30_000), 4):
        part = proximal_bank("squared_error", 1.0)
        part.set_state(base.state())
        part.learn(X[some], y[some])
        parts.append(part)
    merge_banks(parts[0], parts[1:], base)
    assert parts[0].clock == whole.clock
    assert parts[0].field("total")[0] == whole.field("total")[0]
    np.testing.assert_array_equal(parts[0].coef == 0, whole.coef == 0)
    lost = [
        0.5 * np.square(X @ one.coef[0] + one.intercept[0] - y).mean()
        + ALPHA * np.abs(one.coef).sum()
        for one in (parts[0], whole)
    ]
    assert lost[0] < 1.02 * lost[1]

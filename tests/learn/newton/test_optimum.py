"""One pass of the lane against the batch optimum."""

from __future__ import annotations

import numpy as np
import pytest
from simulated import batch_optimum, correlated, labels, mean_loss, problem, ridge_of, solver_of

from polyak.learn.bank.settings import SUMS
from polyak.losses import get_loss
from polyak.rows.sparse import as_rows

CURVED = ("log_loss", "squared_hinge")


def learned(loss, X, y, weights=None, **settings):
    """Learn all rows; the sums are those of the later half, as the race compares them."""
    lane = solver_of(loss, as_rows(X)[:1000], **settings)
    lane.learn(X, y, weights, stops=[len(y) // 2])
    return lane


def best(lane):
    """Return the model of the lowest progressive loss on the later half."""
    sums = lane.sums()
    place = int(np.argmin(sums[1] / sums[0]))
    coef, intercept = lane.weights()
    return coef[place], intercept[place]


@pytest.mark.parametrize("n", [30, 64, 1000, 4096, 10_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_squared_error_is_ridge_exactly(n, weighted):
    X = correlated(n, 6) * [1.0, 2.0, 1e3, 1e-3, 1.0, 1.0] + [0.0, 5.0, -1e4, 0.0, 1.0, 3.0]
    y = X @ [1.0, 1.0, 1e-3, 1e3, 0.0, 2.0] + np.random.default_rng(1).normal(size=n)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, n) if weighted else None
    lane = learned("squared_error", X, y, weights, penalties=(0.1, 50.0))
    coef, intercept = lane.weights()
    Z = (X - lane._learned.standard.centre) / lane._learned.standard.spread
    assert ridge_of(lane)[0] == 0
    np.testing.assert_allclose(ridge_of(lane)[1:], 1.0, atol=0.1)
    for t, tau in enumerate((0.1, 50.0)):
        A = np.column_stack([np.ones(n), Z])
        counts = np.ones(n) if weights is None else weights
        R = tau * np.diag(ridge_of(lane))
        w = np.linalg.solve((A * counts[:, None]).T @ A + R, A.T @ (counts * y))
        np.testing.assert_allclose(coef[t], w[1:] / lane._learned.standard.spread, rtol=1e-8)
        expected = w[0] - w[1:] @ (lane._learned.standard.centre / lane._learned.standard.spread)
        np.testing.assert_allclose(intercept[t], expected, rtol=1e-8)


def test_several_outputs_are_as_many_regressions():
    X, y = problem("squared_error")
    targets = np.column_stack([y, -3 * y, X[:, 0]])
    together, _ = learned("squared_error", X, targets, outputs=3, penalties=(1.0, 10.0)).weights()
    for k in range(3):
        alone, _ = learned("squared_error", X, targets[:, k], penalties=(1.0, 10.0)).weights()
        np.testing.assert_allclose(together[k::3], alone, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", CURVED)
@pytest.mark.parametrize("n", [40, 300, 3000])
def test_a_table_that_fits_one_block_is_solved_like_a_batch(loss, n):
    X, y = problem(loss, n)
    weights = np.random.default_rng(3).integers(1, 4, n).astype(float)
    lane = learned(loss, X, y, weights, penalties=(1.0,))
    coef, intercept = lane.weights()
    Z = (X - lane._learned.standard.centre) / lane._learned.standard.spread
    w, b = batch_optimum(loss, Z, y, tau=1.0, weights=weights)

    def objective(w, b):
        return weights @ get_loss(loss).value(Z @ w + b, y) + 0.5 * w @ w

    slopes = coef[0] * lane._learned.standard.spread
    ours = objective(slopes, intercept[0] + coef[0] @ lane._learned.standard.centre)
    assert ours <= objective(w, b) * (1 + 1e-4)


@pytest.mark.parametrize("loss", CURVED)
@pytest.mark.parametrize("design", ["correlated", "far away", "rare class", "rare features"])
@pytest.mark.slow
def test_one_pass_comes_as_close_as_batch(loss, design):
    """The excess over the truth's own loss is at most a tenth more than that of the batch."""
    n, d = 40_000, 20
    X = correlated(n, d)
    truth = np.random.default_rng(5).normal(size=d) / 2
    if design == "rare features":
        X = (np.random.default_rng(6).random((n, d)) < np.geomspace(0.3, 0.002, d)).astype(float)
        truth *= 4
    scores = X @ truth - (4.0 if design == "rare class" else 0.0)
    y = labels(scores)
    X = X + (1e3 if design == "far away" else 0.0)
    half = n // 2
    coef, intercept = best(learned(loss, X[:half], y[:half]))
    batch = batch_optimum(loss, X[:half] - X[:half].mean(axis=0), y[:half])
    optimum = batch_optimum(loss, X - X[:half].mean(axis=0), y)  # all there is to know
    centred = X[half:] - X[:half].mean(axis=0)
    b = intercept + coef @ X[:half].mean(axis=0)
    at_best = mean_loss(loss, *optimum, centred, y[half:])
    ours = mean_loss(loss, coef, b, centred, y[half:])
    theirs = mean_loss(loss, *batch, centred, y[half:])
    assert ours - at_best < 1.1 * (theirs - at_best) + 1e-5


@pytest.mark.parametrize("loss", ["squared_error", *CURVED])
def test_units_and_origins_do_not_matter(loss):
    X, y = problem(loss, 20_000)
    rng = np.random.default_rng(4)
    units, origins = 10 ** rng.uniform(-3, 3, (2, X.shape[1]))
    plain = learned(loss, X, y)
    other = learned(loss, units * (X + origins * X.std(axis=0)), y)
    np.testing.assert_allclose(other.sums(), plain.sums(), rtol=1e-7)
    np.testing.assert_allclose(other.weights()[0] * units, plain.weights()[0], rtol=1e-5, atol=1e-7)


def test_every_class_is_its_own_regression():
    X, _ = problem("log_loss")
    classes = np.argmax(X[:, :3] + np.random.default_rng(1).gumbel(size=(len(X), 3)), axis=1)
    lane = learned("log_loss", X, classes, outputs=3, one_vs_rest=True, penalties=(1.0,))
    coef, _ = lane.weights()
    for k in range(3):
        alone = learned("log_loss", X, np.where(classes == k, 1.0, -1.0), penalties=(1.0,))
        np.testing.assert_allclose(coef[k], alone.weights()[0][0], rtol=1e-9)
    weight, confusion = (lane.sums()[SUMS.index(name)] for name in ("weight", "confusion"))
    assert confusion[0] / weight[0] < 0.6
    assert not confusion[1:].any()


def test_rows_without_an_intercept_are_not_shifted():
    X, y = problem("squared_error")
    coef, intercept = learned(
        "squared_error", X + 3, y, fit_intercept=False, penalties=(1e-6,)
    ).weights()
    np.testing.assert_allclose(coef[0], np.linalg.lstsq(X + 3, y, rcond=None)[0], rtol=1e-6)
    assert not intercept.any()


# -- the real sets -----------------------------------------------------------------------------


@pytest.mark.parametrize("apart", [1e-1, 1e-3, 1e-5])
def test_rows_of_32_bits_that_nearly_agree_in_two_columns(apart):
    """What tells the classes apart is the small difference of two columns far from zero."""
    rng = np.random.default_rng(3)
    n = 50_000
    X = rng.normal(size=(n, 8)) + 2.0
    X[:, 1] = X[:, 0] + apart * rng.normal(size=n)
    X = X.astype(np.float32)
    precise = X.astype(np.float64)
    scores = (precise[:, 1] - precise[:, 0]) / apart + precise[:, 2] - 2.0
    y = np.where(scores + rng.logistic(size=n) > 0, 1.0, -1.0)
    models = (best(learned("log_loss", rows, y)) for rows in (X, precise))
    coarse, fine = (mean_loss("log_loss", *model, precise, y) for model in models)
    assert coarse <= 1.0001 * fine


@pytest.mark.parametrize("value", [1e12, 1e25, 3e37])
def test_an_absurd_value_among_rows_of_32_bits(value):
    """In a later block, whose rows are held in 32 bits: its square is beyond them."""
    X, y = problem("log_loss", 30_000, 12)
    absurd = X.astype(np.float32)
    absurd[25_000, 5] = value
    models = (best(learned("log_loss", rows, y)) for rows in (absurd, absurd.astype(np.float64)))
    coarse, fine = (mean_loss("log_loss", *model, X, y) for model in models)
    assert coarse <= 1.0001 * fine

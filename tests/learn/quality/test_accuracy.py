"""One pass with default parameters against the batch optimum, on the real sets."""

from __future__ import annotations

import os
from functools import cache

import numpy as np
import pytest
from batch_optimum import OPTIMUM

from polyak import ASGDClassifier
from polyak.losses import get_loss
from reproduction.datasets import load

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("POLYAK_DATA"),
        reason="POLYAK_DATA does not name the folder of real sets",
    ),
]

# The test loss over that of the batch optimum, at most: for log_loss and squared_hinge.
BOUNDS = {
    "covtype": (1.001, 1.003),
    "a9a": (1.001, 1.003),
    "ijcnn1": (1.001, 1.003),
    "rcv1": (0.97, 0.972),
    "mnist": (1.003, 1.005),
    "w8a": (1.005, 1.007),
}
LOSSES = ("log_loss", "squared_hinge")


@cache
def real(name):
    try:
        return load(name)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def shuffled(name, seed):
    (X, y), _ = real(name)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


def one_pass(name, loss, seed, unit=None):
    X, y = shuffled(name, seed)
    if unit is not None:
        X = X.multiply(unit).tocsr() if hasattr(X, "multiply") else X * unit
    return ASGDClassifier(loss=loss, shuffle=False, max_iter=1).fit(X, y)


def losses_of(fitted, name, unit=None):
    """Return the loss on each test row."""
    _, (X, y) = real(name)
    if unit is not None:
        X = X.multiply(unit).tocsr() if hasattr(X, "multiply") else X * unit
    return get_loss(fitted.loss).value(fitted.decision_function(X), y)


def ratio(name, loss, shuffles):
    runs = [losses_of(one_pass(name, loss, seed), name).mean() for seed in range(shuffles)]
    return np.mean(runs) / OPTIMUM[name, loss]


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", BOUNDS)
def test_close_to_the_batch_optimum_on_the_mean_of_five_shuffles(name, loss):
    assert ratio(name, loss, 5) <= BOUNDS[name][LOSSES.index(loss)]


def check_units(name, shuffles):
    """Multiply every feature by its own random power of ten between 1e-3 and 1e3."""
    width = real(name)[0][0].shape[1]
    runs = []
    for seed in range(shuffles):
        unit = (10.0 ** np.random.default_rng(seed).uniform(-3, 3, width)).astype(np.float32)
        runs.append(losses_of(one_pass(name, "log_loss", seed, unit), name, unit).mean())
    assert np.mean(runs) <= 1.01 * OPTIMUM[name, "log_loss"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a9a", "ijcnn1", "covtype"])
def test_nobody_has_to_scale_features_on_the_mean_of_five_shuffles(name):
    check_units(name, 5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["a9a", "rcv1", pytest.param("covtype", marks=pytest.mark.slow)])
def test_the_progressive_loss_is_honest(name, loss):
    fitted = one_pass(name, loss, 0)
    recent, test = fitted.recent_, losses_of(fitted, name)
    error = np.hypot(recent.loss_std_err, test.std() / np.sqrt(len(test)))
    assert abs(recent.loss - test.mean()) < 3 * error
    assert recent.loss_std_err < 0.05 * recent.loss  # or it would say nothing
    assert fitted.progressive_loss_ > recent.loss - 3 * recent.loss_std_err


def test_several_classes_share_the_candidates():
    (X, y), (X_test, y_test) = real("mnist10")
    fitted = ASGDClassifier(shuffle=False, max_iter=1).fit(X[:20_000], y[:20_000])
    assert fitted.score(X_test, y_test) > 0.88
    assert fitted.progressive_score_ == pytest.approx(fitted.score(X_test, y_test), abs=0.03)

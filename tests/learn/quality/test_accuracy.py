"""One pass with default parameters against the batch optimum, on the real sets."""

from __future__ import annotations

import numpy as np
import pytest
from batch_optimum import OPTIMUM
from tests.real_sets import REAL, load

from polyak import ASGDClassifier
from polyak.losses import get_loss

pytestmark = REAL

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


def shuffled(name, seed):
    (X, y), _ = load(name)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order]


def one_pass(name, loss, seed):
    X, y = shuffled(name, seed)
    return ASGDClassifier(loss=loss, shuffle=False, max_iter=1).fit(X, y)


def losses_of(fitted, name):
    """Return the loss on each test row."""
    _, (X, y) = load(name)
    return get_loss(fitted.loss).value(fitted.decision_function(X), y)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", BOUNDS)
def test_close_to_the_batch_optimum(name, loss):
    """On the mean of five shuffles."""
    runs = [losses_of(one_pass(name, loss, seed), name).mean() for seed in range(5)]
    assert np.mean(runs) / OPTIMUM[name, loss] <= BOUNDS[name][LOSSES.index(loss)]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["a9a", "rcv1"])
def test_the_progressive_loss_is_honest(name, loss):
    fitted = one_pass(name, loss, 0)
    recent, test = fitted.recent_, losses_of(fitted, name)
    error = np.hypot(recent.loss_std_err, test.std() / np.sqrt(len(test)))
    assert abs(recent.loss - test.mean()) < 3 * error
    assert recent.loss_std_err < 0.05 * recent.loss  # or it would say nothing
    assert fitted.progressive_loss_ > recent.loss - 3 * recent.loss_std_err


def test_several_classes_share_the_candidates():
    (X, y), (X_test, y_test) = load("mnist10")
    fitted = ASGDClassifier(shuffle=False, max_iter=1).fit(X[:20_000], y[:20_000])
    assert fitted.score(X_test, y_test) > 0.88
    assert fitted.progressive_score_ == pytest.approx(fitted.score(X_test, y_test), abs=0.03)

"""Limits of rows: the largest loss that counts where candidates are compared, and a row's share."""

from __future__ import annotations

import numpy as np
import pytest

from polyak.learn.averaging import Averaging
from polyak.learn.bank import Bank
from polyak.learn.schedules import Polynomial
from polyak.losses import get_loss


@pytest.mark.parametrize("step", ["explicit", "implicit"])
@pytest.mark.parametrize("softmax", [False, True])
def test_losses_count_within_the_limits_of_their_rows(step, softmax):
    rng = np.random.default_rng(0)
    X, weights = 3.0 * rng.normal(size=(200, 4)), rng.uniform(0.5, 2.0, 200)
    limits = np.column_stack([rng.uniform(0.1, 2.0, 200), rng.uniform(size=200)])
    order = rng.permutation(200)
    classes = 3 if softmax else 1
    y = rng.integers(0, 3, 200) if softmax else np.where(rng.random(200) < 0.5, 1.0, -1.0)
    bank = Bank(
        loss="log_loss",
        alpha=[1e-3] * classes,
        schedule=Polynomial(0.5, 0.01, 0.75),
        averaging=Averaging(start=0),
        step=step,
        outputs=np.arange(classes),
        one_vs_rest=softmax,
        group=classes,
        softmax=softmax,
    )
    scores = np.empty((200, classes))
    bank.learn(X, y, weights, order=order, scores=scores, limits=limits)
    signs = np.where(y[:, None] == np.arange(3), 1.0, -1.0) if softmax else y[:, None]
    losses = get_loss("log_loss").value(scores, signs[order])
    if softmax:
        losses = np.where(signs[order] > 0, losses, 0.0)
    cap, share = limits.T
    within = np.minimum(losses, cap[:, None])
    np.testing.assert_allclose(bank.field("rated"), (weights[order] * share) @ within, rtol=1e-9)
    np.testing.assert_array_equal(bank.field("capped"), (losses > cap[:, None]).sum(axis=0))

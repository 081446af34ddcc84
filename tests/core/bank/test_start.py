"""The detector that says when averaging pays."""

from __future__ import annotations

import numpy as np
import pytest
import reference_sgd as reference
from problems import LOSSES, distance, make_bank, problem

from polyak.learn.averaging import Averaging
from polyak.learn.schedules import Polynomial
from polyak.losses import get_loss

ALPHAS = [0.0, 1e-4, 1e-2, 0.3]
GAMMAS = [0.01, 0.05, 0.2, 0.4]


@pytest.mark.parametrize("loss", LOSSES)
def test_every_model_begins_where_the_reference_does(loss, kernels):
    X, y = problem(loss, 1500, 12)
    rates = [Polynomial(g, 0.01, 0.75) for g in GAMMAS]
    bank = make_bank(loss, alpha=ALPHAS, schedule=rates)
    bank.learn(X, y)
    wants = [
        reference.learn(X, y, get_loss(loss), alpha, rate, Averaging())
        for alpha, rate in zip(ALPHAS, rates, strict=True)
    ]
    assert bank.field("start").tolist() == [want.start for want in wants]
    assert len({want.start for want in wants}) > 1  # the models do not all begin together
    for k, want in enumerate(wants):
        assert distance(bank.coef[k], want.coef) < 1e-10


def test_never_before_row_one_hundred():
    X, y = problem("squared_hinge", 99, 12)
    bank = make_bank()
    bank.learn(X, y)
    assert np.isnan(bank.average_start).all()
    assert np.array_equal(bank.coef, bank.last_coef)


def test_a_detector_that_never_fires_leaves_the_iterate():
    """Constant targets without noise: the iterate is always ahead of its own past."""
    n = 30_000  # long enough for the detector's own weights to need rescaling
    X, y = np.ones((n, 1)), np.ones(n)
    bank = make_bank(
        "squared_error", schedule=Polynomial(1e-5, 0.0, 0.5), alpha=0.0, fit_intercept=False
    )
    bank.learn(X, y)
    assert np.isnan(bank.average_start).all()
    assert bank.coef[0, 0] == pytest.approx(1 - (1 - 1e-5) ** n)
    assert 0 < bank.field("total")[0] < 2.0**65

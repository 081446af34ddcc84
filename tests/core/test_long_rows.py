"""Steps that would overshoot: rows longer than any calibrated on, and rates far too large."""

from __future__ import annotations

import numpy as np
import pytest
import reference_sgd as reference
from problems import LOSSES, distance, make_bank, problem, stored

from polyak.errors import DivergenceError
from polyak.learn.averaging import Averaging
from polyak.learn.schedules import Polynomial
from polyak.losses import get_loss


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_a_row_longer_than_calibration_saw_is_capped(loss, storage, kernels):
    X, y = problem(loss, 1500, 12)
    X[1200] *= 1e4
    rate = Polynomial.from_rows(X, get_loss(loss), 1e-4)
    assert rate.gamma0 * (X[1200] @ X[1200]) > 1e6
    bank = make_bank(loss, alpha=1e-4, schedule=rate)
    bank.learn(stored(X, storage), y)
    want = reference.learn(X, y, get_loss(loss), 1e-4, rate, Averaging())
    assert np.isfinite(bank.last_coef).all()
    assert distance(bank.coef[0], want.coef) < 1e-10
    assert distance(bank.last_coef[0], want.last_coef) < 1e-10


def test_the_cap_never_acts_where_the_recipe_saw_the_longest_row():
    X, y = problem("squared_hinge", 900, 12)
    rate = Polynomial.from_rows(X, get_loss("squared_hinge"), 1e-4)
    capped, free = (make_bank(schedule=rate, alpha=1e-4, capped=c) for c in (True, False))
    capped.learn(X, y)
    free.learn(X, y)
    assert np.array_equal(capped.coef, free.coef)


@pytest.mark.parametrize("loss", LOSSES)
def test_implicit_steps_bear_sixty_four_times_the_rate(loss, kernels):
    X, y = problem(loss, 3000, 12)
    recipe = Polynomial.from_rows(X, get_loss(loss), 1e-4)
    bank = make_bank(
        loss, alpha=1e-4, schedule=Polynomial(64 * recipe.gamma0, 1e-4, recipe.c), step="implicit"
    )
    bank.learn(X, y)
    assert np.isfinite(bank.coef).all()
    assert bank.progressive_loss[0] < get_loss(loss).value(np.zeros(3000), y).mean()


def test_explicit_steps_that_overflow_say_so():
    X, y = problem("squared_error", 3000, 12)
    bank = make_bank("squared_error", schedule=Polynomial(10.0, 0.0, 0.5), capped=False)
    with pytest.raises(DivergenceError, match=r"overflowed at row \d+"):
        bank.learn(X, y)

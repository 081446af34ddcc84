"""K models in one bank are the K models one by one."""

from __future__ import annotations

import numpy as np
import pytest
from problems import LOSSES, Polynomial, distance, make_bank, make_rows, stored, targets_for

from polyak.learn.averaging import Averaging

ROUNDING = {np.float64: 1e-12, np.float32: 1e-5}


def settings_of(k: int) -> dict:
    rng = np.random.default_rng(k)
    return {
        "alpha": float(10 ** rng.uniform(-4, -1)),
        "schedule": Polynomial(
            float(10 ** rng.uniform(-2, -0.7)), float(rng.uniform(0, 0.1)), 0.75
        ),
        "outputs": int(rng.integers(3)),
        "replicas": int(rng.choice([-1, 0, 5, 64])),
    }


@pytest.mark.parametrize("models", [1, 2, 3, 5, 8, 11, 16, 33])
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("storage", ["sparse", "dense"])
def test_a_bank_of_models_is_its_models_one_by_one(models, dtype, storage, kernels):
    loss = LOSSES[models % len(LOSSES)]
    X, y = make_rows(800, 21)
    Y = targets_for(loss, np.stack([y, -y, np.roll(y, 1)], axis=1))
    rows = stored(X.astype(dtype), storage)
    each = [settings_of(k) for k in range(models)]
    together = {name: [settings[name] for settings in each] for name in each[0]}
    shared = {"dtype": dtype, "precondition": 0.5, "seed": 3, "averaging": Averaging(100)}
    bank = make_bank(loss, **together, **shared)
    bank.learn(rows, Y)
    for k, settings in enumerate(each):
        alone = make_bank(loss, **settings, **shared)
        alone.learn(rows, Y)
        assert distance(bank.coef[k], alone.coef[0]) <= ROUNDING[dtype]
        assert distance(bank.last_coef[k], alone.last_coef[0]) <= ROUNDING[dtype]
        assert bank.progressive_loss[k] == pytest.approx(
            alone.progressive_loss[0], rel=ROUNDING[dtype]
        )


def test_models_of_one_rate_share_its_cost_not_its_value(kernels):
    """Where all rates are equal they are computed once: the same bits as one by one."""
    X, y = make_rows(500, 8)
    bank = make_bank("squared_error", alpha=[0.1, 0.1])
    bank.learn(X, y)
    assert np.array_equal(bank.coef[0], bank.coef[1])


def test_classes_are_targets_of_plus_and_minus_one(kernels):
    X, y = make_rows(600, 8)
    classes = np.digitize(y, [-0.5, 0.5])
    bank = make_bank("log_loss", one_vs_rest=True, outputs=[0, 1, 2])
    bank.learn(X, classes)
    signs = np.where(classes[:, None] == np.arange(3), 1.0, -1.0)
    by_column = make_bank("log_loss", outputs=[0, 1, 2])
    by_column.learn(X, signs)
    assert np.array_equal(bank.coef, by_column.coef)
    assert np.array_equal(bank.progressive_error, by_column.progressive_error)


def test_each_model_may_have_row_weights_of_its_own(kernels):
    X, y = make_rows(600, 8)
    weights = np.random.default_rng(0).uniform(0.1, 2.0, size=(600, 2))
    bank = make_bank("squared_error", alpha=[1e-2, 1e-2])
    bank.learn(X, y, weights)
    for k in range(2):
        alone = make_bank("squared_error")
        alone.learn(X, y, weights[:, k])
        assert distance(bank.coef[k], alone.coef[0]) < 1e-12


def test_progressive_validation_can_be_switched_off():
    X, y = make_rows(600, 8)
    on, off = make_bank("squared_error"), make_bank("squared_error", progressive=False)
    on.learn(X, y)
    off.learn(X, y)
    assert np.array_equal(on.coef, off.coef)
    assert np.isfinite(on.progressive_loss).all()
    assert np.isnan(off.progressive_loss).all()


def test_one_power_for_all():
    with pytest.raises(ValueError, match=r"share one power c"):
        make_bank(schedule=[Polynomial(0.1, 0.0, 0.5), Polynomial(0.1, 0.0, 0.75)])


def test_a_bank_has_a_model():
    with pytest.raises(ValueError, match="at least one model"):
        make_bank(alpha=[])
    with pytest.raises(ValueError, match="at least one model"):
        make_bank().select([])

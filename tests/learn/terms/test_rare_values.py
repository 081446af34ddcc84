"""Rows whose values are rare count like all others."""

from __future__ import annotations

import numpy as np

from polyak import ASGDRegressor


def test_rare_values_have_an_effect() -> None:
    rng = np.random.default_rng(0)
    rows, shares = 12_000, np.exp(-0.15 * np.arange(32))
    x = rng.choice(np.arange(32.0), rows, p=shares / shares.sum())
    X = np.column_stack([x, rng.normal(size=rows)])
    truth = np.sin(x / 6.0) + X[:, 1] ** 2 / 4
    model = ASGDRegressor(curves="all", random_state=0).fit(X, truth + 0.3 * rng.normal(size=rows))
    assert model.method_ == "curves"
    assert np.abs(model.predict(X) - truth).mean() < 0.04

"""Ordinary tables: columns that are not centred, in any units, badly conditioned."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from polyak import ASGDRegressor

pytestmark = pytest.mark.slow


def years(rows, seed=0):
    """Return a table with a year column, and a target that the year almost determines."""
    rng = np.random.default_rng(seed)
    year = rng.integers(1990, 2025, rows).astype(float)
    size = rng.normal(size=rows)
    target = 3.0 * (year - 2000.0) + 2.0 * size + rng.normal(size=rows)
    return pd.DataFrame({"year": year, "size": size}), target


@pytest.mark.parametrize("rows", [2_000, 20_000])
@pytest.mark.parametrize("form", ["array", "frame", "sparse"])
def test_a_year_is_a_feature_like_any_other(rows, form):
    table, target = years(rows)
    X = {"array": table.to_numpy(), "frame": table, "sparse": sparse.csr_matrix(table)}[form]
    fitted = ASGDRegressor(random_state=0).fit(X, target)
    assert fitted.score(X, target) > 0.99
    assert fitted.score(X, target) > Ridge().fit(table, target).score(table, target) - 1e-4


def far_from_zero(rng, rows):
    return rng.normal(1000.0, 1.0, size=(rows, 10))


def ill_conditioned(rng, rows):
    basis = np.linalg.qr(rng.normal(size=(16, 16)))[0]
    return rng.normal(size=(rows, 16)) * np.logspace(0, -4, 16) @ basis


def any_units(rng, rows):
    return rng.normal(size=(rows, 12)) * 10.0 ** rng.uniform(-3, 3, 12)


@pytest.mark.parametrize("table", [far_from_zero, ill_conditioned, any_units])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_as_good_as_ridge(table, dtype):
    if table is ill_conditioned and dtype == np.float32:
        pytest.skip("32 bits do not hold what such rows say")
    rng = np.random.default_rng(1)
    X = table(rng, 6000)
    signal = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.normal(size=X.shape[1])
    y = signal + 0.3 * signal.std() * rng.normal(size=len(X))
    X = X.astype(dtype)
    X_test, y_test = X[5000:], y[5000:]
    fitted = ASGDRegressor(random_state=0).fit(X[:5000], y[:5000])
    best = max(
        Ridge(alpha).fit(X[:5000].astype(float), y[:5000]).score(X_test, y_test)
        for alpha in (1e-6, 1e-3, 1.0, 100.0)
    )
    assert fitted.coef_.dtype == dtype
    assert fitted.score(X_test, y_test) > best - 0.003


def test_recipe_sgd_is_averaged_sgd_alone():
    table, target = years(2000)
    fitted = ASGDRegressor(recipe="sgd", random_state=0).fit(table, target)
    assert fitted.method_ == "averaged SGD"
    assert not any("penalty" in candidate for candidate in fitted.candidates_)
    assert fitted.learning_rate_.gamma0 > 0


@pytest.mark.parametrize(
    "setting",
    [{"eta0": 0.1}, {"average": 100}, {"step": "implicit"}],
)
def test_who_sets_what_only_sgd_has_gets_sgd(setting):
    table, target = years(2000)
    fitted = ASGDRegressor(random_state=0, **setting).fit(table, target)
    assert not any("penalty" in candidate for candidate in fitted.candidates_)


def test_newton_steps_have_no_learning_rate():
    table, target = years(20_000)
    fitted = ASGDRegressor(random_state=0).fit(table, target)
    assert fitted.method_ == "newton"
    with pytest.raises(AttributeError, match="no learning rate"):
        fitted.learning_rate_  # noqa: B018
    assert np.isnan(fitted.average_start_).all()
    np.testing.assert_array_equal(fitted.last_coef_, fitted.coef_)

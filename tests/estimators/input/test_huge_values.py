"""Numbers whose squares are none are refused with their row, before anything is learned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from polyak import ASGDClassifier, ASGDRegressor
from polyak.errors import DataError

random = np.random.default_rng(0)


def problem(rows: int) -> tuple[np.ndarray, np.ndarray]:
    X = random.normal(size=(rows, 5))
    return X, X @ np.arange(5.0)


@pytest.mark.parametrize("value", [1e200, -1e300, 1.7e308])
@pytest.mark.parametrize("storage", [np.asarray, csr_array])
@pytest.mark.parametrize(("rows", "row"), [(50, 3), (3000, 3), (3000, 2995)])
def test_a_value_or_a_target(rows, row, storage, value):
    X, y = problem(rows)
    large, target = X.copy(), y.copy()
    large[row, 2] = target[row] = value
    for model, labels in (ASGDRegressor(), y), (ASGDClassifier(), y > 0):
        with pytest.raises(DataError) as caught:
            model.fit(storage(large), labels)
        assert f"row {row}: the value {value:g} for feature 2 is too large" in str(caught.value)
    with pytest.raises(DataError) as caught:
        ASGDRegressor().fit(storage(X), target)
    assert f"row {row}: the target {value:g} is too large" in str(caught.value)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_can_be_squared_is_learned(dtype):
    X, y = problem(3000)
    scale = 1e100 if dtype == np.float64 else 1e15
    for model, labels in (ASGDRegressor(), y), (ASGDClassifier(), y > 0):
        model.fit((X * scale).astype(dtype), labels)
        assert np.isfinite(model.coef_).all()
        assert model.score((X * scale).astype(dtype), labels) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-160, 1e-200, 1e-310])
@pytest.mark.parametrize(
    "settings", [{}, {"intervals": True}, {"recipe": "sgd"}, {"penalty": "l1"}]
)
def test_a_column_too_small_to_be_squared_does_no_harm(scale, settings):
    X, y = problem(2000)
    X[:, 0] *= scale
    for columns in slice(None), slice(1):
        model = ASGDRegressor(random_state=0, **settings).fit(X[:, columns], y)
        assert np.isfinite(model.coef_).all()
        assert model.score(X[:, columns], y) > (0.99 if X[:, columns].shape[1] > 1 else -0.01)
        if "intervals" in settings:
            assert np.isfinite(model.coef_std_err_).all()
            assert np.isfinite(model.intercept_std_err_).all()


@pytest.mark.filterwarnings("ignore:the intervals may be wrong")
def test_intervals_where_the_targets_leave_no_residuals():
    X = random.normal(size=(10, 60))
    model = ASGDRegressor(intervals=True).fit(X, np.zeros(10))
    assert (model.coef_std_err_ == 0).all()

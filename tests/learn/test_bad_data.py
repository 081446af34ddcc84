"""Data that other learners stumble over: a finite, sensible model, and a warning where it helps."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from polyak import ASGDClassifier, ASGDRegressor
from polyak.errors import DataError
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe

MODELS = [
    ASGDClassifier(random_state=0),
    ASGDClassifier(loss="hinge", random_state=0),
    ASGDClassifier(intervals=True, random_state=0),
    ASGDRegressor(random_state=0),
    ASGDRegressor(intervals=True, random_state=0),
]


def problem(model, rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.normal(size=rows)
    return X, (y > 0 if is_classifier(model) else y)


def fit(model, X, y):
    """Learn without a warning, but for doubts about intervals, and return a finite model."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if model.intervals:
            for doubt in (
                "without a penalty there is no",
                "the intervals may",
                "another candidate",
            ):
                warnings.filterwarnings("ignore", doubt)
        fitted = clone(model).fit(X, y)
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.intercept_).all()
    assert np.isfinite(fitted.progressive_loss_)
    if model.intervals:
        low, high = fitted.coef_interval()
        assert (low <= high).all()
        assert np.isfinite(high - low).all()
    return fitted


parametrize_models = pytest.mark.parametrize("model", MODELS, ids=str)


@parametrize_models
@pytest.mark.parametrize("rows", [2, 3, 20])
def test_few_rows(model, rows):
    X, y = problem(model, 3000)
    first = np.r_[np.flatnonzero(y > 0)[: rows - rows // 2], np.flatnonzero(y <= 0)[: rows // 2]]
    fitted = fit(model, X[first], y[first])
    if rows >= 20:
        assert fitted.score(X, y) > 0.6


@pytest.mark.parametrize("value", [0.0, -3.0, 1e6])
@pytest.mark.parametrize("rows", [1, 50, 3000])
def test_a_constant_target_is_learned(value, rows):
    X, _ = problem(MODELS[-1], rows)
    for model in MODELS[-2:]:
        fitted = fit(model, X, np.full(rows, value))
        if rows > 1:
            np.testing.assert_allclose(fitted.predict(X), value, rtol=0.25, atol=1e-12)


def test_one_class_in_the_learner():
    learner = Learner(Recipe(recipe="auto", loss="squared_hinge"))
    with pytest.raises(DataError, match="first 1000 rows are all of class 1"):
        learner.learn(np.ones((1000, 2)), np.ones(1000))


@parametrize_models
def test_units_side_by_side(model):
    X, y = problem(model)
    plain = fit(model, X, y).score(X, y)
    X = X * [1e-6, 1e6, 1.0, 1e3]
    assert fit(model, X, y).score(X, y) > plain - 0.03


@parametrize_models
def test_one_row_a_million_times_longer_among_the_first(model):
    X, y = problem(model)
    one = X.copy()
    one[10] *= 1e6
    says = f"a row with the value {one[10][np.abs(one[10]).argmax()]:g} is more than ten thousand"
    with pytest.warns(UserWarning, match=re.escape(says)):  # whatever the order
        clone(model).set_params(max_iter=1).fit(one[:500], y[:500])
    model = clone(model).set_params(shuffle=False, max_iter=1)
    with pytest.warns(UserWarning, match=re.escape(says)) as seen:
        fitted = clone(model).fit(one, y)
    assert len(seen) == 1
    # Least squares itself comes to 0.6: it has to follow that row in one direction.
    assert fitted.score(X, y) > (0.85 if is_classifier(model) else 0.45)
    with pytest.warns(UserWarning, match=re.escape(says)):
        averaged = clone(model).set_params(recipe="sgd").fit(one, y)
    scaled = averaged.best_candidate_["schedule"]["gamma0"]
    assert scaled > 1e-3


@parametrize_models
def test_one_row_a_million_times_longer_later(model):
    X, y = problem(model)
    one = X.copy()
    one[2500] *= 1e6
    assert fit(clone(model).set_params(shuffle=False), one, y).score(X, y) > 0.85


def test_a_rare_feature_in_large_units_is_no_unusual_row():
    X, y = problem(MODELS[0])
    X[:, 2] = 0.0
    X[::500, 2] = 1e7
    fit(MODELS[0], X, y)


@parametrize_models
def test_duplicated_columns(model):
    X, y = problem(model)
    plain = fit(model, X, y).score(X, y)
    fitted = fit(model, np.hstack([X, X, X]), y)
    assert fitted.score(np.hstack([X, X, X]), y) > plain - 0.02
    coef = np.ravel(fitted.coef_).reshape(3, 4)
    # All penalties but the leading one, which with intervals is the smallest, are solved by a few
    # conjugate gradients; and it need not be the leading one that wins in the end.
    np.testing.assert_allclose(coef[0], coef[1], atol=1e-4 if model.intervals else 1e-7)


@parametrize_models
def test_all_zero_rows(model):
    X, y = problem(model)
    mixed = X.copy()
    mixed[::3] = 0.0
    fitted = fit(model, mixed, y)
    assert fitted.score(X, y) > 0.9
    fit(model, np.zeros_like(X), y)  # nothing to learn but the intercept
    alone = clone(model).set_params(fit_intercept=False, intervals=False)  # there is no weight
    empty = fit(alone, np.zeros_like(X), y)
    assert not empty.coef_.any()


@parametrize_models
def test_a_column_that_is_constant_and_one_that_is_zero(model):
    X, y = problem(model)
    plain = fit(model, X, y).score(X, y)
    X = np.hstack([X, np.zeros((3000, 1)), np.full((3000, 1), 7.0)])
    fitted = fit(model, X, y)
    assert fitted.score(X, y) > plain - 0.02
    assert np.ravel(fitted.coef_)[4] == 0

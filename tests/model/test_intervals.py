"""Intervals: do they hold the truth as often as they say?"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.base import clone

from polyak import ASGDClassifier, ASGDRegressor, LinearModel
from polyak.model.intervals import proba_interval, quantile, score_interval, weight_interval


def simulate(loss, features, correlation, rows, seed):
    """Draw rows whose true weights are known."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(rows, 1))
    own = rng.normal(size=(rows, features))
    X = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    truth = np.linspace(-1, 1, features)
    scores = X @ truth
    if loss == "squared_error":
        return X, scores + rng.normal(size=rows), truth
    return X, rng.random(rows) < 1 / (1 + np.exp(-scores)), truth


def coverage(loss, features, correlation, rows, runs):
    """Give the share of the true weights that lie within their 95% intervals."""
    kind = ASGDRegressor if loss == "squared_error" else ASGDClassifier
    model = kind(loss=loss, intervals=True, shuffle=False)
    inside = []
    for seed in range(runs):
        X, y, truth = simulate(loss, features, correlation, rows, seed)
        low, high = clone(model).set_params(random_state=seed).fit(X, y).coef_interval()
        inside.append((np.ravel(low) <= truth) & (truth <= np.ravel(high)))
    return np.mean(inside)


@pytest.mark.parametrize(
    ("loss", "features", "correlation"), [("squared_error", 5, 0.5), ("log_loss", 5, 0.5)]
)
def test_coverage(loss, features, correlation):
    # Of 40 runs of 5 weights the share has a standard error of about 1.6%.
    assert 0.90 <= coverage(loss, features, correlation, 20_000, 40) <= 0.995


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "features", "correlation", "rows"),
    list(product(("squared_error", "log_loss"), (5, 20), (0.0, 0.5), (20_000, 100_000))),
)
def test_coverage_over_400_runs(loss, features, correlation, rows):
    assert 0.93 <= coverage(loss, features, correlation, rows, 400) <= 0.97


def fitted(kind, classes=2, rows=4000, **settings):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    z = X @ rng.normal(size=(3, classes)) + rng.logistic(size=(rows, classes))
    y = z.argmax(axis=1) if kind is ASGDClassifier else z[:, 0]
    return kind(intervals=True, random_state=0, **settings).fit(X, y), X


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", ["squared_hinge", "log_loss", "hinge"])
def test_a_classifier(loss, classes):
    model, X = fitted(ASGDClassifier, classes, loss=loss)
    assert model.n_iter_ == 1
    assert model.coef_std_err_.shape == model.coef_.shape
    assert model.intercept_std_err_.shape == model.intercept_.shape
    assert (model.coef_std_err_ > 0).all()
    low, high = model.coef_interval()
    reach = student.ppf(0.975, 32) * model.coef_std_err_
    np.testing.assert_allclose([low, high], [model.coef_ - reach, model.coef_ + reach])
    for kind, values in {
        "score": model.decision_function(X),
        "proba": model.predict_proba(X),
    }.items():
        low, high = model.predict_interval(X, kind=kind)
        assert low.shape == high.shape == values.shape
        assert (low < values).all()
        assert (values < high).all()
        narrow = model.predict_interval(X, level=0.5, kind=kind)
        assert (narrow[0] > low).all()
        assert (narrow[1] < high).all()
    low, high = model.predict_interval(X, kind="proba")
    assert (low >= 0).all()
    assert (high <= 1).all()


def test_two_probabilities_are_one_score():
    model, X = fitted(ASGDClassifier, loss="log_loss")
    scores = model.predict_interval(X)
    for low, high in zip(scores, model.predict_interval(X, kind="proba"), strict=True):
        np.testing.assert_allclose(1 / (1 + np.exp(-low)), high[:, 1])
    low, high = model.predict_interval(X, kind="proba")
    np.testing.assert_allclose(low[:, 0], 1 - high[:, 1], atol=1e-12)


def test_a_regressor():
    model, X = fitted(ASGDRegressor)
    assert [end.shape for end in model.predict_interval(X)] == [(4000,)] * 2
    # Where one feature is all there is, the score is as uncertain as its weight.
    ends = model.predict_interval(np.eye(3) * 1e6)
    reach = student.ppf(0.975, 32) * model.coef_std_err_
    np.testing.assert_allclose((ends[1] - ends[0]) / 2e6, reach, rtol=1e-3)
    none = model.predict_interval(np.zeros((1, 3)))
    reach = student.ppf(0.975, 32) * model.intercept_std_err_
    np.testing.assert_allclose(none[1] - none[0], 2 * reach)


def test_several_outputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = X @ rng.normal(size=(4, 2)) + rng.normal(size=(3000, 2)) * [0.1, 10.0]
    model = ASGDRegressor(intervals=True, random_state=0).fit(X, y)
    assert model.coef_std_err_.shape == (2, 4)
    quiet, loud = model.coef_std_err_
    assert (loud > 20 * quiet).all()
    low, high = model.predict_interval(X)
    assert low.shape == high.shape == (3000, 2)


def test_through_a_file_to_a_model_and_back(tmp_path):
    model, X = fitted(ASGDClassifier, 3, loss="log_loss")
    model.to_model().save(tmp_path / "m")
    loaded = LinearModel.load(tmp_path / "m")
    back = ASGDClassifier.from_model(loaded)
    np.testing.assert_array_equal(back.coef_std_err_, model.coef_std_err_)
    np.testing.assert_array_equal(score_interval(loaded, X), model.predict_interval(X))
    np.testing.assert_array_equal(
        proba_interval(loaded, X), model.predict_interval(X, kind="proba")
    )
    assert weight_interval(loaded)[0].shape == (3, 3)


def test_without_replicas():
    X = np.random.default_rng(0).normal(size=(100, 3))
    plain = ASGDRegressor(random_state=0).fit(X, X[:, 0])
    assert not hasattr(plain, "coef_std_err_")
    for ask in (plain.coef_interval, lambda: plain.predict_interval(X)):
        with pytest.raises(AttributeError, match="without intervals=True"):
            ask()
    with pytest.raises(ValueError, match="has no replicas"):
        weight_interval(plain.to_model())


def test_what_is_refused():
    model, X = fitted(ASGDClassifier)
    with pytest.raises(ValueError, match="lies between 0 and 1, unlike 95"):
        model.coef_interval(95)
    with pytest.raises(ValueError, match="kind is 'score' or 'proba'"):
        model.predict_interval(X, kind="label")
    with pytest.raises(ValueError, match="intervals need recipe='auto'"):
        ASGDClassifier(intervals=True, recipe="paper").fit(X, X[:, 0] > 0)
    with pytest.warns(UserWarning, match="rows seen once; after 3 passes they are too narrow"):
        ASGDClassifier(intervals=True, max_iter=3).fit(X, X[:, 0] > 0)


def test_one_pass_and_the_same_bits_in_parts():
    model, X = fitted(ASGDRegressor, shuffle=False)
    y = model.predict(X) + np.random.default_rng(1).normal(size=len(X))
    whole = ASGDRegressor(intervals=True, random_state=0, shuffle=False).fit(X, y)
    parts = ASGDRegressor(intervals=True, random_state=0)
    for rows in np.array_split(np.arange(len(X)), 7):
        parts.partial_fit(X[rows], y[rows])
    np.testing.assert_array_equal(whole.coef_std_err_, parts.coef_std_err_)
    assert quantile(whole.to_model(), 0.5) < 0.7

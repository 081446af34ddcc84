"""Intervals: do they hold the truth as often as they say?"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix, hstack
from scipy.special import expit
from scipy.stats import t as student
from sklearn.base import clone

from polyak import ASGDClassifier, ASGDRegressor, LinearModel
from polyak.model.intervals import (
    centres,
    interval_kind,
    proba_interval,
    score_interval,
    weight_interval,
)


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
    """Return the share of the true weights that lie within their 95% intervals."""
    kind = ASGDRegressor if loss == "squared_error" else ASGDClassifier
    model = kind(loss=loss, intervals=True, shuffle=False, recipe="sgd")
    inside = []
    for seed in range(runs):
        X, y, truth = simulate(loss, features, correlation, rows, seed)
        low, high = clone(model).set_params(random_state=seed).fit(X, y).coef_interval()
        inside.append((np.ravel(low) <= truth) & (truth <= np.ravel(high)))
    return np.mean(inside)


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
@pytest.mark.slow
def test_coverage_of_replicas(loss):
    # Of 40 runs of 5 weights the share has a standard error of about 1.6%.
    assert 0.90 <= coverage(loss, 5, 0.5, 20_000, 40) <= 0.995


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
    assert interval_kind(model.to_model()) == ("replicas" if loss == "hinge" else "sandwich")
    centre, reach = centres(model.to_model())[0].T, reach_of(model) * model.coef_std_err_
    np.testing.assert_allclose(model.coef_interval(), [centre - reach, centre + reach])
    around = replace(model.to_model(), weights=centre.T, intercept=centres(model.to_model())[1])
    for kind, values in {
        "score": around.decision_function(X),
        "proba": around.predict_proba(X),
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


def reach_of(model):
    """Return the quantile of Student's t, for every output."""
    sandwich = model.to_model().sandwich
    degrees = np.full(len(model.intercept_), 32.0) if sandwich is None else sandwich.degrees
    return student.ppf(0.975, degrees)[:, None]


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
    reach = reach_of(model)[0] * model.coef_std_err_
    np.testing.assert_allclose((ends[1] - ends[0]) / 2e6, reach, rtol=1e-3)
    none = model.predict_interval(np.zeros((1, 3)))
    np.testing.assert_allclose(none[1] - none[0], 2 * reach_of(model)[0] * model.intercept_std_err_)


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
    with pytest.raises(ValueError, match="has no standard errors"):
        weight_interval(plain.to_model())


def test_what_is_refused():
    model, X = fitted(ASGDClassifier)
    with pytest.raises(ValueError, match="must be between 0 and 1, not 95"):
        model.coef_interval(95)
    with pytest.raises(ValueError, match="kind is 'score' or 'proba'"):
        model.predict_interval(X, kind="label")
    with pytest.raises(ValueError, match="intervals need recipe='auto'"):
        ASGDClassifier(intervals=True, recipe="paper").fit(X, X[:, 0] > 0)
    with pytest.warns(UserWarning, match="each row is seen once; after 3 passes they are"):
        ASGDClassifier(intervals=True, max_iter=3).fit(X, X[:, 0] > 0)


# -- the sandwich ------------------------------------------------------------------------------


def batch_sandwich(loss, X, y, weights=None):
    """Return the weights that minimise the loss, the intercept first, and jackknife errors."""
    Z, counts = np.column_stack([np.ones(len(X)), X]), np.ones(len(X))
    counts = counts if weights is None else weights
    w = np.zeros(Z.shape[1])
    for _ in range(50):
        p = Z @ w if loss == "squared_error" else expit(Z @ w)
        bend = counts * (np.ones(len(X)) if loss == "squared_error" else p * (1 - p))
        inverse = np.linalg.inv((Z * bend[:, None]).T @ Z)
        w -= inverse @ Z.T @ (counts * (p - y))
    leverage = bend * np.einsum("ij,jk,ik->i", Z, inverse, Z)
    parts = inverse @ (Z * (counts * (p - y) / (1 - leverage))[:, None]).T
    return w, np.sqrt(np.square(parts).sum(axis=1))


@pytest.mark.parametrize(
    ("rows", "weighted", "form"),
    [(600, True, "dense"), (12_000, False, "sparse"), (12_000, False, "float32")],
)
@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_it_is_the_batch_sandwich(loss, form, weighted, rows):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(rows, 4)) * [1, 10, 0.1, 1] + [0, 50, 0, 3]
    X[:, 3] = np.round(X[:, 3] * (rng.random(rows) < 0.5), 1)
    X = X.astype(np.float32).astype(np.float64)
    score = X @ [1.0, 0.1, -5.0, 0.3] - 5.0
    y = score + np.exp(X[:, 0] / 2) * rng.normal(size=rows)
    if loss == "log_loss":
        y = (y > 0).astype(float)
    weights = rng.uniform(0.5, 2.0, size=rows) if weighted else None
    kind = ASGDRegressor if loss == "squared_error" else ASGDClassifier
    given = {"sparse": csr_matrix(X), "float32": X.astype(np.float32)}.get(form, X)
    model = kind(loss=loss, intervals=True, random_state=0).fit(given, y, sample_weight=weights)
    w, errors = batch_sandwich(loss, X, y, weights)
    coef, intercept = centres(model.to_model())
    far = 0.02 if rows == 600 else 0.1 if loss == "log_loss" else 0.02  # in standard errors
    np.testing.assert_array_less(np.abs(coef[:, 0] - w[1:]), far * errors[1:])
    np.testing.assert_array_less(np.abs(intercept - w[0]), far * errors[0])
    exact = 5e-3 if rows == 600 else 0.02
    np.testing.assert_allclose(np.ravel(model.coef_std_err_), errors[1:], rtol=exact)
    np.testing.assert_allclose(model.intercept_std_err_, errors[:1], rtol=exact)


def test_dummies_that_add_up_to_the_intercept_change_no_standard_error():
    rng = np.random.default_rng(0)
    sizes = (40, 20, 10)
    levels = rng.integers(sizes, size=(6000, 3))
    dummies = [(levels[:, [j]] == np.arange(k)).astype(float) for j, k in enumerate(sizes)]
    x = rng.normal(size=(6000, 1))
    y = rng.random(6000) < expit(0.5 * x[:, 0] + 0.03 * levels.sum(axis=1) - 1.5)
    model = ASGDClassifier(loss="log_loss", penalty=None, intervals=True, random_state=0)
    model.fit(np.hstack([x, *dummies]), y)
    w, errors = batch_sandwich("log_loss", np.hstack([x, *(one[:, 1:] for one in dummies)]), y)
    assert model.coef_[0, 0] == pytest.approx(w[1], abs=1e-5 * errors[1])
    assert np.ravel(model.coef_std_err_)[0] == pytest.approx(errors[1], rel=1e-7)


def test_a_covariance_knows_rows_far_from_zero_and_features_that_are_rare():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(1e6, 1.0, 5000), rng.random(5000) < 0.02, np.zeros(5000)])
    y = X[:, 0] - 1e6 + X[:, 1] + rng.normal(size=5000)
    wide = csr_matrix((5000, 100_000))
    wide = hstack([csr_matrix(X), wide]).tocsr()
    for rows in (X, wide):
        model = ASGDRegressor(intervals=True, random_state=0).fit(rows, y)
        assert interval_kind(model.to_model()) == "sandwich"
        low, high = model.predict_interval(rows[:1000])
        common = X[:1000, 1] == 0  # as uncertain as a mean of 5000 rows, near the middle
        width = (high - low)[common].mean() / 2
        assert 1.96 / np.sqrt(5000) < width < 1.6 * 1.96 / np.sqrt(5000)
        assert (high - low)[~common].mean() / 2 == pytest.approx(1.96 / 10, rel=0.25)
        assert np.ravel(model.coef_std_err_)[2] == 0.0  # it never varied


def test_the_lane_runs_to_the_end():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(140_000, 3))
    y = rng.random(len(X)) < expit(0.01 * X[:, 0])  # so little that a large penalty is best
    model = ASGDClassifier(loss="log_loss", intervals=True, random_state=0).fit(X, y)
    smallest = min(c["penalty"] for c in model.candidates_ if "penalty" in c)
    assert model.best_candidate_["penalty"] == smallest
    assert model.best_candidate_["running"]
    assert model.best_candidate_["rows"] == len(X)
    assert interval_kind(model.to_model()) == "sandwich"


def test_rows_that_become_too_wide_leave_replicas():
    rng = np.random.default_rng(0)
    X = np.zeros((6000, 800))
    X[:, :5] = rng.normal(size=(6000, 5))
    late = np.arange(3000, 6000)
    X[late, 5 + late % 795] = 1.0
    y = X[:, 0] + rng.normal(size=6000)
    model = ASGDRegressor(intervals=True, shuffle=False).fit(csr_matrix(X), y)
    assert interval_kind(model.to_model()) == "replicas"
    assert model.to_model().report.intervals.kind == "replicas"
    assert (model.coef_std_err_[:5] > 0).all()


# -- doubts ------------------------------------------------------------------------------------


def test_who_cannot_be_trusted_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 20))
    rare = np.arange(2000) < 12
    few = ASGDClassifier(loss="log_loss", intervals=True, random_state=0).fit(X, rare)
    with pytest.warns(UserWarning, match="too few rows, or too few of a class, for 21 weights"):
        few.coef_interval()
    drifting = X[:, 0] * np.linspace(0, 2, 2000) + rng.normal(size=2000)
    sorted_rows = ASGDRegressor(intervals=True, shuffle=False).fit(X, drifting)
    with pytest.warns(UserWarning, match=r"standard errors since row 1,\d+, as if the rows were s"):
        sorted_rows.predict_interval(X)
    alike = X + 10 * X[:, :1]
    early = ASGDRegressor(intervals=True, recipe="sgd", random_state=0).fit(alike, X[:, 0])
    with pytest.warns(UserWarning, match="averaging needs about"):
        early.coef_std_err_  # noqa: B018
    for unsorted in (ASGDRegressor(intervals=True), ASGDRegressor(intervals=True, recipe="sgd")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            unsorted.set_params(random_state=0).fit(X, X[:, 0] + rng.normal(size=2000))
            unsorted.predict_interval(X)


def test_features_that_are_always_zero_are_no_reason_to_doubt():
    y = np.random.default_rng(0).normal(size=2000)
    model = ASGDRegressor(intervals=True, recipe="sgd", alpha=0.0, fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(np.zeros((2000, 1)), y)
        assert model.coef_std_err_ == 0

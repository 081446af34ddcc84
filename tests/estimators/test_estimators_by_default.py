"""The estimators with nothing set: the same bits in parts, for any storage, at any time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_classification, make_regression
from sklearn.metrics import log_loss

from polyak import ASGDClassifier, ASGDRegressor, LinearModel
from polyak.training.in_memory import FEW_ROWS

MODELS = [
    ASGDClassifier(random_state=0),
    ASGDClassifier(loss="log_loss", random_state=0),
    ASGDClassifier(loss="hinge", random_state=0),
    ASGDRegressor(random_state=0),
]
parametrize_models = pytest.mark.parametrize("model", MODELS, ids=str)


def problem(model, rows=2500, seed=0, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5))
    X[rng.random(X.shape) < 0.3] = 0.0
    z = X @ rng.normal(size=(5, classes)) + rng.logistic(size=(rows, classes))
    return X, (z.argmax(axis=1) if is_classifier(model) else z[:, 0])


def same_bits(one, other, X):
    for name in ("coef_", "intercept_", "last_coef_", "t_", "progressive_loss_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("progressive_score_", "progressive_loss_std_err_", "recent_", "best_candidate_"):
        assert getattr(one, name) == getattr(other, name)
    assert one.candidates_ == other.candidates_
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    if is_classifier(one):
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@parametrize_models
@pytest.mark.parametrize("rows", [40, 999, 1000, 4500])
@pytest.mark.parametrize("parts", [2, 9])
def test_any_split_gives_the_same_bits(model, rows, parts):
    X, y = problem(model, rows)
    extra = {"classes": np.unique(y)} if is_classifier(model) else {}
    whole, piece = clone(model).partial_fit(X, y, **extra), clone(model)
    cuts = np.sort(np.random.default_rng(rows).integers(0, rows, parts))
    for part in np.split(np.arange(rows), cuts):
        if len(part):
            piece.partial_fit(X[part], y[part], **extra)
    same_bits(whole, piece, X)
    # Beside those of fit, candidates run that never rest; nothing drifts here, so none leads.
    fitted = clone(model).set_params(shuffle=False, max_iter=1).fit(X, y)
    np.testing.assert_array_equal(piece.coef_, fitted.coef_)
    np.testing.assert_array_equal(piece.intercept_, fitted.intercept_)


@parametrize_models
def test_the_same_seed_gives_the_same_bits(model):
    X, y = problem(model)
    first, second = clone(model).fit(X, y), clone(model).fit(X, y)
    same_bits(first, second, X)
    other = clone(model).set_params(random_state=1).fit(X, y)
    assert not np.array_equal(first.coef_, other.coef_)


@parametrize_models
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_dense(model, dtype):
    X, y = problem(model)
    X = X.astype(dtype)
    dense, thin = clone(model).fit(X, y), clone(model).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-5)
    np.testing.assert_allclose(thin.intercept_, dense.intercept_, atol=1e-5)
    assert thin.best_candidate_["number"] == dense.best_candidate_["number"]


@parametrize_models
@pytest.mark.parametrize("rows", [300, 2500])
def test_weight_zero_is_removal(model, rows):
    X, y = problem(model, rows)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], size=rows)
    there = weights != 0
    X[~there] *= 1e6
    one = clone(model).fit(X, y, sample_weight=weights)
    other = clone(model).fit(X[there], y[there], sample_weight=weights[there])
    same_bits(one, other, X)


def test_few_rows_are_learned_again_while_it_helps():
    X, y = make_regression(600, 20, noise=1.0, random_state=0)
    auto = ASGDRegressor(recipe="sgd", random_state=0).fit(X[:300], y[:300])
    once = ASGDRegressor(recipe="sgd", random_state=0, max_iter=1).fit(X[:300], y[:300])
    assert once.n_iter_ == 1
    assert auto.n_iter_ > 1
    assert auto.score(X[300:], y[300:]) > max(once.score(X[300:], y[300:]), 0.99)


def test_rows_that_are_soon_known_by_heart_are_not():
    X, y = make_classification(4000, 300, n_informative=5, flip_y=0.3, random_state=0)
    auto = ASGDClassifier(random_state=0).fit(X[:600], y[:600])
    often = ASGDClassifier(random_state=0, max_iter=30).fit(X[:600], y[:600])
    assert auto.n_iter_ < 10
    losses = [log_loss(y[600:], model.predict_proba(X[600:])) for model in (auto, often)]
    assert losses[0] < losses[1]


def test_many_rows_are_learned_once():
    X, y = make_classification(FEW_ROWS, 4, random_state=0)
    assert ASGDClassifier(random_state=0).fit(X, y).n_iter_ == 1
    few = ASGDClassifier(recipe="paper", random_state=0).fit(X[:100], y[:100])
    assert few.n_iter_ == 1
    assert ASGDClassifier(max_iter=4, random_state=0).fit(X[:100], y[:100]).t_ == 401


def test_every_row_is_learned_in_the_end():
    X, y = make_classification(500, 4, random_state=0)
    fitted = ASGDClassifier(random_state=0, shuffle=False).fit(X, y)
    assert fitted.t_ == 450 * fitted.n_iter_ + 50 + 1
    assert fitted.recent_.rows >= 250


@parametrize_models
@pytest.mark.parametrize("recipe", ["auto", "sgd"])
def test_what_is_told_of_the_race(model, recipe, tmp_path):
    X, y = problem(model, 6000)
    fitted = clone(model).set_params(max_iter=1, recipe=recipe).fit(X, y)
    entered = 55 if recipe == "sgd" else 61 if fitted.loss == "hinge" else 17
    assert len(fitted.candidates_) == entered
    assert fitted.candidates_[-1]["constant"]
    for one in fitted.candidates_[:-1]:
        settings = {"penalty"} if "penalty" in one else {"alpha", "schedule", "precondition"}
        assert settings | {"rows", "progressive_loss"} <= one.keys()
        assert one["running"] == (one["rows"] == 6000)
    best = fitted.best_candidate_
    assert best in fitted.candidates_
    assert ("penalty" in best) == (fitted.method_ == "newton")
    if fitted.method_ != "newton":
        assert best["schedule"]["gamma0"] == fitted.learning_rate_.gamma0
    assert best["progressive_loss"] == pytest.approx(fitted.progressive_loss_)
    assert 0 < fitted.progressive_loss_std_err_ < 0.2 * fitted.progressive_loss_
    assert fitted.recent_.loss < fitted.progressive_loss_ + 3 * fitted.progressive_loss_std_err_
    fitted.to_model().save(tmp_path / "m")
    back = type(model).from_model(LinearModel.load(tmp_path / "m"))
    assert back.best_candidate_ == best
    assert back.recent_ == fitted.recent_


def test_what_is_set_is_not_searched():
    X, y = problem(MODELS[0])
    fitted = ASGDClassifier(alpha=0.01, precondition=0.25, random_state=0).fit(X, y)
    raced = fitted.candidates_[:-1]  # and the constant
    assert {one["alpha"] for one in raced} == {0.01}
    assert {one["precondition"] for one in raced} == {0.25}
    assert len({one["schedule"]["gamma0"] for one in raced}) > 1

"""The estimators with nothing set: passes, seeds, and what they report of the race."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_problems import BY_DEFAULT, assert_same_bits, problem
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.metrics import log_loss

from polyak import ASGDClassifier, ASGDRegressor, LinearModel
from polyak.training.in_memory import FEW_ROWS


@pytest.mark.parametrize("model", BY_DEFAULT, ids=str)
def test_the_same_seed_gives_the_same_bits(model):
    X, y = problem(model, 1200)
    first, second = clone(model).fit(X, y), clone(model).fit(X, y)
    assert_same_bits(first, second, X)
    other = clone(model).set_params(random_state=1).fit(X, y)
    depends = model.loss == "hinge"  # rows at hand are fitted at once where there is a curvature
    assert np.array_equal(first.coef_, other.coef_) == (not depends)


def test_few_rows_are_learned_again_while_it_helps():
    X, y = make_regression(600, 20, noise=1.0, random_state=0)
    auto = ASGDRegressor(recipe="sgd", random_state=0).fit(X[:300], y[:300])
    once = ASGDRegressor(recipe="sgd", random_state=0, max_iter=1).fit(X[:300], y[:300])
    assert once.n_iter_ == 1
    assert auto.n_iter_ > 1
    assert auto.score(X[300:], y[300:]) > max(once.score(X[300:], y[300:]), 0.99)


def test_rows_that_are_soon_known_by_heart_are_not():
    X, y = make_classification(4000, 200, n_informative=5, flip_y=0.3, random_state=0)
    auto = ASGDClassifier(recipe="sgd", random_state=0).fit(X[:600], y[:600])
    often = ASGDClassifier(recipe="sgd", random_state=0, max_iter=30).fit(X[:600], y[:600])
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


@pytest.mark.parametrize("model", BY_DEFAULT, ids=str)
@pytest.mark.parametrize("recipe", ["auto", "sgd"])
def test_what_is_told_of_the_race(model, recipe, tmp_path):
    X, y = problem(model, 6000, classes=3)
    fitted = clone(model).set_params(max_iter=1, recipe=recipe).fit(X, y)
    entered = 55 if recipe == "sgd" else 61 if fitted.loss == "hinge" else 17
    assert len(fitted.candidates_) == entered
    assert fitted.candidates_[-1]["constant"]
    for one in fitted.candidates_[:-1]:
        settings = {"penalty"} if "penalty" in one else {"alpha", "schedule", "precondition"}
        assert settings | {"rows", "progressive_loss"} <= one.keys()
        assert one["running"] == (one["rows"] == 6000)
    best = fitted.best_candidate_
    assert "curve" not in best  # a number for each milestone
    assert best in [
        {name: value for name, value in one.items() if name != "curve"}
        for one in fitted.candidates_
    ]
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
    X, y = problem(BY_DEFAULT[0], 2500, classes=3)
    fitted = ASGDClassifier(alpha=0.01, precondition=0.25, random_state=0).fit(X, y)
    raced = fitted.candidates_[:-1]  # and the constant
    assert {one["alpha"] for one in raced} == {0.01}
    assert {one["precondition"] for one in raced} == {0.25}
    assert len({one["schedule"]["gamma0"] for one in raced}) > 1

"""No model is worse than the best constant, which is a candidate of every race."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.losses import get_loss
from polyak.model.evaluation import Evaluation

ROWS = 6000
LOSSES = ("log_loss", "squared_hinge", "hinge")


def noise(classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Rows whose features say nothing about the target."""
    rng = np.random.default_rng(seed)
    shares = {2: [0.8, 0.2], 3: [0.3, 0.5, 0.2]}[classes]
    return rng.standard_t(2.0, size=(ROWS, 30)), rng.choice(classes, size=ROWS, p=shares)


@pytest.mark.parametrize("recipe", ["auto", "sgd"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_of_noise_is_the_constant(recipe, loss, classes):
    X, y = noise(classes)
    fitted = ASGDClassifier(loss=loss, recipe=recipe, random_state=0, max_iter=1).fit(X, y)
    assert fitted.method_ == "constant"
    assert not fitted.coef_.any()
    assert fitted.recent_loss_ == fitted.constant_loss_
    shares = np.bincount(y) / len(y)
    assert (fitted.predict(X[:10]) == shares.argmax()).all()
    if classes == 2 or loss == "log_loss":
        np.testing.assert_allclose(fitted.predict_proba(X[:1])[0], shares, atol=0.01)
    # No other constant has a lower loss: the intercept minimises it on the rows themselves.
    signs = np.where(y[:, None] == (np.arange(classes) if classes > 2 else 1), 1.0, -1.0)
    value = get_loss(loss).value
    here = value(fitted.intercept_, signs).mean(axis=0)
    for moved in (fitted.intercept_ - 0.02, fitted.intercept_ + 0.02):
        assert (value(moved, signs).mean(axis=0) > here).all()


def test_a_regression_of_noise_is_the_mean():
    X, _ = noise()
    y = np.random.default_rng(1).normal(3.0, 1.0, size=ROWS)
    weights = np.random.default_rng(2).random(ROWS)
    model = ASGDRegressor(random_state=0, recipe="sgd", max_iter=1, intervals=False)
    fitted = model.fit(X, y, weights)
    assert fitted.method_ == "constant"
    np.testing.assert_allclose(fitted.predict(X), np.average(y, weights=weights), rtol=1e-12)
    assert fitted.recent_.r2 == 0


@pytest.mark.parametrize("loss", [*LOSSES, "squared_error"])
def test_where_features_tell_something_the_constant_is_what_it_was_better_than(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 5))
    score = X @ [1.0, -1.0, 0.5, 0.0, 0.0] + rng.normal(size=ROWS)
    learner = Learner(Recipe(loss=loss, recipe="auto"))
    learner.learn(X, score if loss == "squared_error" else score > 0.5)
    recent = learner.recent()
    assert recent["loss"] < 0.9 * recent["constant_loss"]
    assert learner.model().weights.any()
    # It is what the best constant of the later half would have lost there, give or take chance.
    half = score[-recent["rows"] :]
    if loss == "squared_error":
        assert recent["constant_loss"] == pytest.approx(0.5 * half.var(), rel=0.01)
        assert recent["r2"] == pytest.approx(1.0 - recent["loss"] / recent["constant_loss"])
        return
    signs = np.where(half > 0.5, 1.0, -1.0)
    scores = np.linspace(-2.0, 2.0, 401)
    lowest = get_loss(loss).value(scores[:, None], signs).mean(axis=1).min()
    assert recent["constant_loss"] == pytest.approx(lowest, rel=0.02)


@pytest.mark.parametrize("from_one", [False, True])
def test_learners_of_parts_know_the_constant_of_all_rows(from_one):
    X, y = noise()
    recipe = Recipe(loss="log_loss", recipe="sgd")
    base = Learner(recipe)
    if from_one:
        base.learn(X[:1500], y[:1500])
    state, begin = base.state(), 1500 if from_one else 0
    parts = [Learner.from_state(*state) for _ in range(2)]
    for part, rows in zip(parts, np.array_split(np.arange(begin, ROWS), 2), strict=True):
        part.learn(X[rows], y[rows])
    parts[0].merge(parts[1:], base if from_one else None)
    model = parts[0].model()
    assert model.report.winner.method == "constant"
    assert model.intercept[0] == pytest.approx(np.log((y.sum() + 0.5) / ((1 - y).sum() + 0.5)))
    assert parts[0].race is not None
    assert parts[0].race.history.since(0, parts[0].race.sums())[-1, 0] == ROWS


def test_further_passes_may_do_better_than_the_constant():
    """Then the first pass no longer tells, but rows held back do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 600))
    y = X[:, :20].sum(axis=1)
    fitted = ASGDRegressor(random_state=0).fit(X, y)
    fresh = rng.normal(size=(2000, 600))
    assert fitted.score(fresh, fresh[:, :20].sum(axis=1)) > 0.1


def test_without_an_intercept_the_constant_is_zero():
    X, y = noise()
    fitted = ASGDClassifier(random_state=0, fit_intercept=False, loss="log_loss").fit(X, y)
    assert not fitted.intercept_.any()
    assert fitted.constant_loss_ == pytest.approx(np.log(2.0))


def test_the_paper_has_no_constant():
    X, y = noise()
    fitted = ASGDClassifier(recipe="paper", random_state=0).fit(X, y)
    assert len(fitted.candidates_) == 1
    with pytest.raises(AttributeError, match="no constant races"):
        _ = fitted.constant_loss_


@pytest.mark.parametrize("loss", [*LOSSES, "squared_error"])
def test_an_evaluation_says_what_the_best_constant_of_its_rows_loses(loss):
    X, y = noise(2 if loss == "squared_error" else 3)
    learner = Learner(Recipe(loss=loss, recipe="sgd"))
    learner.learn(X, y)
    evaluation = Evaluation(learner.model())
    for part in np.array_split(np.arange(ROWS), 7):
        evaluation.add(X[part], y[part])
    report = evaluation.report()
    # The model is the constant of these very rows.
    assert report["constant_loss"] == pytest.approx(report["loss"], rel=1e-6)

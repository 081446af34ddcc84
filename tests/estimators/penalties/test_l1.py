"""L1, elastic net and weights that are not negative: the batch optimum, zeros included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from batch_l1 import compare
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, Lasso

from polyak import ASGDClassifier, ASGDRegressor
from polyak.exports.sklearn_estimator import to_sklearn
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe

TRUE = np.where(np.arange(20) % 4 == 0, 1.0, 0.0) * np.where(np.arange(20) % 8 == 0, 1.0, -1.0)


def made(rows: int = 6000, seed: int = 0) -> tuple[Any, Any]:
    """Draw correlated features of unlike sizes, far from zero, a quarter of which matter."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(rows, 20)) @ (np.eye(20) + 0.1)
    s = Z @ TRUE
    return Z * np.geomspace(0.5, 4.0, 20) + 3.0, s + rng.normal(size=rows)


def labelled(rows: int = 6000) -> tuple[Any, Any]:
    X, s = made(rows)
    return X, np.where(s > np.median(s), "yes", "no")


@pytest.mark.parametrize(
    ("asked", "batch"),
    [
        ({"penalty": "l1", "alpha": 0.05}, Lasso(0.05, tol=1e-12)),
        ({"penalty": "elasticnet", "alpha": 0.05}, ElasticNet(0.05, l1_ratio=0.5, tol=1e-12)),
        (
            {"penalty": "elasticnet", "alpha": 0.1, "l1_ratio": 0.2},
            ElasticNet(0.1, l1_ratio=0.2, tol=1e-12),
        ),
        (
            {"penalty": "l1", "alpha": 0.05, "positive": True},
            Lasso(0.05, positive=True, tol=1e-12),
        ),
    ],
)
def test_least_squares_is_the_batch_optimum(asked: Any, batch: Any) -> None:
    X, y = made(9000)
    ours = ASGDRegressor(random_state=0, **asked).fit(X, y)
    batch = clone(batch).fit(X, y)
    assert ours.method_ == "newton"
    np.testing.assert_allclose(ours.coef_, batch.coef_, atol=1e-7)
    np.testing.assert_allclose(ours.intercept_, batch.intercept_, atol=1e-6)
    np.testing.assert_array_equal(ours.coef_ == 0, batch.coef_ == 0)
    assert 0 < (ours.coef_ == 0).sum() < 20


@pytest.mark.parametrize(
    ("loss", "alpha", "ratio"),
    [("log_loss", 0.02, 1.0), ("squared_hinge", 0.002, 1.0), ("log_loss", 0.01, 0.5)],
)
def test_classes_come_out_as_in_batch(loss: str, alpha: float, ratio: float) -> None:
    X, y = labelled(12_000)
    asked = {"alpha": alpha, "penalty": "l1" if ratio == 1 else "elasticnet", "l1_ratio": ratio}
    ours = ASGDClassifier(loss=loss, max_iter=1, random_state=0, **asked).fit(X, y)
    share, agree = compare(loss, X, np.where(y == "yes", 1.0, -1.0), ours, alpha, ratio)
    assert share <= 1.001
    assert agree >= 0.95


def test_no_weight_is_negative() -> None:
    X, y = made()
    for asked in ({}, {"alpha": 0.0}, {"alpha": 0.01}, {"penalty": "l1"}):
        model = ASGDRegressor(positive=True, random_state=0, **asked).fit(X, y)
        assert model.coef_.min() == 0.0
        assert model.coef_.max() > 0.1
    X, y = labelled()
    model = ASGDClassifier(positive=True, random_state=0).fit(X, y)
    assert model.coef_.min() == 0.0
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize("rows", [400, 9000])
def test_a_penalty_is_found_where_none_is_given(rows: int) -> None:
    X, y = made(30_000)
    found = ASGDRegressor(penalty="l1", random_state=0).fit(X[:rows], y[:rows])
    full = ASGDRegressor(random_state=0).fit(X[:rows], y[:rows])
    assert found.score(X, y) > full.score(X, y) - 0.01
    assert found.best_candidate_["alpha"] > 0
    assert len(found.candidates_) > 5
    X, y = labelled(rows)
    some = ASGDClassifier(penalty="l1", random_state=0).fit(X, y)
    assert some.score(*labelled(30_000)) > 0.8


def test_several_classes_are_learned_one_against_the_rest() -> None:
    X, s = made()
    y = np.digitize(s, np.quantile(s, [0.3, 0.7]))
    asked = {"penalty": "l1", "alpha": 0.01, "shuffle": False, "max_iter": 1}
    model = ASGDClassifier(**asked).fit(X, y)
    assert model.coef_.shape == (3, 20)
    for k in (0, 2):  # the middle one is best told by a constant
        alone = ASGDClassifier(**asked).fit(X, y == k)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-9, atol=1e-12)
        assert 0 < (model.coef_[k] == 0).sum() < 20


def test_a_weight_of_two_is_a_row_twice() -> None:
    X, y = made()
    weights = np.where(np.arange(len(y)) > 2000, 2.0, 1.0)
    order = np.repeat(np.arange(len(y)), weights.astype(int))
    asked = {"penalty": "l1", "alpha": 0.05, "random_state": 0}
    weighted = ASGDRegressor(**asked).fit(X, y, weights)
    repeated = ASGDRegressor(**asked).fit(X[order], y[order])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)


def test_scikit_learn_is_told_of_the_penalty() -> None:
    X, y = labelled()
    ours = ASGDClassifier(penalty="l1", alpha=0.01, random_state=0).fit(X, y)
    theirs = to_sklearn(ours.to_model())
    assert (theirs.penalty, theirs.alpha) == ("l1", 0.01)
    np.testing.assert_array_equal(theirs.coef_ == 0, ours.coef_ == 0)
    np.testing.assert_array_equal(theirs.predict(X), ours.predict(X))


def test_a_class_that_comes_late_has_weights_that_are_not_negative_too() -> None:
    X, s = made(20_000)
    y = np.digitize(s, np.quantile(s, [0.3, 0.7])).astype(float)
    late = np.concatenate([np.flatnonzero(y < 2)[:1500], np.arange(20_000)])
    learner = Learner(Recipe(loss="log_loss", recipe="auto", positive=True))
    with pytest.warns(UserWarning, match="first comes up"):
        learner.learn(X[late], y[late])
    weights = learner.model().weights
    assert weights.shape == (20, 3)
    assert weights.min() == 0.0
    assert (weights > 0).any(axis=0).all()


@pytest.mark.parametrize(
    "asked", [{"penalty": "l1"}, {"penalty": "elasticnet"}, {"positive": True}]
)
def test_few_rows_with_many_weights_that_are_not_zero(asked: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 80))
    s = X @ np.abs(rng.normal(size=80))
    for model, y in ((ASGDRegressor(**asked), s), (ASGDClassifier(**asked), s > 0)):
        model.fit(X, y)
        assert np.count_nonzero(model.coef_) >= 48
        assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("asked", "sign"),
    [
        ({"penalty": "l1", "alpha": 10.0}, 1.0),
        ({"penalty": "elasticnet", "alpha": 10.0}, 1.0),
        ({"positive": True}, -1.0),
    ],
)
def test_few_rows_where_every_weight_is_zero(asked: Any, sign: float) -> None:
    X = np.abs(np.random.default_rng(0).normal(size=(1000, 5)))
    model = ASGDRegressor(fit_intercept=False, **asked).fit(X, sign * X.sum(axis=1))
    assert not model.coef_.any()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"intervals": True}, "no intervals with penalty='l1'"),
        ({"recipe": "sgd"}, "needs recipe='auto'"),
        ({"eta0": 0.1}, "which eta0 is a setting of"),
        ({"loss": "hinge"}, "needs a loss with a curvature"),
    ],
)
def test_what_cannot_be_had_together_is_refused_in_a_sentence(asked: Any, words: str) -> None:
    X, y = labelled()
    with pytest.raises(ValueError, match=words):
        ASGDClassifier(penalty="l1", **asked).fit(X, y)


@pytest.mark.parametrize(("of_rows", "of_targets"), [(1e-321, 1.0), (1.0, 1e-321)])
def test_numbers_of_less_than_all_bits(of_rows: float, of_targets: float) -> None:
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = ASGDRegressor(penalty="l1", random_state=0).fit(X * of_rows, X[:, 0] * of_targets)
    assert np.isfinite(model.predict(X * of_rows)).all()

"""L1 and elastic net where features are too many for a matrix: proximal steps, zeros included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from wide_rows import batch_optimum, made, objective

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe


def labelled(rows: int = 8000, seed: int = 0) -> tuple[Any, Any]:
    X, s = made(rows, seed=seed)
    return X, np.where(s > 0, "yes", "no")


@pytest.mark.parametrize(("alpha", "ratio"), [(0.01, 1.0), (0.003, 1.0), (0.01, 0.5)])
def test_one_pass_comes_close_to_the_batch_optimum(alpha: float, ratio: float) -> None:
    X, y = labelled(20_000)
    asked = {"penalty": "l1" if ratio == 1 else "elasticnet", "l1_ratio": ratio, "alpha": alpha}
    ours = ASGDClassifier(max_iter=1, random_state=0, **asked).fit(X, y)
    assert ours.method_ == "proximal"
    signs = np.where(y == "yes", 1.0, -1.0)
    w, b = batch_optimum(X, signs, alpha, ratio)
    how = (alpha, ratio)
    best = objective(X, signs, w, b, *how)
    assert objective(X, signs, ours.coef_[0], ours.intercept_[0], *how) < 1.02 * best
    assert 0.7 < np.count_nonzero(ours.coef_) / np.count_nonzero(w) < 1.5


def test_a_penalty_is_found_where_none_is_given() -> None:
    X, y = labelled(20_000)
    found = ASGDClassifier(penalty="l1", max_iter=1, random_state=0).fit(X, y)
    full = ASGDClassifier(max_iter=1, random_state=0).fit(X, y)
    test = labelled(20_000, seed=1)
    assert found.score(*test) > full.score(*test) - 0.01
    assert found.best_candidate_["alpha"] > 0
    assert np.count_nonzero(found.coef_) < np.count_nonzero(full.coef_)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_numbers_of_any_size_are_learned(scale: float) -> None:
    X, s = made(20_000)
    asked = {"penalty": "l1", "alpha": 0.02 * scale, "max_iter": 1, "random_state": 0}
    model = ASGDRegressor(**asked).fit(X, scale * s + 100.0 * scale)
    assert model.method_ == "proximal"
    assert model.score(X, scale * s + 100.0 * scale) > 0.8
    assert 10 <= np.count_nonzero(model.coef_) < 200


def test_no_weight_is_negative() -> None:
    X, y = labelled()
    for asked in ({"penalty": "l1", "alpha": 0.003}, {}):
        model = ASGDClassifier(positive=True, random_state=0, **asked).fit(X, y)
        assert model.method_ == "proximal"
        assert model.coef_.min() == 0.0
        assert model.coef_.max() > 0.1


def test_several_classes_are_learned_one_against_the_rest() -> None:
    X, s = made()
    y = np.digitize(s, np.quantile(s, [0.3, 0.7]))
    asked = {"penalty": "l1", "alpha": 0.005, "shuffle": False, "max_iter": 1}
    model = ASGDClassifier(**asked).fit(X, y)
    assert model.coef_.shape == (3, 3000)
    assert (np.count_nonzero(model.coef_[[0, 2]], axis=1) > 0).all()
    assert np.count_nonzero(model.coef_) < 1500
    assert model.score(X, y) > 0.55


def test_a_weight_of_two_is_a_row_twice_in_the_penalty() -> None:
    X, y = labelled()
    asked = {"penalty": "l1", "alpha": 0.005, "shuffle": False, "max_iter": 1}
    plain = ASGDClassifier(**asked).fit(X, y)
    weighted = ASGDClassifier(**asked).fit(X, y, np.full(len(y), 2.0))
    np.testing.assert_array_equal(plain.coef_, weighted.coef_)  # weights count in their mean


def test_a_class_that_comes_late_has_zeros_too() -> None:
    X, s = made(8000)
    y = np.digitize(s, np.quantile(s, [0.3, 0.7])).astype(float)
    late = np.concatenate([np.flatnonzero(y < 2)[:1500], np.arange(8000)])
    learner = Learner(Recipe(loss="log_loss", recipe="auto", penalty="l1", alpha=0.003))
    with pytest.warns(UserWarning, match="first comes up"):
        learner.learn(X[late], y[late])
    weights = learner.model().weights
    assert weights.shape[1] == 3
    assert (weights == 0).sum() > 5000
    assert (weights != 0).any(axis=0).all()


@pytest.mark.parametrize("asked", [{"alpha": 0.003}, pytest.param({}, marks=pytest.mark.slow)])
def test_features_may_become_too_many_for_a_matrix_later(asked: Any) -> None:
    X, y = labelled()
    late = sparse.vstack([X[:1500].multiply(np.arange(3000) < 500), X[1500:]]).tocsr()
    late.eliminate_zeros()
    model = ASGDClassifier(penalty="l1", shuffle=False, max_iter=1, **asked).fit(late, y)
    assert model.method_ == "proximal"
    assert 0 < np.count_nonzero(model.coef_) < 1500
    assert model.score(X, y) > 0.75
    narrow = ASGDClassifier(penalty="l1", shuffle=False, max_iter=1, **asked)
    narrow.fit(late[:1500], y[:1500])
    assert narrow.method_ == "newton"

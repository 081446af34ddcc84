"""A penalty that is given: in memory the weights are its optimum, as batch solvers find it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.extras import glum

from polyak import ASGDClassifier, ASGDRegressor


def problem(rows: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, 6)) * [0.3, 0.5, 1.0, 1.0, 2.0, 3.0] + [0, 0, 1, 0, 2, 0]
    scores = X @ random.normal(size=(6, classes)) + random.gumbel(size=(rows, classes))
    return X, scores.argmax(axis=1)


def exact(X: np.ndarray, y: np.ndarray, alpha: float, weights: np.ndarray | None) -> Any:
    total = len(y) if weights is None else weights.sum()
    return LogisticRegression(C=1 / (alpha * total), tol=1e-10, max_iter=5000).fit(X, y, weights)


@pytest.mark.parametrize("alpha", [1e-4, 1e-2])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [3000, 32_000])  # in one pass, or in as many as help
def test_log_loss(rows: int, weighted: bool, classes: int, alpha: float) -> None:
    X, y = problem(rows, classes)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, rows) if weighted else None
    fitted = ASGDClassifier(alpha=alpha, random_state=0).fit(X, y, sample_weight=weights)
    theirs = exact(X, y, alpha, weights)
    assert fitted.method_ == "newton"
    atol = 1e-3 * np.abs(theirs.coef_).max()
    np.testing.assert_allclose(fitted.coef_, theirs.coef_, rtol=1e-3, atol=atol)
    shift = 0.0 if classes == 2 else fitted.intercept_.mean() - theirs.intercept_.mean()
    np.testing.assert_allclose(fitted.intercept_ - shift, theirs.intercept_, rtol=1e-3, atol=atol)


def test_classes_apart() -> None:
    X, y = problem(4000, 3)
    fitted = ASGDClassifier(alpha=1e-2, multi_class="ovr", random_state=0).fit(X, y)
    for k, own in enumerate(fitted.coef_):
        theirs = exact(X, y == k, 1e-2, None).coef_[0]
        np.testing.assert_allclose(own, theirs, atol=1e-3 * np.abs(theirs).max())


def test_poisson_with_offset_as_glum() -> None:
    X, _ = problem(20_000, 2)
    random = np.random.default_rng(2)
    offset = np.log(random.uniform(0.2, 2.0, len(X)))
    y = random.poisson(np.exp(X @ [0.3, -0.1, 0.2, 0.0, 0.1, 0.05] - 1.0 + offset)).astype(float)
    theirs = glum.GeneralizedLinearRegressor(
        alpha=0.01, l1_ratio=0, family="poisson", gradient_tol=1e-10
    )
    theirs.fit(X, y, offset=offset)
    fitted = ASGDRegressor(loss="poisson", alpha=0.01, random_state=0).fit(X, y, offset=offset)
    np.testing.assert_allclose(fitted.coef_, theirs.coef_, rtol=1e-3)
    np.testing.assert_allclose(fitted.intercept_, theirs.intercept_, rtol=1e-3)

"""What `alpha` and `penalty=None` ask for: the minimum of that objective, by Newton steps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.newton import converging

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(6000, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0] + [0.0, 100.0, 0.0, 3.0, 0.0]
SCORES = (X - X.mean(axis=0)) @ [1.0, 0.1, -5.0, 0.0, 0.5]
CLASSES = RANDOM.random(6000) < 1 / (1 + np.exp(-SCORES))
NUMBERS = SCORES + RANDOM.normal(size=6000)


def least(estimator: Any, y: Any) -> Any:
    """Return the gradient of the mean loss and the penalty at an estimator's weights."""
    w = np.ravel(estimator.coef_)
    scores = X @ w + estimator.intercept_
    slopes = 1 / (1 + np.exp(-scores)) - y if y.dtype == bool else scores - y
    return np.append(X.T @ slopes / len(X) + estimator.alpha * w, slopes.mean())


@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 0.1, 10.0])
def test_alpha_does_not_leave_newton_steps(alpha: float) -> None:
    ridge = ASGDRegressor(alpha=alpha, random_state=0).fit(X, NUMBERS)
    assert ridge.method_ == "newton"
    wanted = Ridge(alpha=alpha * len(X)).fit(X, NUMBERS)
    np.testing.assert_allclose(ridge.coef_, wanted.coef_, rtol=1e-6, atol=1e-9)
    logistic = ASGDClassifier(alpha=alpha, random_state=0).fit(X, CLASSES)
    assert logistic.method_ == "newton"
    loss = LogisticRegression(C=1 / (alpha * len(X)), tol=1e-8, max_iter=1000).fit(X, CLASSES)
    np.testing.assert_allclose(logistic.coef_, loss.coef_, rtol=0.03, atol=1e-3)


@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
def test_no_penalty_leaves_no_gradient(make: Any) -> None:
    for estimator, y in ((ASGDClassifier(), CLASSES), (ASGDRegressor(), NUMBERS)):
        estimator.set_params(alpha=0, random_state=0).fit(make(X), y)
        assert estimator.method_ == "newton"
        assert np.abs(least(estimator, y) / np.append(X.std(axis=0), 1.0)).max() < 1e-6


def test_no_penalty_of_several_classes() -> None:
    rows, classes = load_iris(return_X_y=True)
    rows = rows[:, :2]
    estimator = ASGDClassifier(penalty=None, random_state=0).fit(rows, classes)
    wanted = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(rows[:, :2], classes)
    found = estimator.predict_proba(rows)
    np.testing.assert_allclose(found, wanted.predict_proba(rows), atol=2e-3)


def test_a_constant_is_not_the_answer_to_no_penalty() -> None:
    noise = RANDOM.normal(size=(200, 20))
    estimator = ASGDRegressor(penalty=None, random_state=0).fit(noise, RANDOM.normal(size=200))
    assert estimator.method_ == "newton"
    assert np.count_nonzero(estimator.coef_) == 20


@pytest.mark.parametrize(
    ("order", "how"), [(17, {"penalty": None}), (10, {"intervals": True}), (17, {"alpha": 1e-6})]
)
def test_counts_do_not_explode(order: int, how: dict[str, Any]) -> None:
    random = np.random.default_rng(7018)
    rows = random.normal(size=(2000, 4))
    means = np.exp(rows @ [0.5, -0.3, 0.0, 0.0] - 1.0)
    counts = random.poisson(means * random.gamma(1.0, 1.0, 2000))
    # In these orders the first eight counts have weights that give later rows a loss of 1e79.
    found = ASGDRegressor(loss="poisson", random_state=order, **how).fit(rows, counts)
    wanted = PoissonRegressor(alpha=how.get("alpha", 0.0), tol=1e-8, max_iter=1000)
    wanted.fit(rows, counts)
    np.testing.assert_allclose(found.coef_, wanted.coef_, atol=1e-5)
    np.testing.assert_allclose(found.intercept_, wanted.intercept_, atol=1e-5)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_means_without_noise_are_found(loss: str) -> None:
    means = np.exp(X[:400] @ [0.5, -0.03, 0.0, 0.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator = ASGDRegressor(loss=loss, penalty=None, random_state=0).fit(X[:400], means)
    np.testing.assert_allclose(estimator.predict(X[:400]), means, rtol=1e-5)


@pytest.mark.parametrize("how", [{"penalty": None}, {"intervals": True}])
@pytest.mark.parametrize("loss", ["poisson", "log_loss"])
def test_a_stream_of_one_block_has_the_weights_of_fit(loss: str, how: dict[str, Any]) -> None:
    rows, counts = X[:2000], RANDOM.poisson(np.exp(0.3 * SCORES[:2000]))
    y = CLASSES[:2000] if loss == "log_loss" else counts
    learner = ASGDClassifier if loss == "log_loss" else ASGDRegressor
    made = learner(loss=loss, shuffle=False, max_iter=1, random_state=0, **how)
    fitted, streamed = clone(made).fit(rows, y), clone(made)
    for begin in range(0, 2000, 300):
        also = {"classes": [False, True]} if loss == "log_loss" else {}
        streamed.partial_fit(rows[begin : begin + 300], y[begin : begin + 300], **also)
    size = np.abs(fitted.coef_).max(initial=0.1)
    np.testing.assert_allclose(streamed.coef_, fitted.coef_, rtol=1e-6, atol=1e-6 * size)
    np.testing.assert_allclose(streamed.intercept_, fitted.intercept_, rtol=1e-6)
    if "intervals" in how:
        np.testing.assert_allclose(streamed.coef_std_err_, fitted.coef_std_err_, rtol=1e-6)


def test_steps_that_do_not_converge_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converging, "CONVERGED", -1.0)
    with pytest.warns(UserWarning, match="ended before they converged"):
        ASGDClassifier(penalty=None, random_state=0).fit(X[:300], CLASSES[:300])


@pytest.mark.parametrize("how", [{"penalty": None}, {"alpha": 0, "intervals": True}])
@pytest.mark.parametrize("which", ["apart", "in one group"])
def test_classes_apart_have_no_optimum(how: dict[str, Any], which: str) -> None:
    rows = RANDOM.normal(size=(500, 3))
    y = rows[:, 0] > 0
    if which == "in one group":  # all rows of the group are of one class, the others are not
        rows[:, 2] = np.arange(500) % 10 == 0
        y = (RANDOM.random(500) < 0.5) | (rows[:, 2] > 0)
    with pytest.warns(UserWarning, match="no finite optimum"):
        estimator = ASGDClassifier(random_state=0, **how).fit(rows, y)
    assert np.isfinite(estimator.coef_).all()
    assert np.abs(estimator.coef_).max() < 1e3


def test_a_penalty_of_none_has_no_strength() -> None:
    with pytest.raises(ValueError, match="penalty=None"):
        ASGDClassifier(penalty=None, alpha=0.1).fit(X, CLASSES)


def test_the_paper_learns_without_a_penalty_too() -> None:
    for recipe in ("paper", "sgd"):
        estimator = ASGDClassifier(penalty=None, recipe=recipe, random_state=0).fit(X, CLASSES)
        assert estimator.method_ == "averaged SGD"
        assert estimator.best_candidate_["alpha"] == 0.0

"""A penalty that is given: in memory the weights are its optimum, as batch solvers find it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
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


class TestWideRows:
    """Rows of more weights than Newton's steps take."""

    @staticmethod
    def rows(classes: int) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng(3)
        X = random.normal(size=(700, 300)) * random.uniform(0.3, 2.0, size=300) + 1.0
        scores = X @ random.normal(size=(300, classes)) / 4.0
        return X, (scores + random.gumbel(size=scores.shape)).argmax(axis=1)

    @staticmethod
    def excess(
        X: np.ndarray, y: np.ndarray, model: Any, alpha: float, weights: Any = None
    ) -> float:
        """Return how far the objective may be above its optimum, as a share of it.

        The penalty curves it by alpha in every direction, so the slope at the weights tells.
        """
        shares = np.full(len(y), 1.0 / len(y)) if weights is None else weights / weights.sum()
        odds = model.predict_proba(X)
        slopes = (odds - (y[:, None] == model.classes_)) * shares[:, None]
        assert np.abs(slopes.sum(axis=0)).max() < 5e-3  # those of the intercepts
        slope = slopes.T @ X + alpha * model.coef_
        loss = -shares @ np.log(odds[np.arange(len(y)), y])
        objective = loss + 0.5 * alpha * np.square(model.coef_).sum()
        return float(np.square(slope).sum() / (2.0 * alpha * objective))

    @pytest.mark.parametrize("weighted", [False, True])
    def test_the_optimum_of_several_classes(self, weighted: bool) -> None:
        X, y = self.rows(5)
        weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
        fitted = ASGDClassifier(alpha=0.1, random_state=0).fit(X, y, sample_weight=weights)
        assert fitted.method_ == "dense"
        assert fitted.best_candidate_["alpha"] == 0.1
        assert self.excess(X, y, fitted, 0.1, weights) < 1e-3
        assert self.excess(X, y, ASGDClassifier(random_state=0).fit(X, y), 0.1) > 1e-3

    def test_a_stream_that_is_not_held(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("polyak.learn.dense.solver.DenseSolver._most_rows", lambda self: 1024)
        monkeypatch.setattr("polyak.learn.dense.solver.STEP", 1024)
        random = np.random.default_rng(3)
        X = random.normal(size=(8000, 300))
        y = (X @ random.normal(size=(300, 5)) / 8.0 + random.gumbel(size=(8000, 5))).argmax(axis=1)
        fitted = ASGDClassifier(alpha=0.1, random_state=0)
        for part in np.array_split(np.arange(len(y)), 9):
            fitted.partial_fit(X[part], y[part], classes=range(5))
        # Quadratics stand for seven eighths of the rows.
        assert self.excess(X, y, fitted, 0.1) < 0.01

    def test_a_constant_says_so(self) -> None:
        X, y = self.rows(5)
        with pytest.warns(UserWarning, match="best constant predicts clearly better .*alpha=0.001"):
            fitted = ASGDClassifier(alpha=0.001, random_state=0).fit(X[:400], y[:400])
        assert fitted.method_ == "constant"

    @pytest.mark.parametrize(
        ("settings", "named"),
        [({"penalty": None}, "no penalty"), ({"intervals": True}, "intervals=True")],
    )
    def test_what_only_averaged_sgd_can_learn(self, settings: Any, named: str) -> None:
        X, y = self.rows(5)
        X = np.hstack([X, X**2])
        with pytest.warns(UserWarning, match=f"the optimum with {named}: .* of averaged SGD"):
            ASGDClassifier(**settings, random_state=0).fit(X, y)

    def test_words_at_a_given_penalty(self) -> None:
        X = sparse.random(500, 3000, density=0.01, random_state=0, format="csr")
        y = np.random.default_rng(0).integers(0, 2, 500)
        with pytest.warns(UserWarning, match="the optimum with alpha=0.01: .* of averaged SGD"):
            ASGDClassifier(alpha=0.01, random_state=0).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ASGDClassifier(random_state=0).fit(X, y)
            ASGDClassifier(alpha=0.01, recipe="sgd", random_state=0).fit(X, y)


@pytest.mark.parametrize("asked", [{"penalty": "l1", "alpha": 0.01}, {"penalty": None}])
def test_features_come_after_the_first_rows_without_an_intercept(asked: dict[str, Any]) -> None:
    """Rows of zeros say nothing, whether others follow or not."""
    X, _ = problem(2400, 2)
    X[:1200] = 0.0
    y = X @ np.arange(6.0)
    stream = ASGDRegressor(fit_intercept=False, **asked)
    for begin in range(0, len(X), 600):
        stream.partial_fit(X[begin : begin + 600], y[begin : begin + 600])
    assert stream.score(X, y) > 0.999
    nothing = ASGDRegressor(fit_intercept=False, **asked).fit(X[:1200], y[:1200])
    np.testing.assert_array_equal(nothing.coef_, 0.0)
    np.testing.assert_array_equal(nothing.predict(X), 0.0)

"""The exact minimiser and the real library, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from rival_problems import learned, problem
from scipy.sparse import csr_array
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.svm import SVC, LinearSVC

from reproduction.rivals import LIBLINEAR, SGD2, Batch


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_logistic_regression(fit_intercept):
    X, y = problem("log_loss", 800)
    theirs = LogisticRegression(
        C=1 / (1e-2 * 800), tol=1e-10, max_iter=10_000, fit_intercept=fit_intercept
    ).fit(X, y)
    ours = Batch(loss="log_loss", alpha=1e-2, fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(learned(ours), learned(theirs), atol=1e-6)


def test_least_squares():
    X, y = problem("squared_error", 800)
    ridge = Ridge(alpha=0.1 * 800).fit(X, y)
    np.testing.assert_allclose(
        learned(Batch(loss="squared_error", alpha=0.1).fit(X, y)),
        np.append(ridge.coef_, ridge.intercept_),
        rtol=1e-9,
    )
    X = np.c_[X, X[:, 0]]  # singular: of all solutions, the one of least length
    line = LinearRegression().fit(X, y)
    ours = Batch(loss="squared_error", alpha=0).fit(X, y)
    np.testing.assert_allclose(learned(ours), np.append(line.coef_, line.intercept_), atol=1e-9)


def test_wide_least_squares_without_normal_equations(monkeypatch):
    X, y = problem("squared_error", 800)
    exact = Batch(loss="squared_error", alpha=0.1).fit(X, y)
    monkeypatch.setattr("reproduction.rivals.batch.MOST_FEATURES", 3)
    descended = Batch(loss="squared_error", alpha=0.1).fit(csr_array(X), y)
    np.testing.assert_allclose(learned(descended), learned(exact), atol=1e-7)


def test_support_vector_machine_with_a_free_intercept():
    X, y = problem("hinge", 400)
    ours = Batch(loss="hinge", alpha=1e-2).fit(X, y)
    svc = SVC(kernel="linear", C=1 / (1e-2 * 400), tol=1e-9).fit(X, y)

    def objective(model):
        left = np.maximum(0, 1 - y * model.decision_function(X))
        return left.mean() + 5e-3 * np.sum(np.square(model.coef_))

    assert ours.objective_ == pytest.approx(objective(ours), rel=1e-12)
    assert ours.objective_ <= objective(svc) * (1 + 1e-6)


@pytest.mark.parametrize("loss", Batch.losses)
def test_nothing_near_is_better(loss):
    X, y = problem(loss, 300)
    model = Batch(loss=loss, alpha=1e-2).fit(X, y)
    from polyak.losses import get_loss

    def objective(w):
        losses = get_loss(loss).value(X @ w[:-1] + w[-1], y)
        return losses.mean() + 5e-3 * w[:-1] @ w[:-1]

    best, rng = learned(model), np.random.default_rng(0)
    assert model.objective_ == pytest.approx(objective(best))
    for _ in range(50):
        away = best + 1e-2 * rng.normal(size=best.shape)
        assert objective(away) > model.objective_


@pytest.mark.parametrize("loss", LIBLINEAR.losses)
def test_liblinear_is_the_library_and_its_penalty_ours(loss):
    X, y = problem(loss, 500)
    C = (0.5 if loss == "squared_hinge" else 1.0) / (1e-2 * 500)
    with pytest.warns(Warning, match="converge"):
        theirs = LinearSVC(loss=loss, C=C, dual=True, max_iter=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(
        learned(LIBLINEAR(loss=loss, alpha=1e-2, max_iter=2).fit(X, y)), learned(theirs)
    )
    # Without an intercept, whose penalty differs, it goes where the exact minimiser is.
    settings = {"loss": loss, "alpha": 1e-2, "fit_intercept": False}
    converged = LIBLINEAR(**settings, max_iter=100_000, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        converged.coef_, Batch(**settings).fit(X, y).coef_, atol=1e-5 if loss == "hinge" else 1e-6
    )


def test_iterations_of_liblinear_are_counted():
    X, y = problem("hinge", 500)
    for iterations in (1, 2):
        assert LIBLINEAR(max_iter=iterations, alpha=1e-4).fit(X, y).n_iter_ == iterations


def test_liblinear_has_no_logistic_loss():
    X, y = problem("log_loss", 50)
    with pytest.raises(ValueError, match="for log_loss the library has another algorithm"):
        LIBLINEAR(loss="log_loss").fit(X, y)


def test_liblinear_takes_wide_indices():
    X, y = problem("hinge", 200)
    wide = csr_array(X)
    narrow = LIBLINEAR().fit(wide, y)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_array_equal(learned(LIBLINEAR().fit(wide, y)), learned(narrow))


def test_one_pass_of_sgd2_comes_near():
    X, y = problem("squared_hinge", 20_000)
    best, one_pass = Batch(alpha=1e-2).fit(X, y), SGD2(alpha=1e-2).fit(X, y)
    losses = np.square(np.maximum(0, 1 - y * one_pass.decision_function(X))) / 2
    cost = losses.mean() + 5e-3 * np.sum(np.square(one_pass.coef_))
    assert best.objective_ < cost < 1.1 * best.objective_

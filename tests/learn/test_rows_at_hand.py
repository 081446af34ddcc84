"""Rows in memory are fitted at once: the optimum, its penalty and its error by leave-one-out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.learner import Learner
from polyak.learn.newton.block.curvature import Block
from polyak.learn.newton.block.leave_one_out import Spectrum, one_step, scores_left_out
from polyak.learn.recipes import Recipe
from polyak.losses import get_loss

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(600, 6))
SCORES = X @ RANDOM.normal(size=6)
CLASSES = (SCORES + RANDOM.logistic(size=600) > 0).astype(int)
NUMBERS = SCORES + RANDOM.normal(size=600)


def test_neither_the_order_of_rows_nor_the_seed_matters() -> None:
    first = ASGDClassifier(random_state=0).fit(X, CLASSES)
    order = RANDOM.permutation(600)
    again = ASGDClassifier(random_state=7).fit(X[order], CLASSES[order])
    np.testing.assert_allclose(again.coef_, first.coef_, rtol=1e-6)
    assert again.recent_loss_ == pytest.approx(first.recent_loss_, rel=1e-6)
    assert first.recent_.left_out
    assert first.recent_.rows == first.t_ - 1 == 600
    assert first.progressive_loss_ == first.recent_loss_


def test_the_loss_of_a_constant_is_that_of_rows_left_out() -> None:
    """Not also that of zero, by which no row was scored."""
    signs = np.tile([[1.0], [-1.0]], (300, 1))
    model = ASGDRegressor(random_state=0).fit(signs, 30.0 + NUMBERS.repeat(2)[:600])
    assert model.method_ == "constant"
    assert model.progressive_loss_ == model.recent_loss_
    assert model.candidates_[model.best_candidate_["number"]]["progressive_loss"] < 100.0


@pytest.mark.parametrize("rows", [600, 30_000])  # more than are left out
def test_the_loss_is_that_of_new_rows(rows: int) -> None:
    random = np.random.default_rng(rows)
    weights = random.normal(size=8)
    train, test = random.normal(size=(rows, 8)), random.normal(size=(100_000, 8))
    y, y_test = (s @ weights + random.logistic(size=len(s)) > 0 for s in (train, test))
    model = ASGDClassifier(random_state=0).fit(train, y)
    assert model.recent_.left_out
    away = log_loss(y_test, model.predict_proba(test)) - model.recent_loss_
    assert abs(away) < 3.0 * model.recent_.loss_std_err


@pytest.mark.parametrize("seed", [2, 3])
def test_classes_that_words_separate_are_no_loss_of_nearly_zero(seed: int) -> None:
    # 74 quarters as words, and sizes by which most of six classes are told apart.
    random = np.random.default_rng(seed)
    sizes = np.exp(random.normal(3.0, 1.0, 6))

    def drawn(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
        k, quarter = random.integers(0, 6, rows), random.integers(0, 74, rows)
        takings = sizes[k] * (1.0 + quarter / 60.0) * np.exp(0.15 * random.normal(size=rows))
        rooms = 50.0 + 3 * k % 5 + 4.0 * random.normal(size=rows)
        price = 67.0 + 0.6 * quarter + 0.5 * random.normal(size=rows)
        date = [f"{1998 + q // 4}-Q{q % 4 + 1}" for q in quarter]
        columns = {"date": date, "takings": takings, "rooms": rooms, "price": price}
        return pd.DataFrame(columns), k

    (rows, y), (test, y_test) = drawn(470), drawn(20_000)
    model = ASGDClassifier(random_state=0).fit(rows, y)
    loss = log_loss(y_test, model.predict_proba(test))
    assert model.recent_loss_ > 0.9 * loss  # leaving out by one step told 0.43 and 0.55 of it


def test_the_weights_are_the_optimum_of_the_penalty() -> None:
    given = ASGDClassifier(alpha=0.01, random_state=0).fit(X, CLASSES)
    best = LogisticRegression(C=1.0 / 6.0, tol=1e-10).fit(X, CLASSES)  # 1 / (0.01 * 600)
    np.testing.assert_allclose(given.coef_, best.coef_, rtol=1e-5)
    line = ASGDRegressor(alpha=0.01, random_state=0).fit(X, NUMBERS)
    np.testing.assert_allclose(line.coef_, Ridge(alpha=6.0).fit(X, NUMBERS).coef_, rtol=1e-8)


def test_rows_are_learned_one_by_one_where_a_number_of_passes_is_given() -> None:
    assert not ASGDClassifier(max_iter=1).fit(X, CLASSES).recent_.left_out


def test_learning_goes_on_from_rows_at_hand() -> None:
    both = ASGDRegressor(random_state=0).fit(X[:400], NUMBERS[:400])
    both.partial_fit(X[400:], NUMBERS[400:])
    alone = ASGDRegressor(random_state=0).fit(X, NUMBERS)
    np.testing.assert_allclose(both.coef_, alone.coef_, atol=0.005)
    assert both.t_ == 601


def fitted(rows: slice) -> Learner:
    learner = Learner(Recipe(loss="squared_error", recipe="auto"), n_features=6)
    assert learner.fit(X[rows], NUMBERS[rows])
    return learner


def test_fitted_learners_are_saved_and_merged() -> None:
    halves = [fitted(slice(0, 300)), fitted(slice(300, 600))]
    again = Learner.from_state(*halves[0].state())
    np.testing.assert_array_equal(again.model().weights, halves[0].model().weights)
    halves[0].merge(halves[1:])
    assert halves[0].rows_seen == 600
    whole = fitted(slice(0, 600)).model()
    np.testing.assert_allclose(halves[0].model().weights, whole.weights, atol=0.005)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["squared_error", "log_loss", "huber(2.0)"])
def test_penalties_share_a_hessian(loss: str, intercept: bool) -> None:
    kind, Z = get_loss(loss), X.copy()
    if intercept:
        Z = np.hstack([np.ones((600, 1)), X + 0.5])
    targets = np.where(CLASSES, 1.0, -1.0) if kind.classifies else NUMBERS
    w = 0.1 * RANDOM.normal(size=(Z.shape[1], 1))
    ridge = np.full(Z.shape[1], 2.0)
    ridge[: int(intercept)] = 1e-8
    h = kind.curvature_at((Z @ w)[:, 0], targets)
    spectrum = Spectrum.of((Z.T * h) @ Z, ridge, int(intercept))
    penalties = np.array([0.1, 30.0])
    W = np.repeat(w, 2, axis=1)
    exact = scores_left_out(kind, Z, targets, None, W, ridge[:, None] * penalties)
    shared, larger = one_step(kind, Block(Z, targets, None), W, spectrum, penalties, 1.0)
    np.testing.assert_allclose(larger, 1.0)
    np.testing.assert_allclose(shared, exact, rtol=1e-6, atol=1e-9)
    # Half of the rows, each of which stands for two of those that the Hessian is of.
    half = Block(Z[::2], targets[::2], None)
    some, _ = one_step(kind, half, W, spectrum, penalties, 2.0)
    np.testing.assert_allclose(some, exact[::2], rtol=0.01, atol=0.01)


def test_many_features_and_averaged_sgd_are_not_fitted_at_once() -> None:
    wide = RANDOM.normal(size=(300, 1200))
    learner = Learner(Recipe(loss="squared_error", recipe="auto"), n_features=1200)
    assert not learner.fit(wide, wide[:, 0])
    assert learner.rows_seen == 0
    averaged = Learner(Recipe(loss="squared_error", recipe="sgd"), n_features=6)
    assert not averaged.fit(X, NUMBERS)

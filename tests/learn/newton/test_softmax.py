"""Several classes learned together: the optimum of the multinomial loss, in every bit the same."""

from __future__ import annotations

import numpy as np
import pytest
from simulated import ridge_of, solver_of
from sklearn.linear_model import LogisticRegression

from polyak.learn.newton.softmax import ClassesBlock, basis
from polyak.losses.softmax import odds_of_softmax, softmax

CLASSES = 4


def ordered(n, features=6, seed=0):
    """Make classes that lie one behind the other, along one direction."""
    rng = np.random.default_rng(seed)
    X = 3.0 + rng.normal(size=(n, features))
    along = X @ np.linspace(1.0, 2.0, features) + rng.normal(size=n)
    return X, np.digitize(along, np.quantile(along, np.arange(1, CLASSES) / CLASSES))


def lane_of(X, penalties=(0.1, 1.0, 10.0)):
    how = {"outputs": CLASSES, "one_vs_rest": True, "softmax": True}
    return solver_of("log_loss", X[:1000], penalties=penalties, **how)


def optimum(lane, X, y, penalty):
    """Find what scikit-learn does with the same penalty, in the lane's own units."""
    units = lane._finished()._learned.standard
    unit = units.units * np.sqrt(1.0 / ridge_of(lane)[1:])
    Z = (X - units.centre) / unit
    found = LogisticRegression(C=1.0 / penalty, tol=1e-9, max_iter=5000).fit(Z, y)
    coef = found.coef_ / unit
    return coef, found.intercept_ - coef @ units.centre


def test_few_rows_are_at_their_optimum():
    X, y = ordered(1500)
    lane = lane_of(X)
    lane.learn(X, y)
    coef, intercept = lane.weights(place=lane.lead)
    true_coef, true_intercept = optimum(lane, X, y, lane.objective.penalties[lane.lead])
    ours, theirs = (
        softmax(X @ w.T + b) for w, b in ((coef, intercept), (true_coef, true_intercept))
    )
    np.testing.assert_allclose(ours, theirs, atol=5e-3)
    np.testing.assert_allclose(coef.sum(axis=0), 0.0, atol=1e-12)


def test_one_pass_over_many_blocks_comes_as_near():
    X, y = ordered(30_000)
    lane = lane_of(X, penalties=(1.0,))
    lane.learn(X, y)
    held, answers = ordered(20_000, seed=1)

    def loss(coef, intercept):
        chance = softmax(held @ coef.T + intercept)
        return -np.log(chance[np.arange(len(held)), answers]).mean()

    ours, best = loss(*lane.weights(place=0)), loss(*optimum(lane, X, y, 1.0))
    assert ours < 1.002 * best


def test_the_matrix_is_the_derivative_of_the_gradient():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(50, 3)), rng.integers(CLASSES, size=50)
    targets = np.where(y[:, None] == np.arange(CLASSES), 1.0, -1.0)
    block = ClassesBlock(Z, targets, rng.uniform(0.5, 2.0, 50))
    W = rng.normal(size=(3 * (CLASSES - 1), 1))

    def gradient(w):
        return block.gradient(block.losses("log_loss", block.scores(w))[1])[:, 0]

    def value(w):
        return block.losses("log_loss", block.scores(w))[0][0]

    H = block.hessian("log_loss", block.scores(W)[..., 0], safe=False)
    bound = block.hessian("log_loss", block.scores(W)[..., 0], safe=True)
    for k, step in enumerate(1e-5 * np.eye(len(W))):
        up, down = W + step[:, None], W - step[:, None]
        assert gradient(W)[k] == pytest.approx((value(up) - value(down)) / 2e-5, rel=1e-6)
        np.testing.assert_allclose(H[k], (gradient(up) - gradient(down)) / 2e-5, atol=1e-6)
    assert np.linalg.eigvalsh(bound - H).min() > -1e-9


def test_the_basis_is_orthonormal_and_adds_up_to_zero():
    for classes in (2, 3, 7):
        B = basis(classes)
        np.testing.assert_allclose(B.T @ B, np.eye(classes - 1), atol=1e-14)
        np.testing.assert_allclose(B.sum(axis=0), 0.0, atol=1e-14)


def test_odds_are_those_of_the_probabilities_however_far_scores_are_apart():
    scores = np.array([[0.0, 1.0, 2.0], [5.0, 5.0, -1.0], [0.0, 0.0, 0.0], [90.0, 0.0, 1.0]])
    chance = 1.0 / (1.0 + np.exp(-odds_of_softmax(scores)))
    np.testing.assert_allclose(chance, softmax(scores), rtol=1e-12)
    assert odds_of_softmax(scores)[3, 0] == pytest.approx(90.0 - np.log(1.0 + np.e))


def test_leaving_one_out_is_as_good_as_doing_so():
    X, y = ordered(120, features=3)
    lane = lane_of(X, penalties=(1.0,))
    lane.learn(X, y)
    found = lane.leaving_out(X, y, None)([0])[:, 0]
    some = np.arange(0, 120, 6)
    for row in some:
        rest = np.arange(120) != row
        coef, intercept = optimum(lane, X[rest], y[rest], 1.0)
        odds = odds_of_softmax(X[[row]] @ coef.T + intercept)[0]
        left_out = np.logaddexp(0.0, -odds[y[row]])
        assert np.logaddexp(0.0, -found[row, y[row]]) == pytest.approx(left_out, rel=0.05, abs=0.01)


def test_features_may_come_later_and_centres_may_be_far():
    X, y = ordered(9000)
    X[:, 5] = np.where(np.arange(9000) < 5000, 0.0, X[:, 5])
    far = X + np.array([0.0, 1e6, 0.0, 0.0, 0.0, 0.0])
    near_lane, far_lane = lane_of(X), lane_of(far)
    near_lane.learn(X, y)
    far_lane.learn(far, y)
    found = far_lane.weights(place=1)[0]
    np.testing.assert_allclose(found, near_lane.weights(place=1)[0], rtol=1e-4, atol=1e-5)

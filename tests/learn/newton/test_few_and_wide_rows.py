"""Tables of a few dozen rows, and rows of some hundred features: the lane is for both."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from simulated import labels, solver_of
from sklearn.linear_model import LogisticRegression, Ridge

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.newton.block.algebra import Equations, gram
from polyak.rows.sparse import as_rows


def r2(away, y):
    return 1 - np.square(away).sum() / np.square(y - y.mean()).sum()


@pytest.mark.parametrize("n", [30, 60])
def test_a_few_dozen_rows_end_with_a_ridge(n):
    """Means of ten tables: targets around 100, features around 1000."""
    rng = np.random.default_rng(0)
    ours, ridges = [], []
    for _ in range(10):
        X = rng.normal(1000.0, 1.0, size=(n + 500, 4))
        y = (X - 1000.0) @ [3.0, -2.0, 1.0, 0.0] + 100.0 + rng.normal(size=len(X))
        test = slice(n, None)
        model = ASGDRegressor(random_state=0).fit(X[:n], y[:n])
        ours.append(r2(model.predict(X[test]) - y[test], y[test]))
        ridges.append(r2(Ridge(1.0).fit(X[:n], y[:n]).predict(X[test]) - y[test], y[test]))
    assert np.mean(ours) > np.mean(ridges) - 0.02


@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge"])
def test_sixty_rows_of_two_classes(loss):
    rng = np.random.default_rng(1)
    ours, batch = [], []
    for _ in range(10):
        X = rng.normal(50.0, 1.0, size=(560, 3))
        y = labels((X - 50.0) @ [3.0, -2.0, 0.0])
        model = ASGDClassifier(loss=loss, random_state=0).fit(X[:60], y[:60])
        ours.append(model.score(X[60:], y[60:]))
        batch.append(LogisticRegression().fit(X[:60] - 50.0, y[:60]).score(X[60:] - 50.0, y[60:]))
    assert np.mean(ours) > np.mean(batch) - 0.02


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_seven_hundred_features(form):
    rng = np.random.default_rng(2)
    X = (rng.random((6000, 700)) < 0.1).astype(np.float32)
    y = labels((X - 0.1) @ rng.normal(size=700) * 0.5)
    lane = solver_of("log_loss", as_rows(form(X[:1000])))
    lane.learn(form(X[:5000]), y[:5000])
    batch = LogisticRegression(C=0.1, max_iter=200).fit(X[:5000], y[:5000])
    coef, intercept = lane.weights(700, place=3)
    ours, theirs = (
        np.logaddexp(0, -y[5000:] * scores).mean()
        for scores in ((X[5000:] @ coef.T + intercept)[:, 0], batch.decision_function(X[5000:]))
    )
    assert ours < 1.005 * theirs
    model = ASGDClassifier(loss="log_loss", random_state=0).fit(form(X[:2000]), y[:2000])
    assert any("penalty" in one and one["running"] for one in model.candidates_)


@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge"])
@pytest.mark.parametrize("n", [64, 200])
def test_separable_rows_leave_every_penalty_its_own_weights(loss, n):
    """The smallest penalty has next to no loss there: the others are not lost for all that."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 150 if n == 64 else 20))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    lane = solver_of(loss, X)
    scores = np.empty((n, len(lane)))
    lane._scorer.recent[:] = np.arange(len(lane))  # the smallest leads
    lane.learn(X, y, scores=scores)
    assert len({float(size) for size in np.abs(scores[-1])}) == len(lane)
    sizes = np.square(lane.weights()[0]).sum(axis=1)
    assert (np.diff(sizes) < 0).all()


@pytest.mark.parametrize("columns", [1, 5, 120, 300])
def test_equations_of_all_penalties_by_one_factor(columns):
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(400, columns)) * np.geomspace(1, 1e-3, columns)
    penalties = np.array([0.01, 1.0, 100.0])
    shrink = np.repeat(penalties[None], columns, axis=0)
    right = rng.normal(size=(columns, 3))
    G = gram(Z, None)
    how = {"lead": 1, "threads": 2}
    found = Equations(G, shrink, **how, precise=True).solve(right, within=1e-8, most=400)
    roughly = Equations(G, shrink, **how, precise=False).solve(right, within=0.05, most=10)
    for j, tau in enumerate(penalties):
        expected = np.linalg.solve(G + tau * np.eye(columns), right[:, j])
        np.testing.assert_allclose(
            found[:, j], expected, rtol=1e-4, atol=1e-6 * abs(expected).max()
        )
        away = np.linalg.norm(roughly[:, j] - expected) / np.linalg.norm(expected)
        assert away < (1e-4 if j == how["lead"] else 0.2)

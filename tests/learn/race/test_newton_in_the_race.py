"""Block Newton steps in the race: outputs, growing features, merging and bad rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import log_loss

from polyak import ASGDClassifier, ASGDRegressor
from polyak.estimators.fitted_run import Run
from polyak.learn.learner import Learner
from polyak.learn.recipes import NewtonCandidate, Recipe
from polyak.losses import get_loss
from polyak.rows.sparse import as_rows

ROWS = 9000


def problem(loss, *, dtype=np.float64, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(3.0, 1.0, size=(ROWS, 12)).astype(dtype)
    X[:, 3] = rng.random(ROWS) < 0.02
    X[:, 5] = X[:, 4] + 0.05 * (X[:, 5] - 3.0)  # nearly the same: averaged SGD is behind
    score = (X - 3.0) @ rng.normal(size=(12, max(classes, 1)))
    if loss == "squared_error":
        return X, score[:, 0] + rng.normal(size=ROWS)
    if classes == 2:
        return X, np.where(score[:, 0] + rng.normal(size=ROWS) > 0, 1, -1)
    return X, score.argmax(axis=1)


def learned(loss, X, y, ends, weights=None, through_state=False, outputs=1):
    learner = Learner(
        Recipe(loss=loss, recipe="auto"),
        classes=np.unique(y) if get_loss(loss).classifies else None,
        outputs=outputs,
    )
    begin = 0
    for end in [*ends, len(y)]:
        own = None if weights is None else weights[begin:end]
        learner.learn(X[begin:end], y[begin:end], own)
        if through_state:
            learner = Learner.from_state(*learner.state())
        begin = end
    return learner


def same(one, other):
    first, second = one.model(), other.model()
    np.testing.assert_array_equal(first.weights, second.weights)
    np.testing.assert_array_equal(first.intercept, second.intercept)
    assert first.report == second.report


def test_rows_learned_again_are_not_learned_twice():
    X, y = problem("squared_error")
    learner = learned("squared_error", X, y, [])
    before = learner.model()
    learner.learn(X, y, again=True)
    after = learner.model()
    assert after.report.rows == 2 * ROWS
    np.testing.assert_array_equal(before.weights, after.weights)
    assert ASGDRegressor(random_state=0).fit(X, y).n_iter_ == 1


# -- leaving -------------------------------------------------------------------------------------


def growing(rows=6000, seed=0):
    """Return sparse rows in which new features keep occurring in the second half."""
    rng = np.random.default_rng(seed)
    narrow = sparse.random(rows, 200, density=0.05, random_state=1, format="csr")
    wide = sparse.random(rows, 3000, density=0.01, random_state=2, format="lil")
    wide[: rows // 2] = 0
    X = sparse.hstack([narrow, wide.tocsr()], format="csr")
    y = np.where(X[:, :200] @ rng.normal(size=200) + 0.1 * rng.normal(size=rows) > 0, 1, -1)
    return X, y


@pytest.mark.slow
def test_too_many_features_are_left_to_averaged_sgd():
    X, y = growing()
    whole = learned("log_loss", X, y, [])
    assert whole.report().winner.method == "averaged SGD"
    candidates = whole.report().candidates
    newton = [one for one in candidates if one.method == "newton"]
    assert newton
    assert not any(one.running for one in newton)
    for ends in ([3050], [2500, 3001, 3007, 3100], list(range(500, 6000, 77))):
        same(whole, learned("log_loss", X, y, ends))
        same(whole, learned("log_loss", X, y, ends, through_state=True))


def test_averaged_sgd_stays_as_long_as_features_may_come():
    X, y = problem("log_loss")
    unknown = learned("log_loss", sparse.csr_matrix(X), y, [])
    assert unknown.race.running_sgd
    known = Learner(Recipe(loss="log_loss", recipe="auto"), n_features=12)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    known.learn(X, y)
    assert not known.race.running_sgd


def test_learners_with_and_without_newton_steps_merge():
    X, y = growing(3000)
    few, many = (
        learned("log_loss", X[part], y[part], []) for part in (slice(1500), slice(1500, None))
    )
    assert any(isinstance(c, NewtonCandidate) for c in few.race.candidates)
    assert not any(isinstance(c, NewtonCandidate) for c in many.race.candidates)
    few.merge([many])
    assert few.rows_seen == 3000
    assert few.report().winner.method == "averaged SGD"


def test_bad_rows_are_refused_by_newton_steps_alone():
    X, y = problem("squared_error")
    run = Run(Learner(Recipe(loss="squared_error", recipe="auto"), n_features=12))
    big, numbers = np.tile(X, (3, 1)), np.tile(y, 3)
    run.learn(big, numbers, None)
    assert not run.learner.race.running_sgd
    before = run.learner.model().weights
    for bad_rows, bad_targets in ((as_rows(X[:5] * np.nan), y[:5]), (X[:5], y[:5] * np.nan)):
        with pytest.raises(ValueError, match="nan"):
            run.learn(bad_rows, bad_targets, None)
        with pytest.raises(ValueError, match="features"):
            run.learn(np.ones((5, 13)), y[:5], None)
    np.testing.assert_array_equal(run.learner.model().weights, before)


def test_old_weights_are_not_held_against_newton_steps():
    """Newton's weights are from the last doubling of the rows; averaged SGD's are current."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(13_000, 250))
    scores = X @ rng.normal(size=250) * 2 / np.sqrt(250)
    y = scores + rng.logistic(size=len(X)) > 0
    fitted = ASGDClassifier(loss="log_loss", random_state=0).fit(X[:3000], y[:3000])
    alone = ASGDClassifier(loss="log_loss", recipe="sgd", random_state=0).fit(X[:3000], y[:3000])
    assert fitted.method_ == "newton"
    losses = [log_loss(y[3000:], one.predict_proba(X[3000:])) for one in (fitted, alone)]
    assert losses[0] < losses[1]

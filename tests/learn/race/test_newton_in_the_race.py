"""Block Newton steps in the race: batches, stops, merging and leaving leave no trace."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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


SPLITS = [[1], [999, 1000, 1001], [1500, 4095, 4097, 8192], list(range(37, ROWS, 613))]


@settings(max_examples=4)
@given(
    loss=st.sampled_from(["log_loss", "squared_hinge", "squared_error"]),
    form=st.sampled_from(["dense", "float32", "sparse", "classes", "weights"]),
)
def test_batches_and_stops_leave_no_trace(loss, form):
    if form == "classes" and loss == "squared_error":
        return  # numbers are no classes
    X, y = problem(
        loss,
        dtype=np.float32 if form == "float32" else np.float64,
        classes=3 if form == "classes" else 2,
    )
    weights = np.random.default_rng(1).uniform(0.1, 2.0, ROWS) if form == "weights" else None
    if form == "sparse":
        X = sparse.csr_matrix(X)
    whole = learned(loss, X, y, [], weights)
    assert whole.report().winner.method == "newton"
    for ends in SPLITS:
        same(whole, learned(loss, X, y, ends, weights))
        same(whole, learned(loss, X, y, ends, weights, through_state=True))


def test_several_outputs():
    X, y = problem("squared_error")
    Y = np.stack([y, -2.0 * y + X[:, 0]], axis=1)
    fitted = ASGDRegressor(random_state=0).fit(X, Y)
    assert fitted.method_ == "newton"
    assert fitted.coef_.shape == (2, 12)
    for output in range(2):
        alone = ASGDRegressor(random_state=0).fit(X, Y[:, output])
        np.testing.assert_allclose(fitted.coef_[output], alone.coef_, atol=0.1)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_leave_no_trace(n_jobs):
    X, y = problem("log_loss")
    one = ASGDClassifier(loss="log_loss", n_jobs=1, random_state=0).fit(X, y)
    other = ASGDClassifier(loss="log_loss", n_jobs=n_jobs, random_state=0).fit(X, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_copies_go_on_alike():
    X, y = problem("log_loss")
    first = ASGDClassifier(loss="log_loss")
    first.partial_fit(X[:5000], y[:5000], classes=[-1, 1])
    copies = [copy.deepcopy(first), pickle.loads(pickle.dumps(first))]
    first.partial_fit(X[5000:], y[5000:])
    for other in copies:
        other.partial_fit(X[5000:], y[5000:])
        np.testing.assert_array_equal(other.coef_, first.coef_)


@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge", "squared_error"])
def test_merged_is_almost_as_learned_at_once(loss):
    X, y = problem(loss)
    whole = learned(loss, X, y, [])
    base = learned(loss, X[:2000], y[:2000], [])
    parts = [copy.deepcopy(base) for _ in range(2)]
    for part, rows in zip(parts, (slice(2000, 5500), slice(5500, ROWS)), strict=True):
        part.race.is_part = True
        part.learn(X[rows], y[rows])
    parts[0].merge(parts[1:], base)
    assert parts[0].rows_seen == ROWS
    assert parts[0].report().winner.method == "newton"
    value = get_loss(loss).value
    at_once, merged = (
        value(one.model().decision_function(X), y).mean() for one in (whole, parts[0])
    )
    assert merged < 1.001 * at_once


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
    X, y = growing()
    few, many = (
        learned("log_loss", X[part], y[part], []) for part in (slice(3000), slice(3000, None))
    )
    assert any(isinstance(c, NewtonCandidate) for c in few.race.candidates)
    assert not any(isinstance(c, NewtonCandidate) for c in many.race.candidates)
    few.merge([many])
    assert few.rows_seen == 6000
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
    X = rng.normal(size=(13_000, 300))
    scores = X @ rng.normal(size=300) * 2 / np.sqrt(300)
    y = scores + rng.logistic(size=len(X)) > 0
    fitted = ASGDClassifier(loss="log_loss", random_state=0).fit(X[:3000], y[:3000])
    alone = ASGDClassifier(loss="log_loss", recipe="sgd", random_state=0).fit(X[:3000], y[:3000])
    assert fitted.method_ == "newton"
    losses = [log_loss(y[3000:], one.predict_proba(X[3000:])) for one in (fitted, alone)]
    assert losses[0] < losses[1]

"""Features that are hardly ever zero are centred for averaged SGD, exactly, and sparse rows too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.centring import Centre
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.rows.sparse import SparseRows, as_rows

ROWS = 6000


def years(rows: int = ROWS, words: int = 3000, seed: int = 0) -> tuple[Any, Any]:
    """A year next to thousands of sparse features, so that Newton steps do not run."""
    rng = np.random.default_rng(seed)
    year = rng.integers(1990, 2025, size=rows).astype(float)
    sparse = sp.random(rows, words, 5 / words, "csr", random_state=rng)
    y = 0.3 * (year - 2007) + sparse @ rng.normal(size=words) + 0.3 * rng.normal(size=rows)
    return sp.hstack([sparse[:, :40], year[:, None], sparse[:, 40:]], format="csr"), y


def test_a_year_among_thousands_of_sparse_features():
    X, y = years(20_000)
    train, test = slice(15_000), slice(15_000, None)
    fitted = ASGDRegressor(random_state=0).fit(X[train], y[train])
    assert fitted.method_ == "averaged SGD"
    ridge = Ridge(alpha=1.0).fit(X[train], y[train])
    assert fitted.score(X[test], y[test]) > 0.99 * ridge.score(X[test], y[test])


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_margin_among_features_that_are_far_from_zero(dense, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(1000.0, 1.0, size=(ROWS, 8))
    y = (X - 1000.0) @ rng.normal(size=8) > 0
    X = X.astype(dtype)
    rows = X if dense else sp.csr_array(X)
    fitted = ASGDClassifier(loss="hinge", random_state=0).fit(rows[:5000], y[:5000])
    assert fitted.score(rows[5000:], y[5000:]) > 0.97


@pytest.mark.parametrize("kind", ["sparse", "dense", "single"])
def test_shifted_rows_are_rows_less_the_means(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 1.0, size=(500, 9)) * (rng.random((500, 9)) < np.linspace(0.1, 1.0, 9))
    X = X.astype(np.float32 if kind == "single" else np.float64)
    rows: Any = as_rows(X if kind == "dense" else sp.csr_array(X))
    centre = Centre.of(rows, X.dtype)
    often = np.flatnonzero(np.count_nonzero(X, axis=0) > 250)
    np.testing.assert_array_equal(centre.features, often)
    np.testing.assert_allclose(centre.means, X[:, often].mean(axis=0, dtype=float), rtol=1e-6)
    for part in (rows, rows[100:333], rows[7:7]):
        shifted: Any = centre.shifted(part)
        begin = 100 if len(part) == 233 else 0
        expected = X[begin : begin + len(part)].copy()
        expected[:, often] = expected[:, often] - centre.means
        if kind != "dense":
            shape = (len(part), shifted.n_features)
            shifted = sp.csr_array((shifted.values, shifted.indices, shifted.indptr), shape)
            assert shifted.has_sorted_indices
            shifted = shifted.toarray()
        np.testing.assert_allclose(shifted, expected, rtol=1e-6)


def test_features_in_any_order_are_shifted():
    rows = SparseRows(np.array([0, 2, 4]), np.array([5, 2, 0, 2]), np.arange(1.0, 5.0), 6)
    shifted = Centre(np.array([2, 5]), np.array([10.0, 100.0])).shifted(rows)
    dense = sp.csr_array((shifted.values, shifted.indices, shifted.indptr), shape=(2, 6)).toarray()
    assert dense.tolist() == [[0, 0, -8, 0, 0, -99], [3, 0, -6, 0, 0, -100]]
    assert shifted.indices.tolist() == [2, 5, 0, 2, 5]


@pytest.mark.parametrize("intervals", [False, True])
def test_the_shift_is_undone_exactly(intervals):
    """Progressive scores are of shifted rows, the model's of rows as they are: they agree."""
    X, y = years(3000)
    learner = Learner(Recipe(loss="squared_error", recipe="sgd", intervals=intervals))
    learner.learn(X, y)
    assert learner.race is not None
    assert len(learner.race.problem.centre) == 1
    leader, model = learner.race.leader(), learner.model()
    lane: Any = leader.lane
    scores = lane.bank.decision_function(learner.race.problem.centre.shifted(as_rows(X)))
    own = scores[:, leader.place * lane.models_each]
    np.testing.assert_allclose(model.scores(as_rows(X))[:, 0], own, rtol=1e-9, atol=1e-9)
    if intervals:
        assert model.replicas is not None
        spread = model.replicas[:, :-1, 0] @ X[:5].toarray().T + model.replicas[:, -1:, 0]
        first = leader.place * lane.models_each + 1
        np.testing.assert_allclose(spread, scores[:5, first : first + 32].T, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("from_one", [False, True])
def test_learners_with_different_centres_can_be_merged(from_one):
    X, y = years(16_000)
    base = Learner(Recipe(loss="squared_error", recipe="sgd"))
    if from_one:
        base.learn(X[:2000], y[:2000])
    parts = [Learner.from_state(*base.state()) for _ in range(2)]
    begin = 2000 if from_one else 0
    for part, rows in zip(parts, np.array_split(np.arange(begin, 15_000), 2), strict=True):
        part.learn(X[rows], y[rows])
    alone = parts[0].model().predict(as_rows(X[15_000:]))
    parts[0].merge(parts[1:], base if from_one else None)
    merged = parts[0].model().predict(as_rows(X[15_000:]))
    missed = [np.square(guess - y[15_000:]).mean() for guess in (alone, merged)]
    assert missed[1] < missed[0]


def test_what_nothing_could_undo_is_not_shifted():
    X, y = years(2000)
    for recipe in (
        Recipe(recipe="paper", loss="squared_hinge"),
        Recipe(recipe="sgd", fit_intercept=False, loss="squared_hinge"),
    ):
        learner = Learner(recipe)
        learner.learn(X, y > 0)
        assert learner.race is not None
        assert not len(learner.race.problem.centre)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_column_that_is_the_same_number_in_all_rows_but_a_few(form):
    """What rounding left of it was learned as a constant, with a weight of billions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 4))
    rare = np.zeros(9000)
    rare[[1500, 3000, 4500, 6000, 8500]] = 1.0
    y = X[:, 0] + rare + 2.0 + 0.1 * rng.normal(size=9000)
    X = np.column_stack([X, 2.36370883 * (rare + 0.7005858)])
    fitted = ASGDRegressor(recipe="sgd", shuffle=False).fit(form(X[:8000]), y[:8000])
    assert abs(fitted.predict(form(X[8500:8501]))[0] - y[8500]) < 3.0

"""What a learner promises whatever comes: the same model from the same rows, and nothing lost."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from polyak import ASGDClassifier, ASGDRegressor
from polyak.cli.display import Lines, words
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.learn.recipes.candidates import BYTES_PER_FEATURE, FEWEST_CANDIDATES, MOST_BYTES
from polyak.rows.sparse import SparseRows
from polyak.training.job import Progress

AUTO = Recipe(loss="log_loss", recipe="auto")
SGD = Recipe(loss="log_loss", recipe="sgd")


def sparse_rows(rows: int, features: int, far: dict[int, int], seed: int = 0) -> tuple[Any, Any]:
    """Draw rows of narrow features, some of which have one more feature far beyond them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    y = np.where(X @ rng.normal(size=features) + rng.logistic(size=rows) > 0, 1.0, -1.0)
    per_row = [list(range(features)) + ([far[i]] if i in far else []) for i in range(rows)]
    indptr = np.cumsum([0, *map(len, per_row)])
    values = np.concatenate([np.r_[X[i], [1.0] * (i in far)] for i in range(rows)])
    indices = np.concatenate(per_row)
    return SparseRows(indptr, indices, values, int(indices.max()) + 1), y


def alive(learner: Learner) -> int:
    assert learner.race is not None
    return len(learner.race.contenders)


# -- the same bits whatever the blocks and the format ------------------------------------------


def test_the_width_of_later_rows_does_not_cut_the_candidates():
    rows, y = sparse_rows(3000, 5, {2500: 3_000_000})
    whole, parts = Learner(SGD), Learner(SGD)
    whole.learn(rows, y)
    for begin in range(0, 3000, 250):
        parts.learn(rows[begin : begin + 250], y[begin : begin + 250])
    assert whole.race is not None
    assert whole.race.entered == 54
    some, others = whole.model(), parts.model()
    np.testing.assert_array_equal(some.weights, others.weights)
    assert some.report == others.report


def test_memory_is_bounded_where_the_bank_grows():
    rows, y = sparse_rows(3000, 5, {1500: 200_000, 2500: 10_000_000})
    learner = Learner(SGD)
    learner.learn(rows[:1400], y[:1400])
    before = alive(learner)
    learner.learn(rows[1400:2400], y[1400:2400])
    assert alive(learner) * BYTES_PER_FEATURE * 200_001 <= MOST_BYTES
    assert FEWEST_CANDIDATES < alive(learner) < before
    learner.learn(rows[2400:], y[2400:])
    assert alive(learner) == FEWEST_CANDIDATES
    assert learner.model().n_features == 10_000_001


def test_a_bad_row_behind_one_that_is_far_out_leaves_everything_as_it_was():
    rows, y = sparse_rows(3000, 5, {2500: 3_000_000})
    learner = Learner(AUTO)
    learner.learn(rows[:2000], y[:2000])
    state = learner.state()
    rows.values[-1] = np.nan
    with pytest.raises(ValueError, match="row 999 has the value nan"):
        learner.learn(rows[2000:], y[2000:])
    page, arrays = learner.state()
    assert json.dumps(page) == json.dumps(state[0])
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, state[1][name])


def test_a_declared_width_is_not_the_rows_width():
    rows, y = sparse_rows(1500, 5, {})
    narrow, wide = Learner(SGD), Learner(SGD, n_features=1_000_000)
    narrow.learn(rows, y)
    wide.learn(SparseRows(rows.indptr, rows.indices, rows.values, 1_000_000), y)
    assert narrow.race is not None
    assert wide.race is not None
    assert wide.race.entered == narrow.race.entered == 54
    np.testing.assert_array_equal(wide.model().weights[:5], narrow.model().weights)
    assert wide.model().n_features == 1_000_000


# -- nothing lost ------------------------------------------------------------------------------


# -- weights -----------------------------------------------------------------------------------

ESTIMATORS = [
    ASGDClassifier(random_state=0),
    ASGDClassifier(loss="hinge", recipe="paper", random_state=0),
    ASGDRegressor(random_state=0),
    ASGDRegressor(recipe="paper", random_state=0),
]


def weighted_problem(estimator: Any, rows: int = 1500) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 6))
    z = X @ rng.normal(size=6) + rng.logistic(size=rows)
    return X, z if isinstance(estimator, ASGDRegressor) else z > 0


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("weight", [0.1, 1e300])
def test_uniform_weights_change_nothing(estimator: Any, weight: float):
    X, y = weighted_problem(estimator)
    plain = estimator.fit(X, y)
    coef, intercept = plain.coef_.copy(), plain.intercept_.copy()
    weighted = estimator.fit(X, y, sample_weight=np.full(len(X), weight))
    np.testing.assert_array_equal(weighted.coef_, coef)
    np.testing.assert_array_equal(weighted.intercept_, intercept)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize(("spread", "sparse"), [(6, False), (150, True), (300, False)])
def test_mixes_of_huge_and_tiny_weights_stay_finite(estimator: Any, sparse: bool, spread: int):
    X, y = weighted_problem(estimator)
    rng = np.random.default_rng(2)
    weights = 10.0 ** rng.uniform(-spread, spread, size=len(X))
    rows = sp.csr_array(X.astype(np.float32)) if sparse else X
    fitted = estimator.fit(rows, y, sample_weight=weights)
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.intercept_).all()
    assert np.isfinite(fitted.progressive_loss_)
    assert np.isfinite(fitted.recent_.loss)
    assert fitted.t_ == (1501 if fitted.n_iter_ == 1 else fitted.t_)
    assert np.isfinite(fitted.score(X, y))


# -- what is told ------------------------------------------------------------------------------


def test_recent_losses_and_errors_are_never_negative():
    # Targets with heavy tails let the lead change: sums of different leaders are not subtracted.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(16_000, 5)) + 3
    y = X @ rng.normal(size=5) + 0.1 * rng.standard_t(1.2, size=len(X))
    learner = Learner(Recipe(loss="squared_error", recipe="sgd"))
    for begin in range(0, len(X), 250):
        learner.learn(X[begin : begin + 250], y[begin : begin + 250])
        recent = learner.recent()
        assert not recent["loss"] < 0
        assert not recent["error"] < 0
    assert recent["rows"] >= 8000


@pytest.mark.parametrize("live", [False, True])
def test_the_progress_line_shows_the_later_half(live: bool):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    learner = Learner(Recipe(loss="squared_error", recipe="auto"))
    learner.learn(X, X.sum(axis=1) + rng.normal(size=len(X)))
    progress = Progress(learner, rows=4000, seconds=1.0)
    if live:
        recent = learner.recent()
        shown = words(progress, (9.0, 9.0), (recent["loss"], recent["error"]))
    else:
        out = io.StringIO()
        Lines(out)(progress)
        shown = out.getvalue()
    digits = 4 if live else 6
    assert f"{learner.recent()['loss']:.{digits}f}" in shown
    assert f"{learner.recent()['error']:.{digits}f}" in shown

"""How many rows averaging needs: as the theory has it, and the same however rows are stored."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.learn.rows_needed import NARROW, rows_needed_by, second_moments
from polyak.paper.theory import rows_needed
from polyak.rows.sparse import SparseRows, as_rows

HOW = {"precondition": 0.0, "implicit": False, "fit_intercept": False}


def rows_of(n, curvatures, seed=0):
    return np.random.default_rng(seed).normal(size=(n, len(curvatures))) * np.sqrt(curvatures)


def test_it_is_one_over_lambda_gamma():
    X = rows_of(1000, np.r_[np.ones(3), np.full(17, 0.05)])
    needed = rows_needed(X, "squared_error", gamma0=0.1, fit_intercept=False)
    assert 0.03 < needed.lambda0 < 0.06
    assert needed.rows == pytest.approx(1 / (needed.lambda0 * 0.1), rel=0.05)
    quarter = rows_needed(X, "log_loss", gamma0=0.1, fit_intercept=False)  # its curvature is 1/4
    assert quarter.rows == pytest.approx(4 * needed.rows, rel=0.05)
    penalised = rows_needed(X, "squared_error", 1.0, gamma0=0.1, fit_intercept=False)
    assert penalised.rows == pytest.approx(1 / ((needed.lambda0 + 1.0) * 0.1), rel=0.1)


def test_a_direction_without_any_variation_does_not_count():
    X = rows_of(1000, np.ones(10))
    double = np.hstack([X, X[:, :1]])  # one feature twice: no row tells the two weights apart
    once, twice = (rows_needed(M, "squared_error", gamma0=0.1) for M in (X, double))
    assert twice.rows == pytest.approx(once.rows, rel=0.3)
    assert twice.flattest == 0
    assert twice.rows_in_every_direction == np.inf
    assert "it never does" in twice.words()
    assert rows_needed(double, "squared_error", 1e-3).flattest == pytest.approx(1e-3)


@pytest.mark.parametrize("width", [20, NARROW, 2000])
def test_stored_sparse_or_dense_is_all_the_same(width):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, width)) * (rng.random((200, width)) < 0.1)
    X[:, 3] = 0
    sparse = sp.csr_matrix(X)
    wider = SparseRows(sparse.indptr, sparse.indices, sparse.data, width + 50)
    hashed = SparseRows(
        sparse.indptr, sparse.indices.astype(np.int64) * 99_991, sparse.data, width * 99_991
    )
    found = [second_moments(as_rows(M), fit_intercept=True) for M in (X, sparse, wider, hashed)]
    assert found[0].ndim == (2 if width <= NARROW else 1)
    assert found[0].shape[0] == width  # less the feature that is always zero, plus the intercept
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-12)
    answers = [rows_needed(M, "hinge", 1e-4).rows for M in (X, sparse)]
    assert answers[0] == answers[1]


def test_what_training_keeps_gives_the_same_answer():
    X = rows_of(1000, np.geomspace(1.0, 1e-3, 30))
    kept = second_moments(X, fit_intercept=True)
    how = HOW | {"fit_intercept": True}
    by_moments = rows_needed_by(kept, "squared_hinge", 1e-5, 0.05, **how)
    by_rows = rows_needed(X, "squared_hinge", 1e-5, gamma0=0.05)
    assert by_moments.rows == by_rows.rows
    assert by_moments.lambda0 == pytest.approx(by_rows.lambda0)
    assert by_moments.flattest == pytest.approx(by_rows.flattest)


def test_a_preconditioner_levels_the_directions():
    moments = np.diag(np.geomspace(1.0, 1e-4, 9))
    plain = rows_needed_by(moments, "squared_error", 0.0, 0.1, **HOW)
    levelled = rows_needed_by(moments, "squared_error", 0.0, 0.1, **HOW | {"precondition": 1.0})
    assert levelled.rows == 10
    assert plain.rows == 320  # the largest four carry 99 %, and the fourth is 10 ** -1.5
    as_a_diagonal = rows_needed_by(np.diagonal(moments), "squared_error", 0.0, 0.1, **HOW)
    assert as_a_diagonal.rows == plain.rows
    assert (plain.spectrum, as_a_diagonal.spectrum) == (True, False)


def test_an_implicit_step_is_no_longer_than_the_loss_allows():
    moments = np.eye(4)
    short = rows_needed_by(moments, "squared_error", 0.0, 1e-3, **HOW | {"implicit": True})
    long = rows_needed_by(moments, "squared_error", 0.0, 1e6, **HOW | {"implicit": True})
    assert short.gamma0 == pytest.approx(1e-3, rel=0.01)
    assert long.gamma0 == pytest.approx(1 / 4, rel=0.01)


def test_numbers_too_large_to_be_squared_give_no_answer():
    assert second_moments(np.full((3, 2), 1e200), fit_intercept=True) is None


def test_a_learner_keeps_it_through_everything():
    X = rows_of(3000, np.geomspace(1.0, 1e-2, 12))
    y = np.where(X @ np.ones(12) > 0, 1, -1)
    whole = Learner(Recipe())
    whole.learn(X, y)
    split = Learner(Recipe())
    for part in np.array_split(np.arange(3000), 17):
        split.learn(sp.csr_matrix(X[part]), y[part])
        split = Learner.from_state(*split.state())
    needed = whole.model().report.rows_needed
    assert needed.rows > 1
    assert split.model().report.rows_needed == needed
    late = Learner(Recipe())
    late.merge([whole])
    assert late.model().report.rows_needed == needed

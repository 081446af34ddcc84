"""After how many rows averaging pays off, estimated from a sample of rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from polyak.learn.rows_needed import rows_needed_by, second_moments
from reproduction.theory import rows_needed

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
    assert rows_needed(double, "squared_error", 1e-3).flattest == pytest.approx(1e-3)


def test_what_training_keeps_gives_the_same_answer():
    X = rows_of(1000, np.geomspace(1.0, 1e-3, 30))
    kept = second_moments(X, fit_intercept=True)
    how = HOW | {"fit_intercept": True}
    by_moments = rows_needed_by(kept, "squared_hinge", 1e-5, 0.05, **how)
    by_rows = rows_needed(X, "squared_hinge", 1e-5, gamma0=0.05)
    assert by_moments.rows == by_rows.rows
    assert by_moments.lambda0 == pytest.approx(by_rows.lambda0, rel=5e-3)  # it has three digits
    assert by_moments.flattest == pytest.approx(by_rows.flattest, rel=5e-3)


@pytest.mark.parametrize("width", [20, 2000])
def test_storage_does_not_matter(width):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, width)) * (rng.random((200, width)) < 0.1)
    dense, sparse = (rows_needed(M, "hinge", 1e-4).rows for M in (X, sp.csr_matrix(X)))
    assert dense == sparse

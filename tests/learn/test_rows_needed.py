"""After how many rows averaging pays off: what training keeps for the report."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from polyak.learn.rows_needed import NARROW, rows_needed_by, second_moments
from polyak.rows.sparse import SparseRows, as_rows

HOW = {"precondition": 0.0, "implicit": False, "fit_intercept": False}


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

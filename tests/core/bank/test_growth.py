"""A bank without a width grows as features appear."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import make_bank, problem, same_bits
from scipy.sparse import csr_array

from polyak.learn.averaging import Averaging
from polyak.rows.sparse import SparseRows

OPTIONS = [
    {"averaging": Averaging()},
    {"averaging": Averaging(0), "precondition": 0.5, "alpha": [1e-2, 1e-3]},
    {"averaging": Averaging(0, 3.0), "precondition": 1.0, "dtype": np.float32},
]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(OPTIONS), st.integers(1, 60), st.booleans())
def test_growing_gives_the_bits_of_knowing_the_width(options, size, dense):
    """Later rows bring features that the earlier ones never had."""
    X, y = problem("squared_hinge", 300, 30)
    X *= np.arange(30) <= np.linspace(2, 29, 300)[:, None]
    X[-1, -1] = 1.0
    grown, wide = make_bank(**options), make_bank(**options, n_features=30)
    seen = 0
    for i in range(0, 300, size):
        part = X[i : i + size]
        seen = max(seen, 1 + int(np.flatnonzero(part.any(axis=0)).max(initial=-1)))
        rows = part[:, :seen] if dense else csr_array(part)
        grown.learn(rows, y[i : i + size])
        assert grown.n_features == seen
        wide.learn(rows, y[i : i + size])
    assert seen == 30
    assert same_bits(grown, wide)


def test_a_bank_of_known_width_does_not_grow():
    bank = make_bank(n_features=3)
    assert bank.n_features == 3
    with pytest.raises(ValueError, match="row 1 has the feature index 3"):
        bank.learn(SparseRows(np.array([0, 1, 2]), np.array([0, 3]), np.ones(2), 4), [1.0, -1.0])
    with pytest.raises(ValueError, match="4 features"):
        bank.learn(np.ones((2, 4)), [1.0, -1.0])
    assert bank.n_features == 3
    assert bank.clock == 0


def test_narrow_rows_leave_the_other_features_alone():
    X, y = problem("squared_hinge", 300, 30)
    wide, narrow = (make_bank(n_features=30) for _ in "ab")
    narrow.learn(X[:, :7], y)
    wide.learn(np.hstack([X[:, :7], np.zeros((300, 23))]), y)
    assert not narrow.coef[:, 7:].any()
    np.testing.assert_allclose(narrow.coef, wide.coef, rtol=1e-12)


def test_unknown_features_score_nothing():
    X, y = problem("squared_hinge", 300, 30)
    bank = make_bank()
    bank.learn(X[:, :7], y)
    want = X[:, :7] @ bank.coef.T + bank.intercept
    for rows in (X, csr_array(X), csr_array(X).astype(np.float32)):
        np.testing.assert_allclose(bank.decision_function(rows), want, rtol=1e-12)


def test_a_feature_beyond_all_memory_is_refused():
    bank = make_bank()
    rows = SparseRows(np.array([0, 1]), np.array([2**31 - 1]), np.ones(1), 2**31)
    with pytest.raises(ValueError, match=r"weights of 2147483648|holds at most 2147483647"):
        bank.learn(rows, [1.0])
    assert bank.n_features == 0

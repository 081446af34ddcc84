"""Spreads of features: standard deviations of the first rows, sparse or dense."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from polyak.learn.calibration import MOST_KEPT, Spreads
from polyak.rows.sparse import SparseRows


@pytest.mark.parametrize("width", [300, 1_000_000])
def test_sparse_rows_have_the_spreads_of_dense_ones(width):
    dense = np.random.default_rng(0).normal(5.0, 1.0, size=(200, 300))
    dense[np.random.default_rng(1).random(dense.shape) < 0.9] = 0.0
    found = sparse.csr_matrix(dense)
    shift = width - 300  # so that the features lie far from each other and from zero
    rows = SparseRows(
        found.indptr.astype(np.int64), (found.indices + shift).astype(np.int32), found.data, width
    )
    spreads = Spreads.of(rows)
    np.testing.assert_allclose(spreads.values, dense.std(axis=0)[spreads.features - shift])
    np.testing.assert_allclose(Spreads.of(dense).values, dense.std(axis=0))


def test_those_with_the_largest_effects_are_kept_in_their_order():
    rng = np.random.default_rng(0)
    weights, values = rng.normal(size=(2, 1000)), rng.random(1000)
    kept = Spreads(np.arange(1000), values).of_the_largest_effects(weights)
    effects = np.abs(weights).max(axis=0) * values
    assert list(kept) == np.argsort(-effects)[:MOST_KEPT].tolist()


def test_no_rows_have_no_spreads():
    nothing = SparseRows(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0), 5)
    assert Spreads.of(nothing).of_the_largest_effects(np.ones((1, 5))) == {}

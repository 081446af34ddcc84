"""Sums over blocks of mostly zeros, and rows in standard units, against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from polyak import _core
from polyak.rows.sparse import core_rows


def block_of(dtype, rows=300, columns=61, share=0.1):
    rng = np.random.default_rng(0)
    Z = np.where(rng.random((rows, columns)) < share, rng.normal(size=(rows, columns)), 0.0)
    Z[:, 0], Z[:, 5] = 1.0, -0.0
    Z = Z.astype(dtype)
    Z.flags.writeable = False  # as that of a model which is mapped from a file
    return Z


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_products_of_what_is_not_zero(dtype, weighted):
    Z = block_of(dtype)
    h = np.random.default_rng(1).integers(0, 3, len(Z)).astype(float) if weighted else None
    found = _core.sparse_gram(Z[:, :58], h, 0.5)
    wide = Z[:, :58].astype(np.float64)
    wanted = wide.T @ (wide if h is None else wide * h[:, None])
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found, found.T)
    assert _core.sparse_gram(Z, h, 0.05) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sizes_and_norms(dtype):
    Z = block_of(dtype)
    clipped = np.clip(Z.astype(np.float64), -1.5, 1.5)
    for places in (np.arange(Z.shape[1]), np.arange(1, Z.shape[1], 2), np.array([3, 40])):
        squares, varied = _core.column_sizes(Z, places, 1.5)
        wanted = np.square(clipped).sum(axis=0)[places]
        np.testing.assert_allclose(squares, wanted, rtol=1e-12)
        np.testing.assert_array_equal(varied, np.count_nonzero(Z, axis=0)[places])
    many = np.tile(Z, (50, 1))
    two, one = (_core.column_sizes(many, places, 1.5, threads) for threads in (2, 1))
    np.testing.assert_array_equal(two, one)
    for wrong in (-1, Z.shape[1]):
        with pytest.raises(ValueError, match="no such column"):
            _core.column_sizes(Z, np.array([wrong]), 1.5)
    norms, padded = np.empty((2, len(Z)))
    largest = _core.block_norms(Z, norms)
    np.testing.assert_allclose(norms, np.square(Z.astype(np.float64)).sum(axis=1), rtol=1e-12)
    assert largest == norms.max()
    _core.block_norms(np.pad(Z, ((0, 0), (0, 9))), padded)
    np.testing.assert_array_equal(padded, norms)  # zeros at the end leave no trace


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_with_weights(dtype):
    Z = block_of(dtype, rows=3001, columns=700, share=0.8)
    weights = np.random.default_rng(1).uniform(0.1, 9.0, 699)
    found = _core.block_squares(Z[:, 1:], weights, 1)
    wanted = np.square(Z[:, 1:].astype(np.float64)) @ weights
    np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(_core.block_squares(Z[:, 1:], weights, 2), found)
    some = _core.block_squares(Z[100:150, 1:], weights, 1)
    np.testing.assert_array_equal(some, found[100:150])  # whatever the other rows are
    with pytest.raises(ValueError, match="differ in size"):
        _core.block_squares(Z, weights, 1)


@pytest.mark.parametrize("rows_of", [np.asarray, csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("to", [np.float32, np.float64])
def test_rows_in_standard_units(rows_of, dtype, to):
    X, rng = block_of(dtype), np.random.default_rng(2)
    centre, per_unit = rng.normal(size=X.shape[1]), rng.uniform(0.1, 9.0, X.shape[1])
    order = rng.permutation(len(X))[:100]
    features, rows = np.arange(X.shape[1]), rows_of(X)
    given = core_rows(rows)
    whole = np.full((len(X), 70), 7.0, to)
    assert _core.fill_standard(given, None, features, centre, per_unit, whole[:, 3:64]) == 0
    wanted = (X.astype(np.float64) - centre) * per_unit
    np.testing.assert_allclose(whole[:, 3:64], wanted, rtol=1e-6 if to is np.float32 else 1e-15)
    assert (whole[:, [0, 1, 2, 64, 69]] == 7.0).all()
    some = np.empty((100, X.shape[1]), to)
    _core.fill_standard(given, order, features, centre, per_unit, some)
    np.testing.assert_array_equal(some, whole[order, 3:64])
    for wrong in (len(X), -1):
        order[7] = wrong
        with pytest.raises(ValueError, match=f"there is no row {wrong} among 300"):
            _core.fill_standard(given, order, features, centre, per_unit, some)


def test_features_that_are_no_columns():
    rows = csr_matrix(np.array([[0.0, 2.0, 3.0, 0.0], [1.0, 0.0, 0.0, 4.0]]))
    out = np.empty((2, 2))
    columns = np.array([3, 1]), np.array([1.0, 0.0]), np.array([2.0, 0.5])
    assert _core.fill_standard(core_rows(rows), None, *columns, out) == 2
    np.testing.assert_array_equal(out, [[-2.0, 1.0], [6.0, 0.0]])
    beyond = _core.Rows(np.array([0, 9, 4]), rows.indices, rows.data)
    with pytest.raises(ValueError, match="indptr goes from 0 to 9"):
        _core.fill_standard(beyond, None, *columns, out)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_of_columns(dtype):
    X = block_of(dtype).copy()
    for rows in (X, X[::3], X[:0]):
        sums, squares = _core.column_moments(rows)
        np.testing.assert_allclose(sums, rows.sum(axis=0, dtype=float), atol=1e-9)
        np.testing.assert_allclose(squares, np.square(rows, dtype=float).sum(axis=0))
    X[7, 2] = np.nan
    assert np.isnan(_core.column_moments(X)).sum(axis=1).tolist() == [1, 1]

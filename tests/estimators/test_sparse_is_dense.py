"""The same numbers stored as dense and as sparse rows give the same model."""

import numpy as np
import pytest
from scipy import sparse

from polyak import ASGDClassifier, ASGDRegressor


def numbers(rows, columns, used, seed=0):
    """Return rows in which only some columns are ever different from zero, each in some rows."""
    rng = np.random.default_rng(seed)
    X = np.zeros((rows, columns))
    places = rng.permutation(columns)[:used]
    X[:, places] = rng.normal(size=(rows, used)) * (rng.random((rows, used)) < rng.random(used))
    return X, X[:, places] @ rng.normal(size=used), rng


def both(estimator, X, y):
    return [estimator().fit(rows, y) for rows in (X, sparse.csr_array(X))]


@pytest.mark.parametrize("rows", [800, 7000])
@pytest.mark.parametrize(("columns", "used"), [(1500, 300), (40, 40), (60, 25), (1500, 1500)])
def test_columns_of_zeros_change_nothing(rows, columns, used):
    X, score, rng = numbers(rows, columns, used)
    y = (score + rng.logistic(size=rows) > 0).astype(int)
    dense, of_sparse = both(lambda: ASGDClassifier(random_state=0, max_iter=1), X, y)
    assert dense.method_ == of_sparse.method_
    assert dense.best_candidate_["number"] == of_sparse.best_candidate_["number"]
    np.testing.assert_allclose(dense.coef_, of_sparse.coef_, rtol=1e-10, atol=1e-10)


def test_stored_zeros_change_nothing():
    X, score, rng = numbers(3000, 50, 30)
    y = score + rng.normal(size=3000)
    plain = sparse.csr_array(X)
    some = sparse.coo_array(plain)
    rows, columns = np.arange(20), np.argmin(np.abs(X[:20]), axis=1)
    zeros = sparse.coo_array(
        (
            np.concatenate([some.data, np.zeros(20)]),
            (np.concatenate([some.row, rows]), np.concatenate([some.col, columns])),
        ),
        shape=X.shape,
    ).tocsr()
    assert zeros.nnz == plain.nnz + 20
    models = [ASGDRegressor(random_state=0).fit(rows, y) for rows in (plain, zeros)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)

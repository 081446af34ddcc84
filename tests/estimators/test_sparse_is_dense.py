"""The same numbers stored as dense and as sparse rows give the same model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from estimator_problems import KINDS
from scipy import sparse
from sklearn.base import clone

from polyak import ASGDClassifier, ASGDRegressor


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_is_dense(kind: str) -> None:
    estimator, (X, y) = KINDS[kind]
    estimator = clone(estimator).set_params(max_iter=1)
    X = sparse.csr_array(X)
    thin, dense = clone(estimator).fit(X, y), clone(estimator).fit(X.toarray(), y)
    assert thin.best_candidate_["number"] == dense.best_candidate_["number"]
    np.testing.assert_array_equal(thin.coef_ == 0, dense.coef_ == 0)
    scores = [getattr(one, "decision_function", one.predict)(X) for one in (thin, dense)]
    np.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-4 * np.std(scores[0]))


def numbers(rows: int, columns: int, used: int) -> tuple[Any, Any, Any]:
    """Return rows in which only some columns are ever different from zero, each in some rows."""
    rng = np.random.default_rng(0)
    X = np.zeros((rows, columns))
    places = rng.permutation(columns)[:used]
    X[:, places] = rng.normal(size=(rows, used)) * (rng.random((rows, used)) < rng.random(used))
    return X, X[:, places] @ rng.normal(size=used), rng


@pytest.mark.parametrize(
    ("rows", "columns", "used"),
    [(800, 1500, 200), (800, 40, 40), (2000, 1500, 250), (5000, 60, 25)],
)
def test_columns_of_zeros_change_nothing(rows: int, columns: int, used: int) -> None:
    X, score, rng = numbers(rows, columns, used)
    y = (score + rng.logistic(size=rows) > 0).astype(int)
    dense, of_sparse = (
        ASGDClassifier(random_state=0, max_iter=1).fit(one, y) for one in (X, sparse.csr_array(X))
    )
    assert dense.method_ == of_sparse.method_
    assert dense.best_candidate_["number"] == of_sparse.best_candidate_["number"]
    np.testing.assert_allclose(dense.coef_, of_sparse.coef_, rtol=1e-10, atol=1e-10)


def test_stored_zeros_change_nothing() -> None:
    X, score, rng = numbers(3000, 50, 30)
    y = score + rng.normal(size=3000)
    plain = sparse.csr_array(X)
    zeros = sparse.csr_array(np.where(X == 0, 1.0, X))
    zeros.data[zeros.toarray().ravel() != X.ravel()] = 0.0
    assert zeros.nnz == X.size > plain.nnz
    models = [ASGDRegressor(random_state=0).fit(rows, y) for rows in (plain, zeros)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.parametrize("precondition", [0, 0.5])
def test_wide_banks_skip_zeros_to_the_bit(precondition: float) -> None:
    # With four models or more, a dense row that is mostly zero is learned as a sparse one.
    rng = np.random.default_rng(0)
    X = np.where(rng.random((2500, 25)) < 0.1, rng.normal(size=(2500, 25)), 0.0)
    y = (X[:, :4] + 0.1 * rng.normal(size=(2500, 4))).argmax(axis=1)
    one, other = (
        ASGDClassifier(recipe="paper", precondition=precondition, random_state=0).fit(rows, y)
        for rows in (X, sparse.csr_array(X))
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.last_coef_, other.last_coef_)

"""What can be learned from: every container gives the same model."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_problems import (
    PaperClassifier,
    PaperRegressor,
    assert_same_bits,
    problem,
)
from scipy import sparse
from tests.extras import pandas as pd
from tests.extras import polars as pl
from tests.extras import pyarrow as pa

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.bank import Bank

NAMES = [f"feature {j}" for j in range(5)]


def wide_indices(X):
    matrix = sparse.csr_matrix(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "container", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, wide_indices]
)
def test_sparse_containers(container, dtype):
    X, y = problem(PaperClassifier())
    rows = container(X.astype(dtype))
    one, other = PaperClassifier(random_state=0), PaperClassifier(random_state=0)
    assert one.fit(rows, y).coef_.dtype == dtype
    assert_same_bits(one, other.fit(sparse.csr_matrix(rows), y), rows)
    if container is wide_indices:
        assert rows.indices.dtype == np.int64  # the caller's matrix stays as it is


def test_repeated_entries_add_up():
    X, y = problem(PaperRegressor())
    matrix = sparse.csr_matrix(X)
    halves = sparse.csr_matrix(
        (np.repeat(matrix.data / 2, 2), np.repeat(matrix.indices, 2), 2 * matrix.indptr), X.shape
    )
    stored = halves.data.copy()
    one, other = (PaperRegressor(random_state=0).fit(part, y) for part in (halves, matrix))
    assert_same_bits(one, other, matrix)
    np.testing.assert_array_equal(one.predict(halves), one.predict(matrix))
    np.testing.assert_array_equal(halves.data, stored)


@pytest.mark.parametrize(
    "table",
    [
        lambda X: pd.DataFrame(X, columns=NAMES),
        lambda X: pl.DataFrame(X, schema=NAMES),
        lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
        lambda X: pa.concat_tables(
            pa.table(dict(zip(NAMES, part.T, strict=True))) for part in np.array_split(X, 3)
        ),
    ],
    ids=["pandas", "polars", "arrow", "arrow in chunks"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tables(table, dtype):
    X, y = problem(PaperClassifier(), classes=3)
    X = X.astype(dtype)
    plain = PaperClassifier(random_state=0).fit(X, y)
    named = PaperClassifier(random_state=0).fit(table(X), y)
    assert named.coef_.dtype == dtype
    assert named.feature_names_in_.tolist() == NAMES
    assert not hasattr(plain, "feature_names_in_")
    np.testing.assert_array_equal(named.coef_, plain.coef_)
    np.testing.assert_array_equal(named.predict_proba(table(X)), plain.predict_proba(X))
    with pytest.warns(UserWarning, match="the frame does not have .*: read as missing"):
        named.predict(pd.DataFrame(X, columns=[*NAMES[:4], "another"]))


@pytest.mark.parametrize(
    "column",
    [pd.Series, pl.Series, pa.array, lambda y: pa.chunked_array(np.array_split(y, 3)), list],
)
def test_columns_of_targets_and_weights(column):
    X, y = problem(PaperRegressor())
    weights = np.random.default_rng(0).random(len(y))
    plain = PaperRegressor(random_state=0).fit(X, y, weights)
    assert_same_bits(PaperRegressor(random_state=0).fit(X, column(y), column(weights)), plain, X)


def test_labels_in_a_column_of_categories():
    X, y = problem(PaperClassifier(), classes=3)
    one = PaperClassifier(random_state=0).fit(X, y)
    other = PaperClassifier(random_state=0).fit(X, pd.Series(y, dtype="category"))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.parametrize(
    "convert", [np.asfortranarray, lambda X: X.tolist(), lambda X: np.repeat(X, 2, axis=0)[::2]]
)
def test_memory_layouts(convert):
    X, y = problem(PaperRegressor())
    one, other = (PaperRegressor(random_state=0) for _ in range(2))
    assert_same_bits(one.fit(convert(X), y), other.fit(X, y), X)


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
def test_other_numbers_are_learned_as_doubles(dtype):
    X, y = problem(PaperRegressor())
    X = (X > 0).astype(dtype)
    assert PaperRegressor().fit(X, y).coef_.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_rows_are_not_copied(container, dtype, monkeypatch):
    X, y = problem(PaperClassifier(), rows=5000)
    X = container(X.astype(dtype))
    seen = []
    learn = Bank.learn

    def watched(self, X, *rest, **options):
        seen.append(X)
        return learn(self, X, *rest, **options)

    monkeypatch.setattr(Bank, "learn", watched)
    PaperClassifier().fit(X, y)
    values = X.data if sparse.issparse(X) else X
    assert np.shares_memory(getattr(seen[-1], "values", seen[-1]), values)


class TestRefused:
    """With scikit-learn's own words where it has some."""

    X, y = problem(PaperClassifier())

    def refuse(self, match, X=None, y=None, estimator=None, error=ValueError):
        estimator = ASGDClassifier() if estimator is None else estimator
        with pytest.raises(error, match=match):
            estimator.fit(self.X if X is None else X, self.y if y is None else y)

    def test_missing_values_of_sparse_rows(self):
        X = sparse.csr_matrix(self.X)
        X.data[7] = np.nan
        self.refuse("contains NaN", X=X)

    def test_words(self):
        self.refuse("could not convert string to float", X=self.X.astype(str).astype(object) + "?")

    def test_targets_that_are_not_finite(self):
        self.refuse("Input y contains NaN", y=np.full(1500, np.nan), estimator=PaperRegressor())

    def test_no_classes_at_first(self):
        with pytest.raises(ValueError, match="classes must be passed on the first call"):
            PaperClassifier().partial_fit(self.X, self.y)

    def test_other_classes_later(self):
        classifier = PaperClassifier().partial_fit(self.X, self.y, classes=np.unique(self.y))
        with pytest.raises(ValueError, match="not the same as on last call"):
            classifier.partial_fit(self.X, self.y, classes=["no", "perhaps"])

    def test_a_penalty_that_pushes_past_zero(self):
        self.refuse("alpha = 20.0 and gamma0 = 0.1", estimator=PaperClassifier(alpha=20, eta0=0.1))

    @pytest.mark.parametrize(
        "parameter",
        [
            {"loss": "squared_error"},
            {"alpha": -1.0},
            {"recipe": "soup"},
            {"eta0": 0.0},
            {"decay": -0.1},
            {"power_t": 1.5},
            {"average": -1},
            {"step": "both"},
            {"precondition": 0.3},
            {"max_iter": 0},
            {"class_weight": "heavy"},
        ],
        ids=str,
    )
    def test_parameters(self, parameter):
        (name,) = parameter
        self.refuse(f"The '{name}' parameter", estimator=PaperClassifier(**parameter))


DAYS = np.datetime64("2020-01-01") + np.arange(40)


@pytest.mark.parametrize(
    ("y", "says"),
    [
        (DAYS, "y holds datetime64.D., not numbers: count days, as by"),
        (pd.Series(DAYS), "y holds datetime64.*, not numbers: count days, as by"),
        (DAYS - DAYS[0], "y holds timedelta64.*, not numbers"),
        (DAYS.astype(object), "row 0 has the target '2020-01-01', which is no number"),
        (["1.5"] * 39 + ["high"], "row 39 has the target 'high', which is no number: ASGDClassi"),
        (np.array([1.0] * 7 + ["no"] * 33, dtype=object), "row 7 has the target 'no', which is no"),
        (np.ones(40, complex), "row 0 has the target '(1.0j|.1.0j.)', which is no number"),
    ],
)
def test_targets_that_are_no_numbers(y, says):
    X = np.random.default_rng(0).normal(size=(40, 2))
    for learn in (ASGDRegressor().fit, ASGDRegressor().partial_fit):
        with pytest.raises(ValueError, match=says):
            learn(X, y)

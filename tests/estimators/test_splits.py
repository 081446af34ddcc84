"""Batches, pickles and questions leave no trace: the model is the same to the last bit."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from estimator_problems import (
    BY_DEFAULT,
    ESTIMATORS,
    KINDS,
    ROWS,
    assert_same_bits,
    classes_of,
    problem,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from tests.estimators.losses.simulated_losses import TARGETS
from tests.extras import pandas as pd
from tests.extras import polars as pl
from tests.extras import pyarrow as pa


def holes(rows: Any, first: int) -> Any:
    """Return rows of which a tenth of the values is missing, none of it before row `first`."""
    missing = np.random.default_rng(1).random(rows.shape) < 0.1
    missing[:first] = False
    return np.where(missing, np.nan, rows)


def in_parts(estimator: Any, data: Any, X: Any, y: Any, weights: Any = None) -> Any:
    """Learn the rows in drawn parts; store the estimator and read it in between, if drawn."""
    # The simplest example, which is always tried, is cut in the midst of the rows.
    place = st.integers(0, len(y) - 1).map(lambda n: (n + 2 * len(y) // 3) % len(y))
    cuts = data.draw(st.lists(place, min_size=2, max_size=6, unique=True), label="cuts")
    ends = [*sorted(cuts), len(y)]
    for begin, end in zip([0, *ends], ends, strict=False):
        if begin == end:
            continue
        own = None if weights is None else weights[begin:end]
        part = X.slice(begin, end - begin) if hasattr(X, "slice") else X[begin:end]
        estimator.partial_fit(part, y[begin:end], sample_weight=own, **classes_of(estimator, y))
        if data.draw(st.sampled_from([True, False]), label="stored"):
            estimator = pickle.loads(pickle.dumps(estimator))
        if data.draw(st.sampled_from([True, False]), label="read"):
            estimator.predict(X), estimator.coef_, estimator.last_coef_, estimator.recent_
    return estimator


@pytest.mark.filterwarnings("ignore:the model loses", "ignore:all rows seen are of one class")
@pytest.mark.parametrize(
    "kind",  # tests/learn/test_no_trace.py has the losses of numbers in the fast tier
    [pytest.param(kind, marks=pytest.mark.slow) if kind in TARGETS else kind for kind in KINDS],
)
@given(data=st.data())
@settings(max_examples=1)
def test_no_trace_is_left(kind: str, data: Any) -> None:
    estimator, (X, y) = KINDS[kind]
    rows = data.draw(st.sampled_from([ROWS, 1001, 1000, 999, 40]), label="rows")
    X, y = X[:rows].astype(data.draw(st.sampled_from([np.float64, np.float32]), label="dtype")), y
    if not sparse.issparse(X):
        X[::2][X[::2] == 0] = -0.0
        X = sparse.csr_array(X) if data.draw(st.booleans(), label="sparse") else X
    y = y[:rows]
    weights = np.random.default_rng(0).integers(0, 3, rows) + 0.5
    weights = weights if data.draw(st.booleans(), label="weighted") else None
    more = classes_of(estimator, y)
    whole = clone(estimator).partial_fit(X, y, sample_weight=weights, **more)
    parts = in_parts(clone(estimator), data, X, y, weights)
    assert_same_bits(whole, parts, X)
    assert whole.coef_.dtype == X.dtype


TABLES = {
    "array": lambda frame: frame.to_numpy(),
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
    "words": lambda frame: frame.assign(word=np.where(np.arange(len(frame)) % 70 < 65, "u", None)),
}


@pytest.mark.parametrize("kind", TABLES)
@given(data=st.data())
@settings(max_examples=2)
def test_nor_by_missing_values_that_come_late(kind: str, data: Any) -> None:
    estimator = data.draw(st.sampled_from([BY_DEFAULT[0], BY_DEFAULT[-1]]), label="estimator")
    X, y = problem(estimator, ROWS)
    first = data.draw(st.sampled_from([350, 0, 1500]), label="first missing")
    X = holes(X * [1, 10, 1000, 0.01, 1] + [0, 50, 20_000, 0, 3], first)
    table = TABLES[kind](pd.DataFrame(X, columns=list("abcde")))
    whole = clone(estimator).partial_fit(table, y, **classes_of(estimator, y))
    assert_same_bits(whole, in_parts(clone(estimator), data, table, y), table)
    if kind != "words":
        assert whole.n_features_in_ == 5
        assert whole.coef_.shape[-1] == (10 if first < 1000 else 5)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *BY_DEFAULT], ids=str)
@pytest.mark.parametrize("share", [0.0, 0.1], ids=["no holes", "holes"])
def test_fit_in_order_is_partial_fit(estimator: Any, share: float) -> None:
    X, y = problem(estimator, ROWS, classes=3)
    X = holes(X, 0) if share else X
    fitted = clone(estimator).set_params(shuffle=False, max_iter=1).fit(X, y)
    streamed = clone(estimator).partial_fit(X, y, **classes_of(estimator, y))
    # Beside those of fit, candidates run that never rest; nothing drifts here, so none leads.
    np.testing.assert_array_equal(streamed.coef_, fitted.coef_)
    np.testing.assert_array_equal(streamed.intercept_, fitted.intercept_)
    np.testing.assert_array_equal(streamed.predict(X), fitted.predict(X))

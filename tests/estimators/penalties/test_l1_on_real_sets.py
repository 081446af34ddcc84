"""One pass over real rows: the batch optimum of an L1 penalty, and its zeros."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from batch_l1 import compare
from tests.extras import pandas as pd
from tests.real_sets import REAL, load, real_file
from wide_rows import batch_optimum

from polyak import ASGDClassifier, ASGDRegressor

pytestmark = REAL


@cache
def rows_of(name: str) -> tuple[Any, Any]:
    (X, y), _ = load(name)
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return X.astype(float), np.where(np.asarray(y) > 0, 1.0, -1.0)


@cache
def housing() -> tuple[Any, Any]:
    """Return columns of numbers with their squares and crosses, in units of their spreads."""
    frame = pd.read_csv(real_file("california_housing.csv.gz")).dropna()
    y = frame.pop("median_house_value").to_numpy(float) / 1e5
    X = frame.select_dtypes("number").to_numpy(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    first, second = np.triu_indices(X.shape[1])
    return np.column_stack([X, X[:, first] * X[:, second]]), y


@pytest.mark.parametrize(
    ("name", "alpha", "ratio"),
    [("a9a", 1e-4, 1.0), ("w8a", 1e-3, 0.5), ("ijcnn1", 5e-3, 1.0), ("mnist", 1e-3, 1.0)],
)
def test_classes(name: str, alpha: float, ratio: float) -> None:
    X, y = rows_of(name)
    penalty = "l1" if ratio == 1.0 else "elasticnet"
    asked = {"penalty": penalty, "alpha": alpha, "l1_ratio": ratio}
    model = ASGDClassifier(max_iter=1, random_state=0, **asked).fit(X, y)
    share, agree = compare("log_loss", X, y, model, alpha, ratio)
    assert share <= 1.001
    assert agree >= 0.95


@pytest.mark.parametrize(("alpha", "ratio"), [(1e-3, 1.0), (1e-2, 0.5)])
def test_numbers(alpha: float, ratio: float) -> None:
    X, y = housing()
    penalty = "l1" if ratio == 1.0 else "elasticnet"
    asked = {"penalty": penalty, "alpha": alpha, "l1_ratio": ratio}
    model = ASGDRegressor(max_iter=1, random_state=0, **asked).fit(X, y)
    share, agree = compare("squared_error", X, y, model, alpha, ratio)
    assert share <= 1.001
    assert agree >= 0.95


@pytest.mark.parametrize(("alpha", "ratio"), [(1e-4, 1.0), (1e-3, 0.5)])
def test_words(alpha: float, ratio: float) -> None:
    """Compare losses of other rows: there are more features than rows to learn from."""
    (X, y), (X_test, y_test) = load("rcv1")
    y, y_test = (np.where(np.asarray(some) > 0, 1.0, -1.0) for some in (y, y_test))
    w, b = batch_optimum(X, y, alpha, ratio)
    best = np.logaddexp(0.0, -y_test * (X_test @ w + b)).mean()
    penalty = "l1" if ratio == 1.0 else "elasticnet"
    asked = {"penalty": penalty, "alpha": alpha, "l1_ratio": ratio}
    shares, counts = [], []
    for seed in range(4):  # one pass depends on the order of rows
        model = ASGDClassifier(max_iter=1, random_state=seed, **asked).fit(X, y)
        lost = np.logaddexp(0.0, -y_test * (X_test @ model.coef_[0] + model.intercept_[0])).mean()
        shares.append(float(lost / best))
        counts.append(np.count_nonzero(model.coef_) / np.count_nonzero(w))
    assert np.mean(shares) <= 1.01
    assert 0.7 <= min(counts) <= max(counts) <= 1.5

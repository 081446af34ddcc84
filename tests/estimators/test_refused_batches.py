"""A batch that partial_fit refuses leaves no trace, whatever is wrong with it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from tests.extras import pandas as pd

from polyak import ASGDClassifier, ASGDRegressor

ROWS = 1500
RNG = np.random.default_rng(0)
X = RNG.normal(np.array([0.0, 5.0, -3.0, 100.0]), size=(ROWS, 4))
Z = X @ np.array([1.0, -1.0, 0.5, 0.2]) + RNG.normal(size=ROWS)
HOLE = np.full((1, 4), np.nan)


def with_value(value: float) -> Any:
    changed = 1000.0 * X[:50]
    changed[7, 2] = value
    return changed


def assert_same(one: Any, other: Any, rows: Any) -> None:
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    scores = [getattr(m, "decision_function", m.predict)(rows) for m in (one, other)]
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("rows", [40, 1200], ids=["first rows", "later rows"])
@pytest.mark.parametrize(
    ("value", "label", "weight"),
    [(1.0, 2, 1.0), (np.inf, 1, 1.0), (1e200, 1, 1.0), (1.0, 1, -1.0)],
    ids=["label", "infinite value", "huge value", "weight"],
)
def test_classes(rows: int, value: float, label: int, weight: float) -> None:
    y = (np.median(Z) < Z).astype(int)
    model = ASGDClassifier(random_state=0, class_weight="balanced")
    model.partial_fit(X[:rows], y[:rows], classes=[0, 1])
    untouched = copy.deepcopy(model)
    labels, weights = np.ones(50, dtype=int), np.ones(50)
    labels[3], weights[3] = label, weight
    with pytest.raises(ValueError, match=r"row 3|row 7|infinity|negative|Negative"):
        model.partial_fit(with_value(value), labels, sample_weight=weights)
    assert_same(model, untouched, np.vstack([X, HOLE]))
    for one in (model, untouched):
        one.partial_fit(X[rows:], y[rows:])
    assert_same(model, untouched, np.vstack([X, HOLE]))


@pytest.mark.parametrize("rows", [40, 1200], ids=["first rows", "later rows"])
@pytest.mark.parametrize(
    ("value", "target"),
    [(1.0, -1.0), (1.0, np.nan), (np.inf, 1.0), (1e200, 1.0)],
    ids=["target", "missing target", "infinite value", "huge value"],
)
def test_counts(rows: int, value: float, target: float) -> None:
    y = RNG.poisson(1.0, size=ROWS).astype(float)
    model = ASGDRegressor(random_state=0, loss="poisson").partial_fit(X[:rows], y[:rows])
    untouched = copy.deepcopy(model)
    targets = np.ones(50)
    targets[3] = target
    with pytest.raises(ValueError, match=r"row 3|row 7|infinity|NaN"):
        model.partial_fit(with_value(value), targets)
    assert_same(model, untouched, np.vstack([X, HOLE]))
    for one in (model, untouched):
        one.partial_fit(X[rows:], y[rows:])
    assert_same(model, untouched, np.vstack([X, HOLE]))


@pytest.mark.parametrize("rows", [40, 1200], ids=["first rows", "later rows"])
def test_words(rows: int) -> None:
    words = pd.DataFrame(X, columns=list("abcd")).assign(word=RNG.choice(["u", "v"], ROWS))
    y = (np.median(Z) < Z).astype(int)
    model = ASGDClassifier(random_state=0).partial_fit(words[:rows], y[:rows], classes=[0, 1])
    untouched = copy.deepcopy(model)
    others = words[:50].assign(word="unheard of")
    with pytest.raises(ValueError, match="row 3 has the previously unseen label"):
        model.partial_fit(others, np.where(np.arange(50) == 3, 2, 1))
    assert list(model.get_feature_names_out()) == list(untouched.get_feature_names_out())
    assert_same(model, untouched, words)


def test_a_first_batch_that_is_refused() -> None:
    y = (np.median(Z) < Z).astype(int)
    model = ASGDClassifier(random_state=0)
    with pytest.raises(ValueError, match="previously unseen label"):
        model.partial_fit(X[:50, :2], y[:50], classes=[5, 6])
    model.partial_fit(X, y, classes=[0, 1])
    assert_same(model, ASGDClassifier(random_state=0).partial_fit(X, y, classes=[0, 1]), X)

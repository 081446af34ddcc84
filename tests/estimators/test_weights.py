"""Sample weights, in place of the two checks of scikit-learn that no one-pass learner can pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from estimator_problems import (
    ESTIMATORS,
    KINDS,
    PaperClassifier,
    PaperRegressor,
    assert_same_bits,
    problem,
)
from scipy import sparse
from sklearn.base import clone

SETTINGS: list[dict[str, Any]] = [
    {"shuffle": False},
    {"class_weight": "balanced"},
    {"class_weight": {"no": 2.0, "so": 0.0}},
    {"precondition": 0.5, "step": "implicit"},
    {"eta0": 0.01},
]


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        *KINDS.values(),
        *(
            (PaperClassifier(random_state=0, **one), problem(None, 2500, classes=3))
            for one in SETTINGS
        ),
    ],
    ids=[*KINDS, *map(str, SETTINGS)],
)
def test_weight_zero_is_removal(estimator, data):
    rng, rows = np.random.default_rng(1), 1600
    X, y = data[0][:rows].copy(), data[1][:rows].copy()
    estimator = clone(estimator).set_params(max_iter=2)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], size=rows)
    there = weights != 0
    if not sparse.issparse(X):
        X[~there] *= 1e6  # must not be seen at calibration either
    if y.dtype.kind == "U":
        y = y.astype(object)
        y[~there] = rng.choice(["so", "unheard of"], size=(~there).sum())
    with_zeros = clone(estimator).fit(X, y, sample_weight=weights)
    without = clone(estimator).fit(X[there], y[there], sample_weight=weights[there])
    assert_same_bits(with_zeros, without, X[there])


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_weight_zero_is_removal_batch_by_batch(class_weight):
    X, y = problem(PaperClassifier(), 3000, classes=3)
    weights = np.random.default_rng(1).choice([0.0, 1.0, 3.0], size=len(y))
    weights[200:300] = 0.0  # a batch that is not there at all
    batches = np.split(np.arange(len(y)), 30)
    one, other = (PaperClassifier(class_weight=class_weight) for _ in range(2))
    for rows in batches:
        one.partial_fit(X[rows], y[rows], np.unique(y), weights[rows])
        rows = rows[weights[rows] != 0]
        if len(rows):
            other.partial_fit(X[rows], y[rows], np.unique(y), weights[rows])
    assert_same_bits(one, other, X)


def test_a_weight_of_one_is_no_weight():
    for estimator in ESTIMATORS:
        X, y = problem(estimator)
        assert_same_bits(clone(estimator).fit(X, y), clone(estimator).fit(X, y, np.ones(len(y))), X)


# One step of weight two is two steps but for terms of the order of their length, which averaging
# over shuffles does not remove. So the steps are short, and nothing else counts rows: no penalty,
# no decay, and the average begins at once.
SHORT_STEPS = {"eta0": 0.002, "alpha": 0.0, "average": True}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.slow
def test_integer_weights_match_repeated_rows_on_the_mean_of_200_shuffles(estimator):
    rows = 300
    X, y = problem(estimator, rows, seed=2)
    weights = np.random.default_rng(0).integers(0, 4, size=rows)
    repeated = np.repeat(np.arange(rows), weights)

    def coefficients(X, y, weights):
        runs = [clone(estimator).set_params(**SHORT_STEPS, random_state=s) for s in range(200)]
        fitted = [run.fit(X, y, sample_weight=weights) for run in runs]
        return np.array([np.r_[np.ravel(run.coef_), run.intercept_] for run in fitted])

    weighted = coefficients(X, y, weights)
    longer = coefficients(X[repeated], y[repeated], None)
    error = np.sqrt((weighted.var(axis=0, ddof=1) + longer.var(axis=0, ddof=1)) / 200)
    apart = (weighted.mean(axis=0) - longer.mean(axis=0)) / error
    assert np.abs(apart).max() < 3
    plain = coefficients(X[weights > 0], y[weights > 0], None)  # the test can tell the difference
    assert np.abs((plain.mean(axis=0) - longer.mean(axis=0)) / error).max() > 10


def test_bad_weights():
    X, y = problem(PaperRegressor())
    with pytest.raises(ValueError, match="row 0 has the weight -1, which is negative"):
        PaperRegressor().fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError, match="zero"):
        PaperRegressor().fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="NaN"):
        PaperRegressor().fit(X, y, sample_weight=np.full(len(y), np.nan))
    with pytest.raises(ValueError, match="sample_weight"):
        PaperRegressor().fit(X, y, sample_weight=np.ones(3))

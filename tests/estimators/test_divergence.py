"""A learning rate that is too large is never silent."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from estimator_problems import PaperClassifier, PaperRegressor, problem
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from polyak.errors import DivergenceError

TOO_FAST = [
    PaperRegressor(eta0=100.0, alpha=0.0),
    PaperClassifier(loss="squared_hinge", eta0=1e4, alpha=0.0),
]


def diverge(learn):
    """Return the numbers of the warning: eta0, the largest squared norm, the safe eta0."""
    with pytest.warns(ConvergenceWarning) as caught, pytest.raises(DivergenceError):
        learn()
    (warning,) = (w for w in caught if w.category is ConvergenceWarning)
    found = re.search(r"eta0=(\S+) is .* row is ([^,]+), .* eta0=(\S+) would", str(warning.message))
    return [float(number) for number in found.groups()]


@pytest.mark.parametrize("rows", [50, 1500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("estimator", TOO_FAST, ids=str)
def test_the_warning_says_what_would_have_been_safe(estimator, dtype, rows):
    X, y = problem(estimator, rows)
    X = (X * 10).astype(dtype)
    estimator = clone(estimator)
    eta0, longest, safe = diverge(lambda: estimator.set_params(max_iter=200).fit(X, y))
    assert eta0 == estimator.eta0
    assert longest == pytest.approx(np.square(X, dtype=float).sum(axis=1).max() + 1, rel=1e-4)
    assert safe == pytest.approx(1 / longest, rel=1e-4)
    with pytest.raises(NotFittedError):
        estimator.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for settings in ({"eta0": safe}, {"eta0": "auto"}, {"step": "implicit"}):
            assert np.isfinite(
                clone(estimator).set_params(max_iter=3, **settings).fit(X, y).coef_
            ).all()


def test_weights_count_in_what_is_safe():
    X, y = problem(PaperRegressor())
    _, longest, safe = diverge(lambda: PaperRegressor(eta0=9.0).fit(X, y, np.full(len(y), 4.0)))
    assert safe == pytest.approx(1 / (4 * longest), rel=1e-4)


def test_batch_by_batch():
    X, y = problem(PaperRegressor(), 6000)
    X[0] = 30.0  # the longest row comes first and is remembered
    regressor = PaperRegressor(eta0=2.0)

    def learn():
        for rows in np.split(np.arange(6000), 60):
            regressor.partial_fit(X[rows], y[rows])
            regressor.predict(X)

    _, longest, _ = diverge(learn)
    assert longest == pytest.approx(5 * 900 + 1, rel=1e-4)
    with pytest.raises(NotFittedError):
        regressor.predict(X)


def test_on_the_last_row():
    X, y = np.zeros((1200, 2), np.float32), np.ones(1200)
    X[-1] = 1e30  # no later row meets these weights
    for regressor in (
        PaperRegressor(eta0=1e10, alpha=0),
        PaperRegressor(eta0=1e10, alpha=0, average=False),
    ):
        diverge(
            lambda regressor=regressor: regressor.set_params(
                shuffle=False, fit_intercept=False
            ).fit(X, y)
        )


def test_with_a_preconditioner():
    X, y = problem(PaperRegressor())
    with (
        pytest.warns(ConvergenceWarning, match='eta0=100 is too large.*use step="implicit"'),
        pytest.raises(DivergenceError),
    ):
        PaperRegressor(eta0=100.0, precondition=0.5).fit(X, y)


@pytest.mark.parametrize("estimator", [PaperRegressor(), PaperClassifier()], ids=str)
def test_the_recipe_cannot_diverge(estimator):
    X, y = problem(estimator, 3000)
    X[2000] *= 1e6  # after calibration, a row far longer than any before
    fitted = clone(estimator).set_params(shuffle=False).fit(X, y)
    assert np.isfinite(fitted.coef_).all()

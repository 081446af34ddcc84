"""``recipe="paper-strict"`` equals `reproduction.algorithm1`, the paper's algorithm as printed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from polyak import ASGDClassifier, ASGDRegressor
from polyak.errors import DivergenceError
from reproduction.algorithm1 import LOSSES, asgd, proposed_schedule

LAMBDA = 1e-3
SHAPES = {
    "fewer rows than the safeguard waits for": (80, 5, 1.0, 1.0),
    "later rows longer than M": (2500, 12, 1.0, 1.4),
    "sparse and wide": (600, 500, 0.02, 1.0),
    "narrow": (3000, 3, 1.0, 1.0),
}
"""Rows, features, density, and the length of the rows after the first thousand."""


def problem(shape, loss):
    rows, features, density, later = SHAPES[shape]
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < density)
    X[1000:] *= later
    y = X @ rng.normal(size=features) + rng.normal(size=rows)
    return X, (y if loss == "squared_error" else np.where(y > 0, 1.0, -1.0))


def strict(loss, **settings):
    kind = ASGDRegressor if loss == "squared_error" else ASGDClassifier
    options = {"alpha": LAMBDA, "fit_intercept": False, "shuffle": False, "recipe": "paper-strict"}
    return kind(loss=loss, **(options | settings))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("average", ["auto", True])
@pytest.mark.parametrize("loss", LOSSES)
def test_equals_algorithm_1(loss, average, shape):
    X, y = problem(shape, loss)
    t0 = None if average == "auto" else 0
    mean, last = asgd(X, y, loss, LAMBDA, proposed_schedule(X, loss, LAMBDA), t0)
    rows = csr_array(X) if shape.startswith("sparse") else X
    model = strict(loss, average=average).fit(rows, y)
    for found, wanted in ((model.coef_, mean), (model.last_coef_, last)):
        assert np.linalg.norm(np.ravel(found) - wanted) <= 1e-12 * np.linalg.norm(wanted)


def test_it_diverges_where_the_paper_does():
    X, y = problem("later rows longer than M", "squared_error")
    X[1000:] *= 30
    with pytest.raises(DivergenceError, match="overflowed"):
        strict("squared_error").fit(X, y)
    assert np.isfinite(strict("squared_error", recipe="paper").fit(X, y).coef_).all()

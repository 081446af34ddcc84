"""Models of terms whose rows are all in memory are at the optimum of these rows."""

from __future__ import annotations

import numpy as np
import pytest

from polyak import ASGDClassifier, ASGDRegressor

ROWS = 9000


def table(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and scores, a sum of curves and a product."""
    X = np.random.default_rng(seed).normal(size=(ROWS, 3))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]


@pytest.mark.parametrize("pairs", [None, "auto"])
def test_predicted_counts_add_up_to_those_observed(pairs: str | None) -> None:
    X, score = table()
    y = np.random.default_rng(1).poisson(np.exp(score - 2.0))
    model = ASGDRegressor(loss="poisson", curves="all", pairs=pairs, random_state=0).fit(X, y)
    assert model.terms_
    assert model.predict(X).sum() == pytest.approx(y.sum(), rel=1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_add_up_to_the_number_of_each_class(classes: int) -> None:
    X, score = table()
    noise = np.random.default_rng(1).logistic(size=ROWS)
    y = np.digitize(score + noise, [1.5, 3.0][: classes - 1])
    model = ASGDClassifier(curves="all", random_state=0).fit(X, y)
    assert model.terms_
    expected = np.bincount(y, minlength=classes)
    assert model.predict_proba(X).sum(axis=0) == pytest.approx(expected, rel=2e-3)

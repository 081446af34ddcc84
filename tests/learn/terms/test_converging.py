"""Models of terms whose rows are all in memory are at the optimum of these rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.newton.converging import AllRows

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


def test_all_rows_are_looked_at_once_where_one_pass_was_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks, look_at = [], AllRows.look_at

    def counted(self: AllRows, *args: Any) -> Any:
        looks.append(len(self))
        return look_at(self, *args)

    monkeypatch.setattr(AllRows, "look_at", counted)
    X, score = table()
    y = np.random.default_rng(1).poisson(np.exp(0.3 * score))
    model = ASGDRegressor(loss="poisson", curves="all", random_state=0).fit(X, y)
    assert model.terms_
    assert looks == [ROWS]


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_a_stream_learns_what_rows_in_memory_do(loss: str) -> None:
    X, score = table()
    test, truth = table(seed=1)
    rng = np.random.default_rng(2)
    y, unseen = (
        rng.poisson(np.exp(0.5 * one)) if loss == "poisson" else one + rng.normal(size=ROWS)
        for one in (score, truth)
    )
    own: dict[str, Any] = {"loss": loss, "curves": "all", "pairs": "auto", "random_state": 0}
    memory, stream = ASGDRegressor(**own).fit(X, y), ASGDRegressor(**own)
    for part in np.array_split(np.arange(ROWS), 9):
        stream.partial_fit(X[part], y[part])

    def of(model: ASGDRegressor) -> float:
        predicted = model.predict(test)
        if loss == "squared_error":
            return float(np.mean((unseen - predicted) ** 2))
        return float(np.mean(predicted - unseen * np.log(predicted)))

    assert of(stream) == pytest.approx(of(memory), rel=2e-3)

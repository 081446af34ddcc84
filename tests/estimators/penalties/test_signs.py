"""Weights whose sign is given, column by column: the batch optimum with bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.extras import pandas as pd

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.losses import get_loss

TRUE = np.array([0.5, -0.5, 0.4, -0.4, 0.3, 0.0])
ALPHA = 0.01


def made(loss: str, rows: int = 6000) -> tuple[Any, Any]:
    """Draw correlated features of unlike sizes, and targets of a loss."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(rows, 6)) @ (np.eye(6) + 0.1)
    s = Z @ TRUE
    y = {
        "squared_error": s + rng.normal(size=rows),
        "poisson": rng.poisson(np.exp(s)).astype(float),
        "log_loss": np.where(rng.random(rows) < 1.0 / (1.0 + np.exp(-s)), 1.0, -1.0),
    }
    return Z * [1.0, 2.0, 0.5, 1.0, 3.0, 1.0], y[loss]


def batch_optimum(name: str, X: Any, y: Any, signs: Any) -> Any:
    """Minimise the mean loss and the penalty within bounds; return weights and intercept."""
    loss = get_loss(name)

    def goal(v: Any) -> tuple[float, Any]:
        values, slopes = loss.value_and_slope(X @ v[:-1] + v[-1], y)
        gradient = np.append(X.T @ slopes, slopes.sum()) / len(y)
        gradient[:-1] += ALPHA * v[:-1]
        return values.mean() + ALPHA / 2 * v[:-1] @ v[:-1], gradient

    bounds = [{1: (0, None), -1: (None, 0), 0: (None, None)}[sign] for sign in signs]
    how = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000}
    start = np.zeros(X.shape[1] + 1)
    found = minimize(
        goal, start, jac=True, bounds=[*bounds, (None, None)], method="L-BFGS-B", options=how
    )
    return found.x


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "log_loss"])
def test_weights_are_the_batch_optimum_with_bounds(loss: str) -> None:
    X, y = made(loss)
    kind = ASGDClassifier if loss == "log_loss" else ASGDRegressor
    asked = {"positive": [0, 1], "negative": ["x2", "x3"], "alpha": ALPHA}
    ours = kind(loss=loss, random_state=0, **asked).fit(X, y)
    batch = batch_optimum(loss, X, y, [1, 1, -1, -1, 0, 0])
    np.testing.assert_allclose(ours.coef_.ravel(), batch[:-1], atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, batch[-1], atol=1e-4)
    assert (ours.coef_.ravel()[[1, 2]] == 0).all()
    assert ours.method_ == "newton"
    assert not any(one.get("schedule") for one in ours.candidates_)  # no averaged SGD


@pytest.mark.parametrize("asked", [{}, {"alpha": 0.0}, {"penalty": "l1"}, {"penalty": None}])
def test_only_the_columns_named_have_a_sign(asked: Any) -> None:
    X, y = made("squared_error")
    model = ASGDRegressor(positive=["x1"], negative=["x4"], random_state=0, **asked).fit(X, y)
    assert (model.coef_[[1, 4]] == 0).all()
    assert model.coef_[0] > 0.2
    assert model.coef_[3] < -0.2


def test_a_constraint_that_holds_anyway_changes_nothing() -> None:
    X, y = made("squared_error")
    some = ASGDRegressor(positive=["x0", "x4"], alpha=ALPHA, random_state=0).fit(X, y)
    free = ASGDRegressor(alpha=ALPHA, random_state=0).fit(X, y)
    np.testing.assert_allclose(some.coef_, free.coef_, atol=1e-7)


def test_batches_and_stops_leave_no_trace() -> None:
    X, y = made("log_loss", 20_000)
    recipe = Recipe("log_loss", positive=("x1",), negative=("x2",))
    columns = ASGDClassifier().fit(X[:50], y[:50])._columns()
    whole = Learner(recipe, n_features=6, columns=columns)
    whole.learn(X, y)
    parts = Learner(recipe, n_features=6, columns=columns)
    for rows in np.split(np.arange(20_000), [700, 5000, 17_000]):
        parts.learn(X[rows], y[rows])
        parts = Learner.from_state(*parts.state())
    assert np.array_equal(parts.model().weights, whole.model().weights)
    assert (whole.model().weights[[1, 2]] == 0).all()


def test_a_frame_with_words_and_missing_values() -> None:
    rng = np.random.default_rng(0)
    income, city = rng.normal(50, 10, 4000), rng.choice(["Rome", "Ulm"], 4000)
    y = -0.1 * income + (city == "Ulm") + 0.1 * rng.normal(size=4000)
    income[::7] = np.nan
    X = pd.DataFrame({"income": income, "city": city})
    model = ASGDRegressor(positive=["income"], random_state=0).fit(X, y)
    new = pd.DataFrame({"income": [20.0, 80.0], "city": ["Ulm", "Ulm"]})
    low, high = model.predict(new)
    assert low == high
    assert "weights of income not negative" in model.to_model().report.penalty_words


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"positive": ["size"]}, "there is no column 'size'"),
        ({"increasing": ["size"]}, "there is no column 'size'"),
        ({"negative": ["city"]}, "the column city is of words"),
        ({"decreasing": ["city"]}, "the column city is of words"),
        ({"positive": ["age"], "negative": ["age"]}, "'age' can have only one constraint"),
        ({"increasing": ["age"], "pairs": [("age", "city")]}, "so it can be in no pair"),
        ({"positive": ["age"], "curves": ["age"]}, "'age' has a curve"),
        ({"positive": True, "curves": "all"}, "positive=True is for linear models"),
        ({"penalty": "l1", "increasing": ["age"]}, "penalty='l1' is for linear models"),
        ({"negative": ["age"], "eta0": 0.1}, r"negative=\('age',\) is not for averaged SGD"),
        ({"increasing": ["age"], "recipe": "sgd"}, "needs recipe='auto'"),
        ({"positive": ["age"], "intervals": True}, "there are no intervals with positive="),
    ],
)
def test_what_cannot_be_is_one_sentence(wrong: Any, message: str) -> None:
    X = pd.DataFrame({"age": np.arange(200.0), "city": ["Rome", "Ulm"] * 100})
    with pytest.raises(ValueError, match=message):
        ASGDRegressor(**wrong).fit(X, np.arange(200.0))


def test_many_features_are_one_sentence_too() -> None:
    X = np.random.default_rng(0).normal(size=(1500, 1100))
    with pytest.raises(ValueError, match=r"positive=\('x0',\) is for up to 1,024 features"):
        ASGDRegressor(positive=["x0"]).fit(X, X[:, 0])

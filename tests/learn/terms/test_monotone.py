"""Curves that only rise or only fall, in additive models."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.model.columns import SourceColumns
from polyak.model.effects import effect
from polyak.model.linear import LinearModel

LOSSES = ("squared_error", "poisson", "log_loss")


def signal(X: Any) -> Any:
    """Return scores that rise in the first column, fall in the second and wave in the third."""
    return np.tanh(X[:, 0]) - np.maximum(X[:, 1], 0.0) + 0.5 * np.sin(2 * X[:, 2])


def made(loss: str, rows: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    s = signal(X)
    if loss == "poisson":
        return X, rng.poisson(np.exp(s)).astype(float)
    if loss == "log_loss":
        return X, (rng.random(rows) < 1.0 / (1.0 + np.exp(-s))).astype(float)
    return X, s + rng.normal(size=rows)


def fitted(loss: str, rows: int, **asked: Any) -> Any:
    kind = ASGDClassifier if loss == "log_loss" else ASGDRegressor
    return kind(loss=loss, curves="all", random_state=0, **asked).fit(*made(loss, rows))


def lost(loss: str, model: Any) -> float:
    """Return the loss on new rows."""
    X, y = made(loss, 20_000, seed=1)
    if loss == "log_loss":
        chance = model.predict_proba(X)[np.arange(len(y)), y.astype(int)]
        return float(-np.log(chance).mean())
    mean = model.predict(X)
    losses = mean - y * np.log(mean) if loss == "poisson" else np.square(mean - y)
    return float(losses.mean())


def rises(model: Any, column: str) -> Any:
    """Return how far the curve of a column rises from each value of a fine grid to the next."""
    return np.diff(model.effect(column, grid=np.linspace(-4.0, 4.0, 2001)).value)


@pytest.mark.parametrize("rows", [400, 6000, 20_000])
@pytest.mark.parametrize("loss", LOSSES)
def test_curves_are_monotone_and_as_good(loss: str, rows: int) -> None:
    model = fitted(loss, rows, increasing=["x0"], decreasing=["x1"])
    assert model.method_ == "curves"
    assert rises(model, "x0").min() > -1e-12
    assert rises(model, "x1").max() < 1e-12
    assert rises(model, "x0").sum() > 1.0
    assert rises(model, "x2").min() < 0 < rises(model, "x2").max()
    free = fitted(loss, rows)
    assert (rises(free, "x0").min() < -1e-6) or rows > 400
    assert lost(loss, model) < 1.01 * lost(loss, free)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_column_that_goes_the_other_way_is_flat(loss: str) -> None:
    model = fitted(loss, 4000, decreasing=["x0"], increasing=["x1"])
    X = made(loss, 100)[0]
    other = X.copy()
    other[:, :2] += 1.0
    np.testing.assert_array_equal(model.to_model().scores(X), model.to_model().scores(other))
    freedom = {term["name"]: term["edf"] for term in model.terms_}
    assert freedom.get("x0", 0.0) == pytest.approx(0.0, abs=1e-9)


def test_a_linear_model_keeps_the_direction_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = -X[:, 0] + X[:, 1] + rng.normal(size=2000)
    model = ASGDRegressor(increasing=["x0"], random_state=0).fit(X, y)
    assert model.predict([[-1.0, 0.0]]) == model.predict([[1.0, 0.0]])
    assert not any(one.get("schedule") for one in model.candidates_)


def test_weights_beside_curves_have_signs() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = np.sin(2 * X[:, 0]) - X[:, 1] - X[:, 2] + 0.3 * rng.normal(size=3000)
    asked: dict[str, Any] = {"positive": ["x1"], "negative": ["x2"]}
    model = ASGDRegressor(curves="all", random_state=0, **asked).fit(X, y)
    kinds = {term["name"]: term["kind"] for term in model.terms_}
    assert kinds == {"x0": "curve", "x1": "linear", "x2": "linear"}
    assert (model.effect("x1").value == 0).all()
    assert np.diff(model.effect("x2").value) < -1.0


def learner() -> Learner:
    asked: dict[str, Any] = {"curves": "all", "pairs": "auto", "increasing": ("x0",)}
    recipe = Recipe("log_loss", decreasing=("x1",), positive=("x3",), **asked)
    return Learner(recipe, n_features=4, columns=SourceColumns.of_array(4))


@pytest.fixture(scope="module")
def whole() -> LinearModel:
    one = learner()
    one.learn(*made("log_loss", 20_000))
    return one.model()


def test_batches_and_stops_leave_no_trace(whole: LinearModel) -> None:
    X, y = made("log_loss", 20_000)
    parts = learner()
    for rows in np.split(np.arange(20_000), [3000, 9000, 17_500]):
        parts.learn(X[rows], y[rows])
        parts = Learner.from_state(*parts.state())
    assert np.array_equal(parts.model().weights, whole.weights)


def test_merged_curves_are_monotone() -> None:
    X, y = made("log_loss", 30_000)
    head = learner()
    head.learn(X[:10_000], y[:10_000])
    parts = [copy.deepcopy(head) for _ in range(2)]
    for part, rows in zip(parts, (slice(10_000, 20_000), slice(20_000, None)), strict=True):
        assert part.race is not None
        part.race.is_part = True
        part.learn(X[rows], y[rows])
    parts[0].merge(parts[1:], head)
    merged = parts[0].model()
    assert parts[0].rows_seen == 30_000
    assert np.diff(effect(merged, "x0").value).min() > -1e-12
    assert np.diff(effect(merged, "x1").value).max() < 1e-12


def test_columns_with_a_constraint_are_in_no_pair() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=12_000)
    model = ASGDRegressor(increasing=["x0"], curves="all", pairs="auto", random_state=0).fit(X, y)
    pairs = {term["name"] for term in model.terms_ if term["kind"] == "pair"}
    assert "x2 × x3" in pairs
    assert not any("x0" in name for name in pairs)
    low, high = X[:200].copy(), X[:200].copy()
    low[:, 0], high[:, 0] = -1.0, 1.0
    assert (model.predict(high) - model.predict(low)).min() > -1e-12


def test_missing_values_have_an_effect_of_their_own() -> None:
    rng = np.random.default_rng(0)
    age, missing = rng.integers(18, 90, 4000).astype(float), rng.random(4000) < 0.1
    y = np.where(missing, 9.0, np.sqrt(age - 18)) + 0.2 * rng.normal(size=4000)
    X = pd.DataFrame({"age": np.where(missing, np.nan, age), "city": rng.choice(["a", "b"], 4000)})
    model = ASGDRegressor(increasing=["age"], random_state=0).fit(X, y)
    assert model.predict(pd.DataFrame({"age": [np.nan], "city": ["a"]}))[0] == pytest.approx(
        9, 0.02
    )
    curve = model.effect("age")
    assert np.diff(curve.value).min() >= 0
    assert (curve.lower < curve.upper).all()


@pytest.mark.parametrize("asked", [{"alpha": 0.01}, {"increasing": ("x0",)}])
def test_curves_win_in_one_pass_beside_a_linear_model_with_a_penalty(asked: Any) -> None:
    recipe = Recipe("squared_error", curves="all", **asked)
    one = Learner(recipe, n_features=4, columns=SourceColumns.of_array(4))
    one.learn(*made("squared_error", 12_000))
    report = one.model().report
    assert report is not None
    assert report.winner.method == "curves"

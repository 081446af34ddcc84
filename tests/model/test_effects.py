"""Effects and contributions of additive models, as users see them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from polyak import ASGDClassifier, ASGDRegressor, LinearModel
from polyak.model.effects import MISSING, OTHER, kinds


def frame(rows: int = 5000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns with a curve, missing values, levels and a pair."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows).astype(float)
    size = rng.lognormal(3.0, 0.6, rows)
    city = rng.choice(["Rome", "Ulm", "Oslo", "Bern"], rows, p=[0.5, 0.3, 0.19, 0.01])
    missing = rng.random(rows) < 0.1
    y = np.where(missing, 5.0, np.abs(age - 50) / 10 + np.log(size) * (age > 50)) + (city == "Rome")
    shown = np.where(missing, np.nan, age)
    X = pd.DataFrame({"age": shown, "size": size, "city": city, "new": rng.random(rows) < 0.5})
    return X, y + 0.3 * rng.normal(size=rows)


@cache
def additive(kind: str = "numbers") -> LinearModel:
    X, y = frame()
    if kind == "classes":
        labels = np.array(["low", "mid", "high"])[np.digitize(y, [3.0, 6.0])]
        return ASGDClassifier(curves="all", pairs="auto", random_state=0).fit(X, labels).to_model()
    if kind == "plain":
        X = X.drop(columns="city")
    return ASGDRegressor(curves="all", pairs="auto", random_state=0).fit(X, y).to_model()


def test_terms_have_kinds() -> None:
    found = kinds(additive())
    assert found["age"] == found["size"] == "curve"
    assert found["city"] == "category"
    assert found["age × size"] == "pair"


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_the_table_of_effects_adds_up_to_the_score(kind: str) -> None:
    model = additive(kind)
    table = model.coefficients()
    X, _ = frame(40, seed=1)
    X.loc[0, "city"] = "Paris"  # a new level
    outputs = 1 if kind == "numbers" else 3

    def values(lines: pd.DataFrame) -> np.ndarray:
        return lines["value"].to_numpy().reshape(-1, outputs)

    for row, score in zip(X.to_dict("records"), model.scores(X), strict=True):
        total = np.zeros(outputs)
        for (term, term_kind), lines in table.groupby(["term", "kind"]):
            axes = [lines["at"].unique(), lines["at_2"].unique()]
            weights = [
                _weights(points, row.get(name), term_kind)
                for points, name in zip(axes, [*term.split(" × "), None][:2], strict=True)
            ]
            total += np.kron(*weights) @ values(lines)
        assert np.allclose(total, score, atol=1e-9)


def _weights(points: np.ndarray, value: object, kind: str) -> np.ndarray:
    """Return the share of each line in the effect at a value."""
    if len(points) == 1 and points[0] == "":
        return np.ones(1)
    if isinstance(value, str):
        known = value in points or OTHER not in points
        return (points == (value if known else OTHER)).astype(float)
    if np.isnan(value):
        return (points == MISSING).astype(float)
    numbers = np.array([float(at) for at in points if at != MISSING])
    hats = [np.interp(value, numbers, hat) for hat in np.eye(len(numbers))]
    return np.array(hats + [0.0] * (len(points) - len(numbers)))


def test_levels_are_compared_without_the_error_of_the_intercept() -> None:
    found = additive().effect("city")
    band = dict(zip(found.grid, found.upper - found.lower, strict=True))
    assert band["Rome"] < 0.2
    assert band["Rome"] < band["Bern"]


def test_a_missing_value_has_an_effect() -> None:
    found = additive().effect("age", grid=[np.nan, 50.0])
    assert found.value[0] > found.value[1]


def test_a_pair_has_a_surface() -> None:
    found = additive().effect("age × size")
    ages, sizes = found.grid
    assert found.value.shape == found.lower.shape == (len(ages), len(sizes))
    assert ages[0] == 18.0
    assert (found.lower < found.upper).all()


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_a_pair_is_zero_on_average_over_the_rows_of_each_column(kind: str) -> None:
    model = additive(kind)
    for name in (one for one, of_kind in kinds(model).items() if of_kind == "pair"):
        found = model.effect(name)
        a, b = (_shares(*one) for one in zip(found.grid, name.split(" × "), strict=True))
        surface = found.value.reshape(len(a), len(b), -1)
        spread = np.sqrt(np.einsum("i,j,ijk->k", a, b, surface**2))
        # Not exactly: basis functions are centred over the first 4,096 rows, here of 5,000.
        assert (np.abs(np.einsum("i,ijk->jk", a, surface)) < 0.03 * spread).all()
        assert (np.abs(np.einsum("j,ijk->ik", b, surface)) < 0.03 * spread).all()


def _shares(points: np.ndarray, name: str) -> np.ndarray:
    """Return the share of the rows at each knot or level of a column."""
    column = frame()[0][name].dropna()
    if points.dtype.kind != "f":
        return np.array([(column == level).mean() for level in points])
    return np.array([np.interp(column, points, hat).mean() for hat in np.eye(len(points))])


def test_contributions_of_any_rows_have_the_same_columns() -> None:
    X, _ = frame(30, seed=2)
    names, all_rows = additive().contributions(X)
    parts = [additive().contributions(X.iloc[i : i + 1]) for i in range(30)]
    assert all(called == names for called, _ in parts)
    assert np.array_equal(np.concatenate([part for _, part in parts]), all_rows)
    assert np.allclose(all_rows.sum(axis=1), additive().decision_function(X), atol=1e-12)


def test_too_many_columns_have_no_contributions() -> None:
    model = LinearModel(np.ones((5000, 1)), np.zeros(1), "squared_error")
    with pytest.raises(ValueError, match=r"5,000 columns are too many: 4,096 at most"):
        model.contributions(np.ones((2, 5000)))

"""Additive models: curves, shrunken categories and pairs, from one pass."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyak import ASGDClassifier, ASGDRegressor
from polyak.learn.learner import Learner
from polyak.learn.newton.solver import NewtonSolver
from polyak.learn.recipes import Recipe
from polyak.model.columns import SourceColumns
from polyak.model.effects import contributions
from polyak.model.linear import LinearModel


def curved(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of four columns, of which two have curved effects and two interact."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    signal = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] ** 2 + X[:, 2] * X[:, 3]
    return X, signal + 0.3 * rng.normal(size=rows)


def learner(**settings_: object) -> Learner:
    recipe = Recipe(loss="squared_error", curves="all", pairs="auto", **settings_)
    return Learner(recipe, n_features=4, columns=SourceColumns.of_array(4))


@pytest.fixture(scope="module")
def whole() -> LinearModel:
    X, y = curved(12_000)
    one = learner()
    one.learn(X, y)
    return one.model()


def test_curves_and_pairs_win_where_effects_are_curved(whole: LinearModel) -> None:
    assert whole.report is not None
    assert whole.report.winner.method == "curves and pairs"
    names = {term.name for term in whole.report.terms}
    assert "x2 × x3" in names
    X, y = curved(4000, seed=1)
    left = np.mean((whole.predict(X) - y) ** 2)
    assert left < 0.2  # 0.09 is noise, 2.2 the variance


@settings(max_examples=3, deadline=None)
@given(st.lists(st.integers(1, 11_999), max_size=4), st.integers(1, 2))
def test_batches_and_threads_leave_no_trace(
    whole: LinearModel, cuts: list[int], threads: int
) -> None:
    X, y = curved(12_000)
    other = learner()
    other.threads = threads
    for part in np.split(np.arange(12_000), sorted(cuts)):
        if len(part):
            other.learn(X[part], y[part])
    assert np.array_equal(other.model().weights, whole.weights)


def test_resumed_is_uninterrupted(whole: LinearModel) -> None:
    X, y = curved(12_000)
    first = learner()
    first.learn(X[:6000], y[:6000])
    second = Learner.from_state(*first.state())
    second.learn(X[6000:], y[6000:])
    assert np.array_equal(second.model().weights, whole.weights)


def test_parts_are_merged() -> None:
    X, y = curved(24_000)
    head = learner()
    head.learn(X[:8000], y[:8000])
    parts = [copy.deepcopy(head) for _ in range(2)]
    for part, rows in zip(parts, (slice(8000, 16_000), slice(16_000, None)), strict=True):
        assert part.race is not None
        part.race.is_part = True
        part.learn(X[rows], y[rows])
    parts[0].merge(parts[1:], head)
    merged, alone = parts[0].model(), learner()
    alone.learn(X, y)
    test, truth = curved(4000, seed=1)
    losses = [np.mean((one.predict(test) - truth) ** 2) for one in (merged, alone.model())]
    assert parts[0].rows_seen == 24_000
    assert losses[0] < 1.05 * losses[1]


def test_a_copy_goes_on_alone() -> None:
    X, y = curved(9000)
    one = learner()
    one.learn(X[:5000], y[:5000])
    before = one.model().weights
    copy.deepcopy(one).learn(X[5000:], y[5000:])
    assert np.array_equal(one.model().weights, before)


def test_contributions_add_up_to_the_score(whole: LinearModel) -> None:
    X, _ = curved(50, seed=2)
    names, parts = contributions(whole, X)
    assert names[:4] == ["x0", "x1", "x2", "x3"]
    assert names[-1] == "intercept"
    assert np.allclose(parts.sum(axis=1), whole.scores(X)[:, 0], atol=1e-12)


def test_a_model_file_predicts_the_same(whole: LinearModel, tmp_path: object) -> None:
    X, _ = curved(50, seed=2)
    path = f"{tmp_path}/m.polyak"
    whole.save(path)
    assert np.array_equal(LinearModel.load(path).predict(X), whole.predict(X))


def test_predictions_stay_bounded_outside_the_data(whole: LinearModel) -> None:
    far = np.full((1, 4), 1e6)
    assert np.abs(whole.predict(far)[0]) < 50


def test_no_rows_have_no_predictions(whole: LinearModel) -> None:
    assert whole.predict(np.empty((0, 4))).shape == (0,)


def test_no_column_is_worse_than_none() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 3)), rng.normal(size=3000)
    model = ASGDRegressor(curves="all", random_state=0).fit(X, y)
    assert model.recent_loss_ <= 1.005 * model.constant_loss_


def frame(rows: int = 3000) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, rows).astype(float)
    city = rng.choice(["Rome", "Ulm", "Oslo", "Bern"], rows, p=[0.5, 0.3, 0.19, 0.01])
    missing = rng.random(rows) < 0.1
    shown = np.where(missing, np.nan, age)
    of_age, of_city = np.where(missing, 5.0, np.abs(age - 50) / 10), city == "Rome"
    y = of_age + of_city + 0.2 * rng.normal(size=rows)
    return pd.DataFrame({"age": shown, "city": city}), y


def test_a_frame_has_curves_levels_and_missing_values() -> None:
    X, y = frame()
    model = ASGDRegressor(curves=["age"], random_state=0).fit(X, y)
    kinds = {term["name"]: term["kind"] for term in model.terms_}
    assert kinds == {"age": "curve", "city": "category"}
    assert all(term["p_value"] < 1e-6 for term in model.terms_)
    curve = model.effect("age", grid=[20.0, 50.0, 80.0])
    assert curve.value[0] - curve.value[1] == pytest.approx(3.0, abs=0.3)
    assert (curve.lower < curve.value).all()
    levels = model.effect("city")
    rome = dict(zip(levels.grid, levels.value, strict=True))
    assert rome["Rome"] - rome["Ulm"] == pytest.approx(1.0, abs=0.1)
    lost = pd.DataFrame({"age": [np.nan, np.nan], "city": ["Ulm", "Oslo"]})
    assert np.allclose(model.predict(lost), 5.0, atol=0.2)


def test_names_of_columns_may_have_equals_signs() -> None:
    X, y = frame()
    model = ASGDRegressor(curves="all", random_state=0).fit(X.rename(columns={"city": "c=d"}), y)
    assert {term["name"]: term["kind"] for term in model.terms_}["c=d"] == "category"
    assert {"Rome", "Ulm", "Oslo", "Bern"} <= set(model.effect("c=d").grid)


def test_classes_have_curves() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    y = np.digitize(np.abs(X[:, 0]) + 0.3 * rng.normal(size=6000), [0.4, 1.2])
    model = ASGDClassifier(curves="all", random_state=0).fit(X, y)
    plain = ASGDClassifier(random_state=0).fit(X, y)
    assert model.method_ == "curves"
    assert model.score(X, y) > plain.score(X, y) + 0.2
    low, high = model.predict_interval(X[:5])
    scores = model.decision_function(X[:5])
    assert ((low < scores) & (scores < high)).all()


@pytest.mark.parametrize("wrong", [{"curves": ["size"]}, {"curves": ["city"]}])
def test_a_column_that_has_no_curve_is_named(wrong: dict[str, list[str]]) -> None:
    X, y = frame(500)
    with pytest.raises(ValueError, match=wrong["curves"][0]):
        ASGDRegressor(**wrong).fit(X, y)


def test_basis_functions_are_named_after_their_column() -> None:
    X, y = frame()
    model = ASGDRegressor(curves=["age"], random_state=0).fit(X, y)
    names = model.get_feature_names_out()
    assert not any(name.startswith("slot") for name in names[model.to_model().terms.begin :])
    assert "age 0" in names


def test_attributes_after_a_batch_fit_its_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = curved(5000)
    model = ASGDRegressor(curves="all", intervals=True, random_state=0).partial_fit(X, y)
    fits, fit = [], NewtonSolver._fit

    def counted(self: NewtonSolver, *, provisional: bool) -> None:
        fits.append(self.clock)
        fit(self, provisional=provisional)

    monkeypatch.setattr(NewtonSolver, "_fit", counted)
    model.partial_fit(X[:10], y[:10])
    fits.clear()
    assert model.method_ == "curves"
    _ = model.coef_, model.terms_, model.effect("x0")
    assert len(fits) == 1

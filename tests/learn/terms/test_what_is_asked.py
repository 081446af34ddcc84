"""What is asked of additive models is learned, or refused: it is never left out silently."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from polyak import ASGDClassifier, ASGDRegressor
from polyak.errors import DataError


def curved(rows: int, columns: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a frame of numbers, and targets that are curved in the first and the last."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, columns))).rename(columns="v{}".format)
    y = np.sin(2 * frame.iloc[:, 0]) + np.sin(2 * frame.iloc[:, -1]) + rng.normal(size=rows) / 3
    return frame, y.to_numpy()


@pytest.mark.parametrize("columns", [3, 20])  # 20 curves have more functions than `frequent.MOST`
@pytest.mark.parametrize("levels", [3000, None])
@pytest.mark.filterwarnings("ignore:the column name is read as words")
def test_a_column_of_names_leaves_curves_as_they_are(columns: int, levels: int | None) -> None:
    frame, y = curved(10_000, columns)
    some = slice(0, 8000)
    plain = ASGDRegressor(curves="all", random_state=0).fit(frame[some], y[some])
    place = np.random.default_rng(1).integers(0, levels or 1, len(frame))
    place = np.arange(len(frame)) if levels is None else place
    named = frame.assign(name=[f"n{k}" for k in place])
    model = ASGDRegressor(curves="all", random_state=0).fit(named[some], y[some])
    assert model.method_ == "curves"
    loss, least = (1 - one.score(X[8000:], y[8000:]) for one, X in ((model, named), (plain, frame)))
    assert loss < 1.2 * least


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("v0", "v0")], "two different columns"),
        ([("v0",)], "two different columns"),
        (["v0", "v1"], "two different columns"),
        ([("v0", "v1", "v2")], "two different columns"),
        ([("v0", "v1"), ("v1", "v0")], "twice"),
    ],
)
def test_a_pair_is_two_columns(pairs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ASGDRegressor(pairs=pairs).fit(*curved(300))


@pytest.mark.parametrize("asked", [{"curves": "all"}, {"pairs": "auto"}])
@pytest.mark.parametrize("setting", [{"recipe": "sgd"}, {"loss": "hinge"}, {"eta0": 0.1}])
def test_only_newton_steps_have_curves(asked: dict[str, Any], setting: dict[str, Any]) -> None:
    frame, y = curved(300)
    with pytest.raises(ValueError, match=r"curves|pairs"):
        ASGDClassifier(**asked, **setting).fit(frame, y > 0)


def test_features_too_many_for_curves_are_warned_about() -> None:
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(2000, 20_000, 0.001, format="csr", random_state=0)
    model = ASGDRegressor(curves="all", random_state=0)
    with pytest.warns(UserWarning, match="is left out: there are too many"):
        model.fit(X, rng.normal(size=2000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ASGDRegressor(random_state=0).fit(X, rng.normal(size=2000))


def test_the_grid_of_an_effect() -> None:
    model = ASGDRegressor(curves="all", random_state=0).fit(*curved(2000))
    assert (
        model.effect("v0", grid=0.5).value.tolist() == model.effect("v0", grid=[0.5]).value.tolist()
    )
    with pytest.raises(DataError, match="v0 is of numbers"):
        model.effect("v0", grid=["a"])


def test_truths_are_no_number_of_pairs() -> None:
    with pytest.raises(ValueError, match="pairs=True: 'auto' finds pairs"):
        ASGDRegressor(curves="all", pairs=True).fit(*curved(300))


@pytest.mark.parametrize("pairs", ["auto", 1])
def test_pairs_are_asked_for_without_curves(pairs: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4200, 3))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=len(X))
    model = ASGDRegressor(pairs=pairs, random_state=0).fit(X, y)
    assert [term["name"] for term in model.terms_ if term["kind"] == "pair"] == ["x0 × x1"]
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("asked", [{"curves": "all"}, {"pairs": "auto"}])
@pytest.mark.parametrize("classifies", [False, True])
def test_no_column_may_have_a_term(asked: dict[str, Any], classifies: bool) -> None:
    rng = np.random.default_rng(0)
    levels = rng.choice(list("abc"), 200)
    y = np.where(levels == "a", 2.0, -2.0) + 0.5 * rng.normal(size=200)  # of variance 3.8
    words = pd.DataFrame({"k": levels})
    kind: Any = ASGDClassifier if classifies else ASGDRegressor
    model = kind(**asked, random_state=0).fit(words, y > 0 if classifies else y)
    assert model.score(words, y > 0 if classifies else y) > 0.9
    constant = kind(**asked, random_state=0).fit(np.ones((200, 2)), y > 0 if classifies else y)
    assert len(set(constant.predict(np.ones((3, 2))))) == 1


def test_a_constraint_on_a_constant_column_is_no_constraint() -> None:
    frame, y = curved(300)
    model = ASGDRegressor(increasing=["k"], random_state=0).fit(frame.assign(k=1.0), y)
    assert model.coef_[-1] == 0.0


def test_columns_after_those_learned_are_no_terms() -> None:
    frame, y = curved(300)
    model = ASGDRegressor(curves="all", random_state=0).fit(frame.to_numpy(), y).to_model()
    wider = np.column_stack([frame, y])
    np.testing.assert_array_equal(model.predict(wider), model.predict(frame.to_numpy()))


# Without intervals a linear model may win, or a constant.
@pytest.mark.parametrize("effect", [1.0, 0.0])
@pytest.mark.parametrize("classifies", [False, True])
@pytest.mark.parametrize("rows", [200, 2500])
def test_intervals_of_additive_models_are_there(effect: float, classifies: bool, rows: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 2))
    y: Any = effect * X[:, 0] + rng.normal(size=rows)
    kind: Any = ASGDClassifier if classifies else ASGDRegressor
    settings = {"curves": "all", "random_state": 0}
    if classifies:
        y, settings["loss"] = y > 0, "log_loss"
    model = kind(**settings, intervals=True).fit(X, y)
    assert model.method_ == "curves"
    band = model.effect("x0", grid=[-1.0, 1.0])
    truth = effect * np.array([-1.0, 1.0]) * (1.6 if classifies else 1.0)  # of probit as logit
    assert np.isfinite(model.coef_std_err_).all()
    assert (np.abs(band.value - truth) < 2 * (band.upper - band.lower)).all()

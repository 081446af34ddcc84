"""Counts over different times: ``--exposure`` learns rates."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import fails, polyak
from sklearn.linear_model import GammaRegressor, PoissonRegressor

from polyak.losses import get_loss
from polyak.model.linear import LinearModel


def frame(rows: int = 6000, seed: int = 0, loss: str = "poisson") -> pd.DataFrame:
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(2, rows)).round(3)
    years = random.integers(1, 9, rows) / 2 if loss == "poisson" else random.integers(1, 9, rows)
    mean = np.exp(0.4 + 0.5 * a - 0.3 * b)
    if loss == "poisson":
        y = random.poisson(mean * years)
    else:
        # A sum of ``years`` terms.
        y = random.gamma(2.0 * years) * mean / 2.0
    return pd.DataFrame({"a": a, "b": b, "years": years, "y": y})


def trained(folder: Path, table: pd.DataFrame, *options: str) -> LinearModel:
    table.to_csv(folder / "rows.csv", index=False)
    polyak("train", folder / "rows.csv", "--target", "y", "-q", *options, "-m", folder / "m")
    return LinearModel.load(folder / "m")


def in_columns(model: LinearModel) -> np.ndarray:
    lines = model.coefficients().set_index("feature")["weight"]
    return lines[["intercept", "a", "b"]].to_numpy()


@pytest.mark.parametrize("order", ["auto", "as-is"])
@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_it_is_to_divide_and_to_weigh(tmp_path: Path, loss: str, order: str) -> None:
    table = frame(loss=loss)
    how = ("--loss", loss, "--order", order)
    asked = trained(tmp_path, table, *how, "--exposure", "years")
    table["y"] /= table["years"]
    divided = trained(tmp_path, table, *how, "--weight", "years")
    np.testing.assert_array_equal(asked.weights, divided.weights)
    np.testing.assert_array_equal(asked.intercept, divided.intercept)


def test_weights_are_multiplied(tmp_path: Path) -> None:
    table = frame().assign(times=np.tile([1.0, 2.0], 3000))
    how = ("--loss", "poisson", "--weight", "times")
    asked = trained(tmp_path, table, *how, "--exposure", "years")
    table["y"] /= table["years"]
    table["times"] *= table.pop("years")
    np.testing.assert_array_equal(asked.weights, trained(tmp_path, table, *how).weights)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_scikit_learn_finds_the_same(tmp_path: Path, loss: str) -> None:
    table = frame(loss=loss)
    model = trained(tmp_path, table, "--loss", loss, "--exposure", "years", "--penalty", "none")
    batch = (PoissonRegressor if loss == "poisson" else GammaRegressor)(alpha=0.0, tol=1e-8)
    rates = table["y"] / table["years"]
    batch.fit(table[["a", "b"]], rates, sample_weight=table["years"])
    found, best = in_columns(model), np.array([batch.intercept_, *batch.coef_])
    np.testing.assert_allclose(found, best, atol=1e-4)

    def mean_loss(weights: np.ndarray) -> float:
        scores = weights[0] + table[["a", "b"]].to_numpy() @ weights[1:]
        return float(np.average(get_loss(loss).value(scores, rates), weights=table["years"]))

    assert mean_loss(found) < mean_loss(best) + 1e-7 * abs(mean_loss(best))


def test_other_commands_know_it(tmp_path: Path) -> None:
    model = trained(tmp_path, frame(), "--loss", "poisson", "--exposure", "years")
    table = frame(500, seed=1)
    table.to_csv(tmp_path / "new.csv", index=False)
    figures = json.loads(polyak("evaluate", tmp_path / "m", tmp_path / "new.csv", "--json").stdout)
    weights = in_columns(model)
    scores = weights[0] + table[["a", "b"]].to_numpy() @ weights[1:]
    lost = get_loss("poisson").value(scores, table["y"] / table["years"])
    assert figures["loss"] == pytest.approx(np.average(lost, weights=table["years"]), rel=1e-5)
    table.drop(columns=["years", "y"]).to_csv(tmp_path / "bare.csv", index=False)
    rates = polyak("predict", tmp_path / "m", tmp_path / "bare.csv").stdout.split()
    np.testing.assert_allclose(np.array(rates, float), np.exp(scores), rtol=1e-5)
    assert "The target is y, per years." in polyak("inspect", tmp_path / "m").stdout


@pytest.mark.parametrize(
    ("value", "why"),
    [("0", "0, not above zero"), ("-1.5", "-1.5, not above zero"), ("", "missing")],
)
def test_exposures_that_are_none(tmp_path: Path, value: str, why: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,years,y\n" + "1,2,1\n2,1,0\n" * 20 + f"1,{value},1\n" + "3,1,2\n" * 9)
    start = ("train", path, "--target", "y", "--exposure", "years", "-m", tmp_path / "m")
    sentence = fails(*start, "--loss", "poisson")
    assert sentence == f"polyak: error: {path}, line 42: the exposure is {why}"


def test_what_has_no_exposure(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    frame(50).to_csv(path, index=False)
    start = ("train", path, "--target", "y", "-m", tmp_path / "m", "--exposure")
    sentence = fails(*start, "years", "--loss", "squared_error", code=2)
    assert "squared_error has no logarithm as its link: --exposure is for poisson" in sentence
    assert fails(*start, "years", code=2).endswith("for poisson and gamma, which --loss names")
    sentence = fails(*start, "year", "--loss", "poisson")
    assert "has no exposure column year; did you mean years?" in sentence
    (tmp_path / "rows.svm").write_text("1 1:1\n2 1:2\n")
    rows = ("train", tmp_path / "rows.svm", "-m", tmp_path / "m", "--loss", "poisson")
    assert "--exposure is for tables" in fails(*rows, "--exposure", "years")


@pytest.mark.parametrize("role", ["weight", "exposure"])
def test_words_are_named_where_a_number_should_stand(role: str, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("place,y,x\n" + "here,1,2\nthere,2,3\n" * 20)
    options = ("--target", "y", "--loss", "poisson", f"--{role}", "place")
    said = fails("train", table, *options, "-m", tmp_path / "m")
    assert f"t.csv, line 2: the {role} is 'here', which is no number" in said

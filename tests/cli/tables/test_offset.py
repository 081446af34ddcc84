"""A column that is added to the score: ``--offset``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import fails, polyak

from polyak.model.linear import LinearModel


def frame(rows: int = 6000) -> pd.DataFrame:
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, rows)).round(3)
    years = random.integers(1, 9, rows) / 2
    word = random.choice(["u", "v"], rows)
    y = random.poisson(years * np.exp(0.4 + 0.5 * a - 0.3 * b))
    return pd.DataFrame({"a": a, "b": b, "word": word, "log_years": np.log(years), "y": y})


def trained(folder: Path, table: pd.DataFrame, *options: str) -> LinearModel:
    table.to_csv(folder / "rows.csv", index=False)
    how = ("--target", "y", "--loss", "poisson", "-q", "-m", folder / "m")
    polyak("train", folder / "rows.csv", *how, *options)
    return LinearModel.load(folder / "m")


def weight(model: LinearModel, name: str) -> float:
    return float(model.coefficients().set_index("feature")["weight"][name])


@pytest.mark.parametrize("order", ["auto", "as-is"])
@pytest.mark.parametrize("drop", [[], ["--drop", "word"]])
def test_its_weight_is_one(tmp_path: Path, order: str, drop: list[str]) -> None:
    table = frame()
    offset = ("--offset", "log_years", "--order", order, *drop)
    model = trained(tmp_path, table, *offset)
    assert weight(model, "log_years") == 1.0
    rates = table.assign(years=np.exp(table.pop("log_years")))
    of_rates = trained(tmp_path, rates, "--exposure", "years", "--order", order, *drop)
    for name in ("intercept", "a", "b"):
        assert weight(model, name) == pytest.approx(weight(of_rates, name), abs=0.01)


def test_predictions_and_evaluation_read_it(tmp_path: Path) -> None:
    table = frame()
    model = trained(tmp_path, table, "--offset", "log_years")
    said = polyak("predict", tmp_path / "m", tmp_path / "rows.csv").stdout
    predicted = [float(line) for line in said.splitlines()]
    expected = model.predict(table.drop(columns="y"))
    np.testing.assert_allclose(predicted, expected, rtol=1e-5)
    said = polyak("evaluate", tmp_path / "m", tmp_path / "rows.csv", "--json").stdout
    found = json.loads(said)
    assert found["mae"] == pytest.approx(np.abs(expected - table["y"]).mean(), rel=1e-5)
    table.drop(columns="log_years").to_csv(tmp_path / "without.csv", index=False)
    said = fails("predict", tmp_path / "m", tmp_path / "without.csv")
    assert "has no offset column log_years" in said


@pytest.mark.parametrize(
    ("value", "what"), [("", "the offset is missing"), ("inf", "'inf' in column log_years is too")]
)
def test_a_row_without_one_is_named(tmp_path: Path, value: str, what: str) -> None:
    table = frame(50).astype({"log_years": str})
    table.loc[17, "log_years"] = value
    table.to_csv(tmp_path / "rows.csv", index=False)
    how = ("--target", "y", "--loss", "poisson", "--offset", "log_years", "-m", tmp_path / "m")
    said = fails("train", tmp_path / "rows.csv", *how)
    assert f"rows.csv, line 19: {what}" in said


@pytest.mark.parametrize("order", ["auto", "as-is"])
def test_the_base_of_vw_text(tmp_path: Path, order: str) -> None:
    table = frame(3000)
    rows = zip(table["y"], table["log_years"], table["a"], strict=True)
    text = "".join(f"{y} 1 {base} |f a:{a}\n" for y, base, a in rows)
    (tmp_path / "rows.vw").write_text(text)
    how = ("--loss", "poisson", "--order", order, "-q", "-m", tmp_path / "m")
    said = fails("train", tmp_path / "rows.vw", *how)
    assert "rows.vw, line 1: a base other than 0 is added to the score only with --offset" in said
    polyak("train", tmp_path / "rows.vw", *how, "--offset", "base")
    model = LinearModel.load(tmp_path / "m")
    assert weight(model, "base") == 1.0
    assert np.sort(model.weights[:, 0])[-2] == pytest.approx(0.5, abs=0.05)
    scored = polyak("predict", tmp_path / "m", tmp_path / "rows.vw", "--what", "scores").stdout
    scores = np.array(scored.split(), dtype=float)
    away = scores - table["log_years"]
    assert np.corrcoef(away, table["a"])[0, 1] == pytest.approx(1.0)

"""Tables of weights: what a program reads from them predicts what the model predicts."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from exported_models import MODELS, X, model_of

from polyak import ASGDRegressor, LinearModel
from polyak.exports import export
from polyak.model.features import FeatureMap
from polyak.model.intervals import standard_errors, weight_interval


def read(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("suffix", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_the_weights_come_back(name: str, suffix: str, delimiter: str, tmp_path: Path) -> None:
    model = model_of(name)
    export(model, tmp_path / f"m.{suffix}")
    lines = read(tmp_path / f"m.{suffix}", delimiter)
    several = len(model.intercept) > 1
    kind = "output" if model.classes is None else "class"
    names = list(range(len(model.intercept))) if model.classes is None else model.classes.tolist()
    columns = [str(n) if not isinstance(n, float) else f"{n:g}" for n in names]
    weights, intercept = np.zeros_like(model.weights), np.zeros_like(model.intercept)
    for line in lines:
        output = columns.index(line[kind]) if several else 0
        if line["feature"] == "intercept":
            intercept[output] = float(line["weight"])
        else:
            weights[int(line["feature"]), output] = float(line["weight"])
    back = LinearModel(weights, intercept, model.loss, model.classes)
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.scores(X), model.scores(X))


def test_intervals_and_names(tmp_path: Path) -> None:
    import pandas

    frame = pandas.DataFrame({'the "first", so': X[:, 0], "second": X[:, 1]})
    learned = ASGDRegressor(intervals=True).fit(frame, X[:, 0] - X[:, 1])
    export(learned, tmp_path / "m.csv")
    model, lines = learned.to_model(), read(tmp_path / "m.csv")
    assert [line["name"] for line in lines] == ["", 'the "first", so', "second"]
    errors, (low, high) = standard_errors(model)[0], weight_interval(model)
    for feature, line in enumerate(lines[1:]):
        assert float(line["standard_error"]) == errors[feature, 0]
        assert (float(line["low"]), float(line["high"])) == (low[feature, 0], high[feature, 0])


def test_ids_are_those_of_the_source_and_zeros_are_left_out(tmp_path: Path) -> None:
    weights = np.array([[0.0], [0.25], [-3.0]])
    features = FeatureMap.numbered(1)
    model = LinearModel(weights, np.ones(1), "hinge", np.array([0, 1]), features=features)
    export(model, tmp_path / "m.csv")
    text = (tmp_path / "m.csv").read_text()
    assert text == "feature,weight\nintercept,1.0\n2,0.25\n3,-3.0\n"
    export(model, tmp_path / "m.txt")
    assert (tmp_path / "m.txt").read_text() == (
        "  feature  weight\nintercept      +1\n        2   +0.25\n        3      -3\n"
    )


def test_words_are_no_formulas_and_numbers_are_numbers(tmp_path: Path) -> None:
    import pandas

    frame = pandas.DataFrame({"=1+1": X[:, 0], "+cmd|'/C calc'!A0": X[:, 1], "-1.5": X[:, 0]})
    export(ASGDRegressor().fit(frame, X[:, 0] - X[:, 1]), tmp_path / "m.csv")
    lines = {line["name"]: line["weight"] for line in read(tmp_path / "m.csv")[1:]}
    assert list(lines) == ["'=1+1", "'+cmd|'/C calc'!A0", "-1.5"]
    assert float(lines["'+cmd|'/C calc'!A0"]) < 0

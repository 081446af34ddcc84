"""Additive models in other formats: they predict the same, or are refused with one sentence."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import skops.io

from polyak import ASGDClassifier, ASGDRegressor, LinearModel
from polyak.exports import export
from polyak.exports.export_input import export_input_of
from polyak.model.in_use import features_in_use, rows_in_use

CLOSE = {"rtol": 1e-6, "atol": 1e-6}


def frame(rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    size, age = rng.lognormal(3.0, 0.6, rows), rng.integers(18, 90, rows).astype(float)
    missing, city = rng.random(rows) < 0.1, rng.choice(["Rome", "Ulm", "Oslo"], rows)
    y = np.where(missing, 5.0, np.abs(age - 50) / 10 + np.log(size) * (age > 50)) + (city == "Rome")
    shown = np.where(missing, np.nan, age)
    X = pd.DataFrame({"age": shown, "size": size, "new": rng.random(rows) < 0.5, "city": city})
    return X, y + 0.3 * rng.normal(size=rows)


def rows_of(columns: str, rows: int, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Return an array, a frame of numbers, or one with words."""
    X, y = frame(rows, seed)
    if columns == "array":
        return X[["size", "new"]].to_numpy(dtype=np.float64), y
    return (X.drop(columns="city") if columns == "numbers" else X), y


def learned(columns: str, target: str, pairs: Any) -> LinearModel:
    X, y = rows_of(columns, 4000)
    settings = {"curves": "all", "pairs": pairs, "random_state": 0}
    if target == "classes":
        labels = np.array(["low", "mid", "high"])[np.digitize(y, [3.0, 6.0])]
        return ASGDClassifier(**settings).fit(X, labels).to_model()
    loss = "poisson" if target == "counts" else "squared_error"
    return ASGDRegressor(loss=loss, **settings).fit(X, np.maximum(y, 0.0)).to_model()


MODELS = [
    ("array", "numbers", None),
    ("numbers", "numbers", [("age", "size")]),
    ("numbers", "classes", None),
    ("words", "numbers", [("age", "city"), ("city", "new")]),
    ("words", "counts", None),
]


@pytest.fixture(scope="module", params=MODELS, ids=lambda one: "-".join(map(str, one[:2])))
def case(request: pytest.FixtureRequest) -> tuple[str, LinearModel]:
    columns = request.param[0]
    model = learned(*request.param)
    assert model.terms is not None
    return columns, model


def inputs(columns: str, model: LinearModel) -> tuple[Any, np.ndarray]:
    """Return rows, some beyond all knots and with new levels, and what the exported model takes."""
    X, _ = rows_of(columns, 300, seed=1)
    if columns == "array":
        X[:2, 0] = -1e6, 1e6
        return X, X
    X.loc[0, "age"], X.loc[1, "age"], X.loc[2, "size"] = -1e6, 1e6, np.nan
    if columns == "numbers":
        return X, X.to_numpy(dtype=np.float64)
    X.loc[3, "city"], X.loc[4, "city"] = "Paris", None
    rows = rows_in_use(model.features.rows(X), features_in_use(model))
    return X, rows.to_scipy().toarray() if hasattr(rows, "to_scipy") else _dense(rows)


def _dense(rows: Any) -> np.ndarray:
    found = np.zeros(rows.shape)
    indices, values = rows.entries()
    found[rows.entry_rows(), indices] = values
    return found


def test_onnx_predicts_what_the_model_predicts(
    case: tuple[str, LinearModel], tmp_path: Path
) -> None:
    columns, model = case
    said = export(model, tmp_path / "m.onnx")
    X, rows = inputs(columns, model)
    assert any("polyak convert" in one for one in said) == (columns == "words")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    found = dict(
        zip([o.name for o in session.get_outputs()], session.run(None, {"X": rows}), strict=True)
    )
    if model.classes is None:
        np.testing.assert_allclose(found["prediction"], model.predict(X), **CLOSE)
        return
    np.testing.assert_array_equal(found["label"], model.predict(X))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), **CLOSE)


def test_scikit_learn_predicts_the_same_or_refuses_pairs(
    case: tuple[str, LinearModel], tmp_path: Path
) -> None:
    columns, model = case
    path = tmp_path / "m.skops"
    if any(term.kind == "pair" for term in model.terms.terms):
        with pytest.raises(ValueError, match=r"^scikit-learn has no .* pairs of columns; .*$"):
            export(model, path)
        assert not path.exists()
        return
    said = export(model, path)
    trusted = skops.io.get_untrusted_types(file=path)
    assert said[0] == f"load it with skops.io.load(FILE, trusted={trusted})"
    estimator = skops.io.load(path, trusted=trusted)
    X, rows = inputs(columns, model)
    taken = X if columns == "numbers" else rows
    if model.classes is None:
        np.testing.assert_allclose(estimator.predict(taken), model.predict(X), **CLOSE)
        return
    np.testing.assert_array_equal(estimator.predict(taken), model.predict(X))
    np.testing.assert_allclose(estimator.predict_proba(taken), model.predict_proba(X), **CLOSE)


def test_the_table_has_a_line_for_each_knot_or_level(
    case: tuple[str, LinearModel], tmp_path: Path
) -> None:
    _, model = case
    export(model, tmp_path / "m.csv")
    export(model, tmp_path / "m.txt")
    with open(tmp_path / "m.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    table = model.coefficients()
    assert list(lines[0]) == list(table)
    assert lines[0]["term"] == "intercept"
    assert [float(line["value"]) for line in lines] == table["value"].tolist()
    known = {term.name for term in model.terms.terms} | {"intercept", "city", "new"}
    assert {line["term"] for line in lines} <= known
    assert len((tmp_path / "m.txt").read_text().splitlines()) == len(lines) + 1


def test_features_in_use_keep_the_columns_of_curves() -> None:
    model = learned("words", "numbers", None)
    given = export_input_of(model).in_use()
    assert given.model.n_features == given.n_inputs + model.terms.size
    assert all(
        0 <= feature < given.n_inputs
        for feature in itertools.chain.from_iterable(
            term.features for term in given.model.terms.terms
        )
    )

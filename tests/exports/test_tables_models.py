"""Models of tables: those of numbers alone take the columns as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import skops.io
from exported_models import model_of

from polyak.exports import export
from polyak.exports.export_input import export_input_of
from polyak.exports.units import in_units
from polyak.model.features import FeatureMap
from polyak.model.intervals import score_interval
from polyak.model.linear import LinearModel
from polyak.model.schema import Column, Schema
from polyak.rows.sparse import dense_as_sparse
from polyak.storage.sandwich import Sandwich

SCHEMA = Schema(
    (
        Column("age", "number", "number", offset=40.0, scale=12.0),
        Column("is new", "boolean", "boolean"),
        Column("year", "number", "number", offset=2013.5, scale=0.25),
    )
)
HASHED = Schema((*SCHEMA.columns, Column("city", "category", "string")), bits=4)

RANDOM = np.random.default_rng(3)
TABLE = np.stack(
    [RANDOM.normal(40, 12, 100), RANDOM.integers(0, 2, 100), RANDOM.normal(2013, 1, 100)], axis=1
)
TABLE[RANDOM.random(TABLE.shape) < 0.2] = np.nan


def features_of(table: Any) -> Any:
    """What a reader makes of the columns."""
    offsets = np.array([column.offset for column in SCHEMA.columns])
    scales = np.array([column.scale for column in SCHEMA.columns])
    missing = np.isnan(table)
    rows = np.zeros((len(table), 6))
    rows[:, 0::2] = np.where(missing, 0.0, (table - offsets) / scales)
    rows[:, 1::2] = missing
    return rows


def model(schema: Schema, loss: str, classes: Any, outputs: int) -> LinearModel:
    weights = RANDOM.normal(size=(schema.n_features, outputs)).astype(np.float32)
    features = FeatureMap.table(schema)
    return LinearModel(weights, RANDOM.normal(size=outputs), loss, classes, features=features)


WORDS = np.array(["a", "b", "c"])
TABLE_MODELS = {
    "two classes": model(SCHEMA, "log_loss", np.array(["no", "yes"]), 1),
    "three classes": model(SCHEMA, "hinge", WORDS, 3),
    "regression": model(SCHEMA, "squared_error", None, 1),
    "outputs": model(SCHEMA, "squared_error", None, 2),
}


@pytest.mark.parametrize("name", TABLE_MODELS)
def test_onnx_takes_the_columns(name: str, tmp_path: Path) -> None:
    made = TABLE_MODELS[name]
    assert not any("rows for it" in said for said in export(made, tmp_path / "m.onnx"))
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    found = session.run(None, {"X": TABLE})
    np.testing.assert_array_equal(found[0], made.predict(TABLE)) if made.classes is not None else (
        np.testing.assert_allclose(found[0], made.predict(TABLE), rtol=1e-5, atol=1e-5)
    )
    np.testing.assert_allclose(found[-1], made.decision_function(TABLE), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", TABLE_MODELS)
def test_the_estimator_takes_the_columns(name: str, tmp_path: Path) -> None:
    import pandas

    made = TABLE_MODELS[name]
    assert export(made, tmp_path / "m.skops") == [
        "load it with skops.io.load(FILE, trusted=['numpy.dtype'])"
    ]
    estimator = skops.io.load(tmp_path / "m.skops", trusted=["numpy.dtype"])
    frame = pandas.DataFrame(TABLE, columns=["age", "is new", "year"])
    if made.classes is None:
        close = {"rtol": 1e-5, "atol": 1e-5}
        np.testing.assert_allclose(estimator.predict(frame), made.predict(frame), **close)
        return
    np.testing.assert_array_equal(estimator.predict(frame), made.predict(frame))
    np.testing.assert_allclose(
        estimator.decision_function(frame), made.decision_function(frame), rtol=1e-5, atol=1e-5
    )
    with pytest.raises(ValueError, match="feature names"):
        estimator.predict(frame[["year", "age", "is new"]])


def test_features_that_no_row_had_have_a_place(tmp_path: Path) -> None:
    """Training may end before it has seen a missing value, or the last slot."""
    whole = TABLE_MODELS["regression"]
    weights = whole.weights.copy()
    weights[5] = 0.0
    replicas = RANDOM.normal(size=(3, 6, 1)).astype(np.float32)
    short = replace(whole, weights=weights[:5], replicas=replicas)
    export(short, tmp_path / "m.onnx")
    found = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"X": TABLE})[0]
    ours = short.predict(TABLE)
    np.testing.assert_allclose(found, ours, rtol=1e-5, atol=1e-5)
    export(short, tmp_path / "m.csv")
    assert len((tmp_path / "m.csv").read_text().splitlines()) == 8
    moved = export_input_of(short).model.replicas
    np.testing.assert_array_equal(moved[:, 5], 0.0)
    np.testing.assert_array_equal(moved[:, 6], replicas[:, 5])


def test_weights_in_units_score_the_columns() -> None:
    made = TABLE_MODELS["two classes"]
    replicas = RANDOM.normal(size=(4, 7, 1))
    moved = in_units(replace(made, replicas=replicas), SCHEMA)
    raw = np.zeros((len(TABLE), 6))
    raw[:, 0::2], raw[:, 1::2] = np.nan_to_num(TABLE), np.isnan(TABLE)
    rows = features_of(TABLE)
    scores = moved.scores(dense_as_sparse(raw))
    np.testing.assert_allclose(scores, made.scores(TABLE), rtol=1e-5, atol=1e-5)
    for before, after in zip(replicas, moved.replicas, strict=True):
        np.testing.assert_allclose(raw @ after[:-1] + after[-1], rows @ before[:-1] + before[-1])


@pytest.mark.parametrize("features", [[2, 0, 3, 1, 4, 5], [4, 0]])
def test_a_covariance_in_units_is_of_the_same_scores(features: list[int]) -> None:
    size = 1 + len(features)
    half = RANDOM.normal(size=(1, size, size))
    sandwich = Sandwich(
        np.array(features),
        RANDOM.random(len(features)),
        RANDOM.normal(size=(size, 1)),
        half @ half.transpose(0, 2, 1),
        np.full(1, 50.0),
    )
    made = replace(TABLE_MODELS["two classes"], sandwich=sandwich)
    raw = np.zeros((len(TABLE), 6))
    raw[:, 0::2], raw[:, 1::2] = np.nan_to_num(TABLE), np.isnan(TABLE)
    moved = score_interval(in_units(made, SCHEMA), dense_as_sparse(raw))
    before = score_interval(made, TABLE)
    # A variance has the square of offset / scale, 6e7, to cancel.
    np.testing.assert_allclose(moved, before, rtol=1e-6, atol=1e-6)


def test_the_table_of_weights_is_per_unit(tmp_path: Path) -> None:
    made = TABLE_MODELS["regression"]
    export(made, tmp_path / "m.csv")
    lines = [line.split(",") for line in (tmp_path / "m.csv").read_text().splitlines()]
    assert lines[0] == ["feature", "name", "weight"]
    weights = {name: float(weight) for _, name, weight in lines[1:]}
    row = TABLE[~np.isnan(TABLE).any(axis=1)][0]
    score = weights[""] + row @ [weights[name] for name in ("age", "is new", "year")]
    np.testing.assert_allclose(score, made.predict(row[None])[0], rtol=1e-5)
    assert weights["age"] == float(made.weights[0, 0]) / 12.0


@pytest.mark.parametrize("format", ["onnx", "skops"])
def test_hashed_models_take_rows_and_say_so(format: str, tmp_path: Path) -> None:
    made = model(HASHED, "log_loss", np.array([0, 1]), 1)
    assert any(
        f"rows for it have {HASHED.n_features} features" in said
        for said in export(made, tmp_path / "m", format)
    )
    plain = model_of("log_loss, 2 signs")
    assert export(plain, tmp_path / "m", format) == []
    if format == "onnx":
        export(made, tmp_path / "m", format)
        session = onnxruntime.InferenceSession(tmp_path / "m")
        rows = RANDOM.normal(size=(5, HASHED.n_features)).astype(np.float32)
        ours = made.predict(dense_as_sparse(rows))
        np.testing.assert_array_equal(session.run(None, {"X": rows})[0], ours)

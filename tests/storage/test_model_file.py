"""Model files: what comes back is what was saved, and anything else is refused in a sentence."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from tests.storage.damage import means_the_same, mutants

from polyak.errors import ModelFileError
from polyak.model.features import FeatureMap
from polyak.model.linear import LinearModel
from polyak.model.schema import Column, Schema, Target
from polyak.model.training_report import (
    AveragingReport,
    CandidateReport,
    Engine,
    Measure,
    Rate,
    Reliability,
    Theory,
    TrainingReport,
)
from polyak.rows.sparse import dense_as_sparse
from polyak.storage.container import read_file, write_file
from polyak.storage.model_file import FORMAT, KIND
from polyak.storage.sandwich import Sandwich

RANDOM = np.random.default_rng(0)


def model(width: int = 20, outputs: int = 1, dtype: Any = np.float32, **more: Any) -> LinearModel:
    weights = RANDOM.normal(size=(width, outputs)).astype(dtype)
    fields = {"loss": "log_loss", "classes": np.array([-1.0, 1.0])} | more
    return LinearModel(weights, RANDOM.normal(size=outputs), **fields)


NEWTON = CandidateReport(penalty=10.0, number=1, running=True, rows=3, progressive_loss=None)
SGD = CandidateReport(
    alpha=1e-6,
    schedule=Rate(gamma0=0.1, a=0.0, c=0.75),
    averaging=AveragingReport(start="auto", power=3.0),
    step="implicit",
    precondition=0.5,
    capped=True,
    largest_squared_length=9.0,
    number=0,
    running=False,
    rows=2,
    progressive_loss=0.5,
    curve=((1, 0.75), (2, None)),
)
REPORT = TrainingReport(
    rows=3,
    candidates=(SGD, NEWTON),
    best_candidate=1,
    recipe={"loss": "log_loss", "alpha": "auto", "fit_intercept": True, "seed": 2**63},
    average_start=(None, 2),
    progressive_loss=0.25,
    recent=Measure(rows=2, loss=0.125, loss_std_err=None, error=0.0),
    calibration=Reliability(predicted=(0.25, 0.75), positive=(1.0, 2.0), total=(3.0, 3.0)),
    rows_needed=Theory(rows=10, lambda0=0.1, gamma0=1.0, flattest=0.0),
    engine=Engine(name="dask", chains=2, rounds=1),
)
SCHEMA = Schema(
    (Column("age", "number", "number", 30.0, 10.0), Column("city", "category", "string")),
    target=Target("late", "class", values=2),
    weight="count",
    bits=4,
    interactions=(("age", "city"),),
)
MODELS = {
    "hashed": model(features=FeatureMap.hashed(5, {3: "city=Rome", 19: "ü"})),
    "table": model(width=18, features=FeatureMap.table(SCHEMA, {4: "city=Rome"})),
    "two classes": model(features=FeatureMap.numbered(1), report=REPORT),
    "float64": model(dtype=np.float64),
    "names": model(outputs=3, classes=np.array(["a", "ü", "long name"])),
    "objects": model(outputs=3, classes=np.array(["a", "b", "c"], dtype=object)),
    "integers": model(outputs=4, classes=np.array([0, 1, 5, 2**62])),
    "booleans": model(classes=np.array([False, True])),
    "regression": model(loss="squared_error", classes=None),
    "outputs": model(outputs=2, loss="squared_error", classes=None),
    "sigmoids": model(loss="hinge", sigmoids=RANDOM.normal(size=(1, 2))),
    "replicas": model(replicas=RANDOM.normal(size=(4, 21, 1)).astype(np.float32)),
    "sandwich": model(
        sandwich=Sandwich(
            np.array([3, 0]),
            np.array([0.5, 2.0]),
            np.ones((3, 1)),
            np.eye(3)[None],
            np.full(1, 100.0),
        )
    ),
    "no features": model(width=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(name: str, tmp_path: Path) -> None:
    saved = MODELS[name]
    saved.save(tmp_path / "m.polyak")
    loaded = LinearModel.load(tmp_path / "m.polyak")
    assert loaded.weights.dtype == saved.weights.dtype
    np.testing.assert_array_equal(loaded.weights, saved.weights)
    np.testing.assert_array_equal(loaded.intercept, saved.intercept)
    assert (loaded.sigmoids is None) == (saved.sigmoids is None)
    if saved.sigmoids is not None:
        np.testing.assert_array_equal(loaded.sigmoids, saved.sigmoids)
    assert (loaded.replicas is None) == (saved.replicas is None)
    if saved.replicas is not None:
        assert loaded.replicas.dtype == saved.replicas.dtype
        np.testing.assert_array_equal(loaded.replicas, saved.replicas)
    assert (loaded.sandwich is None) == (saved.sandwich is None)
    for one, other in zip(loaded.sandwich or (), saved.sandwich or (), strict=True):
        np.testing.assert_array_equal(one, other)
    assert loaded.loss == saved.loss
    assert (loaded.features, loaded.report) == (saved.features, saved.report)
    if saved.classes is None:
        assert loaded.classes is None
    else:
        assert loaded.classes.dtype == saved.classes.dtype
        np.testing.assert_array_equal(loaded.classes, saved.classes)
    X = dense_as_sparse(RANDOM.normal(size=(5, saved.n_features)))
    np.testing.assert_array_equal(loaded.predict(X), saved.predict(X))


def test_the_same_model_is_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        MODELS["names"].save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(("used", "sparse"), [(0, True), (10, True), (999, False), (1000, False)])
def test_mostly_zero_models_are_stored_sparse(tmp_path: Path, used: int, sparse: bool) -> None:
    weights = np.zeros((1000, 1), np.float32)
    weights[RANDOM.permutation(1000)[:used]] = 1.5
    saved = LinearModel(weights, np.zeros(1), "hinge", np.array([0, 1]))
    saved.save(tmp_path / "m")
    _, arrays = read_file(tmp_path / "m", KIND, FORMAT)
    assert ("indices" in arrays) == sparse
    assert ("weights" in arrays) != sparse
    loaded = LinearModel.load(tmp_path / "m")
    assert loaded.weights.dtype == np.float32
    np.testing.assert_array_equal(loaded.weights, weights)


def test_other_programs_can_read_it(tmp_path: Path) -> None:
    MODELS["two classes"].save(tmp_path / "m")
    with safe_open(tmp_path / "m", framework="numpy") as file:
        page = json.loads(file.metadata()["polyak"])
        weights = file.get_tensor("weights")
    assert page["loss"] == "log_loss"
    assert page["report"]["rows"] == 3
    np.testing.assert_array_equal(weights, MODELS["two classes"].weights)


def test_what_is_not_finite_is_null(tmp_path: Path) -> None:
    report = replace(REPORT, progressive_loss=float("nan"), rows=np.int64(3))
    model(report=report).save(tmp_path / "m")
    assert LinearModel.load(tmp_path / "m").report == replace(REPORT, progressive_loss=None)


def test_a_failed_save_leaves_what_was_there(tmp_path: Path, monkeypatch: Any) -> None:
    MODELS["two classes"].save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="cannot be written: no space left on device"):
        MODELS["names"].save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]


class TestRefused:
    def refused(self, path: Path, words: str) -> None:
        with pytest.raises(ModelFileError) as caught:
            LinearModel.load(path)
        message = str(caught.value)
        assert str(path) in message
        assert words in message
        assert "\n" not in message

    def test_missing(self, tmp_path: Path) -> None:
        self.refused(tmp_path / "none", "no such file")
        self.refused(tmp_path, "is a directory")

    @pytest.mark.parametrize("data", [b"", b"1 1:2\n", b"\0" * 100, b"\xff" * 100, b"{}" * 50])
    def test_something_else(self, tmp_path: Path, data: bytes) -> None:
        (tmp_path / "m").write_bytes(data)
        self.refused(tmp_path / "m", "is not a polyak model")

    def test_someone_elses_tensors(self, tmp_path: Path) -> None:
        from safetensors.numpy import save_file

        save_file({"weights": np.ones((3, 1))}, tmp_path / "m")
        self.refused(tmp_path / "m", "is not a polyak model")

    def test_newer(self, tmp_path: Path) -> None:
        MODELS["two classes"].save(tmp_path / "m")
        page, arrays = read_file(tmp_path / "m", KIND, FORMAT)
        write_file(tmp_path / "m", page | {"format": FORMAT + 1}, arrays)
        self.refused(tmp_path / "m", "a newer polyak can read it")

    def test_cut_short(self, tmp_path: Path) -> None:
        MODELS["two classes"].save(tmp_path / "m")
        data = (tmp_path / "m").read_bytes()
        for length in range(0, len(data), 7):
            (tmp_path / "m").write_bytes(data[:length])
            with pytest.raises(ModelFileError):
                LinearModel.load(tmp_path / "m")

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"loss": "cubic"}, "cubic"),
            ({"loss": ["log_loss"]}, "not a valid model"),
            ({"loss": "squared_error"}, "do not fit each other"),
            ({"classes": None}, "do not fit each other"),
            ({"classes": {"type": "<U3", "values": ["a", "b", "c"]}}, "3 classes but 1 outputs"),
            ({"classes": {"type": "O", "values": [[], {}]}}, "not a word"),
            ({"classes": {"type": "V8", "values": [1, 2]}}, "cannot be of type"),
            ({"features": {"count": 7}}, "20 weights for 7 features"),
            ({"features": {"count": -1}}, "features"),
            ({"features": {"count": 20, "bits": 4}}, "features.count is 20, more than its 16"),
            ({"features": {}}, "not a valid model"),
            ({"features": {"count": 20, "first_id": 2}}, "first_id is 2, not a whole number from"),
            ({"features": {"count": 20, "first_id": 1, "bits": 5}}, "not several of them"),
            ({"features": {"count": 20, "names": {"x": "y"}}}, "'x' where a number should be"),
            ({"report": []}, "not a dict"),
            ({"report": {"candidates": []}}, "its report has no rows"),
            ({"report": {"rows": 3, "candidates": []}}, "not among the candidates"),
        ],
    )
    def test_a_page_that_makes_no_sense(self, tmp_path: Path, changes: Any, words: str) -> None:
        MODELS["two classes"].save(tmp_path / "m")
        page, arrays = read_file(tmp_path / "m", KIND, FORMAT)
        write_file(tmp_path / "m", page | changes, arrays)
        self.refused(tmp_path / "m", words)

    @pytest.mark.parametrize(
        "changes",
        [
            {"weights": np.ones(20)},
            {"weights": np.ones((20, 1), np.int64)},
            {"weights": np.ones((20, 0))},
            {"intercept": np.ones(2)},
            {"intercept": np.ones(1, np.float32)},
            {"sigmoids": np.ones((2, 2))},
            {"replicas": np.ones((4, 20, 1), np.float32)},
            {"replicas": np.ones((4, 21, 1))},
            {"sandwich.features": np.array([3, 20])},
            {"sandwich.features": np.array([3, 3])},
            {"sandwich.origin": np.array([np.nan, 1.0])},
            {"sandwich.covariance": np.eye(3)},
            {"sandwich.degrees": np.zeros(1)},
            {"sandwich.weights": None},
            {"weights": None, "indices": np.array([0, 20]), "values": np.ones((2, 1))},
            {"weights": None, "indices": np.array([-1, 2]), "values": np.ones((2, 1))},
            {"weights": None, "indices": np.array([1.0, 2.0]), "values": np.ones((2, 1))},
            {"weights": None, "indices": np.array([1]), "values": np.ones((2, 1))},
            {"weights": None, "values": np.ones((2, 1))},
            {"weights": None},
        ],
    )
    def test_arrays_that_make_no_sense(self, tmp_path: Path, changes: Any) -> None:
        MODELS["sandwich"].save(tmp_path / "m")
        page, arrays = read_file(tmp_path / "m", KIND, FORMAT)
        kept = {name: a for name, a in (arrays | changes).items() if a is not None}
        write_file(tmp_path / "m", page, kept)
        self.refused(tmp_path / "m", "is not a valid model")

    @pytest.mark.parametrize(
        ("count", "words"),
        [(2**40, "features would take 8796.1 GB of memory, and there are"), (2**58, "count is")],
    )
    def test_more_features_than_memory(self, tmp_path: Path, count: int, words: str) -> None:
        weights = np.zeros((1000, 1))
        weights[3] = 1
        LinearModel(weights, np.zeros(1), "squared_error").save(tmp_path / "m")
        page, arrays = read_file(tmp_path / "m", KIND, FORMAT)
        write_file(tmp_path / "m", page | {"features": {"count": count}}, arrays)
        self.refused(tmp_path / "m", words)


def test_damaged_bytes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m"
    for name in ("two classes", "table", "names", "sigmoids", "replicas", "sandwich"):
        MODELS[name].save(path)
        whole = path.read_bytes()
        for data in mutants(whole, 100):
            path.write_bytes(data)
            with contextlib.suppress(ModelFileError):
                LinearModel.load(path)
                assert means_the_same(data, whole, KIND)

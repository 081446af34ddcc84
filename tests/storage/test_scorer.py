"""What scoring reads of a model file: of plain ones all it needs, of others nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polyak import LinearModel
from polyak.data.head_start import svmlight_text
from polyak.data.write.predictions import line_writer
from polyak.model.features import FeatureMap
from polyak.storage.container import read_file, write_file
from polyak.storage.scorer import MOST_PLACED, read_scorer

ROWS = svmlight_text((), 1 << 20, 0, base=1).parse(b"1 1:1 3:2\n0 2:-1.5\n0 4:7\n")


def model(weights: Any, classes: Any = None, loss: str = "squared_error") -> LinearModel:
    weights = np.asarray(weights, dtype=np.float32)
    intercept = np.linspace(0.5, 1.0, weights.shape[1])
    named = None if classes is None else np.array(classes)
    return LinearModel(weights, intercept, loss, named, features=FeatureMap.numbered(1))


MODELS = {
    "whole": model([[1.0], [-2.0], [0.25]]),
    "few": model(np.eye(100, 1, -2)),
    "few of 64 bits": LinearModel(
        np.eye(100, 3), np.ones(3), "hinge", np.arange(3), features=FeatureMap.numbered(0)
    ),
    "words": model([[1.0], [-2.0]], ["no", "yes"], "log_loss"),
    "halves": model([[1.0], [-2.0]], [0.5, 1.0], "hinge"),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("what", ["labels", "scores"])
def test_lines_are_those_of_the_model(name, what, tmp_path):
    MODELS[name].save(tmp_path / "m")
    assert ("indices" in read_file(tmp_path / "m", "model", 9)[1]) == name.startswith("few")
    scorer = read_scorer(str(tmp_path / "m"), what)
    assert scorer is not None
    assert scorer.first_id == MODELS[name].features.first_id
    assert scorer.lines(ROWS.checked) == line_writer(MODELS[name], what)(ROWS.checked)


def test_others_take_the_whole_model(tmp_path):
    path = str(tmp_path / "m")
    MODELS["words"].save(path)
    assert read_scorer(path, "proba") is None
    weights, intercept = np.ones((4, 1)), np.zeros(1)
    for features in (FeatureMap.hashed(2), FeatureMap()):
        LinearModel(weights, intercept, "squared_error", features=features).save(path)
        assert read_scorer(path, "scores") is None
    model(weights, np.array([0.1, 1.0], np.float32), "log_loss").save(path)
    assert read_scorer(path, "labels") is None  # which are not what JSON has of them
    assert read_scorer(path, "scores") is not None
    model(weights, loss="poisson").save(path)
    assert read_scorer(path, "labels") is None
    many = np.zeros((4 * MOST_PLACED, 1))
    many[: MOST_PLACED + 1] = 1.0
    model(many).save(path)
    assert read_scorer(path, "labels") is None
    model(many[1:]).save(path)
    assert read_scorer(path, "labels") is not None


@pytest.mark.parametrize(
    "change",
    [
        {"indices": np.array([-1], np.int32)},
        {"indices": np.array([100], np.int32)},
        {"indices": np.array([2.0])},
        {"values": np.ones((1, 1), np.int32)},
        {"values": np.ones((1, 2), np.float32)},
        {"values": np.ones(1, np.float32)},
        {"values": np.ones((0, 1), np.float32), "indices": np.zeros(0, np.int32)},
        {"intercept": np.zeros(1, np.float32)},
        {"intercept": np.zeros(2)},
        {"intercept": np.zeros(0)},
    ],
)
def test_what_makes_no_sense_is_left_to_who_says_so(change, tmp_path):
    path = str(tmp_path / "m")
    MODELS["few"].save(path)
    page, arrays = read_file(path, "model", 9)
    write_file(path, page, arrays | change)
    assert read_scorer(path, "scores") is None


@pytest.mark.parametrize(
    "change",
    [
        {"classes": {"type": "<i8", "values": [1, 2, 3]}},
        {"classes": {"type": 8, "values": [1, 2]}},
        {"classes": [1, 2]},
        {"features": {"count": 100, "first_id": 2}},
        {"features": {"count": 2**60, "first_id": 1}},
        {"features": {"count": "100", "first_id": 1}},
        {"features": None},
    ],
)
def test_nor_is_a_page_that_does_not(change, tmp_path):
    path = str(tmp_path / "m")
    MODELS["few"].save(path)
    page, arrays = read_file(path, "model", 9)
    write_file(path, page | change, arrays)
    assert read_scorer(path, "labels") is None

"""``polyak export`` and ``polyak import``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from commands import fails, polyak, rows_of_text, write

from polyak.model import LinearModel


def test_there_and_back_predicts_the_same(
    model_file: Path, test_file: Path, tmp_path: Path
) -> None:
    done = polyak("export", model_file, tmp_path / "m.liblinear")
    assert "no probabilities" in done.stderr
    polyak("import", tmp_path / "m.liblinear", tmp_path / "back.polyak")
    ours = polyak("predict", model_file, test_file).stdout
    assert polyak("predict", tmp_path / "back.polyak", test_file).stdout == ours


def test_a_table_on_the_screen(model_file: Path) -> None:
    shown = polyak("export", model_file, "-").stdout.splitlines()
    assert shown[0].split() == ["feature", "weight"]
    assert shown[1].split()[0] == "intercept"
    lines = polyak("export", model_file, "-", "--to", "csv").stdout.splitlines()
    assert len(lines) == len(shown)
    assert lines[0] == "feature,weight"


def test_without_a_name_it_is_the_models(model_file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "m.polyak"
    copy.write_bytes(model_file.read_bytes())
    assert f"the model is in {tmp_path / 'm.onnx'}" in polyak("export", copy, "--to", "onnx").stderr
    assert (tmp_path / "m.onnx").exists()


def test_refusals(model_file: Path, tmp_path: Path) -> None:
    assert "--to onnx|skops|" in fails("export", model_file, code=2)
    assert "does not tell the format" in fails("export", model_file, tmp_path / "m.pmml")
    assert "cannot be written" in fails("export", model_file, tmp_path / "no" / "m.onnx")
    assert "is not a polyak model" in fails("export", write(tmp_path / "x", "hm"), "-")
    assert "overwrite" in fails("export", model_file, model_file, "--to", "csv", code=2)
    assert "not a LIBLINEAR model" in fails("import", model_file, tmp_path / "m.polyak")
    assert "cannot be read" in fails("import", tmp_path / "absent", tmp_path / "m.polyak")
    assert {path.name for path in tmp_path.iterdir()} == {"x"}


def test_ids_that_begin_at_zero_are_told(tmp_path: Path) -> None:
    source = write(tmp_path / "z.svm", rows_of_text(300, first_id=0))
    polyak("train", source, "-q", "--model", tmp_path / "m")
    assert "feature 0 is number 1" in polyak("export", tmp_path / "m", tmp_path / "m.model").stderr
    model = LinearModel.load(tmp_path / "m")
    back = LinearModel.from_liblinear(tmp_path / "m.model")
    np.testing.assert_array_equal(back.weights, model.weights)

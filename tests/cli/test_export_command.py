"""``polyak export`` and ``polyak import``."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from commands import fails, polyak, rows_of_text, write

from polyak.exports import liblinear
from polyak.model.linear import LinearModel


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
    assert "is the model itself" in fails("export", model_file, model_file, "--to", "csv", code=2)
    assert "not a LIBLINEAR model" in fails("import", model_file, tmp_path / "m.polyak")
    assert "cannot be read" in fails("import", tmp_path / "absent", tmp_path / "m.polyak")
    assert {path.name for path in tmp_path.iterdir()} == {"x"}


def test_ids_that_begin_at_zero_are_told(tmp_path: Path) -> None:
    source = write(tmp_path / "z.svm", rows_of_text(300, first_id=0))
    polyak("train", source, "-q", "--model", tmp_path / "m")
    assert "feature 0 is number 1" in polyak("export", tmp_path / "m", tmp_path / "m.model").stderr
    model = LinearModel.load(tmp_path / "m")
    back = liblinear.read(tmp_path / "m.model")
    np.testing.assert_array_equal(back.weights, model.weights)


@pytest.mark.skipif(not shutil.which("liblinear-predict"), reason="LIBLINEAR is not installed")
def test_a_model_of_words_goes_to_liblinear_with_its_rows(tmp_path: Path) -> None:
    lines = [f"{i % 5},{'abc'[i % 3]},{'no' if i % 3 else 'yes'}\n" for i in range(600)]
    source = write(tmp_path / "t.csv", "x,word,kind\n" + "".join(lines))
    model, rows = tmp_path / "m.polyak", tmp_path / "rows.svm"
    options = ("--target", "kind", "--bits", 6, "--loss", "log_loss", "-q")
    polyak("train", source, *options, "--model", model)
    said = polyak("export", model, tmp_path / "m.liblinear").stderr
    assert "0 is no, 1 is yes" in said
    assert "features, those in use that polyak makes of the table's columns" in said
    polyak("convert", source, rows, "--for", model, "-q")
    command = ["liblinear-predict", str(rows), str(tmp_path / "m.liblinear"), str(tmp_path / "out")]
    subprocess.run(command, check=True, capture_output=True)
    found = [["no", "yes"][int(word)] for word in (tmp_path / "out").read_text().split()]
    assert found == polyak("predict", model, source).stdout.split()
    assert set(found) == {"no", "yes"}
    shown = polyak("export", model, "-", "--to", "csv").stdout
    assert {line.split(",")[1] for line in shown.splitlines()} >= {"x", "word=a", "word=b"}

"""``polyak export``."""

from __future__ import annotations

from pathlib import Path

from commands import fails, polyak, write
from onnxruntime import InferenceSession
from scipy.sparse import load_npz


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
    said = fails("export", model_file, tmp_path / "m.pmml")
    assert "from its suffix (.onnx, .skops, .csv, .tsv, .txt); pass --to" in said
    assert "cannot be written" in fails("export", model_file, tmp_path / "no" / "m.onnx")
    assert "is not a polyak model" in fails("export", write(tmp_path / "x", "hm"), "-")
    assert "is the model itself" in fails("export", model_file, model_file, "--to", "csv", code=2)
    assert {path.name for path in tmp_path.iterdir()} == {"x"}


def test_a_model_of_words_names_its_rows(tmp_path: Path) -> None:
    lines = [f"{i % 5},{'abc'[i % 3]},{'no' if i % 3 else 'yes'}\n" for i in range(600)]
    source = write(tmp_path / "t.csv", "x,word,kind\n" + "".join(lines))
    model, rows = tmp_path / "m.polyak", tmp_path / "rows.npz"
    options = ("--target", "kind", "--bits", 6, "--loss", "log_loss", "-q")
    polyak("train", source, *options, "--model", model)
    said = polyak("export", model, tmp_path / "m.onnx").stderr
    assert "features, those in use that polyak makes of the table's columns" in said
    polyak("convert", source, rows, "--for", model, "-q")
    X = load_npz(rows).toarray()
    found = InferenceSession(tmp_path / "m.onnx").run(["label"], {"X": X})[0].tolist()
    assert found == polyak("predict", model, source).stdout.split()
    assert set(found) == {"no", "yes"}
    shown = polyak("export", model, "-", "--to", "csv").stdout
    assert {line.split(",")[1] for line in shown.splitlines()} >= {"x", "word=a", "word=b"}

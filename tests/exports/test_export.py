"""The door: formats by name, what is written and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from exported_models import X, model_of

from polyak import LinearModel
from polyak.exports import FORMATS, export

MODEL = model_of("log_loss, 2 words")


def test_takes_a_file_and_an_estimator(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "m.polyak")
    export(str(tmp_path / "m.polyak"), tmp_path / "a", to="csv")
    export(MODEL, tmp_path / "b.csv")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b.csv").read_bytes()
    with pytest.raises(TypeError, match="not list"):
        export([1], tmp_path / "c.csv")


@pytest.mark.parametrize("name", ["m.pmml", "m", "m.gz"])
def test_an_unknown_ending(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"from its suffix \(.onnx, .skops"):
        export(MODEL, tmp_path / name)
    with pytest.raises(ValueError, match="no export to 'pmml'; there are onnx"):
        export(MODEL, tmp_path / name, to="pmml")


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_model_is_the_same_bytes_and_nothing_is_left_beside(
    format: str, tmp_path: Path
) -> None:
    for name in "ab":
        export(MODEL, tmp_path / name, to=format)
    if format != "skops":  # which is a zip archive, with the time in it
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}


def test_a_missing_library_gets_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ValueError, match=r"needs onnx.*pip install 'polyak\[onnx\]'"):
        export(MODEL, tmp_path / "m.onnx")


def test_a_model_of_one_class(tmp_path: Path) -> None:
    model = LinearModel(np.ones((1, 1)), np.zeros(1), "hinge", np.array([1]))
    with pytest.raises(ValueError, match="one class"):
        export(model, tmp_path / "m.csv")


def test_a_table_imports_neither_onnx_nor_scikit_learn(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "m.polyak")
    program = (
        "import sys; from polyak.exports import export; export(sys.argv[1], sys.argv[2]);"
        "print(*{'onnx', 'sklearn', 'skops', 'pyarrow', 'scipy'} & sys.modules.keys())"
    )
    command = [sys.executable, "-c", program, tmp_path / "m.polyak", tmp_path / "m.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("format", ["onnx", "skops"])
def test_binary_formats_do_not_go_to_the_screen(format: str) -> None:
    with pytest.raises(ValueError, match="name a file"):
        export(MODEL, "-", to=format)
    assert MODEL.predict(X[:1]).shape == (1,)

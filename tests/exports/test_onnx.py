"""ONNX files, run by the real onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from exported_models import MODELS, X, model_of

from polyak import ASGDClassifier, LinearModel
from polyak.exports import export


def run(path: Path, rows: Any) -> dict[str, Any]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (taken,) = session.get_inputs()
    dtype = {"tensor(float)": np.float32, "tensor(double)": np.float64}[taken.type]
    names = [output.name for output in session.get_outputs()]
    found = session.run(None, {taken.name: np.asarray(rows, dtype)})
    return dict(zip(names, found, strict=True))


def check(model: LinearModel, found: dict[str, Any], rows: Any) -> None:
    scores = model.decision_function(rows)
    close = {"rtol": 1e-5, "atol": 1e-5}
    if model.classes is None:
        assert list(found) == ["prediction"]
        assert found["prediction"].shape == scores.shape
        np.testing.assert_allclose(found["prediction"], scores, **close)
        return
    np.testing.assert_allclose(found["scores"], scores, **close)
    assert found["scores"].shape == scores.shape
    np.testing.assert_array_equal(found["label"], model.predict(rows))
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), **close)
    else:
        assert model.loss != "log_loss"
        assert model.sigmoids is None


@pytest.mark.parametrize("name", MODELS)
def test_predicts_what_the_model_predicts(name: str, tmp_path: Path) -> None:
    said = export(model_of(name), tmp_path / "m.onnx")
    found = run(tmp_path / "m.onnx", X)
    check(model_of(name), found, X)
    assert bool(said) == ("no probabilities" in name)


def test_labels_have_the_types_that_runtimes_know(tmp_path: Path) -> None:
    kinds = {}
    for name in ("hinge, 2 signs", "hinge, 3 integers", "hinge, 2 words", "hinge, 2 truths"):
        export(model_of(name), tmp_path / "m.onnx")
        (label, *_) = onnx.load(tmp_path / "m.onnx").graph.output
        kinds[name.split()[-1]] = onnx.TensorProto.DataType.Name(label.type.tensor_type.elem_type)
    assert kinds == {"signs": "INT64", "integers": "INT64", "words": "STRING", "truths": "BOOL"}


def test_probabilities_at_the_ends(tmp_path: Path) -> None:
    """Where every class is impossible, each is as probable; nothing overflows."""
    classes = np.array(["a", "b", "c"])
    model = LinearModel(np.array([[1.0, 2.0, -1.0]]), np.zeros(3), "log_loss", classes)
    rows = np.array([[1e6], [-1e6], [0.0], [800.0], [-900.0]])
    export(model, tmp_path / "m.onnx")
    check(model, run(tmp_path / "m.onnx", rows), rows)
    down = LinearModel(np.array([[-1.0, -2.0, -1.0]]), np.zeros(3), "log_loss", classes)
    export(down, tmp_path / "m.onnx")
    np.testing.assert_array_equal(run(tmp_path / "m.onnx", [[1e6]])["probabilities"], 1 / 3)


def test_a_score_of_zero_is_the_first_class(tmp_path: Path) -> None:
    model = LinearModel(np.ones((1, 1)), np.zeros(1), "hinge", np.array(["no", "yes"]))
    export(model, tmp_path / "m.onnx")
    assert run(tmp_path / "m.onnx", [[0.0], [1e-300]])["label"].tolist() == ["no", "yes"]


def test_a_wide_model_takes_only_the_columns_that_count(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    weights = np.zeros((1 << 18, 10), np.float32)
    used = random.choice(len(weights), 2000, replace=False)
    weights[used] = random.normal(size=(2000, 10))
    model = LinearModel(weights, random.normal(size=10), "log_loss", np.arange(10))
    export(model, tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").stat().st_size < 200_000
    rows = np.zeros((3, len(weights)), np.float32)
    rows[:, random.choice(used, 50)] = random.normal(size=(3, 50))
    rows[:, :100] = 1.0
    check(model, run(tmp_path / "m.onnx", rows), rows)


def test_the_file_says_what_it_is(tmp_path: Path) -> None:
    import pandas

    frame = pandas.DataFrame({"age": X[:, 0], "height": X[:, 1]})
    export(ASGDClassifier(loss="log_loss").fit(frame, X[:, 0] > 0.3), tmp_path / "m.onnx")
    proto = onnx.load(tmp_path / "m.onnx")
    facts = {entry.key: entry.value for entry in proto.metadata_props}
    assert facts["loss"] == "log_loss"
    assert facts["feature_names"] == '["age", "height"]'
    assert [entry.version for entry in proto.opset_import] == [13]


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_several_labels_and_a_softmax_of_margins(loss: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 4))
    labels = (rows @ rng.normal(size=(4, 3)) > 0).astype(int)
    for y in (labels, labels.sum(axis=1)):
        model = ASGDClassifier(loss=loss, random_state=0).fit(rows, y).to_model()
        assert export(model, tmp_path / "m.onnx") == []
        check(model, run(tmp_path / "m.onnx", rows), rows)

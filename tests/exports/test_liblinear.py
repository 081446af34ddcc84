"""LIBLINEAR's model files: the real programs read ours, and we read theirs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exported_models import MODELS, X

from polyak import LinearModel
from polyak.errors import ModelFileError
from polyak.exports import export, liblinear
from polyak.rows.label_text import label_text

PREDICT = shutil.which("liblinear-predict")
TRAIN = shutil.which("liblinear-train")
programs = pytest.mark.skipif(not (PREDICT and TRAIN), reason="LIBLINEAR is not installed")

EXPORTABLE = [name for name in MODELS if "3 outputs" not in name]


def write_rows(path: Path, rows: Any, labels: Any) -> Path:
    lines = [
        " ".join([str(label), *(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row) if v)])
        for label, row in zip(labels, rows, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def liblinear_predict(model: Path, rows: Any, *flags: str) -> list[list[float]]:
    folder = model.parent
    source = write_rows(folder / "rows", rows, [0] * len(rows))
    command = [str(PREDICT), *flags, str(source), str(model), str(folder / "out")]
    subprocess.run(command, check=True, capture_output=True)
    lines = (folder / "out").read_text().splitlines()
    return [[float(word) for word in line.split() if word != "labels"] for line in lines]


def expected_labels(model: LinearModel) -> Any:
    """Our predictions, numbered where LIBLINEAR has no such label."""
    if model.classes is None:
        return model.predict(X)
    words = [label_text(label) for label in model.classes]
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        numbers = list(range(len(words)))
    known = dict(zip(model.classes.tolist(), numbers, strict=True))
    return [known[label] for label in model.predict(X).tolist()]


@programs
@pytest.mark.parametrize("name", EXPORTABLE)
def test_liblinear_predicts_what_the_model_predicts(name: str, tmp_path: Path) -> None:
    model = MODELS[name]
    export(model, tmp_path / "m.liblinear")
    found = [line[0] for line in liblinear_predict(tmp_path / "m.liblinear", X)]
    if model.classes is None:  # LIBLINEAR prints six digits
        np.testing.assert_allclose(found, model.predict(X), rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(found, expected_labels(model))


@programs
@pytest.mark.parametrize(
    "name", [name for name, one in MODELS.items() if one.loss == "log_loss" and not one.softmax]
)
def test_liblinear_gives_the_same_probabilities(name: str, tmp_path: Path) -> None:
    model = MODELS[name]
    export(model, tmp_path / "m.model")
    order, *lines = liblinear_predict(tmp_path / "m.model", X, "-b", "1")
    proba = model.predict_proba(X)
    if len(order) == 2:
        proba = proba[:, ::-1]
    np.testing.assert_allclose(np.array(lines)[:, 1:], proba, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", EXPORTABLE)
def test_its_library_scores_as_we_do(name: str, tmp_path: Path) -> None:
    util = pytest.importorskip("liblinear.liblinearutil")
    model = MODELS[name]
    export(model, tmp_path / "m.model")
    theirs = util.load_model(str(tmp_path / "m.model"))
    labels, _, scores = util.predict([], X.astype(float), theirs, "-q")
    np.testing.assert_allclose(np.squeeze(scores), model.decision_function(X), rtol=1e-5, atol=1e-5)
    if model.classes is not None:
        np.testing.assert_array_equal(labels, expected_labels(model))


@pytest.mark.parametrize("name", EXPORTABLE)
def test_there_and_back(name: str, tmp_path: Path) -> None:
    model = MODELS[name]
    said = export(model, tmp_path / "m.liblinear")
    back = liblinear.read(tmp_path / "m.liblinear")
    together = model.softmax and model.loss == "log_loss"
    assert back.loss == ("hinge" if together else model.loss)
    assert together == any("knows no softmax" in remark for remark in said)
    np.testing.assert_array_equal(back.weights, model.weights)
    np.testing.assert_array_equal(back.intercept, model.intercept)
    if model.classes is None:
        assert back.classes is None
    else:
        np.testing.assert_array_equal(back.predict(X), expected_labels(model))
        numbered = any("labels are whole numbers" in remark for remark in said)
        assert numbered == any(kind in name for kind in ("words", "truths", "no prob"))


@programs
@pytest.mark.parametrize("solver", [0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13])
@pytest.mark.parametrize("bias", ["-1", "2"])
@pytest.mark.parametrize("labels", [[5, 2], [-1, 1], [4, 9, 6]])
def test_we_predict_what_its_models_predict(
    solver: int, bias: str, labels: list[int], tmp_path: Path
) -> None:
    targets = np.array(labels)[np.argmax(X @ np.eye(len(X[0]))[:, : len(labels)], axis=1)]
    source, trained = write_rows(tmp_path / "train", X, targets), tmp_path / "theirs.model"
    command = [str(TRAIN), "-q", "-s", str(solver), "-B", bias, str(source), str(trained)]
    subprocess.run(command, check=True, capture_output=True)
    model = liblinear.read(trained)
    rows = np.concatenate([X, np.zeros((1, X.shape[1]))])  # an empty row ties where bias is off
    found = [line[0] for line in liblinear_predict(trained, rows)]
    if solver >= 11:
        np.testing.assert_allclose(model.predict(rows), found, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(model.predict(rows), found)
    model.save(tmp_path / "m.polyak")  # it is a model like any other
    np.testing.assert_array_equal(
        LinearModel.load(tmp_path / "m.polyak").predict(rows), model.predict(rows)
    )


def test_one_output_only(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="predicts one number, but this one predicts 3"):
        export(MODELS["squared_error, 3 outputs"], tmp_path / "m.liblinear")
    assert not list(tmp_path.iterdir())


GOOD = (
    "solver_type L2R_LR\nnr_class 3\nlabel 1 2 3\nnr_feature 2\nbias 1\nw\n1 2 3 \n4 5 6 \n7 8 9 \n"
)
DAMAGED = {
    "empty": ("", "not a LIBLINEAR model"),
    "something else": ("1 1:2 3:4\n", "not a LIBLINEAR model"),
    "cut in the weights": (GOOD[:-7], "cut short: it has 2 whole lines of weights, not 3"),
    "cut in the last number": (GOOD[:-2], "cut short"),
    "cut in the header": (GOOD[:30], "no weights"),
    "no bias": (GOOD.replace("bias 1\n", ""), "no bias"),
    "a word for a weight": (GOOD.replace(" 5 ", " x "), "line 8, has 'x' where a weight should be"),
    "not a number": (GOOD.replace(" 5 ", " nan "), "line 8, has 'nan'"),
    "a weight too few": (GOOD.replace(" 5 ", " "), "line 8, has 2 weights instead of 3"),
    "labels missing": (GOOD.replace("label 1 2 3", "label 1 2"), "3 labels"),
    "labels twice": (GOOD.replace("label 1 2 3", "label 1 2 2"), "all different"),
    "an unknown line": (GOOD.replace("bias", "rho 1\nbias"), "line 5, is no part"),
    "a solver we do not have": (GOOD.replace("L2R_LR", "ONECLASS_SVM"), "ONECLASS_SVM"),
    "no number of classes": (GOOD.replace("nr_class 3", "nr_class"), "damaged"),
    "one class": (GOOD.replace("nr_class 3", "nr_class 1"), "1 classes"),
    "absurdly many features": (GOOD.replace("nr_feature 2", f"nr_feature {10**15}"), "features"),
    "more features than there are": (GOOD.replace("nr_feature 2", "nr_feature 9999999"), "cut"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_get_a_sentence(name: str, tmp_path: Path) -> None:
    text, sentence = DAMAGED[name]
    (tmp_path / "m").write_text(text)
    with pytest.raises(ModelFileError, match=sentence) as caught:
        liblinear.read(tmp_path / "m")
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "m") in str(caught.value)


def test_every_cut_and_many_mutations_get_a_sentence(tmp_path: Path) -> None:
    random, data = np.random.default_rng(0), GOOD.encode()
    cuts = [data[:length] for length in range(len(data))]
    for text in cuts:
        (tmp_path / "m").write_bytes(text)
        with pytest.raises(ModelFileError):
            liblinear.read(tmp_path / "m")
    for _ in range(200):
        mutant = bytearray(data)
        mutant[random.integers(len(data))] = random.integers(256)
        (tmp_path / "m").write_bytes(mutant)
        try:
            read = liblinear.read(tmp_path / "m")
        except ModelFileError:
            continue
        assert np.isfinite(read.weights).all()


def test_a_wide_model_there_and_back(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    weights = np.zeros((1 << 18, 10), np.float32)
    weights[random.choice(len(weights), 3000)] = random.normal(size=(3000, 10))
    model = LinearModel(weights, np.zeros(10), "hinge", np.arange(10))
    export(model, tmp_path / "m.liblinear")
    back = liblinear.read(tmp_path / "m.liblinear")
    np.testing.assert_array_equal(back.weights, weights)

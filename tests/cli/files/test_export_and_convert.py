"""Exported models of words take narrow rows, and `convert --for` writes those, targets included."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import skops.io
from commands import polyak
from scipy import sparse

from polyak.data.open import open_stream

ROWS = 700


def frame(target: str) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    made = pd.DataFrame({f"n{i}": rng.normal(i, 1, ROWS).round(3) for i in range(9)})
    made["city"] = rng.choice(["Ulm", "Rome", "Oslo"], ROWS)
    made["day"] = pd.date_range("2024-01-01", periods=ROWS).astype(str)
    score = made.n0 - made.n1 + 2.0 * (made.city == "Rome") + 0.3 * rng.normal(size=ROWS)
    if target == "number":
        made["y"] = score.round(4)
    elif target == "two":
        made["y"] = np.where(score > score.median(), "high", "low")
    else:
        made["y"] = np.array(["a", "b", "c"])[pd.qcut(score, 3, labels=False)]
    return made


def source_of(folder: Path, form: str, target: str) -> tuple[Path, list[str]]:
    made = frame(target)
    if form == "csv":
        made.to_csv(folder / "t.csv", index=False)
        return folder / "t.csv", ["--target", "y"]
    labels = made.y if target == "number" else pd.factorize(made.y, sort=True)[0]
    lines = zip(labels, made.n0, made.n1, made.city, strict=True)
    text = "".join(f"{y} |a x:{x} z:{z} |b {city}\n" for y, x, z, city in lines)
    (folder / "t.vw").write_text(text)
    loss = "squared_error" if target == "number" else "log_loss"
    return folder / "t.vw", ["--loss", loss]


def answers(model: Path, source: Path) -> list[Any]:
    said = polyak("predict", model, source).stdout.split()
    return [float(word) for word in said] if _is_number(said[0]) else said


def _is_number(word: str) -> bool:
    return word.lstrip("-")[:1].isdigit()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "target", "end"),
    [
        ("csv", "number", "npz"),
        ("csv", "two", "svm"),
        ("csv", "three", "npz"),
        ("vw", "number", "svm"),
        ("vw", "three", "svm"),
    ],
)
def test_the_exported_model_says_what_predict_says(
    form: str, target: str, end: str, tmp_path: Path
) -> None:
    source, options = source_of(tmp_path, form, target)
    model, rows = tmp_path / "m.polyak", tmp_path / f"rows.{end}"
    polyak("train", source, *options, "-m", model, "-q")
    polyak("export", model, tmp_path / "m.onnx")
    polyak("export", model, tmp_path / "m.skops")
    polyak("convert", source, rows, "--for", model, "-q")

    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    width = session.get_inputs()[0].shape[1]
    assert width < 40  # features in use, of 2^18 slots
    with open_stream(str(rows), zero_based=False, n_features=width) as stream:
        batches = list(stream)
    X = sparse.vstack(
        [
            sparse.csr_matrix((b.rows.values, b.rows.indices, b.rows.indptr), (len(b), width))
            for b in batches
        ]
    )
    expected = answers(model, source)
    kind = {"tensor(float)": np.float32}.get(session.get_inputs()[0].type, np.float64)
    by_onnx = session.run(None, {"X": X.toarray().astype(kind)})[0]
    by_skops = skops.io.load(tmp_path / "m.skops").predict(X)
    if target == "number":
        np.testing.assert_allclose(by_onnx, expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(by_skops, expected, rtol=1e-5, atol=1e-5)
    else:
        assert by_onnx.tolist() == expected
        assert by_skops.tolist() == expected

    targets = np.concatenate([b.targets for b in batches])
    own = frame(target).y
    if target != "number" and (form == "vw" or end == "svm"):
        own = pd.Series(pd.factorize(own, sort=True)[0])
    assert targets.tolist() == own.tolist()


@pytest.mark.parametrize("end", ["npz", "svm"])
def test_rows_without_targets_are_all_written(end: str, tmp_path: Path) -> None:
    source, options = source_of(tmp_path, "csv", "two")
    model = tmp_path / "m.polyak"
    polyak("train", source, *options, "-m", model, "-q")
    made = frame("two")
    made.drop(columns="y").to_csv(tmp_path / "none.csv", index=False)
    made.loc[5, "y"] = None
    made.to_csv(tmp_path / "some.csv", index=False)
    for name in ("none.csv", "some.csv"):
        found = polyak(
            "convert", tmp_path / name, tmp_path / f"r.{end}", "--for", model, "-q", "--json"
        )
        assert json.loads(found.stdout)["rows"] == ROWS

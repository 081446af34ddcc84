from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import fails, polyak


def test_training_can_leave_a_report(train_file: Path, tmp_path: Path):
    model, page = tmp_path / "m.polyak", tmp_path / "m.html"
    told = polyak("train", train_file, "-m", model, "--report", page, "--json").stdout
    assert json.loads(told)["report"] == str(page)
    assert "m.polyak" in page.read_text("utf-8")


def test_a_model_file_gives_the_same_report(train_file: Path, tmp_path: Path):
    model, first, second = (tmp_path / name for name in ("m.polyak", "1.html", "2.html"))
    polyak("train", train_file, "-m", model, "--report", first, "-q")
    assert str(second) in polyak("report", model, "-o", second).stderr
    assert first.read_bytes() == second.read_bytes()


def test_without_a_name_it_is_beside_the_model(model_file: Path):
    polyak("report", model_file)
    assert model_file.with_suffix(".html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("column", ["b", "y"])
def test_squares_of_errors_may_be_infinite(tmp_path: Path, column: str):
    random = np.random.default_rng(0)
    rows = pd.DataFrame(random.normal(size=(300, 2)), columns=["a", "b"])
    rows["y"] = rows["a"] + rows["b"] + random.normal(size=300)
    sound, absurd, model = (tmp_path / name for name in ("sound.csv", "absurd.csv", "m.polyak"))
    rows.to_csv(sound, index=False)
    rows.loc[7, column] = 1e308
    rows.to_csv(absurd, index=False)
    polyak("train", sound, "--target", "y", "-m", model, "-q")
    told = json.loads(polyak("evaluate", model, absurd, "--json").stdout)
    assert told["rmse"] is None
    assert told["mae"] > 1e305
    polyak("report", model, "--on", absurd, "-o", tmp_path / "m.html")
    page = (tmp_path / "m.html").read_text("utf-8")
    assert "nan" not in page.lower().split()


def test_what_cannot_be_written_is_said_before_training(train_file: Path, tmp_path: Path):
    page = tmp_path / "nowhere" / "m.html"
    model = tmp_path / "m.polyak"
    assert "nowhere" in fails("train", train_file, "-m", model, "--report", page)
    assert not model.exists()


def test_only_models_are_reported_on(train_file: Path, tmp_path: Path):
    assert "not a polyak model" in fails("report", train_file, "-o", tmp_path / "m.html")

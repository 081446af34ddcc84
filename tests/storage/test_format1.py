"""Models written by polyak when files had format 1: they predict, and tell, what they did then.

The files in `format1/` were written by that version, from 60 rows each.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from test_sound_files import changes, refused

from polyak.errors import ModelFileError
from polyak.model.linear import LinearModel
from polyak.storage.container import Page, read_file, write_file
from polyak.storage.model_file import FORMAT, KIND

OLD = Path(__file__).with_name("format1")
NEW_ROWS = {  # none of which shows that ids begin at 0, or what the hashing was
    "numbered": ("new.svm", "1 1:0.5 3:2\n-1 2:-1.25\n"),
    "hashed": ("new.vw", "1 |n x:0.5 y:-2 |town t3\n-1 |n x:-1.5 |town t1\n"),
    "table": ("new.csv", "x,y,town\n0.5,-2,t3\n-1.5,,t1\n"),
}
SCORES = {
    "numbered": (-1.5075577103753197, -0.3728195780177224),
    "hashed": (1.1498116189078842, -1.4692018097801651),
    "table": (2.174161267848303, -2.033069061665247),
}
TOLD = {
    "numbered": ["14 candidates, 14 of them still running at row 60", "0    +2.83166"],
    "hashed": ["gamma0 0.103972, a 0.0001, c 0.75", "town^t1   +0.194582"],
    "table": ["hashed into 2^6 slots", "town=t2   -0.167496", "town  category"],
}


def polyak(*arguments: str | Path) -> str:
    command = [sys.executable, "-m", "polyak", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", NEW_ROWS)
def test_they_predict_and_tell_what_they_did(name: str, tmp_path: Path) -> None:
    source, text = NEW_ROWS[name]
    (tmp_path / source).write_text(text)
    said = polyak("predict", OLD / f"{name}.polyak", tmp_path / source, "--what", "scores")
    assert [float(line) for line in said.split()] == pytest.approx(SCORES[name], rel=1e-12)
    told = polyak("inspect", OLD / f"{name}.polyak")
    for words in ["loss since first row", *TOLD[name]]:
        assert words in told


@pytest.mark.parametrize("name", NEW_ROWS)
def test_saved_again_they_are_of_the_new_format(name: str, tmp_path: Path) -> None:
    old = LinearModel.load(OLD / f"{name}.polyak")
    old.save(tmp_path / "m")
    assert read_file(tmp_path / "m", KIND, FORMAT)[0]["format"] == FORMAT == 2
    new = LinearModel.load(tmp_path / "m")
    assert (new.features, new.report) == (old.features, old.report)
    np.testing.assert_array_equal(new.weights, old.weights)


def about(**entries: object) -> Page:
    """Say what the page of a model says that the first versions, or LIBLINEAR, left little of."""
    return {"kind": KIND, "format": 1, "loss": "squared_error", "classes": None} | {
        "features": {"count": 1},
        "about": entries,
    }


ARRAYS = {"weights": np.ones((1, 1)), "intercept": np.zeros(1)}


def test_models_that_know_little(tmp_path: Path) -> None:
    path = tmp_path / "m"
    write_file(path, about(), ARRAYS)
    assert LinearModel.load(path).report is None
    write_file(path, about(source="LIBLINEAR's L2R_LR", first_id=1), ARRAYS)
    assert LinearModel.load(path).features.first_id == 1
    rate = {"gamma0": 0.5, "a": 0.1, "c": 0.75, "M": 2.0}
    write_file(path, about(rows=7, alpha=0.1, step="explicit", learning_rate=rate), ARRAYS)
    report = LinearModel.load(path).report
    assert report is not None
    assert (report.rows, report.winner.alpha, report.winner.largest_squared_length) == (7, 0.1, 2.0)


@pytest.mark.parametrize("name", NEW_ROWS)
def test_what_makes_no_sense_is_refused(name: str, tmp_path: Path) -> None:
    page, arrays = read_file(OLD / f"{name}.polyak", KIND, FORMAT)
    path, found = tmp_path / "m", {"loaded": 0, "refused": 0}
    every = changes({"features": page["features"], "about": page["about"]})
    for changed in islice(every, 0, None, 31):
        try:
            write_file(path, page | changed, arrays)
        except ValueError:  # what JSON cannot hold
            continue
        try:
            LinearModel.load(path).predict(np.ones((2, 3)))
            found["loaded"] += 1
        except ModelFileError as error:
            refused(error, path)
            found["refused"] += 1
    assert min(found.values()) > 5

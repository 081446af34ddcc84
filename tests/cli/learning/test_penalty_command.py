"""``polyak train --penalty``: zeros in the model, by every way that leads to one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import skops.io
from commands import fails, polyak

from polyak.model.effects import effect
from polyak.model.linear import LinearModel


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 12))
    y = X[:, 0] - 2.0 * X[:, 1] + 0.5 * rng.normal(size=6000)
    lines = [",".join(["y", *(f"x{j}" for j in range(12))])]
    lines += [",".join(f"{v:.6g}" for v in (t, *x)) for t, x in zip(y, X, strict=True)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_only_what_matters_is_left(table: Path, tmp_path: Path) -> None:
    model, page = tmp_path / "m.polyak", tmp_path / "m.html"
    how = ["--target", "y", "--penalty", "l1", "--alpha", 0.1, "--json", "-q"]
    told = json.loads(polyak("train", table, *how, "--report", page, "-m", model).stdout)
    weights = LinearModel.load(model).weights[:, 0]
    assert np.flatnonzero(weights[::2]).tolist() == [0, 1]  # beside each, "is missing"
    assert told["nonzero_weights"] == np.count_nonzero(weights) == 4
    assert told["winner"]["alpha"] == 0.1
    shown = polyak("inspect", model).stdout
    assert re.search(r"nonzero weights +4\n", shown)
    assert "l1" in shown
    assert "Penalty α" in page.read_text()
    listed = polyak("export", model, "-", "--to", "csv").stdout
    assert [line.split(",")[1] for line in listed.splitlines()[2:]][::2] == ["x0", "x1"]


def test_no_weight_is_below_zero(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.polyak"
    how = ["--target", "y", "--penalty", "elasticnet", "--l1-ratio", 0.9, "--non-negative"]
    polyak("train", table, *how, "-q", "-m", model)
    weights = LinearModel.load(model).weights[::2]  # without what a missing value says
    assert weights.min() == 0.0
    assert weights.max() > 0.5


@pytest.mark.parametrize("order", ["as-is", "auto"])
def test_columns_have_signs_and_directions(order: str, table: Path, tmp_path: Path) -> None:
    model, how = tmp_path / "m.polyak", ["--target", "y", "--order", order, "-q"]
    polyak("train", table, *how, "--non-negative-columns", "x1,x2", "-m", model)
    weights = LinearModel.load(model).weights[::2, 0]
    assert weights[1] == 0
    assert weights[0] > 0.5
    polyak("train", table, *how, "--non-positive-columns", "x0,x1", "-m", model)
    weights = LinearModel.load(model).weights[::2, 0]
    assert weights[0] == 0
    assert weights[1] < -1
    polyak("train", table, *how, "--increasing", "x1", "--decreasing", "x3", "-m", model)
    found = LinearModel.load(model)
    assert (effect(found, "x1").value == 0).all()  # it would fall
    assert effect(found, "x0").value[-1] > 0.5


def test_what_it_cannot_do_is_said_in_a_sentence(table: Path, tmp_path: Path) -> None:
    how = ["train", table, "--target", "y", "-m", tmp_path / "m.polyak", "--penalty", "l1"]
    assert "no intervals" in fails(*how, "--intervals", code=2)
    assert "--recipe auto" in fails(*how, "--recipe", "sgd", code=2)
    assert "between 0 and 1" in fails(*how, "--l1-ratio", 3, code=2)
    how = ["train", table, "--target", "y", "-m", tmp_path / "m.polyak", "-q"]
    assert "there is no column 'size'" in fails(*how, "--increasing", "size")
    assert "there is no column 'size'" in fails(*how, "--non-negative-columns", "size")
    named = [*how, "--non-negative-columns", "x1", "--recipe", "sgd"]
    assert "--non-negative-columns x1 needs --recipe auto" in fails(*named, code=2)
    named = [*how, "--non-positive-columns", "x1", "--recipe", "sgd"]
    assert "--non-positive-columns x1 needs --recipe auto" in fails(*named, code=2)
    rows = tmp_path / "rows.svm"
    rows.write_text("1 1:1\n-1 2:1\n" * 50)
    assert "whose columns have names" in fails("train", rows, *how[4:], "--increasing", "x")


@pytest.mark.slow
def test_other_programs_get_only_the_features_kept(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 12))
    y = np.sign(X[:, 4] - 2.0 * X[:, 9] + 0.5 * rng.normal(size=3000))
    rows = tmp_path / "rows.svm"
    rows.write_text(
        "".join(
            f"{int(t)} " + " ".join(f"{j + 1}:{v:.5g}" for j, v in enumerate(x)) + "\n"
            for t, x in zip(y, X, strict=True)
        )
    )
    model = tmp_path / "m.polyak"
    how = ["--loss", "log_loss", "--penalty", "l1", "--alpha", 0.05, "--sparsify", "-q"]
    polyak("train", rows, *how, "-m", model)
    weights = LinearModel.load(model).weights
    assert np.flatnonzero(weights).tolist() == [4, 9]
    polyak("export", model, tmp_path / "m.skops")
    assert skops.io.load(tmp_path / "m.skops").coef_.shape == (1, 2)
    polyak("convert", rows, tmp_path / "few.svm", "--for", model, "-q")
    first = (tmp_path / "few.svm").read_text().splitlines()[0].split()
    assert [word.partition(":")[0] for word in first[1:]] == ["1", "2"]
    np.testing.assert_allclose([float(w.partition(":")[2]) for w in first[1:]], X[0, [4, 9]], 1e-3)

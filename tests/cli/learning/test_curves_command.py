"""``polyak train --curves``: additive models of files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import polyak

from polyak.model.effects import effect
from polyak.model.linear import LinearModel


@pytest.mark.parametrize("order", ["as-is", "auto"])
def test_a_table_of_numbers_has_curves(order: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = np.abs(X[:, 1]) + 0.1 * rng.normal(size=3000)
    table, model = tmp_path / "t.csv", tmp_path / "m.polyak"
    np.savetxt(table, np.c_[y, X], "%.6g", ",", header="y,a,b,c", comments="")
    polyak("train", table, "--target", "y", "--curves", "--order", order, "-q", "-m", model)
    curve = effect(LinearModel.load(model), "b", grid=[-1.5, 0.0, 1.5]).value
    assert curve[[0, 2]] - curve[1] == pytest.approx(1.5, abs=0.2)


@pytest.mark.parametrize("order", ["as-is", "auto"])
def test_a_matrix_has_curves(order: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", np.abs(X[:, 1]) + 0.1 * rng.normal(size=3000))
    words = ("--curves", "x1", "--order", order, "-q", "-m", "m.polyak")
    polyak("train", "X.npy", "--target", "y.npy", *words, cwd=tmp_path)
    model = LinearModel.load(tmp_path / "m.polyak")
    curve = effect(model, "x1", grid=[-1.5, 0.0, 1.5]).value
    assert curve[[0, 2]] - curve[1] == pytest.approx(1.5, abs=0.2)


@pytest.mark.parametrize("order", ["as-is", "auto"])
def test_few_rows_have_pairs(order: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    table, model = tmp_path / "t.csv", tmp_path / "m.polyak"
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=300)
    np.savetxt(table, np.c_[y, X], "%.6g", ",", header="y,a,b", comments="")
    polyak("train", table, "--target", "y", "--pairs", "--order", order, "-q", "-m", model)
    report = LinearModel.load(model).report
    assert report is not None
    assert "a × b" in {term.name for term in report.terms}

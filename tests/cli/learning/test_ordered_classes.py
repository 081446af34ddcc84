"""Classes that lie one behind the other, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import polyak

from polyak import LinearModel


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 2))
    along = X[:, 0] + 0.4 * rng.normal(size=2500)
    size = np.array(["small", "medium", "large"])[np.digitize(along, [-0.5, 0.5])]
    path = tmp_path_factory.mktemp("sizes") / "sizes.csv"
    lines = [f"{a!r},{b!r},{word}" for (a, b), word in zip(X.tolist(), size, strict=True)]
    path.write_text("\n".join(["a,b,size", *lines]) + "\n")
    return path


def test_averaged_sgd_learns_them_together_unless_told_not_to(table: Path, tmp_path: Path) -> None:
    options = ("--target", "size", "--loss", "log_loss", "--recipe", "sgd", "--passes", "1", "-q")
    said = polyak("train", table, *options, "--model", tmp_path / "m").stdout
    assert "averaged SGD on all classes together, preconditioner" in said
    apart = polyak("train", table, *options, "--multi-class", "ovr", "--model", tmp_path / "o")
    assert "averaged SGD, preconditioner" in apart.stdout
    assert [LinearModel.load(tmp_path / name).softmax for name in "mo"] == [True, False]
    together, rest = (
        json.loads(polyak("evaluate", tmp_path / name, table, "--json").stdout)["loss"]
        for name in "mo"
    )
    assert together < 0.9 * rest

"""Messages and figures that say what they mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import polyak, write

from polyak import ASGDRegressor

NUMBERS = np.random.default_rng(0).random(1200).round(4).tolist()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("messages")
    lines = (f"{1990 + 20 * x},{5 * x},{'yes' if x > 0.4 else 'no'}\n" for x in NUMBERS)
    return write(folder / "t.csv", "year,y,label\n" + "".join(lines))


def test_a_value_too_large_says_which_is_the_largest() -> None:
    X = np.random.default_rng(0).normal(size=(50, 2))
    X[7, 1] = 1e151
    with pytest.raises(ValueError, match=r"1e\+151 for feature 1 .*largest.* 1e\+150") as refused:
        ASGDRegressor().fit(X, X[:, 0])
    assert "no number" not in str(refused.value)


def test_a_model_has_one_intercept(table: Path, tmp_path: Path) -> None:
    polyak("train", table, "--target", "y", "--drop", "label", "-m", tmp_path / "m", "-q")
    lines = polyak("inspect", tmp_path / "m").stdout.splitlines()
    assert sum(line.startswith("intercept") for line in lines) == 1


def test_shares_and_distances_have_names_of_their_own(table: Path, tmp_path: Path) -> None:
    for target, other, name, head in (
        ("label", "y", "error rate", "error rate"),
        ("y", "label", "mean absolute error", "MAE"),
    ):
        model = tmp_path / target
        columns = ["--target", target, "--drop", other]
        trained = polyak("train", table, *columns, "-m", model, "--test", table)
        told = [line for line in trained.stdout.splitlines() if "error" in line]
        names = [line.split("  ")[0] for line in told if line.startswith(name)]
        assert names == [f"{name} on rows left out"]
        assert not any(line.startswith("test error  ") for line in told)
        assert head in trained.stderr
        shown = polyak("inspect", model).stdout
        assert f"\n{name} on rows left out " in shown
        assert "\nerror of" not in shown
    assert "\nerror rate " in polyak("evaluate", tmp_path / "label", table).stdout

"""Matrices in ``.npy`` files with their targets in another, from the shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import fails, polyak

from polyak.model.linear import LinearModel

ROWS, WIDTH = 3000, 5
rng = np.random.default_rng(0)
X = rng.integers(-40, 40, size=(ROWS, WIDTH)) / 8  # the same values in every type, times eight
SCORES = X @ rng.normal(size=(WIDTH, 3)) + rng.normal(size=(ROWS, 3))
TARGETS: dict[str, Any] = {
    "integers": SCORES.argmax(axis=1),
    "words": np.array(["red", "green", "blue"])[SCORES.argmax(axis=1)],
    "numbers": SCORES[:, 0],
    "one column": SCORES[:, :1],
    "several numbers": SCORES,
    "several labels": (SCORES > 0).astype(np.int8),
    "booleans": SCORES > 0,
}


def saved(folder: Path, **arrays: Any) -> list[Path]:
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return [folder / f"{name}.npy" for name in arrays]


def figures(*arguments: Any) -> dict[str, Any]:
    return dict(json.loads(polyak(*arguments, "--json").stdout))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int16])
def test_types_of_matrices(tmp_path: Path, dtype: Any) -> None:
    rows, y = saved(tmp_path, X=(8 * X).astype(dtype), y=TARGETS["numbers"])
    model = tmp_path / "m.polyak"
    polyak("train", rows, "--target", y, "-q", "-m", model)
    assert figures("evaluate", model, rows, "--target", y)["r2"] > 0.9
    predicted = np.loadtxt(polyak("predict", model, rows).stdout.splitlines())
    assert np.corrcoef(predicted, TARGETS["numbers"])[0, 1] > 0.95


@pytest.mark.parametrize("order", ["auto", "as-is"])
@pytest.mark.parametrize("kind", TARGETS)
def test_kinds_of_targets(tmp_path: Path, kind: str, order: str) -> None:
    targets = TARGETS[kind]
    rows, y = saved(tmp_path, X=X.astype(np.float16), y=targets)
    model, archive = tmp_path / "m.polyak", tmp_path / "d.npz"
    polyak("train", rows, "--target", y, "--order", order, "-q", "-m", model)
    found = figures("evaluate", model, rows, "--target", y)
    good = found["r2"] > 0.7 if kind.endswith("numbers") or kind == "one column" else None
    assert found["accuracy"] > 0.5 if good is None else good
    lines = polyak("predict", model, rows).stdout.splitlines()
    assert len(lines) == ROWS
    # The same arrays in one file are the same rows.
    np.savez(archive, X=X.astype(np.float16), y=targets, other=targets)
    assert figures("evaluate", model, archive) == found
    assert figures("evaluate", model, archive, "--target", "other") == found
    again = tmp_path / "again.polyak"
    polyak("train", archive, "--order", order, "-q", "-m", again)
    assert np.array_equal(LinearModel.load(again).weights, LinearModel.load(model).weights)


def test_float16_is_read_as_float32(tmp_path: Path) -> None:
    y = saved(tmp_path, y=TARGETS["integers"])[0]
    models = []
    for dtype in (np.float16, np.float32):
        (rows,) = saved(tmp_path, X=X.astype(dtype))
        models.append(tmp_path / np.dtype(dtype).name)
        polyak("train", rows, "--target", y, "--order", "as-is", "-q", "-m", models[-1])
    assert models[0].read_bytes() == models[1].read_bytes()


def test_several_labels_resume(tmp_path: Path) -> None:
    rows, y = saved(tmp_path, X=X, y=TARGETS["several labels"])
    whole, model = tmp_path / "whole", tmp_path / "m"
    command = ("train", rows, "--target", y, "--order", "as-is", "-q", "--checkpoint", tmp_path)
    polyak(*command[:-2], "-m", whole)
    polyak(*command, "--checkpoint-every", 500, "-m", model)
    assert model.read_bytes() == whole.read_bytes()


def test_weights(tmp_path: Path) -> None:
    weights = rng.random(ROWS)
    rows, y, w = saved(tmp_path, X=X, y=TARGETS["numbers"], w=weights)
    archive, one, other = tmp_path / "d.npz", tmp_path / "one", tmp_path / "other"
    np.savez(archive, X=X, y=TARGETS["numbers"], weights=weights)
    polyak("train", rows, "--target", y, "--weight", w, "-q", "-m", one)
    polyak("train", archive, "-q", "-m", other)
    assert np.array_equal(LinearModel.load(one).weights, LinearModel.load(other).weights)
    found = figures("evaluate", one, rows, "--target", y, "--weight", w)
    assert found == figures("evaluate", one, archive)


def test_missing_values_make_a_table(tmp_path: Path) -> None:
    holes = X.astype(np.float16)
    holes[5, 2] = np.nan
    rows, y = saved(tmp_path, X=holes, y=TARGETS["words"])
    model = tmp_path / "m.polyak"
    polyak("train", rows, "--target", y, "-q", "-m", model)
    assert figures("evaluate", model, rows, "--target", y)["accuracy"] > 0.7


class TestErrors:
    def failed(self, tmp_path: Path, y: Any, *more: Any, rows: Any = X) -> str:
        saved(tmp_path, X=rows)
        if not isinstance(y, str):
            np.save(tmp_path / "y.npy", y)
            y = "y.npy"
        command = ("train", "X.npy", "--target", y, "-q", "-m", "m.polyak", *more)
        return fails(*command, cwd=tmp_path)

    def test_lengths(self, tmp_path: Path) -> None:
        said = self.failed(tmp_path, TARGETS["numbers"][1:])
        assert said.endswith("X.npy has 3000 rows, but targets of shape (2999,)")

    def test_objects(self, tmp_path: Path) -> None:
        said = self.failed(tmp_path, np.array([{}] * ROWS))
        assert "y.npy is not a valid .npy file: it holds Python objects" in said
        said = self.failed(tmp_path, TARGETS["numbers"], rows=np.array([[{}]] * ROWS))
        assert "X.npy is not a valid .npy file: it holds Python objects" in said

    def test_other_types(self, tmp_path: Path) -> None:
        said = self.failed(tmp_path, TARGETS["numbers"].astype(complex))
        assert said.endswith("the targets of X.npy must be numbers or strings, not complex128")
        said = self.failed(tmp_path, np.repeat(TARGETS["words"][:, None], 2, axis=1))
        assert said.endswith("the targets of X.npy must be numbers, not <U5")
        said = self.failed(tmp_path, TARGETS["numbers"][:, None, None])
        assert said.endswith("X.npy has 3000 rows, but targets of shape (3000, 1, 1)")

    def test_no_such_file(self, tmp_path: Path) -> None:
        assert self.failed(tmp_path, "z.npy").endswith("there is no file z.npy")
        np.savez(tmp_path / "d.npz", X=X, y=SCORES)
        said = fails("train", "d.npz", "--target", "z", "-q", "-m", "m", cwd=tmp_path)
        assert said.endswith("d.npz has X, y, and there is no file z")

    def test_no_targets(self, tmp_path: Path) -> None:
        saved(tmp_path, X=X)
        said = fails("train", "X.npy", "-q", "-m", "m", cwd=tmp_path)
        assert "X.npy has no targets to learn" in said
        assert "--target" in said

    @pytest.mark.parametrize("order", ["auto", "as-is"])
    def test_not_finite(self, tmp_path: Path, order: str) -> None:
        y = TARGETS["several numbers"].copy()
        y[2100, 1] = np.nan
        said = self.failed(tmp_path, y, "--order", order)
        assert said.endswith("X.npy, row 2100: the target is not finite: nan")
        rows = X.copy()
        rows[2100, 3] = np.inf
        said = self.failed(tmp_path, TARGETS["numbers"], "--order", order, rows=rows)
        assert said.endswith("X.npy, row 2100: a value is not finite: inf")

    @pytest.mark.parametrize("order", ["auto", "as-is"])
    def test_labels_that_are_not_0_or_1(self, tmp_path: Path, order: str) -> None:
        y = TARGETS["several labels"].copy()
        y[2100, 1] = 2
        said = self.failed(tmp_path, y, "--loss", "log_loss", "--order", order)
        assert said.endswith(
            "X.npy, row 2100 has the target 2; labels in columns of their own are 0 or 1"
        )

    def test_the_model_has_another_number_of_targets(self, tmp_path: Path) -> None:
        saved(tmp_path, X=X, y=TARGETS["integers"], labels=TARGETS["several labels"])
        polyak("train", "X.npy", "--target", "y.npy", "-q", "-m", "m", cwd=tmp_path)
        said = fails("evaluate", "m", "X.npy", "--target", "labels.npy", cwd=tmp_path)
        assert said.endswith("X.npy has 3 targets per row, but the model has 1")

    def test_a_table_knows_its_target(self, tmp_path: Path) -> None:
        table = tmp_path / "t.csv"
        np.savetxt(table, np.c_[SCORES[:, 0], X], "%.6g", ",", header="y,a,b,c,d,e", comments="")
        polyak("train", table, "--target", "y", "-q", "-m", tmp_path / "m")
        said = fails("evaluate", tmp_path / "m", table, "--target", "a")
        assert "--target and --weight are for NumPy files" in said

    def test_the_model_does_not_overwrite_the_targets(self, tmp_path: Path) -> None:
        saved(tmp_path, X=X, y=TARGETS["numbers"])
        command = ("train", "X.npy", "--target", "y.npy", "-q", "-m", "y.npy")
        assert "y.npy is the target itself" in fails(*command, code=2, cwd=tmp_path)

"""A class that first comes up in the middle of a file joins, rather than ending the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import polyak, write

from polyak.model.linear import LinearModel

AS_IS = ("--order", "as-is", "--loss", "log_loss")


def text(rows: int, first: int, seed: int, names: list[str], comma: bool = False) -> str:
    """Write rows of classes whose last comes up first in row ``first`` + 1."""
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(0).normal(size=(6, len(names)))
    X = rng.normal(size=(2 * rows, 6))
    y = np.argmax(X @ truth + rng.gumbel(size=(2 * rows, len(names))), axis=1)
    last, place = len(names) - 1, np.cumsum(y != len(names) - 1)
    kept = np.flatnonzero((y != last) | (place > first))[:rows]
    begin = int(np.argmax(y[kept] == last)) if first else 0
    kept = np.concatenate([kept[:first], kept[begin:], kept[first:begin]])
    if comma:
        lines = [",".join([names[y[i]], *(f"{x:.3f}" for x in X[i])]) for i in kept]
        return "\n".join(["y,a,b,c,d,e,f", *lines]) + "\n"
    return "".join(
        f"{names[y[i]]} {' '.join(f'{j + 1}:{x:.3f}' for j, x in enumerate(X[i]))}\n" for i in kept
    )


def evaluated(model: Path, source: Path) -> dict[str, Any]:
    return dict(json.loads(polyak("evaluate", model, source, "--json").stdout))


@pytest.mark.parametrize("names", [["0", "1", "2"], ["3", "1", "2", "0"]])
def test_it_does_as_well_as_if_it_had_been_known(tmp_path: Path, names: list[str]) -> None:
    source = write(tmp_path / "late.svm", text(20_000, 5000, 1, names))
    test = write(tmp_path / "test.svm", text(5000, 0, 2, names))
    said = polyak("train", source, *AS_IS, "-q", "--model", tmp_path / "joined").stderr
    assert f"the class {names[-1]} first comes up in row 5,001" in said
    assert "name all classes with --classes to have it" in said
    ordered = ",".join(sorted(names))
    polyak("train", source, *AS_IS, "-q", "--classes", ordered, "--model", tmp_path / "known")
    joined, known = (evaluated(tmp_path / name, test) for name in ("joined", "known"))
    assert joined["loss"] < 1.002 * known["loss"]
    assert joined["accuracy"] > known["accuracy"] - 0.003


def test_a_table_too_whatever_the_blocks_and_threads(tmp_path: Path) -> None:
    source = write(tmp_path / "late.csv", text(6000, 3000, 3, ["no", "yes", "maybe"], comma=True))
    models = []
    for block, threads in ((2000, 1), (1 << 20, 2)):
        models.append(tmp_path / f"{block}.polyak")
        polyak("train", source, *AS_IS, "-q", "--target", "y", "--model", models[-1],
               "--block-bytes", block, "--threads", threads)  # fmt: skip
    assert models[0].read_bytes() == models[1].read_bytes()
    classes = LinearModel.load(models[0]).classes
    assert classes is not None
    assert classes.tolist() == ["maybe", "no", "yes"]

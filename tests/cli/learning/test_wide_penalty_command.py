"""``polyak train --penalty`` where features are many: svmlight and VW text, to the model's file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import polyak

from polyak.model.linear import LinearModel

FEATURES, MATTER = 2500, (3, 5, 8)


def words(rows: int = 3000) -> tuple[list[list[int]], list[int]]:
    """Draw rows of ten words, of which three say how they are labelled."""
    rng = np.random.default_rng(0)
    often = 1.0 / np.arange(4, FEATURES + 4)
    drawn = rng.choice(FEATURES, (rows, 30), p=often / often.sum())
    picked = [sorted(set(row.tolist())) for row in drawn]
    labels = [1 if sum(f in row for f in MATTER) >= 2 else -1 for row in picked]
    return picked, labels


@pytest.fixture
def svmlight(tmp_path: Path) -> Path:
    path = tmp_path / "rows.svm"
    lines = (f"{y} " + " ".join(f"{f + 1}:1" for f in row) for row, y in zip(*words(), strict=True))
    path.write_text("\n".join(lines) + "\n")
    return path


HOW = ["--loss", "log_loss", "--penalty", "l1", "--alpha", 0.01]


def test_only_what_matters_is_left(svmlight: Path, tmp_path: Path) -> None:
    model, page = tmp_path / "m.polyak", tmp_path / "m.html"
    told = json.loads(
        polyak("train", svmlight, *HOW, "--json", "-q", "--report", page, "-m", model).stdout
    )
    weights = LinearModel.load(model).weights[:, 0]
    assert set(MATTER) <= set(np.flatnonzero(weights).tolist())
    assert told["nonzero_weights"] == np.count_nonzero(weights) < 100
    assert told["winner"]["alpha"] == 0.01
    shown = polyak("inspect", model).stdout
    assert "proximal steps" in shown
    assert "averaging" not in shown
    assert "proximal steps" in page.read_text()
    assert "proximal" in polyak("inspect", model, "--candidates").stdout


def test_vw_text_and_fewer_features_in_the_file(tmp_path: Path) -> None:
    path, whole, kept = tmp_path / "rows.vw", tmp_path / "whole.polyak", tmp_path / "kept.polyak"
    lines = (f"{y} | " + " ".join(f"w{f}" for f in row) for row, y in zip(*words(), strict=True))
    path.write_text("\n".join(lines) + "\n")
    polyak("train", path, *HOW, "-q", "-m", whole)
    polyak("train", path, *HOW, "--sparsify", "-q", "-m", kept)
    assert 3 <= np.count_nonzero(LinearModel.load(whole).weights) < 100
    assert max(kept.stat().st_size, whole.stat().st_size) < 4 * FEATURES  # zeros are not stored
    both = [polyak("predict", model, path).stdout for model in (whole, kept)]
    assert both[0] == both[1]
    listed = polyak("export", kept, "-", "--to", "csv").stdout
    nonzero = np.count_nonzero(LinearModel.load(kept).weights)
    assert len(listed.splitlines()) == nonzero + 2  # a head, and the intercept

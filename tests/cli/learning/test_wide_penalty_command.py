"""``polyak train --penalty`` where features are many: svmlight and VW text, to the model's file."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from commands import POLYAK, polyak

from polyak.model.linear import LinearModel
from polyak.training.checkpoint import NEWEST

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


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_file(svmlight: Path, tmp_path: Path) -> None:
    whole, killed, folder = tmp_path / "whole", tmp_path / "killed", tmp_path / "checkpoints"
    polyak("train", svmlight, *HOW, "--order", "as-is", "-q", "-m", whole)
    command = [*POLYAK, "train", "-", *map(str, HOW), "-m", str(killed)]
    command += ["--checkpoint", str(folder), "--checkpoint-every", "1500", "--block-bytes", "20000"]
    # All but the last line, and no end: the run is still waiting when it is killed.
    run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert run.stdin is not None
    run.stdin.write(svmlight.read_bytes()[:-200])
    run.stdin.flush()
    while run.poll() is None and not (folder / NEWEST).exists():
        time.sleep(0.01)
    run.kill()
    run.communicate()
    with svmlight.open("rb") as rows:
        done = subprocess.run(command, stdin=rows, capture_output=True, text=True, check=True)
    assert "resumed at row" in done.stdout
    assert killed.read_bytes() == whole.read_bytes()

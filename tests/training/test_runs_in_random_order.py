"""Learning a sorted file in a random order of its pieces: as good as shuffled, and resumable."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from polyak.data import random_order
from polyak.data.open import open_stream
from polyak.data.options import ReadOptions
from polyak.data.sources import line_pieces
from polyak.learn.recipes import Recipe
from polyak.model.evaluation import Evaluation
from polyak.storage.model_file import save_model
from polyak.training.checkpoint import NEWEST
from polyak.training.job import Job
from polyak.training.loop import train

SMALL = (
    (line_pieces, "SMALLEST", 1 << 10),
    (random_order, "WINDOW_BYTES", 1 << 15),
)
"""What lets small files have many windows of many pieces."""


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value in SMALL:
        monkeypatch.setattr(module, name, value)


def forest(rows: int, seed: int) -> list[str]:
    """Lines of three unequal classes that overlap, some features of which are flags."""
    rng = np.random.default_rng(seed)
    label = rng.choice(3, rows, p=[0.55, 0.4, 0.05])
    centre = np.random.default_rng(0).normal(size=(3, 8))
    X = centre[label] + 1.5 * rng.normal(size=(rows, 8))
    X[:, 5:] = X[:, 5:] > 0
    return [
        f"{label[n] + 1} " + " ".join(f"{i + 1}:{x:.4g}" for i, x in enumerate(X[n]) if x)
        for n in range(rows)
    ]


def test_a_file_sorted_by_class_is_learned_as_a_shuffled_one(
    tmp_path: Path, small_pieces: None
) -> None:
    lines, held_out = forest(30_000, seed=1), tmp_path / "test.svm"
    held_out.write_text("\n".join(forest(20_000, seed=2)) + "\n")
    losses = {}
    for name, order in ("shuffled", lines), ("sorted", sorted(lines, key=lambda line: line[0])):
        path = tmp_path / f"{name}.svm"
        path.write_text("\n".join(order) + "\n")
        reading = ReadOptions(random_order=name == "sorted")
        outcome = train(
            Job(
                source=str(path),
                recipe=Recipe(loss="log_loss", recipe="paper"),
                reading=reading,
                order="as-is",
            )
        )
        assert outcome.model is not None
        evaluation = Evaluation(outcome.model)
        with open_stream(held_out, n_features=8) as stream:
            for batch in stream:
                evaluation.add(batch.rows, batch.targets)
        losses[name] = evaluation.report()["loss"]
    assert abs(losses["sorted"] / losses["shuffled"] - 1) < 0.005


def run(source: Path, model: Path, checkpoints: Path | None) -> None:
    """Learn a file: in a process that may be killed."""
    outcome = train(
        Job(
            source=str(source),
            passes=2,
            reading=ReadOptions(random_order=True),
            checkpoint=None if checkpoints is None else str(checkpoints),
            every_rows=50,
            order="as-is",
        )
    )
    assert outcome.model is not None
    save_model(outcome.model, model)


def written(path: Path) -> int:
    """Return the modification time of a file; 0 while it does not exist, as during a rename."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def survives(tmp_path: Path, rows: int, kills: int) -> int:
    """Kill a run ``kills`` times, let it finish, and compare with one never killed."""
    source, folder = tmp_path / "rows.svm", tmp_path / "checkpoints"
    source.write_text("\n".join(sorted(forest(rows, seed=3))) + "\n")
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path\n"
        f"from {Path(__file__).stem} import SMALL, run\n"
        "for change in SMALL: setattr(*change)\n"
        f"run(Path({str(source)!r}), "
        f"Path({str(tmp_path / 'killed')!r}), Path({str(folder)!r}))\n"
    )
    command = [sys.executable, "-c", script]
    alive = 0
    for _ in range(kills):
        before = written(folder / NEWEST)
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        while process.poll() is None and written(folder / NEWEST) <= before:
            time.sleep(0.002)
        time.sleep(random.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:
            break
        alive += 1
    subprocess.run(command, check=True)
    run(source, tmp_path / "whole", None)
    assert (tmp_path / "killed").read_bytes() == (tmp_path / "whole").read_bytes()
    return alive


@pytest.mark.slow
def test_kills_leave_no_trace(tmp_path: Path, small_pieces: None) -> None:
    assert survives(tmp_path, rows=20_000, kills=8) == 8

"""Files and pipes whose order matters: one sentence says so, and names the option that helps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import polyak, write

TRAIN = ("train", "-q", "--loss", "squared_error")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Write rows that are sorted by their targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = X @ [1.0, 2.0, -1.0] + 2.0 * rng.normal(size=6000)
    lines = [f"{y[i]:.4f} 1:{a:.4f} 2:{b:.4f} 3:{c:.4f}\n" for i, (a, b, c) in enumerate(X)]
    return write(tmp_path / "sorted.svm", "".join(lines[i] for i in np.argsort(y)))


def warned(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith("polyak: warning: ")]


def test_a_file_as_it_stands(source: Path, tmp_path: Path) -> None:
    model = ("--model", tmp_path / "m")
    for block in (2000, 1 << 20):
        done = polyak(*TRAIN, source, *model, "--order", "as-is", "--block-bytes", block)
        (sentence,) = warned(done.stderr)
        assert "as if they were sorted or changed with time: unless that is the point" in sentence
        assert "learn them with --order auto, or read them with --shuffle-buffer 100000" in sentence
        assert "SGD at the constant rate" in done.stdout
    for helps in (("--order", "auto"), ("--memory", "1"), ("--shuffle-buffer", "100000")):
        assert not warned(polyak(*TRAIN, source, *model, *helps).stderr)


def test_a_pipe_cannot_be_read_in_another_order(source: Path, tmp_path: Path) -> None:
    done = polyak(*TRAIN, "-", "--model", tmp_path / "m", input=source.read_text())
    (sentence,) = warned(done.stderr)
    assert "read them with --shuffle-buffer 100000 or as large as memory allows" in sentence
    assert "--order" not in sentence


def test_rows_sorted_by_class(tmp_path: Path) -> None:
    source = write(tmp_path / "by-class.svm", "-1 1:1\n" * 3000 + "1 2:1\n" * 3000)
    done = polyak("train", "-q", source, "--order", "as-is", "--classes=-1,1", "--model",
                  tmp_path / "m")  # fmt: skip
    (sentence,) = warned(done.stderr)
    assert "the first rows seem to be sorted by class" in sentence
    assert "--order auto" in sentence

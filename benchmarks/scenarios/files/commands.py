"""What the file scenarios share: the files, and the commands of polyak and the peers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.cache import FOLDER
from benchmarks.contestant import Job
from benchmarks.runner import ROOT, job
from benchmarks.scenarios.in_memory.ours import ALPHA

POLYAK = str(Path(sys.executable).parent / "polyak")  # the one of this environment
VW = (sys.executable, "-m", "vowpalwabbit", "--quiet")
MODELS = FOLDER / "models"


def files(megabytes: int) -> tuple[Path, Path]:
    """Return svmlight files to train and test on; each has a copy in VW format beside it.

    They are made in a process of its own: a child's peak memory starts from its parent's, so the
    parent of the contestants stays small.
    """
    command = job("commands:make_files", megabytes=megabytes)
    subprocess.run(command, check=True, cwd=ROOT)
    MODELS.mkdir(exist_ok=True)
    return FOLDER / f"train-{megabytes}mb.svm", FOLDER / f"test-{megabytes}mb.svm"


def make_files(megabytes: int) -> Job:
    from benchmarks.text_files import train_and_test

    return lambda: [train_and_test(megabytes, form) for form in ("svm", "vw")], dict


def train_ours(source: Path | str, model: Path, recipe: str = "paper") -> tuple[str, ...]:
    """Learn a model file from a file, ``-`` for a pipe."""
    options = ("--recipe", recipe, "--alpha", str(ALPHA), "--no-progress")
    return (POLYAK, "train", str(source), "--order", "as-is", *options, "--model", str(model))


def train_vw(source: Path, model: Path) -> tuple[str, ...]:
    """Learn from VW's own format with the logistic loss; any other takes as long."""
    return (*VW, "-d", str(source), "--loss_function", "logistic", "-f", str(model))


def predict_ours(model: Path, source: Path, scores: Path) -> tuple[str, ...]:
    """Score a file, one line per row."""
    return (POLYAK, "predict", str(model), str(source), "--what", "scores", "-o", str(scores))


def predict_vw(model: Path, source: Path, scores: Path) -> tuple[str, ...]:
    """Score a file, one line per row."""
    return (*VW, "--testonly", "-d", str(source), "-i", str(model), "-p", str(scores))

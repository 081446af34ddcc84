"""Coverage-guided fuzzing of what reads our own files and NumPy's.

Whatever the bytes, a loader of models or checkpoints gives one or raises
`ModelFileError`, and a reader of ``.npz`` gives rows or raises `DataError`; all else is a finding.

    python fuzz/loaders.py -max_total_time=600
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["polyak", "json", "zipfile"]):
    import numpy as np

    from polyak.data.open import open_stream
    from polyak.errors import DataError, ModelFileError
    from polyak.learn.learner import Learner
    from polyak.learn.recipes import Recipe
    from polyak.model.linear import LinearModel
    from polyak.training.checkpoint import CheckpointFolder

_FOLDER = Path(tempfile.mkdtemp(prefix="polyak-fuzz-"))


def _seeds(folder: Path) -> None:
    """Begin with real files: models sparse and dense, and their bytes cut."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    learner = Learner(Recipe(loss="squared_hinge", recipe="paper"))
    rows = rng.normal(size=(1200, 3))
    learner.learn(rows, np.where(rows[:, 0] > 0, "yes", "no"))
    learner.model().save(folder / "dense")
    weights = np.zeros((5000, 1), np.float32)
    weights[7] = 1.0
    LinearModel(weights, np.zeros(1), "squared_error").save(folder / "sparse")
    np.savez(folder / "rows.npz", X=rows[:20], y=np.arange(20))
    np.savez_compressed(folder / "packed.npz", X=rows[:20], y=np.arange(20))
    indptr = np.arange(21)
    parts = {"data": rows[:20, 0], "indices": np.arange(20) % 3, "indptr": indptr, "shape": (20, 3)}
    np.savez_compressed(folder / "packed-sparse.npz", **parts, y=np.arange(20))
    for name in ("dense", "sparse"):
        data = (folder / name).read_bytes()
        (folder / f"{name}-cut").write_bytes(data[: len(data) // 2])


def one_input(data: bytes) -> None:
    """Offer the same bytes as a model, a checkpoint and an archive."""
    model = _FOLDER / "model.polyak"
    model.write_bytes(data)
    checkpoints = _FOLDER / "checkpoints"
    checkpoints.mkdir(exist_ok=True)
    (checkpoints / "checkpoint.polyak").write_bytes(data)
    for load in (
        lambda: LinearModel.load(model),
        lambda: CheckpointFolder(checkpoints).load("data", {}),
    ):
        with suppress(ModelFileError):
            load()
    archive = _FOLDER / "rows.npz"
    archive.write_bytes(data)
    with suppress(DataError), open_stream(archive, batch_rows=8, warn_if_sorted=False) as stream:
        for _ in stream:
            pass


if __name__ == "__main__":
    corpus = _FOLDER / "corpus"
    _seeds(corpus)
    atheris.Setup([*sys.argv, str(corpus), "-max_len=20000"], one_input)
    atheris.Fuzz()

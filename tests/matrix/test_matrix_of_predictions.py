"""The same rows in every form are predicted alike, and what no pipe can bring is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sources import BINARY, FILES, PIPES, Source, matrix_and_targets, rows
from ways import done, started, train

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("predicted")


def of_every_form() -> list[object]:
    """List plain files, and pipes of gz."""
    plain = [source for source in FILES if not source.packing]
    pipes = [source for source in PIPES if source.packing == "gz"]
    return [pytest.param(source, id=str(source)) for source in plain + pipes]


@pytest.mark.parametrize("source", of_every_form())
def test_same_predictions(source: Source, folder: Path, tmp_path: Path) -> None:
    model, plain = folder / f"{source.form}.polyak", folder / f"{source.form}.txt"
    if not plain.exists():
        path = source.plain.write(tmp_path)
        train(source.plain, path, model)
        plain.write_text(done(source.plain, path, "predict", model, "SOURCE", "--what", "scores"))
    format = source.options[-2:] if source.is_pipe else []
    predict = ("predict", model, "SOURCE", "--what", "scores", *format)
    scores = done(source, source.write(tmp_path), *predict)
    assert scores == plain.read_text()
    assert len(scores.splitlines()) == len(rows())


def test_a_matrix_without_targets(tmp_path: Path) -> None:
    """A .npy file has none, so it cannot be learned from, but it can be predicted."""
    X, y = matrix_and_targets(rows(3000))
    np.savez(tmp_path / "both.npz", X=X.toarray(), y=y)
    np.save(tmp_path / "rows.npy", X.toarray())
    source = Source("npz")
    train(source, tmp_path / "both.npz", tmp_path / "model")
    predict = ("predict", tmp_path / "model", "SOURCE", "--what", "scores")
    scores = [done(source, tmp_path / name, *predict) for name in ("both.npz", "rows.npy")]
    assert scores[0] == scores[1]
    command = ("train", "SOURCE", "-m", tmp_path / "none")
    with started(source, tmp_path / "rows.npy", *command) as run:
        _, said = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "no targets" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("form", BINARY)
def test_no_pipe_brings_what_is_read_from_its_end(form: str, tmp_path: Path) -> None:
    source = Source(form, is_pipe=True)
    format = form.removeprefix("rows.")
    target = () if format in ("npy", "npz") else ("--target", "bought")
    command = ("train", "SOURCE", "-m", tmp_path / "model", "--format", format, *target)
    with started(source, source.write(tmp_path), *command) as run:
        _, said = run.communicate(timeout=120)
    assert run.returncode == 1
    assert said.startswith("polyak: error: ")
    assert "pipe" in said
    assert not (tmp_path / "model").exists()

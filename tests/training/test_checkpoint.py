"""Checkpoints: one can always be read, and it is refused where it does not belong."""

from __future__ import annotations

import contextlib
import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from tests.storage.damage import means_the_same, mutants

from polyak.errors import ModelFileError
from polyak.learn.learner import Learner
from polyak.learn.order_watch import OrderWatch
from polyak.learn.recipes import Recipe
from polyak.training.checkpoint import (
    KIND,
    NEWEST,
    PREVIOUS,
    Checkpoint,
    CheckpointFolder,
    RunCounts,
)
from polyak.training.job import Job
from polyak.training.loop import clear_checkpoints, train

COUNTS = RunCounts(1, 3, 4000, 0.5, 1, (("a.svm", 7, "1 x", "no number"),))
OPTIONS = {"alpha": "auto", "passes": 1}
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(3000, 10))
Y = np.where(X[:, 0] > 0, "up", "down")


def learner(rows: int, **recipe: Any) -> Learner:
    made = Learner(Recipe(**{"loss": "squared_hinge", "recipe": "paper"} | recipe))
    made.learn(X[:rows], Y[:rows])
    return made


def save(folder: Path, rows: int, **recipe: Any) -> None:
    CheckpointFolder(folder).save(
        Checkpoint(learner(rows, **recipe), "data", OPTIONS, {"rows": rows}, 0, COUNTS)
    )


@pytest.mark.parametrize(("recipe", "rows"), [("paper", 10), ("auto", 1500), ("paper", 2500)])
def test_round_trip(tmp_path: Path, recipe: str, rows: int) -> None:
    save(tmp_path / "new folder", rows, recipe=recipe)
    found = CheckpointFolder(tmp_path / "new folder").load("data", OPTIONS)
    assert found is not None
    assert found.position == {"rows": rows}
    assert found.counts == COUNTS
    assert found.learner.rows_seen == rows
    for going_on in (found.learner, whole := learner(rows, recipe=recipe)):
        going_on.learn(X[rows:], Y[rows:])
    np.testing.assert_array_equal(found.learner.model().weights, whole.model().weights)


@pytest.mark.parametrize("words", [False, True])
def test_early_rows_that_are_watched_go_with_it(tmp_path: Path, words: bool) -> None:
    score = X[:, 0] + np.linspace(-3, 3, len(X))
    y = np.where(score > 0, "up", "down") if words else score
    made = Learner(
        Recipe(loss="log_loss" if words else "squared_error", recipe="paper"),
        watch=OrderWatch("shuffle"),
    )
    made.learn(csr_matrix(X[:1500]) if words else X[:1500], y[:1500])
    CheckpointFolder(tmp_path).save(Checkpoint(made, "data", OPTIONS, {"rows": 1500}, 0, COUNTS))
    found = CheckpointFolder(tmp_path).load("data", OPTIONS)
    assert found is not None
    for one in (made, found.learner):
        with pytest.warns(UserWarning, match="as if they were sorted .*, shuffle"):
            one.learn(X[1500:], y[1500:])
    CheckpointFolder(tmp_path).save(replace(found, position={"rows": 3000}))
    found = CheckpointFolder(tmp_path).load("data", OPTIONS)
    assert found is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.learner.learn(X, y)


def test_none_is_none(tmp_path: Path) -> None:
    assert CheckpointFolder(tmp_path).load("data", OPTIONS) is None
    assert CheckpointFolder(tmp_path / "none").load("data", OPTIONS) is None


@pytest.mark.parametrize("moment", range(12))
def test_stopped_at_any_step_of_saving_one_can_be_read(
    tmp_path: Path, monkeypatch: Any, moment: int
) -> None:
    """Every call that touches the disk in turn is the last."""
    save(tmp_path, 1000)
    save(tmp_path, 2000)
    calls = 0

    class Killed(BaseException):
        pass

    def breaking(function: Any) -> Any:
        def broken(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == moment + 1:
                raise Killed
            return function(*arguments, **options)

        return broken

    for name in ("fsync", "replace", "open"):
        monkeypatch.setattr(os, name, breaking(getattr(os, name)))
    try:
        save(tmp_path, 3000)
        stopped = False
    except Killed:
        stopped = True
    monkeypatch.undo()
    found = CheckpointFolder(tmp_path).load("data", OPTIONS)
    assert found is not None
    assert found.learner.rows_seen in ((2000, 3000) if stopped else (3000,))
    save(tmp_path, 2500)  # whatever was left over does not get in the way
    found = CheckpointFolder(tmp_path).load("data", OPTIONS)
    assert found is not None
    assert found.learner.rows_seen == 2500


class TestTraining:
    def test_goes_on_where_it_was_interrupted(self, tmp_path: Path) -> None:
        job = Job(source=(X, Y), checkpoint=str(tmp_path), every_rows=1, order="as-is")
        whole = train(Job(source=(X, Y), order="as-is")).model

        def stop(progress: Any) -> None:
            if progress.rows > 2000:
                raise KeyboardInterrupt

        stopped = train(job, stop)
        assert stopped.interrupted
        assert stopped.model is not None
        assert stopped.model.report.rows == 2048
        resumed = train(job)
        assert resumed.progress.rows_before == 2048
        assert resumed.model is not None
        assert whole is not None
        np.testing.assert_array_equal(resumed.model.weights, whole.weights)
        assert train(job).progress.rows_before == 3000  # complete, but for the model's file
        clear_checkpoints(job)
        assert train(job).progress.rows_before == 0

    def test_every_so_many_seconds(self, tmp_path: Path) -> None:
        job = Job(source=(X, Y), checkpoint=str(tmp_path), every_seconds=1000, order="as-is")
        assert train(job).progress.checkpoints == 1  # the one in the end
        clear_checkpoints(job)
        job = Job(source=(X, Y), checkpoint=str(tmp_path), every_seconds=0, order="as-is")
        assert train(job).progress.checkpoints == 3


def test_damaged_bytes_are_refused(tmp_path: Path) -> None:
    for rows, recipe in ((50, {}), (2000, {}), (1500, {"recipe": "auto", "loss": "log_loss"})):
        save(tmp_path, rows, **recipe)
        whole = (tmp_path / NEWEST).read_bytes()
        (tmp_path / PREVIOUS).unlink(missing_ok=True)
        for data in mutants(whole, 40):
            (tmp_path / NEWEST).write_bytes(data)
            with contextlib.suppress(ModelFileError):
                CheckpointFolder(tmp_path).load("data", OPTIONS)
                assert means_the_same(data, whole, KIND)
        (tmp_path / NEWEST).unlink()

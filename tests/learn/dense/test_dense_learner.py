"""What a learner of wide dense rows promises, while it holds its rows and after it let them go."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from tests.learn.dense.dense_problems import LOG_LOSS, learned, loss_of, made, same_bits, solver_of

from polyak.learn.dense import solver
from polyak.learn.learner import Learner

pytestmark = pytest.mark.filterwarnings("ignore:the class")

ROWS = 3000
X, Y = made(ROWS + 2000)
TEST = X[ROWS:], Y[ROWS:]


@pytest.fixture(params=["rows held", "streaming"])
def memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let rows be held, or let them go after the first blocks, and take steps of 512 rows."""
    if request.param == "streaming":
        monkeypatch.setattr(solver, "BLOCK", 256)
        monkeypatch.setattr(solver, "STEP", 512)
        monkeypatch.setattr(solver, "MOST_BYTES", 4 * 1200 * X.shape[1])
    return str(request.param)


def test_the_lane_learns_in_both_ways(memory: str) -> None:
    learner = learned(X[:ROWS], Y[:ROWS], 500)
    assert learner.report().winner.method == "dense"
    assert (solver_of(learner).past is not None) == (memory == "streaming")
    assert loss_of(learner.model(), *TEST) < 0.75 * np.log(5)


@pytest.mark.parametrize("batch", [100, 777, 1000])
def test_batches_of_any_size_leave_the_same_bits(memory: str, batch: int) -> None:
    some, other = learned(X[:ROWS], Y[:ROWS], ROWS), learned(X[:ROWS], Y[:ROWS], batch)
    same_bits(some, other)
    np.testing.assert_array_equal(some.model().weights, other.model().weights)
    assert some.report() == other.report()


@pytest.mark.parametrize("stop", [700, 1700])
def test_resumed_is_uninterrupted(memory: str, stop: int) -> None:
    whole = learned(X[:stop], Y[:stop], stop)
    resumed = Learner.from_state(*whole.state())
    for learner in (whole, resumed):
        learner.learn(X[stop:ROWS], Y[stop:ROWS])
    same_bits(whole, resumed)
    np.testing.assert_array_equal(whole.model().weights, resumed.model().weights)
    assert whole.report() == resumed.report()


def test_looking_at_the_model_changes_nothing(memory: str) -> None:
    some, other = Learner(LOG_LOSS), Learner(LOG_LOSS)
    for begin in range(0, ROWS, 600):
        part = slice(begin, begin + 600)
        some.learn(X[part], Y[part])
        other.learn(X[part], Y[part])
        other.model().predict(X[:5])
        other.recent()
    same_bits(some, other)


def test_merged_is_about_as_good_as_one(memory: str) -> None:
    alone = learned(X[:ROWS], Y[:ROWS], 500)
    base = learned(X[:1000], Y[:1000], 500, classes=np.arange(5))
    parts = [copy.deepcopy(base) for _ in range(2)]
    for number, part in enumerate(parts):
        rows = slice(1000 + 1000 * number, 2000 + 1000 * number)
        part.learn(X[rows], Y[rows])
    parts[0].merge(parts[1:], base)
    assert parts[0].rows_seen == ROWS
    together = loss_of(parts[0].model(), *TEST)
    most = 1.02 if memory == "rows held" else 1.06  # steps of 512 rows that are averaged
    assert together < most * loss_of(alone.model(), *TEST)
    parts[0].learn(*TEST)
    assert parts[0].rows_seen == ROWS + 2000


def test_merged_without_a_base(memory: str) -> None:
    alone = learned(X[:ROWS], Y[:ROWS], 500)
    parts = [learned(X[n:ROWS:2], Y[n:ROWS:2], 500, classes=np.arange(5)) for n in range(2)]
    parts[0].merge(parts[1:])
    assert parts[0].rows_seen == ROWS
    worse = 1.02 if memory == "rows held" else 1.1  # halves of 1,500 rows that were let go
    assert loss_of(parts[0].model(), *TEST) < worse * loss_of(alone.model(), *TEST)


@pytest.mark.parametrize(("classes", "width"), [(2, 1100), (5, 300)])
def test_a_class_that_comes_late_joins(memory: str, classes: int, width: int) -> None:
    rows, y = made(4500, classes + 1, width, seed=classes)
    weights = np.random.default_rng(1).normal(size=(20, classes + 1))
    y = np.argmax(3 * rows[:, :20] / rows[:, :20].std(axis=0) @ weights, axis=1)  # few columns
    there = (np.arange(4500) >= 1800) | (y != 1)
    rows, y = rows[there], y[there]
    (rows, y), test = (rows[:-1000], y[:-1000]), (rows[-1000:], y[-1000:])
    joined = learned(rows, y, 500)
    np.testing.assert_array_equal(joined.model().classes, np.arange(classes + 1))
    assert np.isfinite(joined.model().weights).all()
    if memory == "rows held":
        known = learned(rows, y, 500, classes=np.arange(classes + 1))
        assert joined.report().winner.method == known.report().winner.method
        assert loss_of(joined.model(), *test) < 1.1 * loss_of(known.model(), *test)
    stop = int(np.argmax(y == 1)) + 100
    resumed = Learner.from_state(*learned(rows[:stop], y[:stop], 500).state())
    resumed.learn(rows[stop:], y[stop:])
    same_bits(resumed, joined)


def test_weights_are_repeated_rows(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To about the penalty, which is chosen on rows as they come: no row is in two folds."""
    monkeypatch.setattr(solver, "FEW_ROWS", 0)
    rng = np.random.default_rng(3)
    times = rng.integers(1, 4, size=1200)
    weighted = Learner(LOG_LOSS, classes=np.arange(5))
    weighted.learn(X[:1200], Y[:1200], times.astype(float))
    again = np.repeat(np.arange(1200), times)
    repeated = learned(X[again], Y[again], 5000, classes=np.arange(5))
    ours, theirs = (loss_of(one.model(), *TEST) for one in (weighted, repeated))
    assert ours == pytest.approx(theirs, rel=0.1)


def test_memory_is_bounded_while_streaming(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "BLOCK", 256)
    monkeypatch.setattr(solver, "STEP", 512)
    monkeypatch.setattr(solver, "MOST_BYTES", 1e6)
    learner = Learner(LOG_LOSS, classes=np.arange(5))
    most = 0
    for _ in range(4):
        for begin in range(0, ROWS, 400):
            learner.learn(X[begin : begin + 400], Y[begin : begin + 400])
            most = max(most, solver_of(learner).nbytes if learner.race else 0)
    rows = 4 * X.shape[1]
    assert most < 1e6 + 512 * rows + 5 * 5 * rows


def test_recent_loss_is_that_of_new_rows() -> None:
    """It lies between the final loss and that of the model at half of the rows."""
    learner = Learner(LOG_LOSS, classes=np.arange(5))
    learner.learn(X[: ROWS // 2], Y[: ROWS // 2])
    half = loss_of(learner.model(), *TEST)
    learner.learn(X[ROWS // 2 : ROWS], Y[ROWS // 2 : ROWS])
    final, recent = loss_of(learner.model(), *TEST), learner.recent()
    error = 3 * recent["loss_std_err"]
    assert final - error < recent["loss"] < 1.1 * half + error

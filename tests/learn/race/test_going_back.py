"""After an error a learner is as it was before the batch."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from polyak.errors import DivergenceError
from polyak.learn.bank import Bank
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe


def problem(rows: int, dtype: Any = np.float64) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 10)).astype(dtype)
    return X, (X[:, 0] > 0).astype(int)


def everything(learner: Learner) -> tuple[str, dict[str, Any]]:
    page, arrays = learner.state()
    return str(page), {name: array.tobytes() for name, array in arrays.items()}


RECIPES = {
    "one candidate, steps of a set length": Recipe(
        loss="squared_error", recipe="paper", eta0=0.01, alpha=0.0
    ),
    "many candidates": Recipe(loss="log_loss", recipe="sgd"),
    "two methods": Recipe(loss="log_loss", recipe="auto"),
}


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("one candidate, steps of a set length", 4000),
        ("one candidate, steps of a set length", 300),
        ("many candidates", 4000),
        ("two methods", 20_000),
    ],
)
def test_weights_that_overflow(kind: str, rows: int) -> None:
    """Halfway through a batch that has several pieces, before and after candidates dropped out."""
    X, y = problem(5000, np.float32)
    learner, other = Learner(RECIPES[kind]), Learner(RECIPES[kind])
    for one in (learner, other):
        one.learn(X[:1100], y[:1100])
    before = everything(learner)
    bad, targets = problem(rows, np.float32)
    bad[-100:] = 3e38
    with pytest.raises(DivergenceError, match="overflowed at row"):
        learner.learn(bad, targets)
    assert everything(learner) == before
    assert learner.rows_seen == 1100
    for one in (learner, other):
        one.learn(X[1100:], y[1100:])
    assert everything(learner) == everything(other)


class FailedError(Exception):
    pass


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_bank_that_fails_while_others_learn(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All have ended when the error comes out, and none has learned anything."""
    X, y = problem(6000)
    learner = Learner(RECIPES["many candidates"])
    learner.learn(X[:1100], y[:1100])
    before = everything(learner)
    assert learner.race is not None
    assert len(learner.race.lanes) == 4  # the last is the constant's
    real, busy = Bank.learn, []
    fails = learner.race.lanes[which].bank

    def learn(self: Bank, *args: Any, **more: Any) -> Any:
        busy.append(threading.get_ident())
        try:
            if self is fails:
                raise FailedError
            return real(self, *args, **more)
        finally:
            busy.pop()

    monkeypatch.setattr(Bank, "learn", learn)
    with pytest.raises(FailedError):
        learner.learn(X[1100:], y[1100:])
    assert not busy
    monkeypatch.setattr(Bank, "learn", real)
    assert everything(learner) == before
    learner.learn(X[1100:], y[1100:])
    whole = Learner(RECIPES["many candidates"])
    whole.learn(X, y)
    assert everything(learner) == everything(whole)


def test_memory_that_runs_out() -> None:
    """No bank has learned when another finds no room for a feature."""
    X, y = problem(1100)
    learner = Learner(RECIPES["many candidates"])
    learner.learn(X, y)
    assert learner.race is not None
    from scipy import sparse

    far = sparse.csr_array(([1.0], ([0], [2**60])), shape=(1, 2**60 + 1))
    running = len(learner.race.running)
    clocks = [lane.clock for lane in learner.race.lanes]
    with pytest.raises((ValueError, MemoryError)):
        learner.learn(far, y[:1])
    assert [lane.clock for lane in learner.race.lanes] == clocks
    assert len(learner.race.running) == running
    totals = learner.race.history.since(0, learner.race.sums())
    np.testing.assert_array_equal(totals[:, 0].max(), 1100)

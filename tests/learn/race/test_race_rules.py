"""The race: when candidates are eliminated, and what is reported about it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from polyak.learn.learner import Learner
from polyak.learn.race.history import RaceHistory
from polyak.learn.race.row_limits import limits_of_all
from polyak.learn.recipes import Recipe
from polyak.learn.sums import SUMS
from polyak.losses import get_loss
from polyak.model.training_report import CandidateReport

ROWS = 9000


def data(kind: str = "two", seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 12)) * (rng.random((ROWS, 12)) < 0.5)
    z = X @ np.random.default_rng(7).normal(size=(12, 3)) + rng.logistic(size=(ROWS, 3))
    if kind == "values":
        return X, z[:, 0]
    if kind == "ten":  # far from zero, so that they are centred
        z = X @ np.random.default_rng(7).normal(size=(12, 10)) + rng.logistic(size=(ROWS, 10))
        return X.astype(np.float32) + 2, z.argmax(axis=1)
    if kind == "classes":
        return sp.csr_array(X.astype(np.float32)), z.argmax(axis=1)
    return X, np.where(z[:, 0] > 0, 1.0, -1.0)


RECIPES = {
    "two": Recipe(recipe="auto", loss="squared_hinge"),
    "sgd": Recipe(recipe="sgd", loss="squared_hinge"),
    "odds": Recipe(loss="log_loss", recipe="auto"),
    "classes": Recipe(loss="hinge", recipe="auto"),
    "ten": Recipe(loss="log_loss", recipe="sgd"),
    "values": Recipe(loss="squared_error", recipe="auto"),
    "intervals": Recipe(loss="log_loss", recipe="auto", intervals=True),
}


def learner_of(kind: str) -> Learner:
    return Learner(RECIPES[kind])


def test_candidates_drop_out_at_doublings_and_the_worst_go():
    X, y = data()
    learner = learner_of("sgd")
    alive = []
    for begin in range(0, ROWS, 500):
        learner.learn(X[begin : begin + 500], y[begin : begin + 500])
        if learner.race is not None:
            alive.append((learner.race.clock, set(learner.race.running)))
    assert len(alive[0][1]) < 55
    for (rows, before), (_, after) in pairwise(alive):
        assert after <= before
        if after < before:
            assert rows + 500 in (2000, 4000, 8000)
    table = learner.report().candidates
    assert [one.number for one in table] == list(range(55))  # the last is the constant
    last = {one.rows for one in table if not one.running}
    assert last <= {1000, 2000, 4000, 8000}
    running = {one.number for one in table if one.running}
    assert running == alive[-1][1]
    assert all(one.rows == ROWS for one in table if one.running)
    # No eliminated candidate had a lower loss over its last stretch than one that ran longer.
    for one in table[:-1]:
        if not one.running:
            window = _loss_between(one, one.rows // 2, one.rows)
            stayed = [c for c in table[:-1] if c.rows > one.rows]
            losses = [_loss_between(c, one.rows // 2, one.rows) for c in stayed]
            assert window > max(losses) - 1e-5  # curves are rounded


def _loss_between(candidate: CandidateReport, begin: int, end: int) -> float:
    total, before = 0.0, 0
    for mark, mean in candidate.curve:
        if begin < mark <= end:
            total += mean * (mark - before)
        before = mark
    return total / (end - begin)


@pytest.mark.parametrize("kind", ["two", "sgd"])
def test_the_leader_has_the_lowest_recent_loss(kind):
    X, y = data()
    learner = learner_of(kind)
    learner.learn(X, y)
    report = learner.report()
    best = report.winner
    assert best.running
    recent = learner.race.recent(best.number)
    assert recent.items() <= report.recent._asdict().items()
    for number in learner.race.running:
        assert learner.race.recent(number)["loss"] >= recent["loss"]
    candidate = learner.race.candidates[best.number]
    for name in ("alpha", "precondition", "penalty"):
        assert getattr(best, name) == getattr(candidate, name, None)


def test_standard_errors_are_those_of_the_scores():
    X, y = data()
    recipe = Recipe(loss="log_loss", recipe="auto", alpha=1e-6, eta0=0.1, decay=0.1, precondition=0)
    learner = Learner(recipe)
    learner.learn(X, y)
    assert learner.race.entered == 1
    whole = learner.race.measure(0)
    assert whole["rows"] == ROWS
    assert whole["loss"] == pytest.approx(learner.progressive_loss)
    recent = learner.race.recent(0)
    assert recent["rows"] >= ROWS / 2
    # The losses of rows of one kind spread about as those of the model's own test rows.
    model = learner.model()
    spread = get_loss("log_loss").value(model.scores(X)[:, 0], y).std()
    assert recent["loss_std_err"] == pytest.approx(spread / np.sqrt(recent["rows"]), rel=0.1)


def banks(learner: Learner) -> list[list[int]]:
    return [lane.numbers for lane in learner.race.lanes]


def test_the_eighth_class_brings_a_second_bank():
    """So that it can be merged with races that knew eight from the start."""
    X, y = data("ten")
    seven, eight = X[y < 7], X[y < 8]
    late, known = learner_of("ten"), learner_of("ten")
    late.learn(seven[:1000], y[y < 7][:1000])
    assert len(banks(late)) == 4
    with pytest.warns(UserWarning, match="the class 7 first comes up in row"):
        late.learn(eight, y[y < 8])
    known.learn(eight[:1000], y[y < 8][:1000])
    assert {tuple(bank) for bank in banks(late)} <= {
        tuple(n for n in bank if n in late.race.running) for bank in banks(known)
    }


@pytest.mark.parametrize("loss", ["squared_hinge", "log_loss", "hinge", "squared_error"])
@pytest.mark.parametrize("alpha", [1.0, 1e6])
def test_a_strong_penalty_leaves_little(loss, alpha):
    X, y = data()
    learner = Learner(Recipe(loss=loss, recipe="auto", alpha=alpha))
    learner.learn(X, y)
    assert np.abs(learner.model().weights).max() < 1.5 / min(alpha, 10.0)


def interval(losses, rows=100.0):
    losses = np.asarray(losses)
    return np.stack(
        [np.full(len(losses), rows), *(rows * losses,) * 2, losses, rows * losses, 0 * losses],
        axis=1,
    )


def test_a_huge_loss_does_not_hide_those_that_follow():
    history = RaceHistory(2)
    history.add(
        [100, 200, 300],
        np.stack([interval([1e70, 1.0]), interval([3.0, 1.0]), interval([3.0, 1.0])]),
    )
    assert history.rated(100, np.zeros((2, SUMS))).tolist() == [3.0, 1.0]
    assert history.curves(np.zeros((2, SUMS)), 300)[0]["curve"] == [
        [100, 1e70],
        [200, 3.0],
        [300, 3.0],
    ]


def test_limits_follow_the_constant():
    rng = np.random.default_rng(0)
    lost = np.square(rng.normal(size=2000)) / 2.0
    lost[7] = 5e7
    cap, share = limits_of_all(lost, None, bounded=False).T
    assert share[7] * lost[7] < 0.06 * lost[share == 1.0].sum()
    assert (np.delete(share, 7) == 1.0).all()
    assert (cap >= 10.0 * lost).all()
    # A rare class is dear to the constant, and counts in full.
    rare = np.where(np.arange(2000) < 5, 6.0, 0.0025)
    cap, share = limits_of_all(rare, None, bounded=True).T
    assert (share == 1.0).all()
    assert (cap[:5] > 60.0).all()
    # One absurd weight does not.
    weights = np.where(np.arange(2000) == 3, 1e9, 1.0)
    share = limits_of_all(np.full(2000, 0.7), weights, bounded=True)[:, 1]
    assert (share * weights)[3] < 200.0


@pytest.mark.parametrize("left_out", [True, False])
@pytest.mark.parametrize(("rows", "wins"), [(1, True), (40, False)])
def test_capped_losses_do_not_hide_that_a_candidate_is_worse_than_the_constant(
    rows: int, wins: bool, left_out: bool
) -> None:
    """By capped losses all are better; one absurd row proves nothing, forty do."""
    X, y = data()
    learner = Learner(RECIPES["odds"])
    learner.learn(X[:2000], y[:2000])
    race = learner.race
    assert race is not None
    assert race.constant is not None
    sums = np.zeros((len(race.candidates), SUMS))
    high = 500.0 / rows  # the loss of each absurd row, of which 3 are counted
    sums[:] = [2000.0, 200.0 + 500.0, 30.0 + rows * high**2, 50.0, 200.0 + 3.0 * rows, rows]
    sums[race.constant] = [2000.0, 400.0, 90.0, 60.0, 400.0, 0.0]
    race.history = RaceHistory.of(len(race.candidates), [0, 1000, 2000], [sums / 2, sums / 2])
    for lane in race.lanes:
        lane.start_interval()
    if left_out:
        best = next(number for number in race.running if number != race.constant)
        race.left_out, race._best_penalty = dict(enumerate(sums)), best
    assert (race.leader().number != race.constant) == wins

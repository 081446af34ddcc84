"""The same model to the last bit: any batches, stopped or not, any number of threads."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from simulated import assert_same, problem, solver_of
from threadpoolctl import threadpool_limits

from polyak.learn.stored_state import StoredState
from polyak.losses import get_loss
from polyak.rows.sparse import as_rows

LOSSES = ("squared_error", "log_loss", "squared_hinge")


def rows_of(kind, n=9000):
    X, _ = problem("log_loss", n, 12)
    if kind == "sparse":  # features that come one after the other
        there = np.random.default_rng(9).random(X.shape) < np.geomspace(0.9, 0.001, 12)
        return as_rows(csr_matrix(np.where(there, X, 0.0)))
    return X.astype(np.float32) if kind == "float32" else X


def targets_of(loss, n=9000):
    return problem(loss, n, 12)[1]


def in_batches(lane, rows, y, weights, sizes):
    begin = 0
    for size in sizes:
        part = slice(begin, begin + size)
        lane.learn(rows[part], y[part], None if weights is None else weights[part])
        begin += size


@settings(max_examples=4)
@given(
    loss=st.sampled_from(LOSSES),
    kind=st.sampled_from(["sparse", "float32", "dense"]),
    weighted=st.booleans(),
    cuts=st.lists(st.integers(700, 9000), min_size=4, max_size=20, unique=True).map(sorted),
)
def test_batches_and_checkpoints_leave_no_trace(loss, kind, weighted, cuts):
    rows, y = rows_of(kind), targets_of(loss)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(y)) if weighted else None
    whole, parts, resumed = (solver_of(loss, rows[:1000], intervals=True) for _ in range(3))
    whole.learn(rows, y, weights)
    for size in np.diff([0, *cuts, len(y)]):
        part = slice(parts.clock, parts.clock + size)
        own = None if weights is None else weights[part]
        parts.learn(rows[part], y[part], own)
        page, arrays = resumed.state()
        resumed = solver_of(loss, rows[:1000], intervals=True)
        resumed.set_state(StoredState(json.loads(json.dumps(page)), arrays))
        resumed.learn(rows[part], y[part], own)
    assert_same(whole, parts)
    assert_same(whole, resumed)


def test_batches_of_32_bits_leave_no_trace():
    """Held in 32 bits after the first block, or in 64 from where a row comes that has them."""
    rows, y = rows_of("float32", 20_000), targets_of("log_loss", 20_000)
    lanes = [solver_of("log_loss", rows[:1000]) for _ in range(5)]
    lanes[0].learn(rows, y)
    in_batches(lanes[1], rows, y, None, [3000, 2, 6000, 10_998])
    assert_same(lanes[0], lanes[1])
    assert lanes[0]._held.rows(3).dtype == np.float32
    precise = rows.astype(np.float64)
    lanes[2].learn(precise, y)
    assert lanes[2]._held.rows(3).dtype == np.float64
    for lane, begin in ((lanes[3], 5000), (lanes[4], 9000)):  # both in the midst of a block
        lane.learn(rows[:begin], y[:begin])
        lane.learn(precise[begin:], y[begin:])
        assert lane._held.rows(3).dtype == np.float64
    for lane in (lanes[0], *lanes[3:]):
        np.testing.assert_allclose(lane.weights()[0], lanes[2].weights()[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_sums_and_scores_at_any_row(loss):
    X, y = rows_of("dense"), targets_of(loss)
    stops = [1, 63, 64, 65, 1000, 4095, 4096, 4097, 7000, 9000]
    whole, parts = (solver_of(loss, X[:1000]) for _ in range(2))
    scores = np.empty((len(y), len(whole)))
    notes = whole.learn(X, y, stops=stops, scores=scores)
    begin, pieces = 0, []
    for stop, note in zip(stops, notes, strict=True):
        piece = np.empty((stop - begin, len(parts)))
        parts.learn(X[begin:stop], y[begin:stop], scores=piece)
        pieces.append(piece)
        np.testing.assert_array_equal(parts.sums(), note)
        parts.start_interval()
        begin = stop
    np.testing.assert_array_equal(np.concatenate(pieces), scores)
    losses = get_loss(loss).value(scores, y[:, None])
    np.testing.assert_allclose(notes.sum(axis=0)[1], losses.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(notes.sum(axis=0)[2], np.square(losses).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(notes[4][1], losses[65:1000].sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_order_is_rows_taken_in_it(loss):
    X, y = rows_of("dense"), targets_of(loss)
    order = np.random.default_rng(3).permutation(len(y))[:7000]
    one, other = (solver_of(loss, X[:1000]) for _ in range(2))
    one.learn(X, y, order=order)
    other.learn(X[order], y[order])
    assert_same(one, other)


def test_threads_of_blas_leave_no_trace():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 300))
    y = np.where(X[:, 0] + rng.normal(size=5000) > 0, 1.0, -1.0)
    lanes = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            lanes.append(solver_of("log_loss", X[:1000]))
            lanes[-1].learn(X, y)
            lanes[-1].weights()
    for name, array in lanes[0].state()[1].items():
        np.testing.assert_array_equal(array, lanes[1].state()[1][name], err_msg=name)
    coef, intercept = (lane.weights() for lane in lanes)
    np.testing.assert_array_equal(coef[0], intercept[0])


def test_the_lane_gives_threads_back():
    program = (
        "import numpy as np, threadpoolctl as t\n"
        "from polyak.learn.newton.objective import Objective\n"
        "from polyak.learn.newton.solver import NewtonSolver\n"
        "before = [lib['num_threads'] for lib in t.threadpool_info()]\n"
        "lane = NewtonSolver(Objective('squared_error'), np.eye(3))\n"
        "lane.learn(np.eye(3), np.ones(3))\n"
        "lane.weights()\n"
        "assert before == [lib['num_threads'] for lib in t.threadpool_info()][:len(before)]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_chosen_go_on_as_they_stand(loss):
    X, y = rows_of("dense"), targets_of(loss)
    lane = solver_of(loss, X[:1000], penalties=(0.1, 1.0, 10.0))
    lane.learn(X[:5000], y[:5000])
    chosen = lane.select([1])
    np.testing.assert_allclose(chosen.sums()[:, 0], lane.sums()[:, 1], rtol=1e-14)
    np.testing.assert_array_equal(chosen.weights()[0][0], lane.select([1]).weights()[0][0])
    chosen.learn(X[5000:], y[5000:])
    lane.learn(X[5000:], y[5000:])
    np.testing.assert_allclose(chosen.weights()[0][0], lane.weights()[0][1], rtol=0.02, atol=0.01)

"""The same model to the last bit: any batches, stopped or not, any number of threads."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from simulated import assert_same, problem, solver_of
from threadpoolctl import threadpool_info, threadpool_limits

from polyak.learn.newton.block import one_thread
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


def test_an_interrupt_leaves_the_limit_working():
    """Also on the way in and out, where a count of those inside would stay too high."""

    def interrupted(number):
        left = number

        def count(frame, event, _):
            nonlocal left
            left -= event in ("call", "return")
            if not left:
                raise KeyboardInterrupt

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            with one_thread.one_blas_thread():
                pass
        except KeyboardInterrupt:
            return True
        finally:
            sys.setprofile(before)
        return False

    def threads():
        return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}

    number = 1
    with threadpool_limits(2, user_api="blas"):
        while interrupted(number):
            with one_thread.one_blas_thread():
                assert threads() == {1}
            assert threads() == {2}
            number += 1
    assert number > 20


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

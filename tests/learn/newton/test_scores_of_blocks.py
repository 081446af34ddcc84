"""Rows are scored by the weights before their block, each once, however many blocks there are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from simulated import batch_optimum, mean_loss, problem, solver_of

from polyak.learn.bank.settings import SUMS
from polyak.learn.newton.cadence import BLOCK, LONG_BLOCK
from polyak.losses import get_loss
from polyak.rows.sparse import as_rows

ROWS = 9 * LONG_BLOCK + 1000  # blocks have grown to twice their length


@pytest.mark.parametrize(  # with 60 columns, a matrix is not solved directly
    ("loss", "columns"), [("squared_error", 60), ("log_loss", 8), ("squared_hinge", 60)]
)
def test_late_rows_are_scored_by_good_weights(loss, columns):
    penalties = (0.1, 10.0)
    X, y = problem(loss, ROWS, columns)
    lane = solver_of(loss, as_rows(X)[:1000], penalties=penalties)
    scores, half = np.empty((ROWS, len(penalties))), ROWS // 2
    notes = lane.learn(X, y, scores=scores, stops=[half, ROWS])
    losses = get_loss(loss).value(scores, y[:, None])
    row = SUMS.index("loss")
    np.testing.assert_allclose(notes[1][row], losses[half:].sum(axis=0), rtol=1e-9)
    best = mean_loss(loss, *batch_optimum(loss, X[:half], y[:half]), X[half:], y[half:])
    assert (losses[half:].mean(axis=0) < 1.01 * best).all()


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_batches_leave_no_trace_in_scores_or_sums(loss):
    X, y = problem(loss, 3 * LONG_BLOCK, 8)
    whole, parted = (solver_of(loss, as_rows(X)[:1000]) for _ in range(2))
    scores = np.empty((2, len(X), len(whole)))
    whole.learn(X, y, scores=scores[0])
    begins = [0, 1, 700, BLOCK, BLOCK + 1, 3 * BLOCK - 5, 40_001, len(X)]
    for begin, end in itertools.pairwise(begins):
        some = slice(begin, end)
        parted.learn(X[some], y[some], scores=scores[1, some])
        parted.sums()
    np.testing.assert_array_equal(*scores)
    np.testing.assert_array_equal(whole.sums(), parted.sums())

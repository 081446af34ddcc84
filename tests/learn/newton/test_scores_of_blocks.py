"""Rows are scored by the weights before their block, each once, however many blocks there are."""

from __future__ import annotations

import numpy as np
import pytest
from simulated import batch_optimum, mean_loss, problem, solver_of

from polyak.learn.bank.settings import SUMS
from polyak.learn.newton.cadence import LONG_BLOCK
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

"""Wide dense rows for the tests of their lane, which begins at 256 columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.dense.solver import DenseSolver
from polyak.learn.learner import Learner
from polyak.learn.race.lanes.dense import DenseLane
from polyak.learn.recipes import Recipe

WIDTH = 300
LOG_LOSS = Recipe(loss="log_loss", recipe="auto")


def made(rows: int, classes: int = 5, width: int = WIDTH, seed: int = 0) -> tuple[Any, Any]:
    """Draw rows whose variances fall from axis to axis, as those of embeddings, and classes."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(width, width)))[0]
    X = rng.normal(size=(rows, width)) * np.arange(1, width + 1) ** -0.5 @ axes
    scores = X @ rng.normal(size=(width, classes)) + rng.gumbel(size=(rows, classes))
    return X.astype(np.float32), np.argmax(scores, axis=1)


def learned(X: Any, y: NDArray[Any], batch: int, **options: Any) -> Learner:
    """Return a learner of rows that came in batches."""
    learner = Learner(options.pop("recipe", LOG_LOSS), **options)
    for begin in range(0, len(y), batch):
        learner.learn(X[begin : begin + batch], y[begin : begin + batch])
    return learner


def solver_of(learner: Learner) -> DenseSolver:
    """Return the solver of the learner's dense lane."""
    assert learner.race is not None
    (lane,) = (lane for lane in learner.race.lanes if isinstance(lane, DenseLane))
    return lane.solver


def same_bits(some: Learner, other: Learner) -> None:
    """Check that two learners are in the same state."""
    (page, arrays), (other_page, other_arrays) = some.state(), other.state()
    assert page == other_page
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, other_arrays[name], err_msg=name)


def loss_of(model: Any, X: Any, y: NDArray[Any]) -> float:
    """Return the mean loss of a model of classes on rows."""
    scores = model.scores(X)
    if scores.shape[1] == 1:
        scores = np.concatenate([-scores / 2, scores / 2], axis=1)
    top = scores.max(axis=1, keepdims=True)
    own = scores[np.arange(len(y)), np.searchsorted(model.classes, y)]
    return float(np.mean(np.log(np.exp(scores - top).sum(axis=1)) + top[:, 0] - own))

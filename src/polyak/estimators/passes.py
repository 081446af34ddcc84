"""How often to learn the same rows: ``max_iter="auto"``.

One pass is enough where rows are many, or where block Newton steps lead: they are at the optimum
of the rows then. Where rows are few, further passes of averaged SGD help, until the model begins to
know the rows by heart; rows held back tell when.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.estimators.run import Run
from polyak.model.evaluation import Evaluation
from polyak.rows.sparse import as_rows, take_rows

Order = NDArray[np.int64]

FEW_ROWS = 30_000
MOST_PASSES = 30
LEAST_GAIN = 1e-3
"""A pass that lowers the loss by a smaller share than this is the last."""


def held_back(rows: int) -> int:
    """Say how many rows to hold back: a tenth, but enough to judge by if that is not.

    Examples
    --------
    >>> held_back(5000), held_back(100), held_back(30), held_back(1)
    (500, 20, 10, 0)
    """
    return max(rows // 10, min(20, rows // 3))


def learn_while_it_helps(
    run: Run,
    rng: np.random.RandomState,
    data: tuple[Any, NDArray[Any], NDArray[Any] | None],
    present: Order,
    shuffle: bool,
    learn: Callable[[Order | None, int], None],
) -> int:
    """Hold some rows back, learn the others until that no longer helps, then learn these too.

    ``learn`` is given an order of rows and the number of the pass; with None it finishes.

    Returns
    -------
    int
        How many passes were made.
    """
    X, targets, weights = data
    is_held = np.zeros(len(present), dtype=bool)
    is_held[rng.permutation(len(present))[: held_back(len(present))]] = True
    held, rest = present[is_held], present[~is_held]
    held_rows, held_targets = take_rows(as_rows(X), held), targets[held]
    held_weights = None if weights is None else weights[held]

    def loss() -> float:
        assert run.learner is not None
        evaluation = Evaluation(run.learner.model())
        evaluation.add(held_rows, held_targets, held_weights)
        return evaluation.report()["loss"]

    lowest, before, passes = np.inf, None, 0
    while passes < MOST_PASSES:
        learn(rng.permutation(rest) if shuffle else rest, passes)
        if not passes:
            learn(None, passes)
        passes += 1
        if not len(held) or run.at_its_optimum:
            break
        now = loss()
        if before is not None and not now <= lowest:
            run.go_back(before)
            passes -= 1
            break
        if not now < (1.0 - LEAST_GAIN) * lowest:
            break
        lowest, before = now, copy.deepcopy(run.learner)
    if len(held):
        learn(rng.permutation(held) if shuffle else held, 0)
    return passes

"""The choice where all rows are at hand and few: by leaving each of them out in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.leave_one_out import LITTLE_WORK
from polyak.learn.newton.block.one_thread import one_blas_thread
from polyak.learn.race.history import RATED
from polyak.learn.race.lanes.constant import ConstantLane
from polyak.learn.race.lanes.newton import NewtonRacer
from polyak.learn.race.row_limits import limits_of_all
from polyak.rows.sparse import Rows
from polyak.threads import on_threads

Floats = NDArray[np.float64]


FOLDS = 5
"""Rows are left out in this many parts where weights are refitted."""


def sums_left_out(
    newton: NewtonRacer,
    constant: ConstantLane,
    rows: Rows,
    targets: NDArray[Any],
    weights: Floats | None,
    threads: int,
) -> dict[int, Floats]:
    """Return the sums of the constant and of penalties over rows that they were fitted without.

    The rows are all that were learned. The penalties are those around the best one. Leaving a row
    out by one Newton step is wrong where classes are nearly separated, or weights hardly penalised:
    if the constant seems better than all penalties, or the weights themselves are asked for, the
    best of them, or the one asked for, is refitted by folds.
    """
    lane, bounded = newton.newton, constant.problem.classifies
    of_constant = constant.scores_left_out(targets, weights)
    limits = limits_of_all(lane.losses_of(of_constant, targets), weights, bounded=bounded)
    with one_blas_thread():
        scores_of = newton.left_out(rows, targets, weights)
        path = [int(place) for place in np.argsort(lane.penalties)]

        def sums_of(place: int) -> Floats:
            return newton.sums_of(scores_of(place), targets, weights, limits)

        if lane.can_leave_out(len(rows), LITTLE_WORK):
            known = {place: sums_of(place) for place in path}
        else:
            known = _around_the_best(sums_of, path, path.index(lane.lead), threads)
    alone = newton.sums_of(of_constant, targets, weights, limits)
    best = min(known, key=lambda place: (known[place][RATED], place))
    if newton.stays:
        best = newton.numbers.index(newton.stays[0])
    one_step_will_do = lane.exact or (known[best][RATED] <= alone[RATED] and not newton.stays)
    if len(rows) >= FOLDS and not one_step_will_do:
        scores = newton.fold_scores(rows, targets, weights, best, FOLDS)
        known[best] = newton.sums_of(scores, targets, weights, limits)
    return {newton.numbers[place]: sums for place, sums in known.items()} | {
        constant.numbers[0]: alone
    }


def _around_the_best(
    sums_of: Callable[[int], Floats], path: list[int], start: int, threads: int
) -> dict[int, Floats]:
    """Return the sums of penalties from one on, on both sides until the best has neighbours.

    Along the path of penalties the loss falls and rises again as a rule, and its ends are the least
    likely to be the best: where rows are wide, and leaving them out takes as long as learning them
    did, they are passed over.
    """
    known: dict[int, Floats] = {}
    best = start
    while new := [p for p in path[max(best - 1, 0) : best + 2] if p not in known]:
        known |= zip(new, on_threads(sums_of, new, threads), strict=True)
        rated = np.full(len(path), np.inf)
        for place, sums in known.items():
            rated[path.index(place)] = sums[RATED]
        best = int(np.argmin(rated))
    return known

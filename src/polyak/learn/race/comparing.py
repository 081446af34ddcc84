"""Who is best where all rows are at hand and few: by leaving each of them out in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.leave_one_out import LITTLE_WORK
from polyak.learn.newton.block.one_thread import one_blas_thread
from polyak.learn.race.lanes.constant import ConstantLane
from polyak.learn.race.lanes.newton import NewtonRacer
from polyak.learn.race.past import proportionate
from polyak.rows.sparse import Rows
from polyak.threads import on_threads

Floats = NDArray[np.float64]


def best_left_out(
    newton: NewtonRacer,
    constant: ConstantLane | None,
    rows: Rows,
    targets: NDArray[Any],
    weights: Floats | None,
    threads: int,
) -> int | None:
    """Give the number of the penalty, or the constant, that loses least on rows it does not know.

    The rows are all that were learned. None where nothing is a number any more.
    """
    lane = newton.newton
    with one_blas_thread():
        losses_of = lane.leaving_out(rows, targets, weights)
        path = [int(place) for place in np.argsort(lane.penalties)]
        if lane.can_leave_out(len(rows), LITTLE_WORK):
            known = {place: losses_of(place) for place in path}
        else:
            known = _around_the_best(losses_of, path, path.index(lane.lead), threads)
    losses = np.stack(list(known.values()), axis=1)
    numbers, usual = [newton.numbers[place] for place in known], _usual(losses)
    if constant is not None:
        alone = constant.losses_left_out(targets, weights)
        losses, numbers = np.column_stack([alone, losses]), [*constant.numbers, *numbers]
    means = losses[usual].mean(axis=0)
    return numbers[int(np.nanargmin(means))] if np.isfinite(means).any() else None


def _around_the_best(
    losses_of: Callable[[int], Floats], path: list[int], start: int, threads: int
) -> dict[int, Floats]:
    """Give what rows lose by penalties from one on, on both sides until the best has neighbours.

    Along the path of penalties what is lost falls and rises again as a rule, and the ends of it
    are the least likely to be the best: where rows are wide, and leaving them out takes as long as
    learning them did, they are passed over.
    """
    known: dict[int, Floats] = {}
    best = start
    while new := [p for p in path[max(best - 1, 0) : best + 2] if p not in known]:
        known |= zip(new, on_threads(losses_of, new, threads), strict=True)
        means = np.full(len(path), np.inf)
        losses = np.stack(list(known.values()), axis=1)
        found = losses[_usual(losses)].mean(axis=0)
        means[[path.index(place) for place in known]] = np.where(np.isnan(found), np.inf, found)
        best = int(np.argmin(means)) if np.isfinite(means).any() else min(best + 1, len(path) - 1)
    return known


def _usual(losses: Floats) -> NDArray[np.bool_]:
    """Tell which rows count: one absurd one, whatever the penalty, must not decide."""
    return proportionate(losses.min(axis=1))

"""The choice where all rows are at hand and few: by leaving each of them out in turn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.leave_one_out import LITTLE_WORK
from polyak.learn.newton.block.one_thread import one_blas_thread
from polyak.learn.race.lanes.constant import ConstantLane
from polyak.learn.race.lanes.newton import NewtonRacer
from polyak.learn.race.row_limits import limits_of_all
from polyak.learn.sums import RATED
from polyak.learn.training_rows import TrainingRows
from polyak.threads import on_threads

Floats = NDArray[np.float64]


FOLDS = 5
"""Rows are left out in this many parts where weights are refitted."""
AS_GOOD = 0.1
"""Penalties whose losses differ by less than this many standard errors, of the loss or of its gain
over the constant's, are equally good. The loss alone would not do where noise has long tails, nor
the gain where features explain nearly everything. Chosen on simulated tables of dummies and of
dense columns, 60 to 2,000 rows: the first gain up to 10% of test loss, the others hardly change."""
RARE, AS_GOOD_WHERE_RARE = 50, 0.5
"""With fewer rows of a class one Newton step is not to be trusted, so all penalties are refitted by
folds, and more of them are equally good. Of 100 sets of 200 rows with 2 to 5% positive ones, beside
columns of words, 10 end above 1.02 of the constant's loss instead of 23."""


class LeftOut(NamedTuple):
    """What candidates lose on rows that they were fitted without."""

    sums: dict[int, Floats]
    """The sums of each candidate, by its number."""
    best: int
    """The best candidate but for the constant."""
    has_absurd_rows: bool
    """Whether targets or weights of some rows are out of proportion, and count in part."""


def sums_left_out(
    newton: NewtonRacer,
    constant: ConstantLane,
    given: TrainingRows,
    threads: int,
) -> LeftOut:
    """Compare the constant and the penalties around the best one on rows left out in turn.

    The rows are all that were learned. Among equally good penalties the heaviest is the best: it is
    the safest where rows tell nothing, as of a level without a positive row, whose weight has no
    lower bound.

    Leaving a row out by one Newton step is wrong where classes are nearly separated, or weights
    hardly penalised: if the constant seems better than all penalties, or the weights themselves are
    asked for, the best of them, or the one asked for, is refitted by folds; and so are all of them
    where one of two classes is rare.
    """
    if own := newton.sums_left_out(constant.numbers[0]):
        best = min(
            own.keys() - set(constant.numbers), key=lambda number: (own[number][RATED], number)
        )
        return LeftOut(own, best, has_absurd_rows=False)
    targets, weights = given.targets, given.weights
    lane, bounded = newton.newton, constant.problem.classifies
    penalties = lane.objective.penalties
    of_constant = constant.scores_left_out(given)
    losses_alone = lane.losses_of(of_constant, targets)
    limits = limits_of_all(losses_alone, weights, bounded=bounded)
    rare = False
    if bounded and constant.problem.outputs == 1 and not newton.stays and given.total >= FOLDS:
        positive = int(np.count_nonzero(targets > 0))
        rare = min(positive, given.total - positive) < RARE
    with one_blas_thread():
        by_folds = partial(newton.fold_scores, given, folds=FOLDS)
        scores_of = by_folds if rare else newton.leaving_out(given)
        path = [int(place) for place in np.argsort(penalties)]

        scores: dict[int, Floats] = {}

        def sums_of(place: int) -> Floats:
            scores[place] = scores_of(place)
            return newton.sums_of(scores[place], targets, weights, limits)

        if not rare and lane.can_leave_out(given.total, LITTLE_WORK):
            known = {place: sums_of(place) for place in path}
        else:
            known = _around_the_best(sums_of, path, path.index(lane.lead), threads)
    alone = newton.sums_of(of_constant, targets, weights, limits)
    if newton.stays:
        best = newton.numbers.index(newton.stays[0])
    else:
        lowest = min(known, key=lambda place: (known[place][RATED], place))
        losses = lane.losses_of(scores[lowest], targets)
        gains = losses_alone - losses
        std_err = min(_std_err(one, limits, weights) for one in (losses, gains))
        most = known[lowest][RATED] + (AS_GOOD_WHERE_RARE if rare else AS_GOOD) * std_err
        alike = [place for place in known if known[place][RATED] <= most]
        best = max([lowest, *alike], key=penalties.__getitem__)
    one_step_will_do = lane.objective.exact or (
        known[best][RATED] <= alone[RATED] and not newton.stays
    )
    if given.total >= FOLDS and not (rare or one_step_will_do):
        refitted = by_folds(best)
        known[best] = newton.sums_of(refitted, targets, weights, limits)
    sums = {newton.numbers[place]: own for place, own in known.items()}
    absurd = bool((limits[:, 1] < 1.0).any())
    return LeftOut(sums | {constant.numbers[0]: alone}, newton.numbers[best], absurd)


def _std_err(losses: Floats, limits: Floats, weights: Floats | None) -> float:
    """Return the standard error of a sum of losses, or of differences, within the rows' limits."""
    cap, share = limits.T
    counts = share if weights is None else share * weights
    rated = np.where(np.isfinite(losses), np.clip(losses, -cap, cap), cap)
    return float(np.linalg.norm(counts * (rated - counts @ rated / counts.sum())))


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

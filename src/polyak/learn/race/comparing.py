"""The choice where all rows are at hand and few: by leaving each of them out in turn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.leave_one_out import FEW_ROWS, LITTLE_WORK
from polyak.learn.newton.block.one_thread import one_blas_thread
from polyak.learn.race.lanes.constant import ConstantLane
from polyak.learn.race.lanes.newton import NewtonRacer
from polyak.learn.race.row_limits import limits_of_all
from polyak.learn.sums import RATED
from polyak.learn.training_rows import TrainingRows
from polyak.rows.taken import spread_evenly

if TYPE_CHECKING:
    from polyak.learn.newton.learned import LeftOutScores

Floats = NDArray[np.float64]


MOST_LEFT_OUT = 8192
"""Of more rows at hand, this many are left out, each in turn."""
FOLDS = 5
"""Rows are left out in this many parts where weights are refitted."""
AS_GOOD = 0.1
"""Penalties whose losses differ by less than this many standard errors, of the loss or of its gain
over the constant's, are equally good. The loss alone would not do where noise has long tails, nor
the gain where features explain nearly everything. Chosen on simulated tables of dummies and of
dense columns, 60 to 2,000 rows: the first gain up to 10% of test loss, the others hardly change."""
RARE, AS_GOOD_WHERE_RARE = 50, 0.5
"""With fewer rows of a class one Newton step is not to be trusted, so all penalties are refitted by
folds, and more of them are equally good. Of 100 sets of 200 rows with 2 to 5% positive ones beside
columns of words, on which nothing was chosen, 3 end above 1.02 of the constant's loss, and of 500
rows 3 too; by LogisticRegressionCV 13 and 7."""
HALF = 0.5
"""Nor is a penalty as good whose difference is above this many standard errors of its own: of many
rows even small differences are certain."""

HARDLY, FEW_A_WEIGHT = 1.0, 10.0
"""Where a penalty below the first number of rows seems best, though there are fewer rows in doubt
for each weight than the second, classes may be separated: a step that leaves a row out does not see
it, and all penalties are refitted by folds. Of 473 hotel stays in eight states that loss was 0.57
instead of 1.82 on new rows. A row of which the model is certain counts for nothing, one of even
odds for one."""


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
    fitted_with: Floats | None = None,
) -> LeftOut:
    """Compare the constant and the penalties around the best one on rows left out in turn.

    The rows are all that were learned, ``fitted_with`` other weights if those are given. Among
    equally good penalties the heaviest is the best: it is the safest where rows tell nothing, as of
    a level without a positive row, whose weight has no lower bound.

    Leaving a row out by one Newton step is wrong where classes are nearly separated, or weights
    hardly penalised: if the constant seems better than all penalties, or the weights themselves are
    asked for, the best of them, or the one asked for, is refitted by folds; and so are all of them
    where one of two classes is rare.
    """
    if known_sums := newton.sums_left_out(constant.numbers[0]):
        places = known_sums.keys() - set(constant.numbers)
        best = min(places, key=lambda number: (known_sums[number][RATED], number))
        return LeftOut(known_sums, best, has_absurd_rows=False)
    times = 1.0
    if given.total > MOST_LEFT_OUT:
        some = spread_evenly(given.total, MOST_LEFT_OUT)
        times, given = given.total / len(some), given._replace(order=some).taken()
        fitted_with = None if fitted_with is None else fitted_with[some]
    targets, weights = given.targets, given.weights
    lane, bounded = newton.newton, constant.problem.classifies
    penalties = lane.objective.penalties
    of_constant = constant.scores_left_out(given)
    losses_alone = lane.losses_of(of_constant, targets)
    limits = limits_of_all(losses_alone, weights, bounded=bounded)
    rare = False
    two = bounded and constant.problem.outputs == 1
    if two and times == 1.0 and not newton.stays and given.total >= FOLDS:
        positive = int(np.count_nonzero(targets > 0))
        rare = min(positive, given.total - positive) < RARE
    with one_blas_thread():
        own = given if fitted_with is None else given._replace(weights=fitted_with)
        by_folds = partial(newton.fold_scores, own, folds=FOLDS)
        scores_of = by_folds if rare else newton.leaving_out(own, times)
        path = [int(place) for place in np.argsort(penalties)]

        scores: dict[int, Floats] = {}

        def sums_of(places: list[int], scores_of: LeftOutScores = scores_of) -> dict[int, Floats]:
            found = scores_of(places)
            scores.update(zip(places, found.swapaxes(0, 1), strict=True))
            return dict(zip(places, newton.sums_of(found, targets, weights, limits), strict=True))

        if rare or lane.can_leave_out(min(given.total, FEW_ROWS), LITTLE_WORK):
            known = sums_of(path)
        else:
            known = _around_the_best(sums_of, path, path.index(lane.lead))
    alone = newton.sums_of(of_constant[:, None], targets, weights, limits)[0]

    def choose(alike: float) -> int:
        """Return the place of the heaviest penalty among those that are equally good."""
        lowest = min(known, key=lambda place: (known[place][RATED], place))
        losses = lane.losses_of(scores[lowest], targets)
        gains = losses_alone - losses
        most = alike * min(_std_err(one, limits, weights) for one in (losses, gains))

        def as_good(place: int) -> bool:
            worse = known[place][RATED] - known[lowest][RATED]
            if rare or worse > most:
                return bool(worse <= most)
            apart = lane.losses_of(scores[place], targets) - losses
            return bool(worse <= HALF * _std_err(apart, limits, weights))

        heavier = [p for p in path if p in known and penalties[p] > penalties[lowest]]
        return next(filter(as_good, reversed(heavier)), lowest)

    if newton.stays:
        best = newton.numbers.index(newton.stays[0])
    else:
        best = choose(AS_GOOD_WHERE_RARE if rare else AS_GOOD)
        own_class = np.exp(-lane.losses_of(scores[best], targets))
        in_doubt = lane.rows_a_weight * float(np.mean(4.0 * own_class * (1.0 - own_class)))
        separable = bounded and penalties[best] < HARDLY and in_doubt < FEW_A_WEIGHT
        if separable and times == 1.0 and not rare and given.total >= FOLDS:
            known |= sums_of(list(known), by_folds)
            best = choose(AS_GOOD)
    one_step_will_do = lane.objective.exact or (
        known[best][RATED] <= alone[RATED] and not newton.stays
    )
    if given.total >= FOLDS and times == 1.0 and not (rare or one_step_will_do):
        known |= sums_of([best], by_folds)
    sums = {newton.numbers[place]: own for place, own in known.items()}
    newton.count(scores, best, given)
    absurd = bool((limits[:, 1] < 1.0).any())
    return LeftOut(sums | {constant.numbers[0]: alone}, newton.numbers[best], absurd)


def shares_of(newton: NewtonRacer, constant: ConstantLane, given: TrainingRows) -> Floats:
    """Return how much each row counts: less than one where its target is out of proportion."""
    losses = newton.newton.losses_of(constant.scores_left_out(given), given.targets)
    limits = limits_of_all(losses, given.weights, bounded=constant.problem.classifies)
    return np.ascontiguousarray(limits[:, 1])


def _std_err(losses: Floats, limits: Floats, weights: Floats | None) -> float:
    """Return the standard error of a sum of losses, or of differences, within the rows' limits."""
    cap, share = limits.T
    counts = share if weights is None else share * weights
    rated = np.where(np.isfinite(losses), np.clip(losses, -cap, cap), cap)
    return float(np.linalg.norm(counts * (rated - counts @ rated / counts.sum())))


def _around_the_best(
    sums_of: Callable[[list[int]], dict[int, Floats]], path: list[int], start: int
) -> dict[int, Floats]:
    """Return the sums of penalties from one on, on both sides until the best has neighbours.

    Along the path of penalties the loss falls and rises again as a rule, and its ends are the least
    likely to be the best: where rows are wide, and leaving them out takes as long as learning them
    did, they are passed over.
    """
    known: dict[int, Floats] = {}
    best = start
    while new := [p for p in path[max(best - 1, 0) : best + 2] if p not in known]:
        known |= sums_of(new)
        rated = np.full(len(path), np.inf)
        for place, sums in known.items():
            rated[path.index(place)] = sums[RATED]
        best = int(np.argmin(rated))
    return known

"""Who drops out: how many candidates may run, by the rows there were and the memory they take."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from polyak._core import NoRoom, free_memory
from polyak.errors import DataError, DivergenceError
from polyak.learn.newton.sparse.asking import too_wide
from polyak.learn.race.lanes.lane import Lane
from polyak.learn.race.lanes.newton import NewtonRacer
from polyak.learn.race.lanes.sgd import SgdLane
from polyak.learn.race.milestones import FIRST_DECISION
from polyak.learn.recipes import AnyCandidate, Candidate, Recipe
from polyak.learn.recipes.candidates import (
    BYTES_PER_FEATURE,
    FEWEST_CANDIDATES,
    MOST_BYTES,
    PEAK_BYTES_PER_FEATURE,
)


def most_after(rows: int, entered: int) -> int:
    """Say how many of those who entered may run after so many rows.

    Examples
    --------
    >>> [most_after(rows, 54) for rows in (1000, 8000, 64_000, 512_000)]
    [34, 9, 2, 1]
    """
    share: float = (FIRST_DECISION / (2 * max(rows, 1))) ** (2 / 3)
    return max(round(entered * share), 1)


def best_and_slower(best: Sequence[int], keep: int, candidates: Sequence[AnyCandidate]) -> set[int]:
    """Give so many of the best, and with each who may be ahead of it later.

    Rates that follow gradients are best small where rows are many: at every doubling the next
    smaller one is still behind, and in the end it leads. They count among the best.
    """
    chosen: set[int] = set()
    for number in best:
        if len(chosen) >= keep:
            break
        slower = _next_slower(number, candidates)
        chosen |= {number} if slower is None else {number, slower}
    return chosen


def _next_slower(number: int, candidates: Sequence[AnyCandidate]) -> int | None:
    mine = candidates[number]
    if not isinstance(mine, Candidate) or mine.adagrad is None:
        return None
    rates = {
        other: one.schedule.gamma0
        for other, one in enumerate(candidates)
        if isinstance(one, Candidate)
        and one.shares_bank_with(mine)
        and one.schedule.gamma0 < mine.schedule.gamma0
    }
    return max(rates, key=rates.__getitem__, default=None)


def nobody_left(lanes: Sequence[Lane], recipe: Recipe) -> Exception:
    """Say why there is nobody who could go on."""
    from polyak.learn.newton.limits import TOO_MANY

    for lane in lanes:
        if isinstance(lane, NewtonRacer) and lane.newton.left == TOO_MANY:
            return DataError(too_wide(recipe, lane.newton.widest))
    return DivergenceError("the weights overflowed")


def reserve_of(lanes: Sequence[Lane]) -> set[int]:
    """Return the candidates that only win should Newton steps have to leave.

    Where ``alpha`` or the kind of penalty is given, so is what is to be minimised: Newton steps are
    at its optimum, and others on their way.
    """
    newton = [lane.newton for lane in lanes if isinstance(lane, NewtonRacer)]
    if not newton or newton[0].sparsity is None or newton[0].closed:
        return set()
    others = [lane.numbers for lane in lanes if isinstance(lane, SgdLane)]
    return {number for numbers in others for number in numbers}


def widest_for(running: int, models_each: int) -> int:
    """Say how wide rows may be for so many candidates to go on, so that memory stays bounded.

    It undoes `polyak.learn.recipes.candidates.most_candidates`.

    Examples
    --------
    >>> widest_for(54, 1), widest_for(4, 1) == sys.maxsize
    (77672, True)
    """
    if running <= FEWEST_CANDIDATES:
        return sys.maxsize
    return MOST_BYTES // (BYTES_PER_FEATURE * models_each * running)


def require_room(width: int, running: int, models_each: int) -> None:
    """Raise NoRoom for rows so wide that even a few candidates would not fit into free memory."""
    needed = PEAK_BYTES_PER_FEATURE * width * models_each * min(running, FEWEST_CANDIDATES)
    free = free_memory()
    if needed > free:
        raise NoRoom(
            f"the weights of {width} features would take {needed / 1e9:.1f} GB of memory, of "
            f"which {free / 1e9:.1f} GB are free"
        )

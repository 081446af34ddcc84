"""When candidates are eliminated, and how many keep running.

Milestones are the numbers of rows at which a race records every candidate's losses. At every
doubling of the rows, the candidates with the highest losses are eliminated; some are eliminated
earlier where rows are too wide for the memory that all of them would take.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from polyak._core import NoRoom, free_memory
from polyak.learn.recipes import AnyCandidate
from polyak.learn.recipes.candidates import (
    BYTES_PER_FEATURE,
    FEWEST_CANDIDATES,
    MOST_BYTES,
    PEAK_BYTES_PER_FEATURE,
)

Floats = NDArray[np.float64]

FIRST_DECISION = 1000
"""The first candidates are eliminated after this many rows, more at every doubling."""
PER_DOUBLING = 8
"""Milestones from one doubling of the rows to the next."""
FEW_ROWS = 32
"""Up to this many rows milestones are at doublings only."""

EARLY, LATE = 16_000, 64_000
"""Before this many rows averaged SGD may be ahead of Newton steps by chance, or because there were
few rows per feature; and small rates ahead of large ones because they fluctuate less."""

CLEARLY = 0.99
"""A candidate of constant rate leads with at most this share of the loss of the best other one."""
LATELY, HALF = 7 / 8, 1 / 2
"""Its loss must be lower both since this share of the rows and since the other."""
FIRST_CHOICE = 2000
"""It does not lead before this many rows."""
MANY_ROWS = 16_000
"""Only the best of them goes on after this many rows, so that they cost little."""


# -- milestones --------------------------------------------------------------------------------


def next_milestone(rows: int) -> int:
    """Return the first milestone after ``rows``; from one to the next they grow by a ratio."""
    if rows < FEW_ROWS:
        return 1 << rows.bit_length()
    place = math.floor(math.log2(max(rows, 1) / FIRST_DECISION) * PER_DOUBLING) - 1
    while True:
        milestone: int = round(FIRST_DECISION * 2.0 ** (place / PER_DOUBLING))
        if milestone > rows:
            return milestone
        place += 1


def milestones_between(begin: int, end: int) -> list[int]:
    """Return all milestones after ``begin`` rows and up to ``end`` rows.

    Examples
    --------
    >>> milestones_between(1000, 1300)
    [1091, 1189, 1297]
    """
    found = []
    milestone = next_milestone(begin)
    while milestone <= end:
        found.append(milestone)
        milestone = next_milestone(milestone)
    return found


def next_doubling(rows: int) -> int:
    """Return the first number after ``rows`` at which candidates are eliminated."""
    return FIRST_DECISION << (rows // FIRST_DECISION).bit_length()


def is_doubling(rows: int) -> bool:
    """Whether candidates are eliminated at this number of rows."""
    quotient, rest = divmod(rows, FIRST_DECISION)
    return rest == 0 and quotient & (quotient - 1) == 0 and quotient > 0


# -- elimination -------------------------------------------------------------------------------


def most_after(rows: int, entered: int) -> int:
    """Return the number of candidates that go on after ``rows`` rows, of those that entered.

    Examples
    --------
    >>> [most_after(rows, 54) for rows in (1000, 8000, 64_000, 512_000)]
    [34, 9, 2, 1]
    """
    share: float = (FIRST_DECISION / (2 * max(rows, 1))) ** (2 / 3)
    return max(round(entered * share), 1)


def fewest_after(rows: int) -> int:
    """Return how many of a lane's best candidates go on while others may be ahead by chance."""
    return 3 if rows < EARLY else 2 if rows < LATE else 0


def best_and_slower(best: Sequence[int], keep: int, candidates: Sequence[AnyCandidate]) -> set[int]:
    """Return the ``keep`` best candidates, counting with each the first that may overtake it."""
    chosen: set[int] = set()
    for number in best:
        if len(chosen) >= keep:
            break
        slower = [n for n, one in enumerate(candidates) if one.may_overtake(candidates[number])]
        for first in slower:
            if not any(candidates[first].may_overtake(candidates[other]) for other in slower):
                chosen.add(first)
                break
        chosen.add(number)
    return chosen


def widest_for(running: int, models_each: int) -> int:
    """Return the largest width of rows at which ``running`` candidates fit into bounded memory.

    It is the inverse of `polyak.learn.recipes.candidates.most_candidates`.

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


# -- drift -------------------------------------------------------------------------------------


def moving_candidates(candidates: Sequence[AnyCandidate]) -> set[int]:
    """Return the numbers of those with a constant rate, unless all were asked to have one.

    Averaged SGD and block Newton steps count all rows, so they find the best model for all of them.
    Where the truth itself moves, SGD at a constant rate forgets as it learns. Such candidates run
    beside the others where rows are learned as they come. They eliminate no other candidate, and
    lead only where their loss was clearly lower of late.
    """
    moving = {number for number, one in enumerate(candidates) if one.never_rests}
    return moving if len(moving) < sum(one.is_stochastic for one in candidates) else set()


def most_moving(rows: int) -> int:
    """Return the number of candidates of constant rate that go on after ``rows`` rows."""
    return 1 if rows >= MANY_ROWS else sys.maxsize


def moving_leader(
    best: int, moving: Sequence[int], rows: int, losses: Callable[[float], Floats]
) -> int:
    """Return the leader: ``best``, or the best of constant rate where that is clearly better.

    ``losses`` returns those of all candidates since a number of rows.

    Examples
    --------
    >>> moving_leader(0, [1, 2], 4000, lambda since: np.array([1.0, 0.9, 0.8]))
    2
    >>> moving_leader(0, [1, 2], 4000, lambda since: np.array([1.0, 0.999, 0.995]))
    0
    """
    if not moving or rows < FIRST_CHOICE:
        return best
    lately, half = losses(LATELY * rows), losses(HALF * rows)
    first = min(moving, key=lambda number: (lately[number], number))
    better = lately[first] < CLEARLY * lately[best] and half[first] < CLEARLY * half[best]
    return first if better else best

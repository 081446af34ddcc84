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
from polyak.learn.recipes import AnyCandidate, Candidate
from polyak.learn.recipes.candidates import (
    BYTES_PER_FEATURE,
    FEWEST_CANDIDATES,
    MOST_BYTES,
    PEAK_BYTES_PER_FEATURE,
)

Floats = NDArray[np.float64]

FIRST_DECISION = 1000
"""The first candidates drop out after this many rows, more at every doubling."""
PER_DOUBLING = 8
FEW_ROWS = 32
"""Up to here they are at doublings alone: of few rows there is little to tell."""

CLEARLY = 0.99
"""Who does not rest leads with at most this share of the loss of the best of the others."""
LATELY, HALF = 7 / 8, 1 / 2
FIRST_CHOICE = 2000
MANY_ROWS = 16_000
"""What suits the stream is known by then."""


# -- milestones --------------------------------------------------------------------------------


def next_milestone(rows: int) -> int:
    """Give the first milestone beyond: eight to every doubling, evenly spaced by ratio."""
    if rows < FEW_ROWS:
        return 1 << rows.bit_length()
    place = math.floor(math.log2(max(rows, 1) / FIRST_DECISION) * PER_DOUBLING) - 1
    while True:
        milestone: int = round(FIRST_DECISION * 2.0 ** (place / PER_DOUBLING))
        if milestone > rows:
            return milestone
        place += 1


def milestones_between(begin: int, end: int) -> list[int]:
    """Give all milestones beyond the one number of rows and up to the other.

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
    """Give the first number of rows beyond at which somebody may drop out."""
    return FIRST_DECISION << (rows // FIRST_DECISION).bit_length()


def is_doubling(rows: int) -> bool:
    """Tell whether this is such a number of rows."""
    quotient, rest = divmod(rows, FIRST_DECISION)
    return rest == 0 and quotient & (quotient - 1) == 0 and quotient > 0


# -- elimination -------------------------------------------------------------------------------


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
        and one.of_the_bank() == mine.of_the_bank()
        and one.schedule.gamma0 < mine.schedule.gamma0
    }
    return max(rates, key=rates.__getitem__, default=None)


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


# -- drift -------------------------------------------------------------------------------------


def moving_candidates(candidates: Sequence[AnyCandidate]) -> set[int]:
    """Give the numbers of those that do not rest, unless somebody wants them all to be so."""
    averaged = {n: c for n, c in enumerate(candidates) if isinstance(c, Candidate)}
    moving = {n for n, c in averaged.items() if c.never_rests}
    return moving if len(moving) < len(averaged) else set()


def most_moving(rows: int) -> int:
    """Say how many go on after so many rows."""
    return 1 if rows >= MANY_ROWS else sys.maxsize


def moving_leader(
    best: int, moving: Sequence[int], rows: int, losses: Callable[[float], Floats]
) -> int:
    """Give who leads: the best of the others, or who does not rest where that is clearly better.

    ``losses`` are those of all candidates since so many rows.

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

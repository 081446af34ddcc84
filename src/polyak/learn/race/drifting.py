"""Candidates that do not stop moving, for streams that drift.

Averaged SGD and block Newton steps count all rows, so the best for all of them is what they find.
Where the truth itself moves, by and by or at once, SGD at a constant rate forgets as it learns.
Candidates of a few such rates run beside the others where rows are learned as they come. They are
for that alone: nobody drops out because of them, and they lead only where their loss was clearly
lower of late, in the last eighth of the rows and in the last half. After many rows only the best of
them goes on, so that they cost little.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from polyak.learn.recipes import AnyCandidate, Candidate

Floats = NDArray[np.float64]

CLEARLY = 0.99
"""Who does not rest leads with at most this share of the loss of the best of the others."""
LATELY, HALF = 7 / 8, 1 / 2
FIRST_CHOICE = 2000
MANY_ROWS = 16_000
"""What suits the stream is known by then."""


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

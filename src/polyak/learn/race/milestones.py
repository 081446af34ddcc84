"""The numbers of rows at which a race notes where everybody stands, and lets some drop out."""

from __future__ import annotations

import math

FIRST_DECISION = 1000
"""The first candidates drop out after this many rows, more at every doubling."""
PER_DOUBLING = 8
FEW_ROWS = 32
"""Up to here they are at doublings alone: of few rows there is little to tell."""


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

"""The numbers of rows at which a race notes where everybody stands, and lets some drop out."""

from __future__ import annotations

import math

FIRST_DECISION = 1000
"""The first candidates drop out after this many rows, more at every doubling."""
MARKS_PER_DOUBLING = 8


def next_mark(rows: int) -> int:
    """Give the first mark beyond: eight of them, evenly spaced by ratio, to every doubling."""
    place = math.floor(math.log2(max(rows, 1) / FIRST_DECISION) * MARKS_PER_DOUBLING) - 1
    while True:
        mark: int = round(FIRST_DECISION * 2.0 ** (place / MARKS_PER_DOUBLING))
        if mark > rows:
            return mark
        place += 1


def next_doubling(rows: int) -> int:
    """Give the first number of rows beyond at which somebody may drop out."""
    return FIRST_DECISION << (rows // FIRST_DECISION).bit_length()


def is_doubling(rows: int) -> bool:
    """Tell whether this is such a number of rows."""
    quotient, rest = divmod(rows, FIRST_DECISION)
    return rest == 0 and quotient & (quotient - 1) == 0 and quotient > 0

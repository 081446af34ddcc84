"""How many threads to use where nobody says."""

from __future__ import annotations

import os


def number_of_threads(asked: int | None) -> int:
    """Return the threads asked for, or as many as there are processors, up to four.

    Examples
    --------
    >>> number_of_threads(3)
    3
    """
    if asked is not None:
        return max(0, asked)
    affinity = getattr(os, "sched_getaffinity", None)
    return min(4, len(affinity(0)) if affinity else os.cpu_count() or 1)

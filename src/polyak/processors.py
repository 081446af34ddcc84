"""How many processors this process may use, and how many threads that makes where nobody says."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from functools import cache

CGROUPS = "/sys/fs/cgroup"
OWN_GROUPS = "/proc/self/cgroup"


def number_of_threads(asked: int | None) -> int:
    """Return the threads asked for, or as many as there are processors, up to four.

    Examples
    --------
    >>> number_of_threads(3)
    3
    """
    return min(4, processors()) if asked is None else max(0, asked)


def threads_of_jobs(jobs: int | None) -> int | None:
    """Read scikit-learn's ``n_jobs``: below zero it counts back from all processors, -1.

    Examples
    --------
    >>> threads_of_jobs(2), threads_of_jobs(-1) == processors(), threads_of_jobs(-1000)
    (2, True, 1)
    """
    if jobs is None or jobs > 0:
        return jobs
    if jobs == 0:
        raise ValueError("n_jobs is a number of threads, or below zero, but not 0")
    return max(1, processors() + 1 + jobs)


def processors() -> int:
    """Count the processors that this process may use: as many as are worth having threads for.

    It may have been tied to some of them, and a container may be granted the time of only so many.

    Examples
    --------
    >>> 1 <= processors() <= os.cpu_count()
    True
    """
    affinity = getattr(os, "sched_getaffinity", None)
    there = len(affinity(0)) if affinity else os.cpu_count() or 1
    granted = _granted()
    return there if granted is None else max(1, min(there, math.ceil(granted)))


@cache
def _granted() -> float | None:
    """Give the quota of this process, looked up once: a race asks with every batch."""
    return quota()


def quota(root: str = CGROUPS, own_groups: str = OWN_GROUPS) -> float | None:
    """Give how many processors' time the control groups grant this process; None if all.

    ``root`` is where their file system is mounted, and ``own_groups`` says which of them the
    process is in. Every group above its own has a say too: the least is what it gets.
    """
    shares = []
    for tree, group, read in _places(root, own_groups):
        while True:
            shares.append(read(tree + group))
            if not group:
                break
            group = group.rpartition("/")[0]
    return min((share for share in shares if share is not None), default=None)


def _places(root: str, own_groups: str) -> Iterator[tuple[str, str, Callable[[str], float | None]]]:
    """Find where the limits of this process stand: version 2 has one tree, 1 one for processors."""
    for line in _text(own_groups).splitlines():
        _, _, place = line.partition(":")
        controllers, _, group = place.partition(":")
        group = group.rstrip("/")
        if not controllers:  # where both versions are mounted, the second has a folder of its own
            yield root, group, _share_2
            yield f"{root}/unified", group, _share_2
        elif "cpu" in controllers.split(","):
            yield f"{root}/cpu", group, _share_1
            yield f"{root}/{controllers}", group, _share_1


def _share_2(group: str) -> float | None:
    return _ratio(*_text(f"{group}/cpu.max").split())


def _share_1(group: str) -> float | None:
    return _ratio(_text(f"{group}/cpu.cfs_quota_us"), _text(f"{group}/cpu.cfs_period_us"))


def _ratio(allowed: str = "", period: str = "") -> float | None:
    try:
        share = int(allowed) / int(period)
    except (ValueError, ZeroDivisionError):  # "max", or nothing at all
        return None
    return share if share > 0 else None  # -1 says that there is no limit


def _text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""

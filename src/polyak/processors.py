"""The number of processors available to this process, and the default number of threads."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from functools import cache

CGROUPS = "/sys/fs/cgroup"
OWN_GROUPS = "/proc/self/cgroup"


def number_of_threads(asked: int | None) -> int:
    """Return the number of threads requested; by default that of the processors, at most four.

    Examples
    --------
    >>> number_of_threads(3)
    3
    """
    return min(4, processors()) if asked is None else max(0, asked)


def threads_of_jobs(jobs: int | None) -> int | None:
    """Return the number of threads for ``n_jobs``: -1 is all processors, -2 one less.

    Examples
    --------
    >>> threads_of_jobs(2), threads_of_jobs(-1) == processors(), threads_of_jobs(-1000)
    (2, True, 1)
    """
    if jobs is None or jobs > 0:
        return jobs
    if jobs == 0:
        raise ValueError("n_jobs must not be 0; use -1 for all processors")
    return max(1, processors() + 1 + jobs)


def processors() -> int:
    """Return the number of processors that this process may use.

    CPU affinity and the CPU quota of a container are taken into account.

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
    """Return the CPU quota of this process, cached since it is needed with every batch."""
    return quota()


def quota(root: str = CGROUPS, own_groups: str = OWN_GROUPS) -> float | None:
    """Return the CPU quota of this process's control groups in processors; None if unlimited.

    ``root`` is the mount point of the cgroup file system, and ``own_groups`` the file that lists
    the groups of the process. The limits of all parent groups apply too, so the least is returned.
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
    """Yield the places of this process's limits: cgroup v2 has one tree, v1 one for processors."""
    for line in _text(own_groups).splitlines():
        _, _, place = line.partition(":")
        controllers, _, group = place.partition(":")
        group = group.rstrip("/")
        if not controllers:  # in hybrid mode, cgroup v2 is mounted in a folder of its own
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
    except (ValueError, ZeroDivisionError):  # "max", or an empty file
        return None
    return share if share > 0 else None  # -1 means no limit


def _text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""

"""Memory: what is freed is kept for the next block, and cycles are looked for rarely."""

from __future__ import annotations

import contextlib
import gc
import sys


def keep_freed_memory() -> None:
    """Tell glibc not to hand blocks of megabytes back to the system, only to ask for them again.

    Each time, the system has to find and clear the pages anew. On 180 MB of text that was 35,000
    page faults and a tenth of the time. Only for processes of our own: a library must not decide
    this for its host.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(AttributeError, ImportError, OSError):
        import ctypes

        libc = ctypes.CDLL(None)
        libc.mallopt(-8, 1)  # M_ARENA_MAX: what one thread frees, another can use
        libc.mallopt(-1, 256 << 20)  # M_TRIM_THRESHOLD
        libc.mallopt(-3, 32 << 20)  # M_MMAP_THRESHOLD


def give_gaps_back() -> None:
    """Hand the pages of freed memory back to the system, should glibc have kept any.

    Blocks are not all of one size, so on a long stream the gaps between them become more and more.
    Called now and then, this keeps memory flat: 24 GB took 110 MB without it, and still rising.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(AttributeError, ImportError, OSError):
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)


def collect_rarely() -> None:
    """Tell Python to look for cycles of objects less often than each time there are 700 more.

    Importing makes tens of thousands of objects, all of which stay. Looking through them again and
    again took 5 of the 140 ms that a small file takes.
    """
    gc.set_threshold(100_000, *gc.get_threshold()[1:])


def end_without_collecting() -> None:
    """Spare Python the search for cycles as it ends: the memory goes back to the system anyway.

    That took 14 ms. All else that happens at the end still does, unlike after ``os._exit``, which
    would have saved another 4.
    """
    gc.freeze()

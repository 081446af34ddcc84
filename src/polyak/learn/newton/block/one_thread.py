"""BLAS in one thread, so that the bits of a product do not depend on the number of threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from weakref import WeakSet


class _Visit:
    """One stay inside: gone with the frame that holds it, also where an interrupt ended that."""


class _OneThread:
    """Limits BLAS to one thread while any thread is inside: more would change the last bits.

    Most libraries have one setting for the whole process, which threadpoolctl lets only the first
    thread change that ever did; here the first thread to enter changes it and the last to leave
    restores it. Libraries that use OpenMP have a setting per thread.
    """

    def __init__(self) -> None:
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

        found = ThreadpoolController().select(user_api="blas").lib_controllers
        self.own = [one for one in found if getattr(one, "threading_layer", "") == "openmp"]
        self.shared = [one for one in found if one not in self.own]
        self.lock = threading.Lock()
        self.inside: WeakSet[_Visit] = WeakSet()
        self.before: list[int] = []  # what is to be restored; nothing when it has been

    def enter(self, visit: _Visit) -> list[int]:
        with self.lock:
            if not self.inside:
                self.before = self.before or [one.get_num_threads() for one in self.shared]
                _set_threads(self.shared, [1] * len(self.shared))
            self.inside.add(visit)
        before = [library.get_num_threads() for library in self.own]
        _set_threads(self.own, [1] * len(self.own))
        return before

    def leave(self, visit: _Visit, before: list[int]) -> None:
        _set_threads(self.own, before)
        with self.lock:
            self.inside.discard(visit)
            if not self.inside:
                _set_threads(self.shared, self.before)
                self.before = []


def _set_threads(libraries: list[Any], numbers: list[int]) -> None:
    for library, number in zip(libraries, numbers, strict=True):
        getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


@cache
def _one_thread() -> _OneThread:
    return _OneThread()


if hasattr(os, "register_at_fork"):  # the lock may be held by a thread that does not exist there
    os.register_at_fork(after_in_child=_one_thread.cache_clear)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, so that bits do not depend on the number of processors."""
    guard, visit = _one_thread(), _Visit()
    before = guard.enter(visit)
    try:
        yield
    finally:
        guard.leave(visit, before)

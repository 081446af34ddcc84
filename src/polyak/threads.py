"""Threads that are kept for more to do, and locks; and what becomes of both in a fork.

A forked process has the memory of the one it came from, but only one of its threads. Who waited
for the others would wait for ever, and a lock that one of them held would never be given back. So
the threads are forgotten there, and a lock that was held says so instead of waiting.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import wraps
from queue import SimpleQueue
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

HELPER = "polyak-helper"
Item = TypeVar("Item")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


def on_threads(
    function: Callable[[Item], Result], items: Sequence[Item], threads: int
) -> list[Result]:
    """Give ``function(item)`` for every item, worked out by so many threads, this one included.

    All are done when it returns, even if some of them failed: it raises the error of the first in
    the order of the items. Where the system has no more threads to give, fewer do the same.

    Examples
    --------
    >>> on_threads(abs, [-3, 1, -2], threads=2)
    [3, 1, 2]
    """
    job = _Job(function, items)
    _helpers.ask(job.work, min(threads, len(items)) - 1)
    job.work()
    return job.results()


class _Job(Generic[Item, Result]):
    """Items that whoever is free takes one by one; a helper that comes late finds none left."""

    def __init__(self, function: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self._function = function
        self._items = items
        self._lock = threading.Lock()
        self._taken = 0
        self._left = len(items)
        self._all_done = threading.Event()
        self._results: dict[int, Result] = {}
        self._errors: dict[int, BaseException] = {}

    def work(self) -> None:
        while (place := self._take()) is not None:
            try:
                self._results[place] = self._function(self._items[place])
            except BaseException as error:
                self._errors[place] = error
            finally:
                with self._lock:
                    self._left -= 1
                    if not self._left:
                        self._all_done.set()

    def results(self) -> list[Result]:
        if self._items:
            self._all_done.wait()
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._results[place] for place in range(len(self._items))]

    def _take(self) -> int | None:
        with self._lock:
            if self._taken == len(self._items):
                return None
            self._taken += 1
            return self._taken - 1


class _Helpers:
    """Threads that are started when first asked for, and then wait for more to do."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._asked: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def ask(self, work: Callable[[], None], number: int) -> None:
        """Have so many threads do the work beside this one, or as many as there can be."""
        asks_itself = threading.current_thread().name == HELPER  # and cannot help itself
        with self._lock:
            while self._number < number + asks_itself:
                thread = threading.Thread(target=self._help, name=HELPER, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system has no more
                    break
                self._number += 1
            for _ in range(min(number, self._number)):
                self._asked.put(work)

    def _help(self) -> None:
        while True:
            work = self._asked.get()
            work()
            del work  # nor the rows that come with it


_helpers = _Helpers()


class Lock:
    """A lock that the thread which holds it may take again, and that knows of forks."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._left_held = False
        _locks.add(self)

    def __enter__(self) -> Lock:
        self._lock.acquire()
        if self._left_held:
            self._lock.release()
            raise RuntimeError(
                "another thread was learning when this process was forked, and what it left is "
                "neither as before nor as after its rows; copy or save before forking"
            )
        return self

    def __exit__(self, *error: Any) -> None:
        self._lock.release()

    def after_fork(self) -> None:
        """Find out, in a forked process, whether a thread that is no more holds it."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()
            self._left_held = True


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


class _Locked(Protocol):
    lock: Lock


class _Versioned(_Locked, Protocol):
    version: int


LockedSelf = TypeVar("LockedSelf", bound=_Locked)
VersionedSelf = TypeVar("VersionedSelf", bound=_Versioned)


def reads(
    method: Callable[Concatenate[LockedSelf, Arguments], Result],
) -> Callable[Concatenate[LockedSelf, Arguments], Result]:
    """Let a method wait for whoever changes the object, and keep others from it meanwhile."""

    @wraps(method)
    def alone(self: LockedSelf, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with self.lock:
            return method(self, *args, **kwargs)

    return alone


def changes(
    method: Callable[Concatenate[VersionedSelf, Arguments], Result],
) -> Callable[Concatenate[VersionedSelf, Arguments], Result]:
    """Do the same for a method that changes the object, and count that it has."""

    @wraps(method)
    def alone(self: VersionedSelf, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with self.lock:
            try:
                return method(self, *args, **kwargs)
            finally:
                self.version += 1

    return alone


def _begin_anew() -> None:
    """Forget, in a forked process, what belongs to threads that it does not have."""
    global _helpers
    _helpers = _Helpers()
    for lock in list(_locks):
        lock.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)

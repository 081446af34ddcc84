"""A thread pool and a reentrant lock that are safe across forks.

A forked process has the memory of its parent but only one thread. Waiting for the parent's pool
would never end, and a lock held by another thread would never be released. In the child the pool is
therefore replaced, and a lock that was held raises an error instead of blocking.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import wraps
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, cast

POOL_THREAD = "polyak-pool"
Item = TypeVar("Item")
Result = TypeVar("Result")
Method = TypeVar("Method", bound=Callable[..., Any])


def on_threads(
    function: Callable[[Item], Result], items: Sequence[Item], threads: int
) -> list[Result]:
    """Return ``function(item)`` for every item, computed by ``threads`` threads including this one.

    All calls have ended when it returns or raises; it raises the error of the first failed item.
    If the system cannot start more threads, fewer are used.

    Examples
    --------
    >>> on_threads(abs, [-3, 1, -2], threads=2)
    [3, 1, 2]
    """
    job = _Job(function, items)
    _pool.submit(job.work, min(threads, len(items)) - 1)
    job.work()
    return job.results()


class _Job(Generic[Item, Result]):
    """Items that the threads take one by one; a thread that starts late may find none left."""

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


class _Pool:
    """Threads that are started on demand and then wait for more work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._queue: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def submit(self, work: Callable[[], None], number: int) -> None:
        """Run ``work`` on up to ``number`` threads beside this one."""
        # A pool thread that submits work is busy itself, so one more is needed.
        is_own = threading.current_thread().name == POOL_THREAD
        with self._lock:
            while self._number < number + is_own:
                thread = threading.Thread(target=self._loop, name=POOL_THREAD, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system cannot start more threads
                    break
                self._number += 1
            for _ in range(min(number, self._number)):
                self._queue.put(work)

    def _loop(self) -> None:
        while True:
            work = self._queue.get()
            work()
            del work  # a waiting thread must not keep the rows alive


_pool = _Pool()


class Lock:
    """A reentrant lock that raises an error if another thread held it at a fork."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._left_held = False
        _locks.add(self)

    def __enter__(self) -> Lock:
        self._lock.acquire()
        if self._left_held:
            self._lock.release()
            raise RuntimeError(
                "another thread was learning when this process was forked, so the model's state is "
                "inconsistent here; copy or save the model before forking"
            )
        return self

    def __exit__(self, *error: Any) -> None:
        self._lock.release()

    def after_fork(self) -> None:
        """In a forked process, check whether another thread of the parent held the lock."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()
            self._left_held = True


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


def reads(method: Method) -> Method:
    """Run a method with the object's lock held, if the object is whole."""

    @wraps(method)
    def alone(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        with self.lock:
            self.require_whole()
            return method(self, *args, **kwargs)

    return cast(Method, alone)


def changes(method: Method) -> Method:
    """Run a method that changes the object as `reads` does, and increment its version."""

    @wraps(method)
    def alone(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        with self.lock:
            self.require_whole()
            try:
                return method(self, *args, **kwargs)
            finally:
                self.version += 1

    return cast(Method, alone)


def _after_fork() -> None:
    """In a forked process, replace the pool and check all locks."""
    global _pool
    _pool = _Pool()
    for lock in list(_locks):
        lock.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

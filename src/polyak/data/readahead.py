"""Work done ahead of its consumer by threads, with results in order."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def ordered_map(
    function: Callable[[Item], Result], items: Iterator[Item], threads: int, ahead: int = 0
) -> Generator[Result]:
    """Yield ``function(item)`` for each item, computed ahead by ``threads`` threads.

    Without threads, each result is computed when it is asked for.

    A free thread takes the next item, one at a time, so that one thread reads while the others
    compute. Results come in the order of the items, and at most ``ahead`` of them wait (0:
    ``threads + 2``). An exception is raised at its place in the order. Closing the generator ends
    the threads. If the system cannot start all threads, the others do the work.

    Examples
    --------
    >>> list(ordered_map(abs, iter([-3, 1, -2]), threads=2))
    [3, 1, 2]
    """
    team = _Team(function, items, threads, ahead or threads + 2)
    try:
        yield from team.results() if team.has_threads else map(function, items)
    finally:
        team.stop()


class _Team(Generic[Item, Result]):
    def __init__(
        self, function: Callable[[Item], Result], items: Iterator[Item], threads: int, ahead: int
    ) -> None:
        self._function = function
        self._items = items
        self._most_waiting = ahead
        self._taking = threading.Lock()
        self._changed = threading.Condition()
        self._results: dict[int, tuple[Result | None, BaseException | None]] = {}
        self._taken = 0
        self._delivered = 0
        self._end: int | None = None
        self._stopped = False
        self._process = os.getpid()
        self._threads: list[threading.Thread] = []
        _teams.add(self)
        for _ in range(threads):
            thread = threading.Thread(target=self._work, name="polyak-reader", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system cannot start more
                break
            self._threads.append(thread)

    @property
    def has_threads(self) -> bool:
        return bool(self._threads)

    def results(self) -> Generator[Result]:
        while True:
            if self._process != os.getpid():  # a fork has none of the threads
                raise RuntimeError(
                    "what was opened before a fork cannot be read after it: open it anew"
                )
            with self._changed:
                self._changed.wait_for(
                    lambda: self._delivered in self._results or self._delivered == self._end
                )
                if self._delivered == self._end:
                    return
                result, error = self._results.pop(self._delivered)
                self._delivered += 1
                self._changed.notify_all()
            if error is not None:
                raise error
            yield result  # type: ignore[misc]

    def stop(self) -> None:
        if self._process != os.getpid():
            return  # a thread that the fork does not have may hold the lock
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        # A thread that waits for a pipe cannot be woken; it ends with the process.
        deadline = time.monotonic() + 1.0
        for thread in self._threads:
            thread.join(timeout=max(0.0, deadline - time.monotonic()))
        if not any(thread.is_alive() for thread in self._threads):
            close: Any = getattr(self._items, "close", None)
            if close is not None:
                close()
        _teams.discard(self)

    def _work(self) -> None:
        while True:
            with self._taking:
                place = self._taken
                with self._changed:
                    self._changed.wait_for(self._may_take)
                    if self._over():
                        return
                try:
                    item = next(self._items)
                except StopIteration:
                    self._finish(place)
                    return
                except BaseException as error:
                    self._finish(place + 1)
                    self._put(place, None, error)
                    return
                self._taken += 1
            try:
                self._put(place, self._function(item), None)
            except BaseException as error:
                self._put(place, None, error)

    def _over(self) -> bool:
        return self._stopped or self._end is not None

    def _may_take(self) -> bool:
        return self._over() or self._taken < self._delivered + self._most_waiting

    def _put(self, place: int, result: Result | None, error: BaseException | None) -> None:
        with self._changed:
            self._results[place] = (result, error)
            self._changed.notify_all()

    def _finish(self, end: int) -> None:
        with self._changed:
            self._end = end
            self._changed.notify_all()


_teams: weakref.WeakSet[_Team[Any, Any]] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    # A thread inside compiled code must not outlive the interpreter that it returns to.
    for team in list(_teams):
        team.stop()

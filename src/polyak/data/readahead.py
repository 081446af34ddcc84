"""Work done ahead of its consumer by threads, with results in order."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
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
    ``threads``). An exception is raised at its place in the order. Closing the generator ends
    the threads. If the system cannot start all threads, the others do the work.

    Examples
    --------
    >>> list(ordered_map(abs, iter([-3, 1, -2]), threads=2))
    [3, 1, 2]
    """
    team = _Team(function, items, threads, ahead or threads)
    try:
        yield from team.results()
    finally:
        team.stop()


class _Team(Generic[Item, Result]):
    def __init__(
        self, function: Callable[[Item], Result], items: Iterator[Item], threads: int, ahead: int
    ) -> None:
        self._function = function
        self._items = items
        self._room = threading.Semaphore(ahead)  # for results that wait
        self._taking = threading.Lock()  # held to take an item and to queue its result
        self._results: SimpleQueue[Future[Result] | None] = SimpleQueue()
        self._is_over = False
        self._process = os.getpid()
        self._most_threads = threads
        self._threads: list[threading.Thread] = []
        _teams.add(self)
        for _ in range(threads):
            thread = threading.Thread(target=self._work, name="polyak-reader", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system cannot start more
                break
            self._threads.append(thread)

    def results(self) -> Generator[Result]:
        if not self._threads:
            yield from map(self._function, self._items)
            return
        while True:
            if self._process != os.getpid():  # a fork has none of the threads
                raise RuntimeError(
                    "what was opened before a fork cannot be read after it: open it anew"
                )
            future = self._results.get()
            if future is None:
                return
            result = future.result()
            self._room.release()
            yield result

    def stop(self) -> None:
        if self._process != os.getpid():
            return  # the fork has no threads to wait for
        self._end()
        # A thread that waits for a pipe cannot be woken; it ends with the process.
        deadline = time.monotonic() + 1.0
        for thread in self._threads:
            thread.join(timeout=max(0.0, deadline - time.monotonic()))
        if not any(thread.is_alive() for thread in self._threads):
            close: Any = getattr(self._items, "close", None)
            if close is not None:
                close()
        _teams.discard(self)

    def _end(self) -> None:
        """Let all threads end, also those that wait for room."""
        self._is_over = True
        self._room.release(max(self._most_threads, 1))

    def _work(self) -> None:
        while True:
            with self._taking:
                self._room.acquire()
                if self._is_over:
                    return
                future: Future[Result] = Future()
                try:
                    item = next(self._items)
                except StopIteration:
                    self._results.put(None)
                    self._end()
                    return
                except BaseException as error:
                    future.set_exception(error)
                    self._results.put(future)
                    self._end()
                    return
                self._results.put(future)
            try:
                future.set_result(self._function(item))
            except BaseException as error:
                future.set_exception(error)


_teams: weakref.WeakSet[_Team[Any, Any]] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    # A thread inside compiled code must not outlive the interpreter that it returns to.
    for team in list(_teams):
        team.stop()

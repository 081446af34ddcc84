"""Running tasks on Dask: on a client's cluster or, without one, in threads of this process."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from polyak.distributed.dask.cluster import ALLOWED_FAILURES, check_workers, scheduler_address
from polyak.errors import ClusterError
from polyak.processors import processors
from polyak.training.job import Progress

NO_WORKER_SECONDS = 60
SECONDS_BETWEEN_LOOKS, SECONDS_BETWEEN_SHOWS = 2.0, 0.1


Watch = Callable[[Progress], None]


class Work:
    """Runs tasks on a cluster or in threads, and releases them after an error."""

    def __init__(self, client: Any, watch: Watch) -> None:
        self._client = client
        self._watch = watch
        # Part of every task's key, since files may have changed since an earlier run.
        self._run = uuid.uuid4().hex[:12]
        self._number = 0
        self._kept: list[Any] = []
        self._places: list[str] = []
        self._began = self._last_seen = time.monotonic()
        self._next_look = self._began + SECONDS_BETWEEN_LOOKS
        self.topic = f"polyak-{self._run}"
        self.progress = Progress()
        self.shards = 0  # in all, once they are known
        self._rows_of: dict[str, int] = {}
        self._done: set[str] = set()
        self.threads = processors()

    def __enter__(self) -> Work:
        if self._client is not None:
            check_workers(self._client)
            threads = self._client.nthreads()
            self._places = [address for address, n in threads.items() for _ in range(n)]
            self.threads = len(self._places)
            self._client.subscribe_topic(self.topic, lambda event: self.note(event[1]))
        return self

    def __exit__(self, *error: Any) -> None:
        if self._client is not None:
            if error[0] is None:
                self._client.unsubscribe_topic(self.topic)
            else:
                # Running tasks still send events, and a client that receives an event of an
                # unsubscribed topic loses its connection: so it stays subscribed. Releasing the
                # futures lets the scheduler drop tasks that have not begun; cancelling a task that
                # others depend on makes it raise an error.
                for future in self._kept:
                    future.release()
        self._kept = []

    def task(
        self,
        kind: str,
        function: Callable[..., Any],
        *arguments: Any,
        name: str | None = None,
        home: str | None = None,
    ) -> Any:
        """Return a delayed task; its arguments may be other tasks.

        It runs on the worker ``home`` if that exists: the scheduler would otherwise rather move a
        partition than wait.
        """
        from dask import annotate, delayed

        self._number += 1
        key = f"polyak-{kind}-{self._run}-{name or f'n{self._number}'}"
        call = delayed(function, name=f"{key}-function", pure=True, traverse=False)
        if home is None:
            return call(*arguments, dask_key_name=key)
        with annotate(workers=[home], allow_other_workers=True):
            return call(*arguments, dask_key_name=key)

    def place(self, chain: int) -> str | None:
        """Return the worker of a chain, in turn.

        Without it the scheduler would run all chains on the worker that holds their common first
        state, and the others would be idle.
        """
        return self._places[chain % len(self._places)] if self._places else None

    def keep(self, task: Any) -> Any:
        """Start a task, and keep its result for the tasks that depend on it."""
        if self._client is None:
            return self.value(task)
        self._kept.append(self._client.compute(task))
        return task  # the scheduler knows the result by the task's key

    def value(self, task: Any) -> Any:
        """Run a task and return its result."""
        if self._client is None:
            (value,) = _in_threads(task)
            return value
        future = self._client.compute(task)
        self._kept.append(future)
        self._wait(future)
        try:
            return future.result()
        except Exception as error:
            raise _explained(error) from error
        finally:
            if future.status == "finished":
                self._kept.remove(future)

    def _wait(self, future: Any) -> None:
        done = threading.Event()
        future.add_done_callback(lambda future: done.set())
        while not done.wait(SECONDS_BETWEEN_SHOWS):
            self._show()
            self._look_for_workers()
        self._show()

    def _look_for_workers(self) -> None:
        """Raise if there has been no worker for a minute; Dask itself would wait forever."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + SECONDS_BETWEEN_LOOKS
        if self._client.nthreads():
            self._last_seen = now
        elif now - self._last_seen > NO_WORKER_SECONDS:
            raise ClusterError(
                f"the scheduler at {scheduler_address(self._client)} has had no worker for "
                f"{NO_WORKER_SECONDS} seconds"
            )

    def note(self, event: dict[str, Any]) -> None:
        """Record a task's event; a task that is run again sends its events again."""
        self._rows_of[event["task"]] = event["rows"]
        if event["done"]:
            self._done.add(event["task"])
        self.progress.rows = sum(self._rows_of.values())
        if self.shards:
            self.progress.share = len(self._done) / self.shards

    def _show(self) -> None:
        self.progress.seconds = time.monotonic() - self._began
        self._watch(self.progress)


def _in_threads(task: Any) -> Any:
    import dask

    with dask.config.set(scheduler="threads"):
        return dask.compute(task)


def _explained(error: Exception) -> Exception:
    from concurrent.futures import CancelledError

    if type(error).__name__ == "KilledWorker":
        return ClusterError(
            f"{ALLOWED_FAILURES} workers died while running the same task: they may be short of "
            f"memory, or killed from outside ({error})"
        )
    if isinstance(error, CancelledError | ConnectionError) or "Cancelled" in type(error).__name__:
        return ClusterError(f"the connection to the scheduler was lost: {error}")
    return error

"""A distributed run on Dask: the plan's tasks as a graph, and the cluster that does them.

With a client the tasks run on its cluster; without one, in threads of this process, as Dask does
by default. Nothing is decided here about learning.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from polyak.engines import part, plan
from polyak.engines.part import Block, How, Sample
from polyak.engines.plan import Piece
from polyak.engines.tally import Tally
from polyak.errors import ClusterError, DataError
from polyak.learner import Learner

CONNECT_SECONDS = 5
ALLOWED_FAILURES = 10
"""How many workers may die while they do a task, before the task is to blame."""
NO_WORKER_SECONDS = 60
SECONDS_BETWEEN_LOOKS, SECONDS_BETWEEN_SHOWS = 2.0, 0.1
ROWS_A_CHAIN = 1000
"""Fewer rows than this are not worth a chain of their own."""


@dataclass(slots=True)
class Progress:
    """How far a distributed run has come."""

    rows: int = 0
    pieces: int = 0
    pieces_done: int = 0
    seconds: float = 0.0
    _rows_of: dict[str, int] = field(default_factory=dict)
    _done: set[str] = field(default_factory=set)

    def note(self, event: dict[str, Any]) -> None:
        """Take in what a task says; one that is done again says it again."""
        self._rows_of[event["task"]] = event["rows"]
        if event["done"]:
            self._done.add(event["task"])
        self.rows = sum(self._rows_of.values())
        self.pieces_done = len(self._done)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a distributed run."""

    learner: Learner
    tally: Tally
    how: How
    progress: Progress
    chains: int
    rounds: int
    bytes_read: int


Watch = Callable[[Progress], None]


def run(
    source: Any,
    how: How,
    *,
    client: Any = None,
    rounds: int | None = None,
    chains: int | None = None,
    homes: list[str] | None = None,
    watch: Watch = lambda progress: None,
) -> Result:
    """Learn from files, or from partitions given as delayed (X, y, weights).

    Parameters
    ----------
    source : path, pattern, list of them, or list of (X, y, weights)
    how : How
    client : distributed.Client, optional
        Whose cluster does the work; threads of this process otherwise.
    rounds : int, optional
        How many; found from the first rows if not given.
    chains : int, optional
        How many learn at the same time; as many as there are threads of workers if not given. The
        answer depends on it, and on no other trait of the cluster.
    homes : list of str, optional
        On which worker each partition lies, if they are there already.
    watch : function
        Called now and then with the progress.
    """
    with _Work(client, watch) as work:
        chains = chains or work.threads
        if isinstance(source, list) and source and isinstance(source[0], tuple):
            blocks: list[Any] | None = source
            pieces = plan.pieces_of_partitions(len(source), homes)
        else:
            blocks = None
            files, schema = work.value(
                work.task("survey", partial(_on_worker, part.survey, source, how))
            )
            how = replace(how, schema=schema)
            pieces = plan.pieces_of_files(files, chains)
        return _Run(work, how, pieces, blocks, homes, chains, rounds).result()


class _Run:
    def __init__(
        self,
        work: _Work,
        how: How,
        pieces: list[Piece],
        blocks: list[Any] | None,
        homes: list[str] | None,
        chains: int,
        rounds: int | None,
    ) -> None:
        self._work = work
        self._how = how
        self._pieces = pieces
        self._blocks = blocks
        self._homes = homes
        self._chains = chains
        self._rounds = rounds

    def result(self) -> Result:
        head, facts, (rows, start, size) = self._head()
        self._work.progress.rows = rows
        self._work.progress.note({"task": "head", "rows": rows, "done": False})
        pieces, left = self._left(facts)
        pieces = plan.joined(pieces, plan.PIECE_PER_STATE * size)
        chains = min(self._chains, max(int(left / ROWS_A_CHAIN), 1))
        ends = plan.ends_of_rounds(rows, left, start, self._rounds)
        in_chains = plan.in_chains(pieces, chains) if pieces else []
        parts = [plan.in_rounds(chain, ends) for chain in in_chains]
        final = self._graph(head, parts, len(ends))
        self._work.progress.pieces = sum(len(some) for chain in parts for some in chain)
        learner, tally = part.unpacked(self._work.value(final))
        assert learner.race is not None
        learner.race.is_part = False
        return Result(
            learner,
            tally,
            self._how,
            self._work.progress,
            chains=max(len(in_chains), 1),
            rounds=len(ends) if pieces else 0,
            bytes_read=0 if self._blocks else round(sum(piece.size for piece in self._pieces)),
        )

    def _head(self) -> tuple[Any, list[Sample], tuple[int, float | None, int]]:
        """Learn the head; once more if it turns out that ids begin at 0 in some files only."""
        chosen = plan.sampled(self._pieces)
        quota = -(-plan.HEAD_ROWS // len(chosen))
        while True:
            samples = [
                self._work.task(
                    "sample",
                    partial(_on_worker, part.sample, self._pieces[n], quota, self._how),
                    *self._block(self._pieces[n]),
                    home=self._home(self._pieces[n]),
                )
                for n in chosen
            ]
            head = self._work.keep(self._work.task("begin", partial(_begin, self._how), samples))
            found, seen = self._work.value(self._work.task("look", _look, samples, head))
            first_ids = {sample.first_id for sample in found}
            if self._how.zero_based == "auto" and first_ids & {0, 1}:
                self._how = replace(self._how, zero_based=0 in first_ids)
                if first_ids >= {0, 1}:
                    continue
            self._warn_if_sorted(found)
            return head, found, seen

    def _warn_if_sorted(self, samples: list[Sample]) -> None:
        for sample in samples:
            if sample.sorted_by_class and self._how.classes != () and sample.piece is not None:
                import warnings

                warnings.warn(
                    f"the rows of {sample.piece.name} seem to be sorted by class, and workers that "
                    "see one class only learn poorly: shuffle the rows before",
                    stacklevel=2,
                )
                return

    def _left(self, samples: list[Sample]) -> tuple[list[Piece], float]:
        """Give the pieces without the head, and about how many rows they have."""
        chosen = dict(zip(plan.sampled(self._pieces), samples, strict=True))
        read = sum(sample.rows_read for sample in samples)
        if self._blocks is not None:  # partitions are measured in rows
            lengths = [sample.rows_read / sample.share for sample in samples if sample.rows_read]
            usual = max(float(np.mean(lengths)), 1.0) if lengths else 1.0
            rows_by_size = 1.0
        else:
            usual = 0.0
            size = sum(self._pieces[n].size * one.share for n, one in chosen.items())
            rows_by_size = read / max(size, 1.0)
        left = []
        for n, piece in enumerate(self._pieces):
            if n not in chosen:
                left.append(replace(piece, size=usual) if usual else piece)
            elif (rest := chosen[n].piece) is not None:
                left.append(rest)
        return left, rows_by_size * sum(piece.size for piece in left)

    def _graph(self, head: Any, parts: list[list[list[Piece]]], rounds: int) -> Any:
        base = head
        for number in range(rounds):
            tips = []
            for chain, pieces_of_rounds in enumerate(parts):
                state = base
                for place, piece in enumerate(pieces_of_rounds[number]):
                    name = f"{number}-{chain}-{place}"
                    learn = partial(_learn, piece, self._how, self._work.topic, name)
                    block = self._block(piece)
                    home = self._home(piece) or self._work.place(chain)
                    state = self._work.task("learn", learn, state, *block, name=name, home=home)
                if state is not base:
                    tips.append(state)
            merges = plan.tree(len(tips))
            for one, other in merges:
                merge = partial(_merge, (one, other) == merges[-1])
                tips[one] = self._work.task("merge", merge, tips[one], tips[other], base)
            if len(tips) == 1:
                base = self._work.task("settle", partial(_on_worker, part.settle), tips[0])
            elif tips:
                base = tips[0]
        return base

    def _block(self, piece: Piece) -> Sequence[Any]:
        return () if self._blocks is None else self._blocks[piece.partition]

    def _home(self, piece: Piece) -> str | None:
        return None if self._homes is None else self._homes[piece.partition]


# -- what runs on the workers ----------------------------------------------------------------------


def _on_worker(function: Callable[..., Any], *arguments: Any) -> Any:
    """Do a task; what goes wrong says on which worker."""
    if len(arguments) > 3 and function is part.sample:
        piece, rows, how, *block = arguments
        arguments = (piece, rows, how, tuple(block))
    with _where():
        return function(*arguments)


def _begin(how: How, samples: list[Sample]) -> bytes:
    with _where():
        return part.begin(samples, how)


def _look(samples: list[Sample], head: bytes) -> tuple[list[Sample], Any]:
    return [sample.facts() for sample in samples], part.look(head)


def _learn(piece: Piece, how: How, topic: str, name: str, state: bytes, *block: Any) -> bytes:
    worker = _worker()

    def tell(rows: int, done: bool = False) -> None:
        if worker is not None:
            worker.log_event(topic, {"task": name, "rows": rows, "done": done})

    last = 0

    def note(rows: int) -> None:
        nonlocal last
        last = rows
        tell(rows)

    with _where():
        given: Block | None = (block[0], block[1], block[2]) if block else None
        learned = part.learn(state, piece, how, given, note)
    tell(last, done=True)
    return learned


def _merge(last: bool, state: bytes, other: bytes, base: bytes) -> bytes:
    with _where():
        return part.merge(state, other, base, last=last)


@contextmanager
def _where() -> Iterator[None]:
    try:
        yield
    except DataError as error:
        worker = _worker()
        if worker is None:
            raise
        raise DataError(f"{error} (on the worker {worker.address})") from None


def _worker() -> Any:
    try:
        from distributed import get_worker

        return get_worker()
    except (ImportError, ValueError):
        return None


# -- the cluster -----------------------------------------------------------------------------------


class _Work:
    """Has tasks done, by a cluster or by threads; ends them if something goes wrong."""

    def __init__(self, client: Any, watch: Watch) -> None:
        self._client = client
        self._watch = watch
        self._run = uuid.uuid4().hex[:12]  # the files may have changed since an earlier run
        self._number = 0
        self._kept: list[Any] = []
        self._places: list[str] = []
        self._began = self._last_seen = time.monotonic()
        self._next_look = self._began + SECONDS_BETWEEN_LOOKS
        self.topic = f"polyak-{self._run}"
        self.progress = Progress()
        self.threads = os.cpu_count() or 1

    def __enter__(self) -> _Work:
        if self._client is not None:
            check_workers(self._client)
            threads = self._client.nthreads()
            self._places = [address for address, n in threads.items() for _ in range(n)]
            self.threads = len(self._places)
            self._client.subscribe_topic(self.topic, self._hear)
        return self

    def __exit__(self, *error: Any) -> None:
        if self._client is not None:
            self._client.unsubscribe_topic(self.topic)
            if error[0] is not None:
                self._client.cancel(self._kept, force=True)
        self._kept = []

    def task(
        self,
        kind: str,
        function: Callable[..., Any],
        *arguments: Any,
        name: str | None = None,
        home: str | None = None,
    ) -> Any:
        """Describe a task; its arguments may be other tasks.

        It is done by the worker ``home`` as long as there is one: the scheduler itself would
        sooner move a partition than wait.
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
        """Give a chain a worker to live on: all begin with a state that lies on one of them.

        Left to itself, the scheduler would begin them all there, and the others would be idle.
        """
        return self._places[chain % len(self._places)] if self._places else None

    def keep(self, task: Any) -> Any:
        """Have a task done, and hold on to what comes of it for tasks to come."""
        if self._client is None:
            return self.value(task)
        self._kept.append(self._client.compute(task))
        return task  # known by its key from now on

    def value(self, task: Any) -> Any:
        """Have a task done and give what comes of it."""
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
        """Give up if there has been no worker for a while: nothing else would ever happen."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + SECONDS_BETWEEN_LOOKS
        if self._client.nthreads():
            self._last_seen = now
        elif now - self._last_seen > NO_WORKER_SECONDS:
            raise ClusterError(
                f"the scheduler at {_address(self._client)} has had no worker for "
                f"{NO_WORKER_SECONDS} seconds"
            )

    def _hear(self, event: Any) -> None:
        self.progress.note(event[1])

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
            f"{ALLOWED_FAILURES} workers died over the same task: they may be short of memory, or "
            f"killed by something outside ({error})"
        )
    if isinstance(error, CancelledError | ConnectionError) or "Cancelled" in type(error).__name__:
        return ClusterError(f"the connection to the scheduler was lost: {error}")
    return error


def check_workers(client: Any) -> None:
    """Refuse a cluster without workers, or with workers that have another polyak.

    Raises
    ------
    ClusterError
        In one sentence, with the worker's address.
    """
    from polyak import __version__

    def version() -> str | None:  # by value: a worker may have no polyak to import it from
        try:
            from importlib.metadata import version

            return version("polyak")
        except Exception:
            return None

    deadline = time.monotonic() + CONNECT_SECONDS
    while not client.nthreads():
        if time.monotonic() > deadline:
            raise ClusterError(f"the scheduler at {_address(client)} has no workers")
        time.sleep(0.1)
    for address, theirs in client.run(version, on_error="return").items():
        if isinstance(theirs, OSError):  # it has died meanwhile; who takes its place is asked
            continue  # by the first task
        if theirs != __version__:
            has = f"polyak {theirs}" if isinstance(theirs, str) else "no polyak"
            raise ClusterError(
                f"the worker {address} has {has}, but this is polyak {__version__}; all must have "
                "the same version"
            )


def _address(client: Any) -> str:
    return str(getattr(client.scheduler, "address", client))


@contextmanager
def connected(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """Connect to a scheduler, or start workers on this machine, and end it all in the end."""
    import dask
    from distributed import Client, LocalCluster

    quiet = {"distributed.scheduler.allowed-failures": ALLOWED_FAILURES}
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            words = " ".join(str(error).split()) or type(error).__name__
            raise ClusterError(f"the scheduler at {scheduler} cannot be reached: {words}") from None
        with client:
            yield client
        return
    with (
        dask.config.set(quiet),
        LocalCluster(
            n_workers=workers or os.cpu_count() or 1,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client

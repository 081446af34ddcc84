"""A distributed run on Dask: the plan's tasks as a graph.

What a task learns is in `polyak.distributed.tasks`, how tasks are run in `dask/work.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from polyak.data.options import Columns
from polyak.data.tables.inference import SAMPLE_ROWS
from polyak.distributed import plan, tasks
from polyak.distributed.dask.work import Watch, Work
from polyak.distributed.partitions import Block
from polyak.distributed.plan import Shard
from polyak.distributed.run_counts import RunCounts
from polyak.distributed.tasks import How, Sample, Surveyed
from polyak.errors import DataError
from polyak.estimators.inputs import find_schema, needs_schema
from polyak.learn.learner import Learner
from polyak.losses import get_loss
from polyak.model.features import FeatureMap
from polyak.model.training_report import Engine
from polyak.training.finishing import DataInfo
from polyak.training.job import Progress

ROWS_A_CHAIN = 1000
"""The least number of rows that is worth a chain."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a distributed run."""

    learner: Learner
    run_counts: RunCounts
    how: How
    first_id: int | None
    progress: Progress
    chains: int
    rounds: int

    def known(self, names: Mapping[int, str] | None = None) -> DataInfo:
        """Return what the model stores about the data, with the names of its columns if given."""
        how, run_counts = self.how, self.run_counts
        return DataInfo(
            features=FeatureMap.of(
                how.schema, how.hashing, self.first_id, names or run_counts.names
            ),
            names=how.reading.columns.names_to_keep,
            bad_lines=run_counts.bad_lines,
            rows_without_target=run_counts.without_target,
            engine=Engine(name="dask", chains=self.chains, rounds=self.rounds),
        )


def run(
    source: Any,
    how: How,
    *,
    client: Any = None,
    rounds: int | None = None,
    chains: int | None = None,
    workers_of: list[str] | None = None,
    frame: Any = None,
    watch: Watch = lambda progress: None,
) -> Result:
    """Learn from files, or from partitions given as delayed (X, y, weights).

    Parameters
    ----------
    source : path, pattern, list of them, or list of (X, y, weights)
    how : How
    client : distributed.Client, optional
        The client of the cluster; threads of this process otherwise.
    rounds : int, optional
        The number of rounds; by default chosen from the first rows.
    chains : int, optional
        The number of chains that learn in parallel; by default the number of the workers' threads.
        The model depends on it, and on nothing else of the cluster.
    workers_of : list of str, optional
        The worker that holds each partition, if they are in memory already.
    frame : data frame, optional
        An empty frame with the columns and dtypes of the partitions, if they are frames.
    watch : function
        Called several times a second with the progress.
    """
    with Work(client, watch) as work:
        chains = chains or work.threads
        if isinstance(source, list) and source and isinstance(source[0], tuple):
            blocks: list[Any] | None = source
            if frame is not None:
                how = _with_schema(work, how, source, workers_of, frame)
            shards = plan.shards_of_partitions(len(source), workers_of)
        else:
            blocks = None
            found: Surveyed = work.value(
                work.task("survey", partial(_on_worker, tasks.survey, source, how))
            )
            if found.remark:
                warnings.warn(found.remark, stacklevel=2)
            how = _completed(how, found)
            shards = plan.shards_of_files(found.files, chains)
        return DistributedRun(work, how, shards, blocks, workers_of, chains, rounds).result()


def _completed(how: How, found: Surveyed) -> How:
    """Return ``how`` with the schema, hashing and classes found in the files."""
    classes = how.classes
    if found.schema is not None:
        of_table = found.schema.classes_for(get_loss(how.recipe.loss))
        if classes is None and of_table is not None:
            classes = tuple(of_table.tolist())
    return replace(how, schema=found.schema, hashing=found.hashing, classes=classes)


def _with_schema(
    work: Work, how: How, blocks: list[Any], workers_of: list[str] | None, frame: Any
) -> How:
    """Return ``how`` with the schema of frames with words or missing values, as on one machine.

    Words show in the dtypes; missing values only in the values, so all partitions are read.
    """
    homes: Sequence[str | None] = workers_of or [None] * len(blocks)
    looks = [(block[0], home) for block, home in zip(blocks, homes, strict=True)]
    if not needs_schema(frame):
        found = [work.task("look", needs_schema, X, home=home) for X, home in looks]
        if not work.value(work.task("looks", any, found)):
            return how
    for X, home in looks:
        head = work.value(work.task("head", _head, X, home=home))
        if len(head):  # inferred in this process, so that the user sees its warnings
            schema = find_schema(head, Columns()).with_room_for(len(how.classes or ()))
            reading = replace(how.reading, n_features=schema.n_features)
            return replace(how, schema=schema, reading=reading)
    return how


class DistributedRun:
    """A distributed run: the head, then rounds of chains, merged into one model."""

    def __init__(
        self,
        work: Work,
        how: How,
        shards: list[Shard],
        blocks: list[Any] | None,
        workers_of: list[str] | None,
        chains: int,
        rounds: int | None,
    ) -> None:
        self._work = work
        self._how = how
        self._shards = shards
        self._blocks = blocks
        self._workers_of = workers_of
        self._chains = chains
        self._rounds = rounds

    def result(self) -> Result:
        """Run all tasks and return the result."""
        head, facts, (rows, start, size) = self._head()
        self._work.note({"task": "head", "rows": rows, "done": False})
        shards, left = self._left(facts)
        shards = plan.joined(shards, plan.SHARD_PER_STATE * size)
        chains = min(self._chains, max(int(left / ROWS_A_CHAIN), 1))
        ends = plan.ends_of_rounds(rows, left, start, self._rounds)
        in_chains = plan.in_chains(shards, chains) if shards else []
        parts = [plan.in_rounds(chain, ends) for chain in in_chains]
        final = self._graph(head, parts, len(ends))
        self._work.shards = sum(len(some) for chain in parts for some in chain)
        learner, run_counts = tasks.unpacked(self._work.value(final))
        assert learner.race is not None
        learner.race.is_part = False
        if self._blocks is None:
            self._work.progress.bytes_read = round(sum(shard.size for shard in self._shards))
        return Result(
            learner,
            run_counts,
            self._how,
            _first_id(facts),
            self._work.progress,
            chains=max(len(in_chains), 1),
            rounds=len(ends) if shards else 0,
        )

    def _head(self) -> tuple[Any, list[Sample], tuple[int, float | None, int]]:
        """Learn the head; again if feature ids begin at 0 in some files and at 1 in others."""
        chosen = plan.sampled(self._shards)
        quota = -(-plan.HEAD_ROWS // len(chosen))
        while True:
            samples = [
                self._work.task(
                    "sample",
                    partial(_on_worker, tasks.sample, self._shards[n], quota, self._how),
                    *self._block(self._shards[n]),
                    home=self._home(self._shards[n]),
                )
                for n in chosen
            ]
            head = self._work.keep(
                self._work.task("begin", partial(_on_worker, tasks.begin, self._how), samples)
            )
            found, seen = self._work.value(self._work.task("measure", _measure, samples, head))
            first_ids = {sample.first_id for sample in found}
            reading = self._how.reading
            if reading.zero_based == "auto" and first_ids & {0, 1}:
                reading = replace(reading, zero_based=0 in first_ids)
                self._how = replace(self._how, reading=reading)
                if first_ids >= {0, 1}:
                    continue
            self._warn_if_sorted(found)
            return head, found, seen

    def _warn_if_sorted(self, samples: list[Sample]) -> None:
        for sample in samples:
            if sample.sorted_by_class and self._how.classes != () and sample.shard is not None:
                warnings.warn(
                    f"the rows of {sample.shard.name} seem to be sorted by class, and workers that "
                    "see only one class learn poorly: shuffle the rows first",
                    stacklevel=2,
                )
                return

    def _left(self, samples: list[Sample]) -> tuple[list[Shard], float]:
        """Return the shards without the head, and their approximate number of rows."""
        chosen = dict(zip(plan.sampled(self._shards), samples, strict=True))
        read = sum(sample.rows_read for sample in samples)
        if self._blocks is not None:  # the size of a partition is in rows
            lengths = [sample.rows_read / sample.share for sample in samples if sample.rows_read]
            usual = max(float(np.mean(lengths)), 1.0) if lengths else 1.0
            rows_by_size = 1.0
        else:
            usual = 0.0
            size = sum(self._shards[n].size * one.share for n, one in chosen.items())
            rows_by_size = read / max(size, 1.0)
        left = []
        for n, shard in enumerate(self._shards):
            if n not in chosen:
                left.append(replace(shard, size=usual) if usual else shard)
            elif (rest := chosen[n].shard) is not None:
                left.append(rest)
        return left, rows_by_size * sum(shard.size for shard in left)

    def _graph(self, head: Any, parts: list[list[list[Shard]]], rounds: int) -> Any:
        base = head
        for number in range(rounds):
            tips = []
            for chain, shards_of_rounds in enumerate(parts):
                state = base
                for place, shard in enumerate(shards_of_rounds[number]):
                    name = f"{number}-{chain}-{place}"
                    learn = partial(_learn, shard, self._how, self._work.topic, name)
                    block = self._block(shard)
                    home = self._home(shard) or self._work.place(chain)
                    state = self._work.task("learn", learn, state, *block, name=name, home=home)
                if state is not base:
                    tips.append(state)
            merges = plan.tree(len(tips))
            for one, other in merges:
                merge = partial(_on_worker, tasks.merge, (one, other) == merges[-1])
                tips[one] = self._work.task("merge", merge, tips[one], tips[other], base)
            if len(tips) == 1:
                base = self._work.task("settle", partial(_on_worker, tasks.settle), tips[0])
            elif tips:
                base = tips[0]
        return base

    def _block(self, shard: Shard) -> list[Any]:
        return [] if self._blocks is None else [self._blocks[shard.partition]]

    def _home(self, shard: Shard) -> str | None:
        return None if self._workers_of is None else self._workers_of[shard.partition]


def _first_id(samples: list[Sample]) -> int | None:
    """Return the first feature id of svmlight files: 0 if any sample has one, None if unknown."""
    shown = {sample.first_id for sample in samples}
    return 0 if 0 in shown else 1 if 1 in shown else None


# -- functions that run on the workers -------------------------------------------------------------


def _on_worker(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task; its errors name the worker."""
    try:
        return function(*arguments)
    except DataError as error:
        worker = _worker()
        if worker is None:
            raise
        raise DataError(f"{error} (on the worker {worker.address})") from error


def _head(X: Any) -> Any:
    return X.iloc[:SAMPLE_ROWS]


def _measure(samples: list[Sample], head: bytes) -> tuple[list[Sample], Any]:
    return [sample.facts() for sample in samples], tasks.measure_head(head)


def _learn(
    shard: Shard, how: How, topic: str, name: str, state: bytes, block: Block | None = None
) -> bytes:
    worker, last = _worker(), 0

    def report(rows: int, done: bool = False) -> None:
        nonlocal last
        last = rows
        if worker is not None:
            worker.log_event(topic, {"task": name, "rows": rows, "done": done})

    learned: bytes = _on_worker(tasks.learn, state, shard, how, block, report)
    report(last, done=True)
    return learned


def _worker() -> Any:
    try:
        from distributed import get_worker

        return get_worker()
    except (ImportError, ValueError):
        return None

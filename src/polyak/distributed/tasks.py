"""The tasks of a distributed run: pure functions of their arguments.

States are bytes, which any engine can move. The same state, shard and options lead to the same
bytes on every worker with the same kernels, so that a task whose worker died can be run again on
another without changing the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from polyak.data.find import find_files
from polyak.data.formats.registry import format_of
from polyak.data.open import open_stream
from polyak.data.options import ReadOptions
from polyak.data.position import Position
from polyak.data.sources.files import Span
from polyak.data.stream import Stream
from polyak.distributed.partitions import Block, batches_of, rows_of
from polyak.distributed.plan import FileFacts, Shard
from polyak.distributed.run_counts import RunCounts
from polyak.errors import DataError, NoRowsError
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.learn.targets import unknown_label
from polyak.model.columns import SourceColumns
from polyak.model.features import FeatureMap, Hashing
from polyak.model.schema import Schema
from polyak.rows.batch import Batch, interleaved, join_batches
from polyak.rows.label_sets import labels_in
from polyak.rows.label_text import label_text
from polyak.rows.labels import sorted_by_class
from polyak.storage.container import pack, unpack

KIND, FORMAT = "part", 1
MOST_TO_SEARCH = 1 << 30
"""The most bytes of JSON that one worker searches for fields before learning begins."""
SAMPLE_BLOCK = 1 << 16
SECONDS_BETWEEN_REPORTS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How shards are read and learned: the options that all tasks of a run share.

    Attributes
    ----------
    version : str
        The version of polyak that made the plan; workers must have the same.
    recipe : Recipe
    classes : tuple or None
        All labels that can occur, if they were given.
    outputs : int
        The number of values of a target.
    reading : ReadOptions
    schema : Schema or None
        The schema of a table, once it is known.
    hashing : Hashing or None
        How feature names in the files are hashed.
    names : tuple of str or None
        The names of the columns of a frame.
    """

    version: str
    recipe: Recipe
    classes: tuple[Any, ...] | None = None
    outputs: int = 1
    reading: ReadOptions = field(default_factory=ReadOptions)
    schema: Schema | None = None
    hashing: Hashing | None = None
    names: tuple[str, ...] | None = None


class Surveyed(NamedTuple):
    """The files, and the schema or hashing that the first of them calls for."""

    files: list[FileFacts]
    schema: Schema | None
    hashing: Hashing | None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """The first rows of a shard, and the remaining shard.

    Attributes
    ----------
    shard : Shard
        The remaining shard; None if all of it was read.
    rows_read : int
    share : float
        The approximate fraction of the shard that was read.
    first_id : int or None
        Whether its feature ids begin at 0 or 1, if it is known.
    sorted_by_class : bool
        Whether its rows seem to be sorted by class.
    run_counts : RunCounts
    batch : Batch or None
    """

    shard: Shard | None
    rows_read: int
    share: float
    first_id: int | None
    sorted_by_class: bool
    run_counts: RunCounts
    batch: Batch | None

    def facts(self) -> Sample:
        """Return the sample without its rows."""
        return replace(self, batch=None)


# -- tasks -----------------------------------------------------------------------------------------


def survey(source: Any, how: How) -> Surveyed:
    """Find the files, and the schema of a table or the hashing of names."""
    check_version(how)
    files = find_files(source)
    format = how.reading.format or format_of(files)
    facts = []
    for file in files:
        plain_text = format == "svmlight" and file.size is not None and not _is_compressed(file)
        facts.append(FileFacts(file.name, file.size, plain_text))
    looked_at = facts[:1]
    remark = ""
    if format == "jsonl" and len(facts) > 1:  # each may have fields that no other has
        if sum(fact.size or MOST_TO_SEARCH for fact in facts) <= MOST_TO_SEARCH:
            looked_at = facts
        else:
            remark = (
                f"fields are searched only in {facts[0].path}, since all files together are too "
                "large: a field that occurs only in other files is not learned"
            )
    with _opened([fact.path for fact in looked_at], None, how) as stream:
        return Surveyed(facts, stream.schema, stream.hashing, remark)


def sample(shard: Shard, rows: int, how: How, block: Block | None = None) -> Sample:
    """Read the first rows of a shard."""
    check_version(how)
    with _named(shard):
        if block is not None:
            return _sample_of_block(shard, rows, how, block)
        run_counts, batches = RunCounts(), []
        with _opened_shard(shard, how, block_bytes=SAMPLE_BLOCK) as stream:
            read, batch = 0, None
            while read < rows and (batch := _next(stream)) is not None:
                batches.append(_with_targets(batch, shard))
                read += len(batch)
            run_counts.add_lines(stream.bad_lines, stream.first_bad_lines)
            run_counts.add_names(stream.names())
            run_counts.without_target += stream.rows_without_target
            first_id = stream.position.get("base")
            rest, share = (None, 1.0) if batch is None else _what_is_left(shard, stream)
    whole = join_batches(batches)
    is_sorted = whole is not None and sorted_by_class(whole.targets)
    return Sample(rest, read, share, first_id, is_sorted, run_counts, whole)


def begin(how: How, samples: list[Sample]) -> bytes:
    """Learn the head: the rows of the samples, interleaved."""
    run_counts = RunCounts()
    for one in samples:
        run_counts.merge(one.run_counts, RunCounts())
    batch = interleaved([one.batch for one in samples if one.batch is not None])
    if batch is None or batch.targets is None:
        raise DataError("there are no rows to learn from")
    classifies = Learner(how.recipe).loss.classifies
    classes = None if how.classes is None else np.asarray(how.classes)
    if classifies and classes is None:
        classes = labels_in(batch.targets)
    if classes is not None and len(classes) < 2:
        only = f"are all of class {label_text(classes[0])}" if len(classes) else "have no label"
        raise DataError(
            f"the first rows of every part {only}; pass all classes with classes=, or shuffle the "
            "rows"
        )
    learner = Learner(
        how.recipe,
        classes=classes,
        n_features=how.reading.n_features,
        outputs=how.outputs,
        offset=FeatureMap.of(how.schema, how.hashing).offset_feature,
    )
    if how.recipe.needs_columns:
        learner.columns = SourceColumns.of(
            how.schema, lambda: run_counts.names, how.reading.n_features, how.names
        )
    unknown = None if classes is None else unknown_label(batch.targets, classes)
    if unknown is not None:
        raise DataError(f"a row{unknown.what}")
    _learn(learner, batch, run_counts)
    learner.finish()
    return _packed(learner, run_counts)


def learn(
    state: bytes,
    shard: Shard,
    how: How,
    block: Block | None = None,
    report: Callable[[int], None] = lambda rows: None,
) -> bytes:
    """Learn a shard and return the next state; call ``report`` regularly with the rows done."""
    check_version(how)
    learner, run_counts = unpacked(state)
    assert learner.race is not None
    learner.race.is_part = True
    reported_at = time.monotonic()
    rows = 0
    with _named(shard):
        for batch in _batches(shard, how, block, run_counts):
            try:
                _learn(learner, batch, run_counts)
            except DataError as error:
                unknown = _unknown_label(learner, batch, rows)
                raise DataError(unknown or str(error)) from error
            rows += len(batch)
            if time.monotonic() - reported_at > SECONDS_BETWEEN_REPORTS:
                reported_at = time.monotonic()
                report(rows)
    report(rows)
    return _packed(learner, run_counts)


def merge(last: bool, state: bytes, other: bytes, base: bytes) -> bytes:
    """Merge two states that both began from ``base``; the ``last`` merge ends the round."""
    (learner, run_counts), (second, count), (first, before) = map(unpacked, (state, other, base))
    learner.merge([second], first)
    run_counts.merge(count, before)
    if last and learner.race is not None:
        learner.race.settle()
    return _packed(learner, run_counts)


def settle(state: bytes) -> bytes:
    """End a round of one chain: eliminate the candidates that have fallen behind."""
    learner, run_counts = unpacked(state)
    assert learner.race is not None
    learner.race.settle()
    return _packed(learner, run_counts)


def measure_head(state: bytes) -> tuple[int, float | None, int]:
    """Return the rows learned, the row at which the last average began, and the state's size."""
    learner, _ = unpacked(state)
    report = learner.report()
    starts = report.average_start
    assert learner.race is not None
    if not learner.race.leader().candidate.averages:
        return learner.rows_seen, 0.0, len(state)  # there is no average to wait for
    known = [start for start in starts if start is not None]
    begun = float(max(known)) if len(known) == len(starts) else None
    return learner.rows_seen, begun, len(state)


def unpacked(state: bytes) -> tuple[Learner, RunCounts]:
    """Restore the learner and the counts from a state."""
    page, arrays = unpack(state, "a part of a distributed run", KIND, FORMAT)
    learner = Learner.from_state(page["learner"], arrays)
    run_counts = RunCounts.from_state(page["run_counts"], arrays)
    if learner.columns is not None:
        learner.columns.lookup = lambda: run_counts.names
    return learner, run_counts


def check_version(how: How) -> None:
    """Raise if this worker has another version of polyak than the run."""
    from polyak import __version__

    if __version__ != how.version:
        raise DataError(
            f"this worker has polyak {__version__}, but the run was started by polyak "
            f"{how.version}; install the same version on all workers"
        )


# -- inside ----------------------------------------------------------------------------------------


def _packed(learner: Learner, run_counts: RunCounts) -> bytes:
    learned, arrays = learner.state()
    counts, more = run_counts.to_state()
    return pack(
        {"kind": KIND, "format": FORMAT, "learner": learned, "run_counts": counts}, arrays | more
    )


def _learn(learner: Learner, batch: Batch, run_counts: RunCounts) -> None:
    targets, weights = batch.targets, batch.weights
    assert targets is not None
    if not learner.loss.classifies and len(targets):
        run_counts.spread.add(targets, weights)
    learner.learn(batch.rows, targets, weights)


def _unknown_label(learner: Learner, batch: Batch, rows: int) -> str | None:
    if learner.classes is None or batch.targets is None:
        return None
    unknown = unknown_label(batch.targets, learner.classes)
    if unknown is None:
        return None
    return (
        f"row {rows + unknown.row + 1} of those learned there{unknown.what}; if it is right, "
        "pass all classes with classes="
    )


@contextmanager
def _named(shard: Shard) -> Iterator[None]:
    """Add the shard's name to errors."""
    try:
        yield
    except (DataError, ValueError) as error:
        words = str(error)
        if shard.name in words:
            raise
        raise DataError(f"{shard.name}: {words}") from error


def _batches(shard: Shard, how: How, block: Block | None, run_counts: RunCounts) -> Iterator[Batch]:
    if block is not None:
        yield from batches_of(shard, block, how.reading.n_features, how.schema, run_counts)
        return
    with _opened_shard(shard, how) as stream:
        bad_before, shown_before = stream.bad_lines, len(stream.first_bad_lines)
        without_before = stream.rows_without_target
        while (batch := _next(stream)) is not None:
            yield _with_targets(batch, shard)
        run_counts.add_lines(stream.bad_lines - bad_before, stream.first_bad_lines[shown_before:])
        run_counts.add_names(stream.names())
        run_counts.without_target += stream.rows_without_target - without_before


def _opened_shard(shard: Shard, how: How, **other: Any) -> Stream:
    assert shard.path is not None
    source: Any = shard.path
    if shard.begin is not None and shard.end is not None:
        source = Span(shard.path, shard.begin, shard.end)
    return _opened(source, shard.start, how, **other)


def _opened(source: Any, start: Position | None, how: How, **other: Any) -> Stream:
    return open_stream(
        source,
        how.reading,
        start=start,
        schema=how.schema,
        random_order=False,
        threads=0,  # the workers use all processors already
        warn_if_sorted=False,
        **other,
    )


def _next(stream: Stream) -> Batch | None:
    try:
        return next(stream, None)
    except NoRowsError:  # the other shards may have some
        return None


def _is_compressed(file: Any) -> bool:
    from polyak.data.sources.compression import compression_of

    return compression_of(file.name, file.head()) is not None


def _with_targets(batch: Batch, shard: Shard) -> Batch:
    if batch.targets is None:
        raise DataError(f"{shard.name} has no targets to learn")
    return batch


UNKNOWN_SHARE = 0.5
"""The fraction of a shard that is assumed to be read where the size is unknown."""


def _what_is_left(shard: Shard, stream: Stream) -> tuple[Shard, float]:
    """Return the remaining shard, and the approximate fraction that was read."""
    total = stream.bytes_total
    share = min(stream.bytes_read / total, 1.0) if total else UNKNOWN_SHARE
    if shard.end is None:
        position = stream.position
        # A small compressed file may have been read to its end, into a buffer.
        if share == 1.0 and _next(stream) is not None:
            share = UNKNOWN_SHARE
        return replace(shard, start=position, size=shard.size * (1.0 - share)), share
    assert shard.path is not None
    assert shard.begin is not None
    first = Span(shard.path, shard.begin, shard.end).first + stream.position["offset"]
    return replace(shard, begin=first, size=float(max(shard.end - first, 1))), share


def _sample_of_block(shard: Shard, rows: int, how: How, block: Block) -> Sample:
    n = rows_of(block)
    take = min(rows, n)
    head = replace(shard, share=(0.0, take / n if n else 0.0))
    run_counts = RunCounts()
    batches = batches_of(head, block, how.reading.n_features, how.schema, run_counts)
    whole = join_batches(list(batches))
    left = replace(shard, skip=take, size=float(n - take)) if take < n else None
    is_sorted = whole is not None and whole.targets is not None and whole.targets.ndim == 1
    is_sorted = is_sorted and sorted_by_class(whole.targets)  # type: ignore[union-attr]
    return Sample(left, take, take / n if n else 1.0, None, is_sorted, run_counts, whole)

"""From a source to a model: the stream, the learner and the checkpoints, put together.

The command line only parses and prints; what happens in between is here.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polyak.data.find import names_files, read_once_only
from polyak.data.open import open_stream
from polyak.data.position import BadLine
from polyak.data.stream import Stream
from polyak.errors import DataError, RowError, SourceError
from polyak.learn.learner import Learner
from polyak.learn.order_watch import OrderWatch
from polyak.model.features import FeatureMap, Hashing
from polyak.model.linear import LinearModel
from polyak.rows.batch import Batch
from polyak.storage.feature_names import FeatureNames
from polyak.training.bad_rows import name_row, naming_far_features
from polyak.training.finishing import DataInfo, finished
from polyak.training.interrupts import Interrupts
from polyak.training.job import Job, Outcome, Progress

if TYPE_CHECKING:
    from polyak.model.schema import Schema
    from polyak.training.checkpoint import CheckpointFolder


def train(job: Job, watch: Callable[[Progress], None] = lambda progress: None) -> Outcome:
    """Do a job, and call ``watch`` after every batch.

    Ctrl-C ends it between two batches, with the model learned so far and a last checkpoint; what is
    learned in memory ends at once, without. The checkpoints of a complete run are for the caller to
    clear, once the model is safe: see `clear_checkpoints`.

    Examples
    --------
    >>> import numpy as np
    >>> from polyak.training.job import Job
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 4))
    >>> outcome = train(Job(source=(X, np.where(X[:, 0] > 0, 1, -1))))
    >>> outcome.progress.rows, outcome.model.predict([[2.0, 0.0, 0.0, 0.0]])
    (3000, array([1]))
    """
    if job.order == "auto" and not job.reading.shuffle_buffer:
        job = replace(job, reading=replace(job.reading, random_order=True))
    began = time.monotonic()
    with Interrupts() as interrupts:
        run = TrainingLoop(job, watch, interrupts)
        with run.folder_held():
            try:
                if job.order == "auto" and not run.has_begun():
                    # Imported here, so that streams, which do not need it, start sooner.
                    from polyak.training.load_in_memory import (
                        can_be_loaded,
                        learn_loaded,
                        load_in_memory,
                    )

                    loaded = load_in_memory(job) if can_be_loaded(job) else None
                    if loaded is not None:
                        return learn_loaded(job, loaded, watch, began)
                run.all_passes()
            except KeyboardInterrupt:
                run.save()
                return Outcome(run.model(), run.progress, interrupted=True)
            except SourceError:
                run.save()
                raise
            return Outcome(run.model(), run.progress)


def clear_checkpoints(job: Job) -> None:
    """Remove the checkpoints of a job whose model is safe."""
    if job.checkpoint is not None:
        _folder(job.checkpoint).clear()


def _folder(path: str) -> CheckpointFolder:
    from polyak.training.checkpoint import CheckpointFolder  # most runs have none, and start sooner

    return CheckpointFolder(path)


class TrainingLoop:
    """A job while it is being done."""

    def __init__(self, job: Job, watch: Callable[[Progress], None], interrupts: Interrupts) -> None:
        self._job = job
        self._watch = watch
        self._interrupts = interrupts
        self._began = self._saved = time.monotonic()
        self._rows_saved = 0
        self._passes = job.passes or 1
        self._folder = None if job.checkpoint is None else _folder(job.checkpoint)
        self._data = ""
        self._learner = Learner(job.recipe, classes=job.classes, n_features=job.reading.n_features)
        self._position: dict[str, Any] | None = None
        self._passes_done = 0
        self._first_id: int | None = None
        self._schema: Schema | None = None
        self._hashing: Hashing | None = None
        self._without_target = 0
        self._names = FeatureNames.of({})
        self._stream: Stream | None = None
        self.progress = Progress(self._learner)

    def folder_held(self) -> AbstractContextManager[None]:
        """Lock the folder of the checkpoints, before the first row is read."""
        return nullcontext() if self._folder is None else self._folder.held()

    def has_begun(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return self._folder is not None and self._folder.has_any()

    def all_passes(self) -> None:
        """Read the source in all passes, resuming from a checkpoint."""
        stream = self._open()
        self._hashing = stream.hashing
        self._take_targets(stream)
        self._take_schema(stream)
        self._learner.offset = FeatureMap.of(stream.schema, stream.hashing).offset_feature
        if stream.keeps_order:
            self._learner.watch = OrderWatch(_advice(self._job, stream))
            self._learner.watch.told = not self._job.reading.warn_if_sorted
        if self._folder is not None:
            self._data = stream.fingerprint
            with self._interrupts.held():
                resumed = self._resume(self._folder)
            if resumed and self._passes_done < self._passes:
                stream.begin(self._position, seed=self._seed(), warn_if_sorted=False)
        while self._passes_done < self._passes:
            with stream:
                self._one_pass(stream)
            with self._interrupts.held():
                with naming_far_features(self._job, stream, None):
                    self._learner.finish(last=True)
                self._passes_done += 1
                self._position = None
            if self._passes_done < self._passes:
                stream = self._open()
        self.save()  # should the model not find room on the disk, the work is still not lost

    def _take_targets(self, stream: Stream) -> None:
        """Take from the stream how many targets or labels a row has."""
        if stream.outputs > 1:
            self._learner.outputs = stream.outputs
            if self._learner.loss.classifies:
                self._learner.classes = self._job.label_names(stream.outputs, stream.name)

    def _take_schema(self, stream: Stream) -> None:
        """Take from a table's schema what the learner has to know."""
        schema, reading = stream.schema, self._job.reading
        if schema is not None:
            named = self._learner.classes is not None
            classes = schema.classes_for(self._learner.loss, named=named)
            if self._learner.classes is None:
                self._learner.classes = classes
            outputs = stream.outputs
            if self._learner.loss.classifies and schema.target is not None:
                known = self._learner.classes
                outputs = schema.target.values if known is None else len(known)
            if reading.columns.bits is None and schema.with_room_for(outputs) is not schema:
                schema = schema.with_room_for(outputs)
                stream.read_as(schema, reading.dtype)
        self._schema = schema
        self._learner.columns = stream.columns() if self._job.recipe.needs_columns else None
        if self._learner.columns is not None:
            self._learner.columns.lookup = self._known_names

    def _seed(self) -> int:
        return self._job.recipe.seed + self._passes_done  # another order in every pass

    def _open(self) -> Stream:
        return open_stream(
            self._job.source,
            self._job.reading,
            seed=self._seed(),
            schema=self._schema,
            warn_if_sorted=False,  # the learner sees to it
        )

    def _one_pass(self, stream: Stream) -> None:
        first = self._passes_done == 0
        self._stream = stream if first else None
        for batch in stream:
            # What was learned and how far it was read belong together, whatever happens.
            with self._interrupts.held():
                self._learn(batch, stream, again=not first)
                self._position = stream.position
                self._note(stream)
                if self._is_time_to_save():
                    self.save()
            self._watch(self.progress)
        self._note(stream)  # bad lines after the last good one
        if first:
            self._names, self._stream = self._known_names(), None

    def _note(self, stream: Stream) -> None:
        """Bring the progress up to date."""
        progress, total = self.progress, stream.bytes_total or 0
        self._first_id = stream.position.get("base", self._first_id)
        progress.rows = self._learner.rows_seen
        progress.bytes_read = total * self._passes_done + stream.bytes_read
        progress.share = _share(stream, self._passes_done, self._passes)
        progress.seconds = time.monotonic() - self._began
        if self._passes_done == 0:
            self._without_target = stream.rows_without_target
            progress.bad_lines = stream.bad_lines
            progress.first_bad_lines = stream.first_bad_lines

    def _known_names(self) -> FeatureNames:
        """Return the names of hashed features seen so far, also before an interruption."""
        return self._names if self._stream is None else self._names.together(self._stream.names())

    def _learn(self, batch: Batch, stream: Stream, again: bool) -> None:
        if batch.targets is None:
            raise DataError(
                f"{stream.name} has no targets to learn: name them, as in target='y.npy'"
            )
        # Before calibration all rows so far are kept, and any of them may be the one.
        start = self._position if self._learner.race else None
        try:
            with naming_far_features(self._job, stream, start):
                self._learner.learn(batch.rows, batch.targets, batch.weights, again=again)
        except RowError as error:
            before = stream.rows_read - len(batch)
            raise DataError(name_row(error, batch, before, self._job)) from error

    # -- checkpoints ---------------------------------------------------------------------------

    def _resume(self, folder: CheckpointFolder) -> bool:
        found = folder.load(self._data, self._job.options())
        if found is None:
            return False
        self._learner = found.learner
        if self._learner.columns is not None:
            self._learner.columns.lookup = self._known_names
        self._without_target = found.counts.without_target
        self._position, self._passes_done = found.position, found.passes_done
        self._first_id = found.counts.first_id
        self._names = found.names
        rows = found.learner.rows_seen
        self.progress = Progress(
            self._learner,
            rows=rows,
            rows_before=rows,
            bytes_read=found.counts.bytes_read,
            bytes_before=found.counts.bytes_read,
            share=found.counts.share,
            share_before=found.counts.share or 0.0,
            bad_lines=found.counts.bad_lines,
            first_bad_lines=tuple(BadLine(*line) for line in found.counts.first_bad_lines),
        )
        return True

    def _is_time_to_save(self) -> bool:
        if self._folder is None:
            return False
        job = self._job
        if job.every_rows is not None:
            return self.progress.rows - self._rows_saved >= job.every_rows
        seconds = 30.0 if job.every_seconds is None else job.every_seconds
        return time.monotonic() - self._saved >= seconds

    def save(self) -> None:
        """Write a checkpoint, if the job wants any and there is something to keep.

        One that cannot be written is no reason to lose the model: it is tried again next time.
        """
        if self._folder is None or not self._learner.rows_seen:
            return
        from polyak.training.checkpoint import Checkpoint, RunCounts

        progress = self.progress
        counts = RunCounts(
            self._first_id,
            self._without_target,
            progress.bytes_read,
            progress.share,
            progress.bad_lines,
            tuple((bad.file, bad.line, bad.text, bad.reason) for bad in progress.first_bad_lines),
        )
        checkpoint = Checkpoint(
            self._learner,
            self._data,
            self._job.options(),
            self._position,
            self._passes_done,
            counts,
            self._known_names(),
        )
        try:
            self._folder.save(checkpoint)
            progress.checkpoints += 1
        except OSError as error:
            warnings.warn(f"{error.strerror}; learning goes on without it", stacklevel=2)
        self._saved = time.monotonic()
        self._rows_saved = progress.rows

    # -- the end -------------------------------------------------------------------------------

    def model(self) -> LinearModel | None:
        """Return the current model, with what is known about its data."""
        if not self._learner.rows_seen:
            return None
        names = self._known_names()
        known = DataInfo(
            features=FeatureMap.of(self._schema, self._hashing, self._first_id, names),
            names=self._job.reading.columns.names_to_keep,
            passes=max(1, self._passes_done),
            bad_lines=self.progress.bad_lines,
            rows_without_target=self._without_target,
        )
        return finished(self._learner, known)


def _advice(job: Job, stream: Stream) -> str:
    """Return advice for rows whose order matters, if it should not."""
    buffer = "shuffle_buffer=100000 or as large as memory allows"
    if stream.advice:
        return f"{stream.advice}, or read them with {buffer}"
    if names_files(job.source) and read_once_only(job.source) is None:
        return f"learn them with order='auto', or read them with {buffer}"
    return f"read them with {buffer}"


def _share(stream: Stream, passes_done: int, passes: int) -> float | None:
    if not stream.bytes_total:
        return None
    return (passes_done + min(1.0, stream.bytes_read / stream.bytes_total)) / passes

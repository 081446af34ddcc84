"""Sources that fit into memory are loaded whole, and learned as estimators learn an array.

The order of their rows, by time, place or class, then does not matter: see
`polyak.training.in_memory`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyak.data.find import names_files, read_once_only
from polyak.data.open import open_stream
from polyak.data.stream import Stream
from polyak.errors import DataError, RowError
from polyak.free_memory import release_memory
from polyak.learn.learner import Learner
from polyak.learn.targets import check_number_of_classes
from polyak.losses import get_loss
from polyak.model.checking import Check
from polyak.model.features import FeatureMap
from polyak.model.linear import LinearModel
from polyak.model.training_report import CheckReport
from polyak.rows.batch import Batch, join_weights
from polyak.rows.label_sets import are_sets, labels_in
from polyak.rows.label_text import label_text
from polyak.rows.sparse import Rows, SparseRows, as_rows, features_of, join_rows, take_rows
from polyak.training.bad_rows import name_row, naming_far_features
from polyak.training.finishing import DataInfo, finished
from polyak.training.in_memory import Data, Order, learn_in_memory
from polyak.training.job import Job, Outcome, Progress

if TYPE_CHECKING:
    from polyak.training.plain_numbers import PlainNumbers

LARGEST_FILE = 2
"""Files larger than the memory for their rows by this factor are not tried."""
PARTS = 8
"""Number of parts that rows are learned in; those of the later half are predicted first."""


@dataclass(slots=True, eq=False)
class LoadedRows:
    """All rows of a source, and what is known about it.

    The rows of a table of ``plain`` numbers are its matrix.
    """

    data: Data
    stream: Stream
    known: DataInfo
    plain: PlainNumbers | None = None


def can_be_loaded(job: Job) -> bool:
    """Whether to try: only files can be read again if they prove too large."""
    if job.order != "auto" or job.reading.shuffle_buffer or not names_files(job.source):
        return False
    return read_once_only(job.source) is None


def load_in_memory(job: Job) -> LoadedRows | None:
    """Read all rows; return None if they need more than ``job.memory``."""
    stream = _open(job)
    schema = stream.schema
    if (stream.bytes_total or 0) > LARGEST_FILE * job.memory:
        stream.close()
        return None
    if schema is None:
        return _read(job, stream)
    # Is there a target, and can it be learned?
    schema.classes_for(get_loss(job.recipe.loss), named=job.classes is not None)
    from polyak.training.plain_numbers import PlainNumbers, matrix_of  # most sources are no tables

    by_feature = job.recipe.intervals or job.recipe.needs_columns  # as the schema numbers them
    plain = None if by_feature else PlainNumbers.of(schema)
    # Tables are read as estimators read frames: in 64 bits.
    stream.read_as(schema if plain is None else plain.schema, np.float64)
    loaded = _read(job, stream)
    if loaded is None:
        return None
    if plain is None:
        narrower = schema
        if schema.is_hashed and job.reading.columns.bits is None:
            narrower = schema.with_room_for(_outputs(job, loaded.data.targets))
        if narrower is schema:
            return loaded
        schema = narrower
    else:
        matrix = matrix_of(loaded.data.rows)
        if not np.isnan(matrix).any():
            loaded.data, loaded.plain = loaded.data._replace(rows=matrix), plain
            return loaded
    stream = _open(job)
    stream.read_as(schema, np.float64)
    return _read(job, stream)


def _outputs(job: Job, targets: NDArray[Any]) -> int:
    """Return how many weights a feature has."""
    if targets.ndim == 2:
        return int(targets.shape[1])
    if not get_loss(job.recipe.loss).classifies:
        return 1
    return len(labels_in(targets) if job.classes is None else job.classes)


def _open(job: Job) -> Stream:
    reading = replace(job.reading, warn_if_sorted=False, random_order=False)
    return open_stream(job.source, reading)


def _read(job: Job, stream: Stream) -> LoadedRows | None:
    targets: list[NDArray[Any]] = []
    weights: list[NDArray[Any] | None] = []
    memory_left, counts = job.memory, not get_loss(job.recipe.loss).classifies

    def parts() -> Iterator[Rows]:
        nonlocal memory_left
        for batch in stream:
            if batch.targets is None:
                raise DataError(
                    f"{stream.name} has no targets to learn: name them, as in target='y.npy'"
                )
            memory_left -= _bytes(batch)
            if memory_left < 0:
                return
            numbers = counts and batch.targets.dtype.kind in "biu"  # learned as floats, held once
            targets.append(batch.targets.astype(np.float64) if numbers else batch.targets)
            weights.append(batch.weights)
            yield batch.rows

    with stream:
        rows = join_rows(parts())
        if memory_left < 0:
            return None
        known = _known(job, stream)
    release_memory()
    data = Data(rows, np.concatenate(targets), join_weights(weights, list(map(len, targets))))
    return LoadedRows(data, stream, known)


def _known(job: Job, stream: Stream) -> DataInfo:
    first_id = stream.position.get("base")
    return DataInfo(
        features=FeatureMap.of(stream.schema, stream.hashing, first_id, stream.names()),
        names=job.reading.columns.names_to_keep,
        bad_lines=stream.bad_lines,
        rows_without_target=stream.rows_without_target,
    )


def _bytes(batch: Batch) -> int:
    """Return the memory of rows, which does not depend on how they came in batches."""
    rows = batch.rows
    if isinstance(rows, SparseRows):
        return 8 * (2 * len(rows) + int(rows.indptr[-1] - rows.indptr[0]))
    return 8 * rows.size


def learn_loaded(
    job: Job, loaded: LoadedRows, watch: Callable[[Progress], None], began: float
) -> Outcome:
    """Learn all rows as ``fit`` does: in random order, in as few passes as needed."""
    job = replace(job, reading=replace(job.reading, random_order=False))  # as it was read
    data, stream = loaded.data, loaded.stream
    rng = np.random.RandomState(job.recipe.seed)
    recipe = replace(job.recipe, seed=int(rng.randint(np.iinfo(np.int32).max)))
    learner = Learner(
        recipe,
        n_features=None if loaded.plain else job.reading.n_features,
        features=features_of(as_rows(data.rows)),
        outputs=stream.outputs,
    )
    learner.classes = _classes(job, loaded, learner)
    if (offset := loaded.known.features.offset_feature) is not None:
        learner.offset = offset if loaded.plain is None else offset // 2
    if recipe.needs_columns:
        learner.columns = stream.columns()
    progress = Progress(
        learner,
        bytes_read=stream.bytes_read,
        share=1.0 if stream.bytes_total else None,
        bad_lines=stream.bad_lines,
        first_bad_lines=stream.first_bad_lines,
    )

    check = ProgressiveCheck(data) if job.check else None

    def learn(learner: Learner, order: Order | None, number: int) -> None:
        if check is None or number:
            learner.learn(*data, order=order, again=number > 0)
        else:
            check.learn(learner, order)
        progress.learner, progress.rows = learner, min(learner.rows_seen, rows)
        progress.seconds = time.monotonic() - began
        watch(progress)

    rows = len(data.targets) * (job.passes or 1)
    try:
        with naming_far_features(job, stream, None):
            how = (data, rng, learn, Learner.finish)
            learner, made = learn_in_memory(
                learner, *how, passes=job.passes, shuffle=True, one_by_one=job.check
            )
    except RowError as error:
        raise DataError(_named(job, error, stream)) from error
    progress.learner, progress.rows = learner, rows
    progress.seconds = time.monotonic() - began
    if learner.race is not None and learner.race.problem.solved:  # at once: there was no progress
        watch(progress)
    model = finished(learner, replace(loaded.known, passes=made))
    return Outcome(_completed(model, job, loaded, check), progress)


def _completed(
    model: LinearModel, job: Job, loaded: LoadedRows, check: ProgressiveCheck | None
) -> LinearModel:
    """Return the model of the source's own columns, with its report complete."""
    assert model.report is not None
    asked = model.report.recipe | {"seed": job.recipe.seed}
    found = None if check is None else check.report()
    model = replace(model, report=replace(model.report, recipe=asked, check=found))
    return (
        model if loaded.plain is None else loaded.plain.model(model, loaded.data.rows.mean(axis=0))
    )


def _classes(job: Job, loaded: LoadedRows, learner: Learner) -> NDArray[Any] | None:
    """Return the classes; raise DataError if all targets are equal."""
    targets, schema = loaded.data.targets, loaded.stream.schema
    first = targets[0]
    if are_sets(targets):
        return _labels(job, targets, loaded.stream.name)
    if job.classes is None and len(targets) > 1 and (targets == first).all():
        column = "" if schema is None or schema.target is None else f"column {schema.target.name} "
        raise DataError(
            f"the target {column}of {loaded.stream.name} is {label_text(first)} in all "
            f"{len(targets)} rows: there is nothing to learn"
        )
    by_schema = (
        None if schema is None else schema.classes_for(learner.loss, named=job.classes is not None)
    )
    if not learner.loss.classifies:
        return None
    if targets.ndim == 2:
        return job.label_names(targets.shape[1], loaded.stream.name)
    if job.classes is not None:
        return job.classes
    if by_schema is not None:
        return by_schema
    classes = labels_in(targets)
    check_number_of_classes(classes, targets)
    return classes


def _labels(job: Job, targets: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the labels, of which a row may have several."""
    found = labels_in(targets) if job.classes is None else job.classes
    if len(found) < 2:
        raise DataError(
            f"the rows of {name} have {len(found) or 'no'} label{'s' * (not len(found))}: several "
            "labels are two or more"
        )
    return found


def _named(job: Job, error: RowError, stream: Stream) -> str:
    """Return the error with the row's file and line, which are found by reading again."""
    before = 0
    with _open(job) as again:
        for batch in again:
            if error.row < before + len(batch):
                own = RowError(error.row - before, error.what)
                return name_row(own, batch, before, job)
            before += len(batch)
    return str(error)


class ProgressiveCheck:
    """Lets a learner learn rows, and compares its predictions of the later half beforehand.

    A learner's result does not depend on how rows come in batches, so it learns the same.
    """

    def __init__(self, data: Data) -> None:
        self._data = data
        self._check: Check | None = None

    def learn(self, learner: Learner, order: Order | None) -> None:
        """Learn rows that were not learned before, all of them or some in an order."""
        begun = learner.rows_seen > 0
        rows = np.arange(len(self._data.targets)) if order is None else order
        for number, part in enumerate(np.array_split(rows, PARTS)):
            if learner.rows_seen and len(part) and (begun or number >= PARTS // 2):
                self._compare(learner, part)
            learner.learn(*self._data, order=part)

    def report(self) -> CheckReport | None:
        """Return the comparison, if any rows were compared."""
        return None if self._check is None else self._check.report()

    def _compare(self, learner: Learner, part: Order) -> None:
        model = learner.model(report=False)
        if self._check is None:
            self._check = Check(model)
        self._check.use(model)
        rows, targets, weights = self._data
        own = None if weights is None else weights[part]
        scores = model.scores(take_rows(as_rows(rows), part))
        self._check.add(scores, targets[part], own)

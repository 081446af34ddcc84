"""Messages for rows that cannot be learned from: their place, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from polyak._core import NoRoom
from polyak.data.find import find_files, names_files, read_once_only
from polyak.errors import DataError, RowError
from polyak.rows.batch import Batch
from polyak.rows.sparse import SparseRows

if TYPE_CHECKING:
    from polyak.data.position import Position
    from polyak.data.stream import Stream
    from polyak.training.job import Job


def name_row(error: RowError, batch: Batch, rows_before: int, job: Job | None = None) -> str:
    """Return the message for a row, with its file and line; of a job, also what to do.

    The error counts rows from the first of the batch, which ``rows_before`` rows preceded.
    """
    of_label = error.what.startswith(" has the label")
    place = f"row {rows_before + error.row + 1}"
    if batch.where is not None:
        file, number, unit = batch.where(error.row)
        place = f"{file}, {unit} {number}" + ("," if of_label else "")
    if job is None or not of_label:
        return place + error.what
    origin = "those of the first rows" if job.classes is None else "the classes given"
    return f"{place}{error.what}, {origin}; if it is right, name all classes with classes="


@contextmanager
def naming_far_features(job: Job, stream: Stream, start: Position | None) -> Iterator[None]:
    """Add the file, the line and the id, should there be no room for the rows since ``start``."""
    try:
        yield
    except NoRoom as error:
        place = _farthest(job, stream, start) or stream.name
        raise DataError(
            f"{place}: {error}; n_features=N refuses ids beyond N, should this one be a mistake"
        ) from error


def _farthest(job: Job, stream: Stream, start: Position | None) -> str | None:
    """Read the rows that were delivered since ``start`` once more, line by line."""
    from polyak.data.open import open_stream

    files = names_files(job.source)  # arrays and tables in memory have no lines
    mixed = job.reading.shuffle_buffer or job.reading.random_order
    if mixed or not files or read_once_only(job.source) is not None:
        return None
    base = stream.position.get("base")
    found, largest = None, -1
    with open_stream(
        job.source,
        job.reading,
        start=start,
        schema=stream.schema,
        zero_based=base == 0 if base in (0, 1) else job.reading.zero_based,
        block_bytes=1,  # so that a block is a line
        batch_rows=1,
        threads=0,
        warn_if_sorted=False,
    ) as lines:
        for batch in lines:
            index = _largest_index(batch.rows)
            if index > largest:
                largest = index
                found = f"{_place(job, lines)}, feature {index + (base or 0)}"
            if lines.rows_read >= stream.rows_read:
                break
    return found


def _place(job: Job, lines: Stream) -> str:
    position = lines.position
    if "lines" not in position:
        return f"{lines.name}, row {lines.rows_read - 1}"
    return f"{find_files(job.source)[position['file']].name}, line {position['lines']}"


def _largest_index(rows: Any) -> int:
    if not isinstance(rows, SparseRows):
        return int(rows.shape[1]) - 1
    return int(rows.indices.max(initial=-1))

"""Where a row stands that cannot be learned from, and what could be done about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyak.errors import RowError
from polyak.rows.batch import Batch

if TYPE_CHECKING:
    from polyak.training.job import Job


def name_row(error: RowError, batch: Batch, rows_before: int, job: Job) -> str:
    """Say of which file and line a row is that cannot be learned from.

    The error counts rows from the batch's first, before which there were so many.
    """
    of_label = error.what.startswith(" has the label")
    place = f"row {rows_before + error.row + 1}"
    if batch.where is not None:
        file, number, unit = batch.where(error.row)
        place = f"{file}, {unit} {number}" + ("," if of_label else "")
    if not of_label:
        return place + error.what
    origin = "those of the first rows" if job.classes is None else "the classes given"
    return f"{place}{error.what}, {origin}; if it is right, name all classes with classes="

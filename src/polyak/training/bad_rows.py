"""The message for a row that cannot be learned from: its place, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyak.errors import RowError
from polyak.rows.batch import Batch

if TYPE_CHECKING:
    from polyak.training.job import Job


def name_row(error: RowError, batch: Batch, rows_before: int, job: Job) -> str:
    """Return the message for a row that cannot be learned from, with its file and line.

    The error counts rows from the first of the batch, which ``rows_before`` rows preceded.
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

"""Rows as svmlight text, each number with the digits that bring it back to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from polyak._core import print_svmlight
from polyak.data.stream import Stream
from polyak.data.write.written_file import written_file
from polyak.errors import DataError
from polyak.rows.batch import Batch
from polyak.rows.sparse import core_rows


@contextmanager
def svmlight_writer(
    stream: Stream, path: str, unlabelled: bool
) -> Iterator[Callable[[Batch], None]]:
    """Open a file for rows, compressed as its name says; gives what writes a batch."""
    with written_file(path) as file:

        def write(batch: Batch) -> None:
            targets = batch.targets
            if unlabelled and targets is None:
                targets = np.zeros(len(batch))
            if targets is None or targets.dtype.kind not in "biuf":
                what = "that the source has none of" if targets is None else "not words"
                raise DataError(f"svmlight text needs targets that are numbers, {what}")
            if not unlabelled and batch.weights is not None and np.any(batch.weights != 1):
                raise DataError(
                    "svmlight text has no place for the rows' weights; .npz and .parquet have"
                )
            file.write(print_svmlight(core_rows(batch.rows), targets.astype(np.float64)))

        yield write

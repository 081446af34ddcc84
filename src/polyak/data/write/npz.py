"""Rows as a ``.npz`` file: compressed sparse rows as scipy saves them, or one matrix ``X``.

Such a file begins each array with its shape, which is known only in the end. So the arrays grow
in files of their own beside it and are put together afterwards: that takes room for the rows
twice on the disk, but in memory never more than a batch and the distinct labels.
"""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from polyak.data.feature_origin import origin_of, to_text
from polyak.data.stream import Stream
from polyak.data.write.spooled_arrays import GrowingArray, GrowingLabels, write_header
from polyak.errors import DataError
from polyak.rows.batch import Batch
from polyak.rows.sparse import SparseRows
from polyak.storage.container import part_of, replacing, writing

ABOUT = "polyak"
"""The array of one JSON text that says where the rows come from."""


@contextmanager
def npz_writer(
    stream: Stream, path: str, unlabelled: bool = False
) -> Iterator[Callable[[Batch], None]]:
    """Open a file for rows; gives what writes a batch."""
    parts = part_of(os.path.realpath(path))
    with writing(path):
        try:
            os.mkdir(parts)
            rows = _Rows(parts)
            yield rows.add
            with replacing(path) as file:
                rows.save(file, stream)
        finally:  # also what comes in the moment between making it and knowing of it
            shutil.rmtree(parts, ignore_errors=True)


class _Rows:
    """All rows so far, in files."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._arrays: dict[str, GrowingArray] = {}
        self._labels: GrowingLabels | None = None
        self._is_sparse = True
        self._weighted = False
        self._rows = self._stored = self._width = 0

    def add(self, batch: Batch) -> None:
        """Write a batch behind those before."""
        rows = batch.rows
        self._is_sparse = isinstance(rows, SparseRows)
        self._width = max(self._width, int(rows.shape[1]))
        if isinstance(rows, SparseRows):
            begin, end = int(rows.indptr[0]), int(rows.indptr[-1])
            if not self._rows:
                self._array("indptr").add(np.zeros(1, np.int64))
            self._array("indptr").add(rows.indptr[1:].astype(np.int64) + (self._stored - begin))
            self._array("indices").add(rows.indices[begin:end])
            self._array("data").add(rows.values[begin:end])
            self._stored += end - begin
        else:
            self._array("X").add(rows.ravel())
        self._add_weights(batch)
        if batch.targets is not None:
            self._add_targets(batch.targets)
        self._rows += len(batch)

    def _array(self, name: str) -> GrowingArray:
        if name not in self._arrays:
            self._arrays[name] = GrowingArray(os.path.join(self._folder, name))
        return self._arrays[name]

    def _add_weights(self, batch: Batch) -> None:
        if batch.weights is None and not self._weighted:
            return
        if not self._weighted:  # the rows before counted once each
            self._weighted = True
            self._array("weights").add(np.ones(self._rows))
        weights = np.ones(len(batch)) if batch.weights is None else batch.weights
        self._array("weights").add(np.asarray(weights, np.float64))

    def _add_targets(self, targets: NDArray[Any]) -> None:
        if targets.dtype.kind in "biuf":
            self._array("y").add(targets)
            return
        if self._labels is None:
            self._labels = GrowingLabels(self._array("y"))
        self._labels.add(targets)

    def save(self, file: BinaryIO, stream: Stream) -> None:
        """Put the arrays together."""
        if "y" in self._arrays and len(self._arrays["y"]) != self._rows:
            raise DataError("some rows have a target and others have none")
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            if self._is_sparse:
                _save(archive, "format", np.array(b"csr"))
                _save(archive, "shape", np.array([self._rows, self._width]))
            for name, array in self._arrays.items():
                shape: tuple[int, ...] = (len(array),)
                if name == "X":
                    shape = (self._rows, self._width)
                if name == "y" and self._labels is not None:
                    self._labels.save(_member(archive, name))
                else:
                    _copy(array, shape, _member(archive, name))
            _save(archive, ABOUT, np.array(to_text(origin_of(stream))))


def _member(archive: zipfile.ZipFile, name: str) -> Any:
    # Every file of the same rows is the same, so the date is always the oldest there can be.
    return archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True)


def _save(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    text = io.BytesIO()
    npy.write_array(text, array, allow_pickle=False)
    with _member(archive, name) as member:
        member.write(text.getvalue())


def _copy(array: GrowingArray, shape: tuple[int, ...], member: Any) -> None:
    with member, array.read() as file:
        write_header(member, array.dtype, shape)
        shutil.copyfileobj(file, member, 1 << 20)

"""Rows as a ``.npz`` file: compressed sparse rows as scipy saves them, or one matrix ``X``.

Each array in such a file begins with its shape, which is known only in the end. So the arrays are
collected in files beside it first. That takes the space of the rows twice on the disk, but in
memory never more than a batch.
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
from polyak.errors import DataError
from polyak.rows.batch import Batch
from polyak.rows.sparse import SparseRows
from polyak.storage.container import part_of, replacing, writing

ORIGIN = "polyak"
"""The array of one JSON text that says where the rows come from."""


@contextmanager
def npz_writer(
    stream: Stream, path: str, unlabelled: bool = False
) -> Iterator[Callable[[Batch], None]]:
    """Open a file for rows; yields the function that writes a batch."""
    parts = part_of(os.path.realpath(path))
    with writing(path):
        try:
            os.mkdir(parts)
            rows = _Rows(parts)
            yield rows.add
            with replacing(path) as file:
                rows.save(file, stream)
        finally:  # also if interrupted right after the folder is made
            shutil.rmtree(parts, ignore_errors=True)


class _Rows:
    """All rows so far, in files."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._arrays: dict[str, _Spool] = {}
        self._is_sparse = True
        self._rows = self._stored = self._width = 0

    def add(self, batch: Batch) -> None:
        """Append a batch."""
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
        if batch.weights is not None and "weights" not in self._arrays:
            self._array("weights").add(np.ones(self._rows))
        if "weights" in self._arrays:
            weights = np.ones(len(batch)) if batch.weights is None else batch.weights
            self._array("weights").add(np.asarray(weights, np.float64))
        if batch.targets is not None:
            numbers = batch.targets.dtype.kind in "biuf"
            self._array("y").add(batch.targets if numbers else batch.targets.astype(np.str_))
        self._rows += len(batch)

    def save(self, file: BinaryIO, stream: Stream) -> None:
        """Write the archive."""
        if "y" in self._arrays and len(self._arrays["y"]) != self._rows:
            raise DataError("some rows have a target and others have none")
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            if self._is_sparse:
                _save(archive, "format", np.array(b"csr"))
                _save(archive, "shape", np.array([self._rows, self._width]))
            for name, array in self._arrays.items():
                shape = (self._rows, self._width) if name == "X" else (len(array),)
                with _member(archive, name) as member:
                    array.save(member, shape)
            _save(archive, ORIGIN, np.array(to_text(origin_of(stream))))

    def _array(self, name: str) -> _Spool:
        if name not in self._arrays:
            self._arrays[name] = _Spool(os.path.join(self._folder, name))
        return self._arrays[name]


class _Spool:
    """An array in a file, appended to a part at a time; each part keeps its own dtype."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "w+b")  # noqa: SIM115  (closed by `save`, or with the process)
        self._parts: list[tuple[np.dtype[Any], int]] = []

    def __len__(self) -> int:
        return sum(count for _, count in self._parts)

    def add(self, numbers: NDArray[Any]) -> None:
        self._file.write(np.ascontiguousarray(numbers).data.cast("B") if len(numbers) else b"")
        self._parts.append((numbers.dtype, len(numbers)))

    def save(self, member: Any, shape: tuple[int, ...]) -> None:
        """Write all parts with the one dtype that holds them all."""
        dtype = np.result_type(*(dtype for dtype, _ in self._parts))
        header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(member, header)
        self._file.seek(0)
        with self._file as file:
            for own, count in self._parts:
                part = np.frombuffer(file.read(count * own.itemsize), own)
                member.write(part.astype(dtype, copy=False).tobytes())


def _member(archive: zipfile.ZipFile, name: str) -> Any:
    # Equal rows give equal files, so the date is always the oldest that zip files know.
    return archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True)


def _save(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    text = io.BytesIO()
    npy.write_array(text, array, allow_pickle=False)
    with _member(archive, name) as member:
        member.write(text.getvalue())

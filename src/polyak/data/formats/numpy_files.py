"""Arrays in ``.npy`` and ``.npz`` files, mapped into memory rather than loaded."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyak.data.feature_origin import from_text
from polyak.data.formats.arrays import ArrayFile, ArrayReader
from polyak.data.formats.npz_members import (
    Checksums,
    Members,
    PackedArray,
    read_header,
    require_memory,
)
from polyak.data.formats.open_arrays import rows_or_table
from polyak.data.options import ReadOptions
from polyak.data.sources.files import File, Pipe
from polyak.errors import DataError
from polyak.rows.sparse import SparseRows, as_rows

if TYPE_CHECKING:
    from polyak.data.tables.reader import TableReader

LET_GO_AFTER = 1 << 6
"""After how many batches the mapped pages that were read are given back."""


class _Mapped(ArrayFile):
    """A file mapped into memory.

    Pages once read would stay and count as ours, up to the whole file, so they are given back
    now and then; if need be they are read again.
    """

    def __init__(self, path: str, checksums: Checksums | None = None) -> None:
        self._path = path
        self._checksums = checksums
        with open(path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._batches = 0

    def array(self, begin: int = 0, end: int | None = None) -> NDArray[Any]:
        """Map the array whose ``.npy`` header is at ``begin``, and which ends at ``end``."""
        self._map.seek(begin)
        shape, fortran, dtype = read_header(self._map)
        first, end = self._map.tell(), len(self._map) if end is None else end
        count = math.prod(shape)
        if count * dtype.itemsize > end - first:
            raise ValueError(
                f"its header speaks of {dtype} of shape {shape}, but there are {end - first} bytes"
            )
        array = np.frombuffer(self._map, dtype, count, first)
        return array.reshape(shape, order="F" if fortran else "C")

    def begin(self) -> None:
        """Say that reading begins."""
        if self._checksums is not None:
            self._checksums.start()

    def before_batch(self, last: bool) -> None:
        """Refuse a file that is damaged, as far as is known, or that became shorter.

        A page that is gone would end the process as soon as it is read.
        """
        now = self._map.size()
        if now < len(self._map):
            raise DataError(
                f"{self._path} became shorter while it was read: it had {len(self._map)} bytes, "
                f"and now has {now}"
            )
        if self._checksums is not None:
            self._checksums.check(wait=last)

    def after_batch(self) -> None:
        """Count a batch; give pages back every so many."""
        self._batches += 1
        if self._batches % LET_GO_AFTER == 0 and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)

    def end(self) -> None:
        """Say that reading has ended, perhaps early."""
        if self._checksums is not None:
            self._checksums.stop()


def open_npy(files: Sequence[File | Pipe], options: ReadOptions) -> ArrayReader | TableReader:
    """Read a matrix from a ``.npy`` file; the targets come from ``y``, an array or such a file."""
    path = _only(files)
    try:
        mapped = _Mapped(path)
        X = mapped.array()
    except Exception as error:  # whatever damaged bytes make of numpy
        raise DataError(f"{path} is not a sound .npy file: {error}") from error
    return _reader(X, _load_targets(options.y), None, options, path, "npy", mapped)


def open_npz(files: Sequence[File | Pipe], options: ReadOptions) -> ArrayReader | TableReader:
    """Read a ``.npz`` file: ``X`` or scipy's sparse layout, perhaps ``y`` and ``weights``."""
    path = _only(files)
    members = Members(path)
    arrays = _Arrays(members, _Mapped(path, Checksums(path, members)))
    if "indptr" in members or "format" in members:
        X = _sparse(path, arrays)
    elif "X" in members:
        X = arrays.get("X")
    else:
        held = ", ".join(members.names) or "nothing"
        raise DataError(f"{path} holds {held}, but neither X nor a sparse matrix as scipy saves it")
    y = arrays.get("y")
    origin = {}
    if "polyak" in members:
        try:
            origin = from_text(str(arrays.whole("polyak")))
        except (ValueError, RecursionError) as error:
            raise members.damaged("polyak", error) from error
    return _reader(
        X,
        _load_targets(options.y) if y is None else y,
        arrays.get("weights"),
        options,
        path,
        "npz",
        arrays.mapped,
        origin,
    )


class _Arrays:
    """The arrays of a ``.npz`` file, as its reader takes them."""

    def __init__(self, members: Members, mapped: _Mapped) -> None:
        self.members = members
        self.mapped = mapped

    def get(self, name: str) -> Any:
        """Map an array or unpack it as it is read; None if there is none of that name."""
        if name not in self.members:
            return None
        if self.members.is_stored(name):
            place = self.members.place(name)
            try:
                return self.mapped.array(*place)
            except Exception as error:  # whatever damaged bytes make of numpy
                raise self.members.damaged(name, error) from error
        packed = self.members.packed(name)
        # Rows that stand column by column are there only when all is.
        in_order = packed.ndim == 1 or (packed.ndim == 2 and not packed.fortran)
        return packed if in_order else packed.whole()

    def whole(self, name: str) -> Any:
        """Read an array that is small, or should be."""
        array = self.get(name)
        return array.whole() if isinstance(array, PackedArray) else array


def _sparse(path: str, arrays: _Arrays) -> Any:
    members = arrays.members
    kind = arrays.whole("format")
    if kind is not None and kind.tolist() not in (b"csr", "csr"):
        from scipy.sparse import load_npz

        require_memory(members.unpacked_bytes, path)
        try:
            return as_rows(load_npz(path))
        except Exception as error:  # whatever damaged bytes make of scipy
            raise DataError(f"{path} is not a sound .npz file: {error}") from error
    parts = {name: arrays.get(name) for name in ("indptr", "indices", "data")}
    shape = arrays.whole("shape")
    for name, part in [*parts.items(), ("shape", shape)]:
        if part is None:
            raise DataError(f"{path} is not a sound .npz file: it has no {name}")
        kinds = "iufb" if name == "data" else "iu"
        if part.ndim != 1 or part.dtype.kind not in kinds:
            raise members.damaged(name, f"it holds {part.dtype} of shape {part.shape}")
    if len(shape) != 2 or len(parts["indptr"]) != int(shape[0]) + 1:
        raise members.damaged("indptr", "it does not fit the shape")
    if len(parts["indices"]) != len(parts["data"]):
        raise members.damaged("indices", "there are not as many as there are data")
    return SparseRows(parts["indptr"], parts["indices"], parts["data"], int(shape[1]))


def _load_targets(y: Any) -> Any:
    if not isinstance(y, (str, os.PathLike)):
        return y
    try:
        return np.load(y, mmap_mode="r")
    except Exception as error:  # whatever damaged bytes make of numpy
        raise DataError(f"{os.fspath(y)} is not a sound .npy file: {error}") from error


def _only(files: Sequence[File | Pipe]) -> str:
    if len(files) != 1 or not isinstance(files[0], File):
        raise DataError("NumPy's files are read one at a time, and not from a pipe")
    return files[0].name


def _reader(
    X: Any,
    y: Any,
    weights: Any,
    options: ReadOptions,
    path: str,
    format: str,
    mapped: _Mapped,
    origin: dict[str, int] | None = None,
) -> ArrayReader | TableReader:
    if not isinstance(X, SparseRows) and (X.ndim != 2 or X.dtype.kind not in "fiub"):
        raise DataError(f"{path} must hold a matrix of numbers, not {X.dtype} of shape {X.shape}")
    reader = ArrayReader(
        X,
        y,
        weights,
        options,
        format=format,
        name=path,
        bytes_total=os.path.getsize(path),
        file=mapped,
        origin=origin,
    )
    return rows_or_table(reader, options)

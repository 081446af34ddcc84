"""Arrays in ``.npy`` and ``.npz`` files: mapped into memory, or loaded if they are compressed."""

from __future__ import annotations

import math
import mmap
import os
import struct
import threading
import zipfile
import zlib
from collections.abc import Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from polyak._core import free_memory
from polyak.data.feature_origin import from_text
from polyak.data.formats.arrays import ArrayReader
from polyak.data.formats.open_arrays import rows_or_table
from polyak.data.options import ReadOptions
from polyak.data.sources.files import File, Pipe
from polyak.errors import DataError
from polyak.rows.sparse import SparseRows, as_rows

if TYPE_CHECKING:
    from polyak.data.tables.reader import TableReader

RELEASE_EVERY = 1 << 6
"""Batches after which the mapped pages that were read are released."""
CHUNK = 1 << 20
"""Bytes read at a time to compute a checksum."""


def open_npy(files: Sequence[File | Pipe], options: ReadOptions) -> ArrayReader | TableReader:
    """Read a matrix from a ``.npy`` file; the targets come from ``y``, an array or such a file."""
    path = _only(files)
    try:
        mapped = _Mapped(path)
        X = mapped.array()
    except Exception as error:  # damaged bytes raise errors of many types in NumPy
        raise DataError(f"{path} is not a valid .npy file: {error}") from error
    return _reader(X, _load_targets(options.y), None, options, path, "npy", mapped)


def open_npz(files: Sequence[File | Pipe], options: ReadOptions) -> ArrayReader | TableReader:
    """Read a ``.npz`` file: ``X`` or scipy's sparse layout, perhaps ``y`` and ``weights``."""
    path = _only(files)
    archive = _Archive(path)
    if "indptr" in archive or "format" in archive:
        X = _sparse(archive)
    elif "X" in archive:
        X = archive.array("X")
    else:
        held = ", ".join(archive.names) or "nothing"
        raise DataError(f"{path} holds {held}, but neither X nor a sparse matrix as scipy saves it")
    y = archive.array("y")
    origin = {}
    if "polyak" in archive:
        try:
            origin = from_text(str(archive.array("polyak")))
        except (ValueError, RecursionError) as error:
            raise archive.damaged("polyak", error) from error
    y = _load_targets(options.y) if y is None else y
    weights = archive.array("weights")
    return _reader(X, y, weights, options, path, "npz", archive.mapped, origin)


class _Mapped:
    """A file mapped into memory.

    Pages once read would stay and count as ours, up to the whole file, so they are released every
    few batches; the system reads them again if need be.
    """

    def __init__(self, path: str, checksums: _Checksums | None = None) -> None:
        self._path = path
        self._checksums = checksums
        with open(path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def array(self, begin: int = 0, end: int | None = None) -> NDArray[Any]:
        """Map the array whose ``.npy`` header is at ``begin``, and which ends at ``end``."""
        self._map.seek(begin)
        shape, fortran, dtype = _read_header(self._map)
        first, end = self._map.tell(), len(self._map) if end is None else end
        return _as_array(memoryview(self._map)[first:end], shape, fortran, dtype)

    def visit(self, spans: Iterable[tuple[int, int]], rows: int) -> Generator[tuple[int, int]]:
        """Yield spans of ``rows`` rows to be read; raise DataError if the file is damaged.

        Reading a page that is gone would end the process. The checksums of all members are known
        before the last row is read.
        """
        if self._checksums is not None:
            self._checksums.start()
        try:
            for number, (begin, end) in enumerate(spans, 1):
                self._check_size()
                if self._checksums is not None:
                    self._checksums.check(wait=end == rows)
                yield begin, end
                if number % RELEASE_EVERY == 0 and hasattr(mmap, "MADV_DONTNEED"):
                    self._map.madvise(mmap.MADV_DONTNEED)
        finally:
            if self._checksums is not None:
                self._checksums.stop()

    def _check_size(self) -> None:
        now = self._map.size()
        if now < len(self._map):
            raise DataError(
                f"{self._path} became shorter while it was read: it had {len(self._map)} bytes, "
                f"and now has {now}"
            )


class _Archive:
    """The arrays in a ``.npz`` file, by their names."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except Exception as error:  # damaged bytes raise errors of many types in zipfile
            raise DataError(f"{path} is not a valid .npz file: {error}") from error
        self._members = {
            member.filename.removesuffix(".npy"): member for member in self._archive.infolist()
        }
        self.mapped = _Mapped(path, _Checksums(self))

    def __contains__(self, name: str) -> bool:
        return name in self._members

    @property
    def names(self) -> list[str]:
        """The names of all arrays."""
        return list(self._members)

    def array(self, name: str) -> Any:
        """Return an array, mapped unless it is compressed; None if there is none of that name."""
        if name not in self:
            return None
        try:
            if self._is_stored(name):
                begin = self._begin(name)
                return self.mapped.array(begin, begin + self._members[name].file_size)
            return self._loaded(name)
        except DataError:
            raise
        except Exception as error:  # damaged bytes raise errors of many types in zipfile and NumPy
            raise self.damaged(name, error) from error

    def require_memory(self, *names: str) -> None:
        """Raise DataError unless some arrays fit into the memory that is free."""
        needed, free = sum(self._members[name].file_size for name in names), free_memory()
        if needed > free:
            some = f"the member {names[0]} of {self.path}" if len(names) == 1 else self.path
            raise DataError(
                f"{some} would take {needed / 1e9:.1f} GB of memory, of which {free / 1e9:.1f} GB "
                "are free; save it uncompressed, which is read in batches"
            )

    def damaged(self, name: str, error: object) -> DataError:
        """Return the error for a damaged array."""
        return DataError(f"{self.path} is not a valid .npz file: its member {name}: {error}")

    def stored(self) -> list[tuple[str, int, int, int]]:
        """Return name, begin, size and checksum of each member that is not compressed."""
        return [
            (name, self._begin(name), member.file_size, member.CRC)
            for name, member in self._members.items()
            if self._is_stored(name)
        ]

    def _is_stored(self, name: str) -> bool:
        return self._members[name].compress_type == zipfile.ZIP_STORED

    def _loaded(self, name: str) -> NDArray[Any]:
        self.require_memory(name)
        with self._archive.open(self._members[name]) as file:
            shape, fortran, dtype = _read_header(file)
            data = file.read()  # no more than the archive says, and compared with its checksum
        return _as_array(memoryview(data), shape, fortran, dtype)

    def _begin(self, name: str) -> int:
        # The data follows a local header of 30 bytes, the name, and an extra field whose length
        # stands only there. Opening the member compares that header with the archive's own list.
        offset = self._members[name].header_offset
        try:
            self._archive.open(self._members[name]).close()
            with open(self.path, "rb") as file:
                file.seek(offset + 26)
                name_size, extra_size = struct.unpack("<HH", file.read(4))
        except Exception as error:  # damaged bytes raise errors of many types in zipfile
            raise self.damaged(name, error) from error
        return int(offset + 30 + name_size + extra_size)


class _Checksums:
    """Compares the members that are mapped with their checksums, in a thread beside the reading."""

    def __init__(self, archive: _Archive) -> None:
        self._archive = archive
        self._stored = archive.stored()
        self._wrong: str | None = None
        self._stopped = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to compare."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._compare, daemon=True)
            self._thread.start()

    def check(self, wait: bool) -> None:
        """Raise DataError if a member was found damaged."""
        if wait and self._thread is not None:
            self._thread.join()
        if self._wrong is not None:
            raise self._archive.damaged(self._wrong, "its checksum is wrong")

    def stop(self) -> None:
        """End early."""
        self._stopped = True

    def _compare(self) -> None:
        with open(self._archive.path, "rb", buffering=0) as file:
            for name, begin, size, expected in self._stored:
                file.seek(begin)
                found = 0
                while size > 0 and not self._stopped:
                    chunk = file.read(min(CHUNK, size))
                    if not chunk:
                        break
                    found = zlib.crc32(chunk, found)
                    size -= len(chunk)
                if self._stopped:
                    return
                if found != expected:
                    self._wrong = name
                    return


def _read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read an array's shape, whether it is stored column by column, and its dtype."""
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    if min(shape, default=0) < 0 or dtype.itemsize == 0:
        raise ValueError(f"its header speaks of {dtype} of shape {shape}")
    return shape, fortran, dtype


def _as_array(
    data: memoryview, shape: tuple[int, ...], fortran: bool, dtype: np.dtype[Any]
) -> NDArray[Any]:
    count = math.prod(shape)
    if count * dtype.itemsize > len(data):
        raise ValueError(
            f"its header speaks of {dtype} of shape {shape}, but there are {len(data)} bytes"
        )
    return np.frombuffer(data, dtype, count).reshape(shape, order="F" if fortran else "C")


def _sparse(archive: _Archive) -> Any:
    kind = archive.array("format")
    if kind is not None and kind.tolist() not in (b"csr", "csr"):
        from scipy.sparse import load_npz

        archive.require_memory(*archive.names)
        try:
            return as_rows(load_npz(archive.path))
        except Exception as error:  # damaged bytes raise errors of many types in scipy
            raise DataError(f"{archive.path} is not a valid .npz file: {error}") from error
    parts = {name: archive.array(name) for name in ("indptr", "indices", "data", "shape")}
    for name, part in parts.items():
        if part is None:
            raise DataError(f"{archive.path} is not a valid .npz file: it has no {name}")
        if part.ndim != 1 or part.dtype.kind not in ("iufb" if name == "data" else "iu"):
            raise archive.damaged(name, f"it holds {part.dtype} of shape {part.shape}")
    indptr, indices, data, shape = parts.values()
    if len(shape) != 2 or len(indptr) != int(shape[0]) + 1:
        raise archive.damaged("indptr", "it does not fit the shape")
    if len(indices) != len(data):
        raise archive.damaged("indices", f"there are {len(indices)}, but {len(data)} data")
    return SparseRows(indptr, indices, data, int(shape[1]))


def _load_targets(y: Any) -> Any:
    if not isinstance(y, (str, os.PathLike)):
        return y
    try:
        return np.load(y, mmap_mode="r")
    except Exception as error:  # damaged bytes raise errors of many types in NumPy
        raise DataError(f"{os.fspath(y)} is not a valid .npy file: {error}") from error


def _only(files: Sequence[File | Pipe]) -> str:
    if len(files) != 1 or type(files[0]) is not File:
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

"""Opening arrays: in memory, or in ``.npy`` and ``.npz`` files.

Files are mapped into memory, or loaded if they are compressed. With missing values, arrays are a
table.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import threading
import zipfile
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from polyak._core import free_memory
from polyak.data.feature_origin import from_text
from polyak.data.formats.arrays import ArrayReader, Spans
from polyak.data.options import ReadOptions
from polyak.data.sources.files import File, Pipe
from polyak.errors import DataError
from polyak.rows.sparse import SparseRows, as_rows

if TYPE_CHECKING:
    from polyak.data.tables.reader import TableReader

RELEASE_EVERY = 1 << 6
"""Batches after which the mapped pages that were read are released."""
CHUNK = 1 << 20
"""Bytes read at a time to compare a checksum."""


def open_arrays(source: Any, options: ReadOptions) -> ArrayReader | TableReader:
    """Read ``X``, ``(X, y)`` or ``(X, y, weights)``."""
    X, *more = source if isinstance(source, tuple) else (source,)
    if len(more) > 2:
        raise DataError("arrays are given as X, (X, y) or (X, y, weights)")
    y, weights = [*more, None, None][:2]
    try:
        # The reader converts a matrix of other numbers block by block.
        rows = X if _is_matrix(X) else as_rows(X)
    except (TypeError, ValueError) as error:
        raise DataError(f"the source is neither a file nor an array of rows: {error}") from error
    reader = ArrayReader(rows, options.y if y is None else y, weights, options)
    return rows_or_table(reader, options)


def rows_or_table(reader: ArrayReader, options: ReadOptions) -> ArrayReader | TableReader:
    """Return a reader of a table for dense rows that have a schema or, early, a missing value.

    Rows whose width is given are no table, since a table has more features than columns.
    """
    if not reader.is_dense:
        return reader
    if options.schema is None and (options.n_features or not reader.has_missing_values()):
        return reader
    from polyak.data.formats.array_tables import open_array_table

    return open_array_table(reader, options)


def open_npy(files: Sequence[File | Pipe], options: ReadOptions) -> ArrayReader | TableReader:
    """Read a matrix from a ``.npy`` file; its targets and weights are in files of their own."""
    path = _only(files)
    mapped = _Mapped(path)
    return _reader(mapped.array(), None, [mapped], options, path, "npy")


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
    origin = {}
    if "polyak" in archive:
        try:
            origin = from_text(str(archive.array("polyak")))
        except (ValueError, RecursionError) as error:
            raise _damaged(path, "polyak", error) from error
    return _reader(X, archive, [archive.mapped], options, path, "npz", origin)


def _column(
    named: str | None, default: str, archive: _Archive | None, maps: list[_Mapped]
) -> NDArray[Any] | None:
    """Return targets or weights: an array of the archive, or a ``.npy`` file, added to ``maps``."""
    if archive is not None and (named or default) in archive:
        array: NDArray[Any] = archive.array(named or default)
        return array
    if named is None:
        return None
    if not os.path.isfile(named):
        has = "" if archive is None else f"{archive.path} has {', '.join(archive.names)}, and "
        raise DataError(f"{has}there is no file {named}")
    maps.append(_Mapped(named))
    return maps[-1].array()


class _Mapped:
    """A file mapped into memory.

    Pages once read would stay and count as ours, up to the whole file, so they are released every
    few batches; the system reads them again if need be. Of an archive, the ``members`` that are
    mapped are compared with their checksums.
    """

    def __init__(self, path: str, members: Sequence[str] = ()) -> None:
        self._path = path
        self._members = members
        try:
            with open(path, "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:  # an empty file cannot be mapped
            raise DataError(f"{path} is not a valid NumPy file: {error}") from error

    def array(self) -> NDArray[Any]:
        """Map the array of a ``.npy`` file."""
        try:
            return self.member(0, len(self._map))
        except Exception as error:  # damaged bytes raise errors of many types in NumPy
            raise DataError(f"{self._path} is not a valid .npy file: {error}") from error

    def member(self, begin: int, end: int) -> NDArray[Any]:
        """Map the array whose ``.npy`` header is at ``begin``, and which ends at ``end``."""
        self._map.seek(begin)
        shape, fortran, dtype = _read_header(self._map)
        return _as_array(memoryview(self._map)[self._map.tell() : end], shape, fortran, dtype)

    def visit(self, spans: Spans, rows: int) -> Generator[tuple[int, int]]:
        """Yield spans of ``rows`` rows to be read; raise DataError if the file is damaged.

        Reading a page that is gone would end the process. The checksums of all members are known
        before the last row is read.
        """
        checksums = _Checksums(self._path, self._members)
        checksums.start()
        try:
            for number, (begin, end) in enumerate(spans, 1):
                self._check_size()
                if end == rows:
                    checksums.join()
                if checksums.error is not None:
                    raise checksums.error
                yield begin, end
                if number % RELEASE_EVERY == 0 and hasattr(mmap, "MADV_DONTNEED"):
                    self._map.madvise(mmap.MADV_DONTNEED)
        finally:
            checksums.is_stopped = True

    def _check_size(self) -> None:
        now = self._map.size()
        if now < len(self._map):
            raise DataError(
                f"{self._path} became shorter while it was read: it had {len(self._map)} bytes, "
                f"and now has {now}"
            )


class _Checksums(threading.Thread):
    """Compares members of an archive with their checksums, beside the reading."""

    def __init__(self, path: str, members: Sequence[str]) -> None:
        super().__init__(daemon=True)
        self._path = path
        self._members = members
        self.is_stopped = False
        self.error: DataError | None = None

    def run(self) -> None:
        """Read the members, of which zipfile computes the checksums."""
        for member in self._members:
            try:
                with zipfile.ZipFile(self._path) as archive, archive.open(member) as file:
                    while not self.is_stopped and file.read(CHUNK):
                        pass
            except Exception as error:  # damaged bytes raise errors of many types in zipfile
                self.error = _damaged(self._path, member, error)
                return


class _Archive:
    """The arrays in a ``.npz`` file, by their names."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except Exception as error:  # damaged bytes raise errors of many types in zipfile
            raise DataError(f"{path} is not a valid .npz file: {error}") from error
        members = self._archive.infolist()
        self._members = {member.filename.removesuffix(".npy"): member for member in members}
        self.mapped = _Mapped(path, [each.filename for each in members if _is_stored(each)])

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
        member = self._members[name]
        try:
            # Opening a member compares its own header with the archive's list.
            with self._archive.open(member) as file:
                if _is_stored(member):
                    begin = self._begin(member)
                    return self.mapped.member(begin, begin + member.file_size)
                self.require_memory(name)
                header = _read_header(file)
                data = file.read()  # no more than the archive says, compared with its checksum
                return _as_array(memoryview(data), *header)
        except DataError:
            raise
        except Exception as error:  # damaged bytes raise errors of many types in zipfile and NumPy
            raise _damaged(self.path, name, error) from error

    def require_memory(self, *names: str) -> None:
        """Raise DataError unless some arrays fit into the memory that is free."""
        needed, free = sum(self._members[name].file_size for name in names), free_memory()
        if needed > free:
            some = f"the member {names[0]} of {self.path}" if len(names) == 1 else self.path
            raise DataError(
                f"{some} would take {needed / 1e9:.1f} GB of memory, of which {free / 1e9:.1f} GB "
                "are free; save it uncompressed, which is read in batches"
            )

    def _begin(self, member: zipfile.ZipInfo) -> int:
        # The data follows a local header of 30 bytes, the name, and an extra field whose length
        # stands only there.
        with open(self.path, "rb") as file:
            file.seek(member.header_offset + 26)
            name_size, extra_size = struct.unpack("<HH", file.read(4))
        return int(member.header_offset + 30 + name_size + extra_size)


def _is_stored(member: zipfile.ZipInfo) -> bool:
    return member.compress_type == zipfile.ZIP_STORED


def _damaged(path: str, member: str, error: object) -> DataError:
    name = member.removesuffix(".npy")
    return DataError(f"{path} is not a valid .npz file: its member {name}: {error}")


def _read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read an array's shape, whether it is stored column by column, and its dtype."""
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects; save numbers, or strings made by astype(str)")
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
            raise _damaged(archive.path, name, f"it holds {part.dtype} of shape {part.shape}")
    indptr, indices, data, shape = parts.values()
    if len(shape) != 2 or len(indptr) != int(shape[0]) + 1:
        raise _damaged(archive.path, "indptr", "it does not fit the shape")
    if len(indices) != len(data):
        raise _damaged(archive.path, "indices", f"there are {len(indices)}, but {len(data)} data")
    return SparseRows(indptr, indices, data, int(shape[1]))


def _only(files: Sequence[File | Pipe]) -> str:
    if len(files) != 1 or type(files[0]) is not File:
        raise DataError("NumPy's files are read one at a time, and not from a pipe")
    return files[0].name


def _reader(
    X: Any,
    archive: _Archive | None,
    maps: list[_Mapped],
    options: ReadOptions,
    path: str,
    format: str,
    origin: dict[str, int] | None = None,
) -> ArrayReader | TableReader:
    if not (isinstance(X, SparseRows) or _is_matrix(X)):
        raise DataError(f"{path} must hold a matrix of numbers, not {X.dtype} of shape {X.shape}")
    y = _column(options.columns.target, "y", archive, maps)
    weights = _column(options.columns.weight, "weights", archive, maps)

    def visit(spans: Spans, rows: int) -> Iterator[tuple[int, int]]:
        for mapped in maps:
            spans = mapped.visit(spans, rows)
        return iter(spans)

    reader = ArrayReader(
        X,
        options.y if y is None else y,
        weights,
        options,
        format=format,
        name=path,
        bytes_total=os.path.getsize(path),
        visit=visit,
        origin=origin,
    )
    return rows_or_table(reader, options)


def _is_matrix(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub"

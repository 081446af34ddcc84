"""Arrays in ``.npy`` and ``.npz`` files, mapped into memory rather than loaded."""

from __future__ import annotations

import mmap
import os
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from polyak.errors import DataError
from polyak.rows import SparseRows, as_rows
from polyak.streams.arrays import ArrayReader
from polyak.streams.files import File, Pipe
from polyak.streams.options import Options
from polyak.streams.origin import from_text

LET_GO_AFTER = 1 << 6
"""After how many batches the mapped pages that were read are given back."""


class _Mapped:
    """A file mapped into memory.

    Pages once read would stay and count as ours, up to the whole file, so they are given back
    now and then; if need be they are read again.
    """

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._batches = 0

    def array(self, offset: int) -> NDArray[Any]:
        """Map the array whose ``.npy`` header is at an offset."""
        self._map.seek(offset)
        version = npy.read_magic(self._map)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(self._map)
        if dtype.hasobject:
            raise ValueError("it holds Python objects")
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(self._map, dtype, count, self._map.tell())
        return array.reshape(shape, order="F" if fortran else "C")

    def let_go(self) -> None:
        """Count a batch; give pages back every so many."""
        self._batches += 1
        if self._batches % LET_GO_AFTER == 0 and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


def open_npy(files: Sequence[File | Pipe], options: Options) -> ArrayReader:
    """Read a matrix from a ``.npy`` file; the targets come from ``y``, an array or such a file."""
    path = _only(files)
    try:
        mapped = _Mapped(path)
        X = mapped.array(0)
        y = _load_targets(options.y)
    except (ValueError, OSError) as error:
        raise DataError(f"{path} is not a sound .npy file: {error}") from None
    return _reader(X, y, None, options, path, "npy", mapped)


def open_npz(files: Sequence[File | Pipe], options: Options) -> ArrayReader:
    """Read a ``.npz`` file: ``X`` or scipy's sparse layout, perhaps ``y`` and ``weights``."""
    path = _only(files)
    try:
        mapped = _Mapped(path)
        arrays = _members(path, mapped)
        if "indptr" in arrays:
            X = _sparse(path, arrays)
        elif "X" in arrays:
            X = arrays["X"]
        else:
            held = ", ".join(arrays) or "nothing"
            raise DataError(
                f"{path} holds {held}, but neither X nor a sparse matrix as scipy saves it"
            )
        y = arrays["y"] if "y" in arrays else _load_targets(options.y)
        origin = from_text(str(arrays["polyak"])) if "polyak" in arrays else {}
    except DataError:
        raise
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is not a sound .npz file: {error}") from None
    return _reader(X, y, arrays.get("weights"), options, path, "npz", mapped, origin)


def _members(path: str, mapped: _Mapped) -> dict[str, NDArray[Any]]:
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if member.compress_type == zipfile.ZIP_STORED:
                # The data follows a local header of 30 bytes, the name, and an extra field whose
                # length stands only there.
                start = member.header_offset
                local = mapped._map[start + 26 : start + 30]
                lengths = int.from_bytes(local[:2], "little") + int.from_bytes(local[2:], "little")
                arrays[name] = mapped.array(start + 30 + lengths)
            else:
                with archive.open(member) as file:
                    arrays[name] = npy.read_array(file, allow_pickle=False)
    return arrays


def _sparse(path: str, arrays: dict[str, NDArray[Any]]) -> Any:
    kind = arrays["format"].item() if "format" in arrays else b"csr"
    if kind not in (b"csr", "csr"):
        from scipy.sparse import load_npz

        return as_rows(load_npz(path))
    n_rows, n_features = map(int, arrays["shape"])
    if len(arrays["indptr"]) != n_rows + 1:
        raise ValueError("its indptr does not fit its shape")
    return SparseRows(arrays["indptr"], arrays["indices"], arrays["data"], n_features)


def _load_targets(y: Any) -> Any:
    return np.load(y, mmap_mode="r") if isinstance(y, (str, os.PathLike)) else y


def _only(files: Sequence[File | Pipe]) -> str:
    if len(files) != 1 or not isinstance(files[0], File):
        raise DataError("NumPy's files are read one at a time, and not from a pipe")
    return files[0].name


def _reader(
    X: Any,
    y: Any,
    weights: Any,
    options: Options,
    path: str,
    format: str,
    mapped: _Mapped,
    origin: dict[str, int] | None = None,
) -> ArrayReader:
    if not isinstance(X, SparseRows) and (X.ndim != 2 or X.dtype.kind not in "fiub"):
        raise DataError(f"{path} must hold a matrix of numbers, not {X.dtype} of shape {X.shape}")
    return ArrayReader(
        X,
        y,
        weights,
        options,
        format=format,
        name=path,
        bytes_total=os.path.getsize(path),
        let_go=mapped.let_go,
        origin=origin,
    )

"""The arrays in a ``.npz`` file: mapped where they lie as they are, else unpacked as they are read.

Nothing is believed of its size before it is there.
"""

from __future__ import annotations

import math
import struct
import threading
import zipfile
import zlib
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from polyak._core import free_memory
from polyak.errors import DataError

CHUNK = 1 << 20


def read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read what stands before an array's numbers: its shape, whether columns first, its type."""
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    if min(shape, default=0) < 0 or dtype.itemsize == 0:
        raise ValueError(f"its header speaks of {dtype} of shape {shape}")
    return shape, fortran, dtype


class Members:
    """The members of an archive, by the names of their arrays."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except Exception as error:  # whatever damaged bytes make of zipfile
            raise DataError(f"{path} is not a sound .npz file: {error}") from error
        self._by_name = {
            member.filename.removesuffix(".npy"): member for member in self._archive.infolist()
        }

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    @property
    def names(self) -> list[str]:
        """The arrays there are."""
        return list(self._by_name)

    @property
    def unpacked_bytes(self) -> int:
        """How much all arrays would take in memory, as the archive says."""
        return sum(member.file_size for member in self._by_name.values())

    def stored(self) -> list[tuple[str, int, int, int]]:
        """Of each member that is not compressed: its name, its begin, its size and its checksum."""
        return [
            (name, self.place(name)[0], member.file_size, member.CRC)
            for name, member in self._by_name.items()
            if member.compress_type == zipfile.ZIP_STORED
        ]

    def is_stored(self, name: str) -> bool:
        """Say whether a member lies in the file as it is."""
        return self._by_name[name].compress_type == zipfile.ZIP_STORED

    def _begin(self, name: str) -> int:
        # The data follows a local header of 30 bytes, the name, and an extra field whose length
        # stands only there. Opening the member compares that header with the archive's own list.
        member = self._by_name[name]
        self.open(name).close()
        with open(self._path, "rb") as file:
            file.seek(member.header_offset + 26)
            lengths = file.read(4)
        name_size, extra_size = struct.unpack("<HH", lengths)
        return int(member.header_offset + 30 + name_size + extra_size)

    def place(self, name: str) -> tuple[int, int]:
        """Where a stored member begins in the file, and where it ends."""
        try:
            begin = self._begin(name)
        except DataError:
            raise
        except Exception as error:
            raise self.damaged(name, error) from error
        return begin, begin + self._by_name[name].file_size

    def packed(self, name: str) -> PackedArray:
        """Give a compressed array that is unpacked as it is read."""
        return PackedArray(self, name, self._by_name[name].file_size)

    def open(self, name: str) -> IO[bytes]:
        """Begin to unpack a member."""
        try:
            return self._archive.open(self._by_name[name])
        except Exception as error:
            raise self.damaged(name, error) from error

    def damaged(self, name: str, error: object) -> DataError:
        """Say what is wrong with a member."""
        return DataError(f"{self._path} is not a sound .npz file: its member {name}: {error}")


class PackedArray:
    """An array that is unpacked from its beginning on, as far as it is asked for.

    Slices may begin within the one before or behind it; for one before that, unpacking begins
    again. Only the last slice is kept.
    """

    def __init__(self, members: Members, name: str, size: int) -> None:
        self._members = members
        self._name = name
        self.shape, self.fortran, self.dtype = self._open()
        held = size - self._file.tell()
        if math.prod(self.shape) * self.dtype.itemsize != held:
            raise members.damaged(
                name, f"its header speaks of {self.dtype} of shape {self.shape}, not {held} bytes"
            )
        self.ndim = len(self.shape)
        self._width = math.prod(self.shape[1:])
        self._window: NDArray[Any] = np.empty((0, *self.shape[1:]), self.dtype)
        self._begin = 0

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> NDArray[Any]:
        begin, end, step = part.indices(len(self))
        if step != 1:
            raise ValueError("a packed array can be sliced with a step of one only")
        end = max(begin, end)
        if begin < self._begin:
            self._file.close()
            self._open()
            self._window, self._begin = self._window[:0], 0
        behind = self._begin + len(self._window)
        if begin > behind:
            self._skip((begin - behind) * self._width * self.dtype.itemsize)
            behind = begin
        kept = self._window[begin - self._begin :] if begin < behind else self._window[:0]
        if end > behind:
            kept = np.concatenate([kept, self._read(end - behind)])
            if end == len(self):
                self._require_end()
        self._window, self._begin = kept, begin
        return kept[: end - begin]

    def whole(self) -> NDArray[Any]:
        """Unpack all of it, if there is memory for it."""
        needed = math.prod(self.shape) * self.dtype.itemsize
        require_memory(needed, f"the member {self._name} of {self._members._path}")
        if self.ndim == 0:
            return self._read(1).reshape(self.shape)
        array = self[: len(self)]
        return array.ravel().reshape(self.shape, order="F") if self.fortran else array

    def _open(self) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        self._file = self._members.open(self._name)
        try:
            return read_header(self._file)
        except Exception as error:  # whatever damaged bytes make of numpy
            raise self._members.damaged(self._name, error) from error

    def _read(self, count: int) -> NDArray[Any]:
        size = count * self._width * self.dtype.itemsize
        data = bytearray()
        while len(data) < size:
            data += self._some(size - len(data))
        return np.frombuffer(data, self.dtype).reshape((count, *self.shape[1:]))

    def _skip(self, size: int) -> None:
        while size > 0:
            size -= len(self._some(size))

    def _some(self, most: int) -> bytes:
        """Unpack a chunk: all of it may not be there, whatever the header says."""
        try:
            data = self._file.read(min(CHUNK, most))
        except Exception as error:  # whatever damaged bytes make of zipfile
            raise self._members.damaged(self._name, error) from error
        if not data:
            raise self._members.damaged(self._name, "it ends too soon")
        return data

    def _require_end(self) -> None:
        try:
            more = self._file.read(1)  # which compares the checksum, too
        except Exception as error:
            raise self._members.damaged(self._name, error) from error
        if more:
            raise self._members.damaged(self._name, "it is longer than its header says")


def require_memory(needed: int, what: str) -> None:
    """Refuse what would not fit into the memory that is free."""
    free = free_memory()
    if needed > free:
        raise DataError(
            f"{what} would take {needed / 1e9:.1f} GB of memory, of which {free / 1e9:.1f} GB are "
            "free"
        )


class Checksums:
    """Compares stored members with their checksums, in a thread beside the reading."""

    def __init__(self, path: str, members: Members) -> None:
        self._path = path
        self._members = members
        self._stored = members.stored()
        self._wrong: str | None = None
        self._stop = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, if there is anything to compare."""
        if self._stored and self._thread is None:
            self._thread = threading.Thread(target=self._compare, daemon=True)
            self._thread.start()

    def check(self, wait: bool) -> None:
        """Refuse a file in which a member was found damaged."""
        if wait and self._thread is not None:
            self._thread.join()
        if self._wrong is not None:
            raise self._members.damaged(self._wrong, "its checksum is wrong")

    def stop(self) -> None:
        """End early."""
        self._stop = True

    def _compare(self) -> None:
        with open(self._path, "rb", buffering=0) as file:
            for name, begin, size, expected in self._stored:
                file.seek(begin)
                found = 0
                while size > 0 and not self._stop:
                    chunk = file.read(min(CHUNK, size))
                    if not chunk:
                        break
                    found = zlib.crc32(chunk, found)
                    size -= len(chunk)
                if self._stop:
                    return
                if found != expected:
                    self._wrong = name
                    return

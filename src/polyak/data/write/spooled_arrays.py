"""Arrays that grow on the disk, for files that need to know their length first."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

CHUNK = 1 << 18


class GrowingArray:
    """Numbers in a file, one after the other, in the narrowest type that has held them so far."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: BinaryIO = self._opened()
        self.dtype: np.dtype[Any] = np.dtype(np.float64)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, numbers: NDArray[Any]) -> None:
        """Append numbers; a wider type than before makes all of them wider."""
        if self._length == 0:
            self.dtype = numbers.dtype.newbyteorder("=")
        wide = np.promote_types(self.dtype, numbers.dtype)
        if wide != self.dtype:
            self._widen(wide)
        self._file.write(np.ascontiguousarray(numbers, self.dtype).data)
        self._length += len(numbers)

    def read(self) -> BinaryIO:
        """Open the file for reading; nothing is added any more."""
        self._file.close()
        return open(self._path, "rb")

    def _opened(self) -> BinaryIO:
        return open(self._path, "wb", buffering=1 << 20)

    def _widen(self, dtype: np.dtype[Any]) -> None:
        narrow = self._path + ".narrow"
        self._file.close()
        os.replace(self._path, narrow)
        self._file = self._opened()
        with open(narrow, "rb") as file:
            while part := file.read(CHUNK * self.dtype.itemsize):
                self._file.write(np.frombuffer(part, self.dtype).astype(dtype).data)
        os.remove(narrow)
        self.dtype = dtype


class GrowingLabels:
    """Words in a file, as numbers of the distinct ones, since their width shows in the end."""

    def __init__(self, codes: GrowingArray) -> None:
        self._codes = codes
        self._words: dict[str, int] = {}

    def add(self, words: NDArray[Any]) -> None:
        """Append words."""
        codes = [self._words.setdefault(word, len(self._words)) for word in words.tolist()]
        self._codes.add(np.array(codes, np.int32))

    def save(self, member: Any) -> None:
        """Write them as an array of words."""
        words = np.array(list(self._words))
        with member, self._codes.read() as file:
            write_header(member, words.dtype, (len(self._codes),))
            while part := file.read(CHUNK * 4):
                member.write(words[np.frombuffer(part, np.int32)].tobytes())


def write_header(file: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Write what stands before an array's numbers."""
    header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(file, header)

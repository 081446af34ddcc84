"""Bytes from wherever they lie: files, compressed files, several files, pipes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, BinaryIO, cast

from polyak.data.sources.compression import (
    chosen_member,
    compression_of,
    decompressed,
    open_member,
)
from polyak.errors import DataError

HEAD_BYTES = 1 << 16


class Opened:
    """Bytes being read: decompressed, with a count of those taken from the disk."""

    def __init__(
        self,
        name: str,
        file: BinaryIO,
        compression: str | None,
        size: int | None = None,
        member: str | None = None,
    ) -> None:
        self._name = name
        self._counted = _Counted(file, name, size)
        self._compression = compression
        self._file = cast(BinaryIO, self._counted)
        self._archive = file if compression == "zip" else None
        if compression == "zip":
            if isinstance(file, _Joined):
                raise DataError(f"{name} is a zip archive, which cannot be read from a pipe")
            self._file = open_member(file, name, member)
        elif compression:
            buffered = io.BufferedReader(self._counted, 1 << 18)
            self._file = decompressed(cast(BinaryIO, buffered), compression)

    @property
    def bytes_read(self) -> int:
        """How many bytes of the file were read, as they lie on the disk."""
        return self._counted.count if self._archive is None else self._archive.tell()

    def fill(self, buffer: memoryview) -> int:
        """Fill the whole buffer unless the file ends first; return how much was filled.

        Never less for want of patience: how a pipe portions its bytes must not show.
        """
        filled = 0
        try:
            while filled < len(buffer):
                n = self._file.readinto(buffer[filled:])  # type: ignore[attr-defined]
                if not n:
                    break
                filled += n
        except EOFError as error:
            raise DataError(f"{self._name} is cut short: its compressed data has no end") from error
        except DataError:
            raise
        except Exception as error:
            if self._compression:
                raise DataError(
                    f"{self._name} is not valid {self._compression} data: {error}"
                ) from error
            raise DataError(f"{self._name} cannot be read: {reason(error)}") from error
        return filled

    def skip(self, n: int) -> None:
        """Go on by ``n`` bytes: by a leap where the file allows it, otherwise by reading."""
        if self._compression or not self._counted.leap(n):
            read_past(self.fill, n, self._name)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._counted.close()


def read_past(fill: Callable[[memoryview], int], n: int, name: str) -> None:
    """Read and discard bytes."""
    buffer = memoryview(bytearray(min(n, 1 << 20)))
    while n > 0:
        got = fill(buffer[: min(n, len(buffer))])
        if not got:
            raise DataError(f"{name} ends before the place to go on from")
        n -= got


class _Counted(io.RawIOBase):
    """A file that knows how much of it was read.

    Of a file on the disk, ``size`` is how much there was to read when it was opened: what is added
    later is not read, and less than that is an error, not its end.
    """

    def __init__(self, file: BinaryIO, name: str, size: int | None) -> None:
        self._file = file
        self._name = name
        self._size = size
        self._readinto = getattr(file, "readinto", None)
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._size is not None:
            buffer = memoryview(buffer)[: max(0, self._size - self.count)]
        if self._readinto is not None:
            n = self._readinto(buffer) or 0
        else:
            data = self._file.read(len(buffer))
            n = len(data)
            buffer[:n] = data
        if n == 0 and len(buffer) and self._size is not None:
            now = os.fstat(self._file.fileno()).st_size
            before = self._file.tell() + self._size - self.count
            raise DataError(
                f"{self._name} became shorter while it was read: it had {before} bytes, and now "
                f"has {now}"
            )
        self.count += n
        return n

    def leap(self, n: int) -> bool:
        if self._size is not None and self.count + n > self._size:
            return False
        try:
            self._file.seek(n, io.SEEK_CUR)
        except (AttributeError, OSError):
            return False
        self.count += n
        return True

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class File:
    """A file on the disk, which can be opened any number of times.

    Attributes
    ----------
    name : str
        The path, as errors give it.
    size : int or None
        How many bytes it takes on the disk; None for a pipe.
    keys : dict
        What the names of its folders say, where they are as in ``year=2013/month=1``.
    member : str or None
        Which file to read, where this is a zip archive of several.
    """

    def __init__(self, path: str, keys: dict[str, str | None] | None = None) -> None:
        self.name = path
        self.keys = keys or {}
        self.member: str | None = None
        self._pipe: Pipe | None = None
        try:
            state = os.stat(path)
            if os.path.isdir(path):
                raise DataError(f"{path} is a folder, not a file")
            self.is_regular = os.path.isfile(path)
            self.size = state.st_size if self.is_regular else None
        except OSError as error:
            raise DataError(f"{path} cannot be read: {reason(error)}") from error

    def head(self) -> bytes:
        """Return the first 64 KiB; of a pipe, they will be read again."""
        if not self.is_regular:
            return self._as_pipe().head()
        with self._raw() as raw:
            return _read_head(raw)

    def lines_before(self) -> int:
        """Count the lines before it, where it is only some lines of a file."""
        return 0

    def is_plain(self) -> bool:
        """Whether the bytes on the disk are the text: it is neither a pipe nor compressed."""
        if not self.is_regular:
            return False
        with self._raw() as raw:
            return compression_of(self.name, raw.read(8) or b"") is None

    def open(self) -> Opened:
        """Begin to read."""
        if not self.is_regular:
            return self._as_pipe().open()
        raw = self._raw()
        head = raw.read(8) or b""
        raw.seek(0)
        size = os.fstat(raw.fileno()).st_size
        compression = compression_of(self.name, head)
        return Opened(self.name, cast(BinaryIO, raw), compression, size, self.member)

    def member_name(self) -> str | None:
        """Name the file that is read, where this is a zip archive."""
        import zipfile

        if not self.is_regular or not zipfile.is_zipfile(self.name):
            return None
        with zipfile.ZipFile(self.name) as archive:
            return chosen_member(archive, self.name, self.member)

    def _as_pipe(self) -> Pipe:
        if self._pipe is None:
            self._pipe = Pipe(self._raw(), self.name)
        return self._pipe

    def _raw(self) -> io.FileIO:
        try:
            return open(self.name, "rb", buffering=0)
        except OSError as error:
            raise DataError(f"{self.name} cannot be read: {reason(error)}") from error


class Pipe:
    """Bytes that come once: standard input, or a file object that someone else opened.

    The first 64 KiB are kept, since the compression and the identity of the data show in them.
    """

    def __init__(self, file: Any, name: str) -> None:
        if isinstance(file, io.TextIOBase):
            raise DataError(f"{name} is open for text; open it in binary mode, as with 'rb'")
        self.name = name
        self.size: int | None = None
        self._file = file
        self._head: bytes | None = None
        self._is_open = False

    @classmethod
    def of_standard_input(cls) -> Pipe:
        """Read standard input, past Python's own buffer, which a blocked read would lock."""
        return cls(io.FileIO(0, closefd=False), "standard input")

    def head(self) -> bytes:
        """Return the first 64 KiB; they will be read again."""
        if self._head is None:
            try:
                self._head = _read_head(self._file)
            except OSError as error:
                raise DataError(f"{self.name} cannot be read: {reason(error)}") from error
        return self._head

    def lines_before(self) -> int:
        """Return the number of lines before it, none."""
        return 0

    def open(self) -> Opened:
        """Begin to read; possible once."""
        if self._is_open:
            raise DataError(f"{self.name} can be read once only")
        head = self.head()
        self._is_open = True
        joined = cast(BinaryIO, _Joined(head, self._file))
        return Opened(self.name, joined, compression_of(self.name, head))


class _Joined(io.RawIOBase):
    """A head that was read already, then the rest."""

    def __init__(self, head: bytes, file: Any) -> None:
        self._head = memoryview(head)
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head[: len(buffer)] or self._file.read(len(buffer)) or b""
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def _read_head(file: Any) -> bytes:
    head = b""
    while len(head) < HEAD_BYTES:
        data = file.read(HEAD_BYTES - len(head))
        if not data:
            break
        head += data
    return head


def name_of_all(files: Sequence[File | Pipe]) -> str:
    """Return the name of files for messages, that of the first."""
    return files[0].name if len(files) == 1 else f"{files[0].name} and the other files"


def total_size(files: Iterable[File | Pipe]) -> int | None:
    """Add up the sizes on the disk; None if one is not known."""
    sizes = [file.size for file in files]
    return None if None in sizes else sum(cast(list[int], sizes))


def fingerprint(files: Iterable[File | Pipe]) -> str:
    """Return a text that identifies this data: the sizes, and the first bytes of the first files.

    Neither names nor dates count, so a copy elsewhere is the same data. A pipe shows how it begins
    only if it is the first: the next ones may not be written to before this one is read.
    """
    import hashlib

    digest = hashlib.sha256()
    for i, file in enumerate(files):
        digest.update(f"{file.size} ".encode())
        if i == 0 or (i < 16 and file.size is not None):
            digest.update(file.head())
    return digest.hexdigest()[:32]


def is_utf8(name: str) -> bool:
    """Whether a file's name is UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def reason(error: Exception) -> str:
    """Return the message of an error without its number and the file's name."""
    return (getattr(error, "strerror", None) or str(error)).lower()

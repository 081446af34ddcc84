"""Bytes from wherever they lie: files, parts of files, compressed files, several files, pipes."""

from __future__ import annotations

import io
import math
import os
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, BinaryIO, cast

from polyak.data.sources.compression import (
    Portions,
    chosen_member,
    compression_of,
    decompressed,
    open_member,
)
from polyak.errors import DataError

HEAD_BYTES = 1 << 16
PORTION = 1 << 18
"""Bytes read at a time from a pipe, or to be translated."""


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
        self._is_plain = compression is None
        self._file = cast(BinaryIO, self._counted)
        self._archive = file if compression == "zip" else None
        if compression == "zip":
            if isinstance(file, Portions):
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
        if self._is_plain and self._counted.leap(n):
            return
        buffer = memoryview(bytearray(min(n, 1 << 20)))
        while n > 0:
            got = self.fill(buffer[: min(n, len(buffer))])
            if not got:
                raise DataError(f"{self._name} ends before the place to go on from")
            n -= got

    def translate(self, translation: Callable[[Iterator[bytes]], Iterator[bytes]]) -> None:
        """Read what a translation yields of the bytes, instead of these."""
        self._is_plain = False
        portions = iter(partial(self._file.read, PORTION), b"")
        self._file = cast(BinaryIO, Portions(translation(portions)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._counted.close()


class _Counted(io.RawIOBase):
    """A file that knows how much of it was read.

    Of a file on the disk, ``size`` is how much there was to read when it was opened: what is added
    later is not read, and less than that is an error, not its end.
    """

    def __init__(self, file: BinaryIO, name: str, size: int | None) -> None:
        self._file = file
        self._name = name
        self._size = size
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._size is not None:
            buffer = memoryview(buffer)[: max(0, self._size - self.count)]
        n: int = self._file.readinto(buffer) or 0  # type: ignore[attr-defined]
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
    size : int
        How many bytes it takes on the disk.
    keys : dict
        What the names of its folders say, where they are as in ``year=2013/month=1``.
    member : str or None
        Which file to read, where this is a zip archive of several.
    """

    is_regular = True
    samples = 1024
    """How many samples of 64 KiB a fingerprint takes: all together, in about 0.1 s."""

    def __init__(self, path: str, keys: dict[str, str | None] | None = None) -> None:
        self.name = path
        self.keys = keys or {}
        self.member: str | None = None
        self._newlines = [(0, 0)]
        try:
            self.size = os.stat(path).st_size
        except OSError as error:
            raise DataError(f"{path} cannot be read: {reason(error)}") from error
        if os.path.isdir(path):
            raise DataError(f"{path} is a folder, not a file")

    def head(self) -> bytes:
        """Return the first 64 KiB."""
        with self.raw() as raw:
            return _read_head(raw)

    def lines_before(self) -> int:
        """Count the lines before it, where it is only some lines of a file."""
        return 0

    def is_plain(self) -> bool:
        """Whether the bytes on the disk are the text, since it is not compressed."""
        with self.raw() as raw:
            return compression_of(self.name, raw.read(8) or b"") is None

    def open(self) -> Opened:
        """Begin to read."""
        raw = self.raw()
        head = raw.read(8) or b""
        raw.seek(0)
        return Opened(self.name, raw, compression_of(self.name, head), self.size, self.member)

    def newlines_before(self, end: int) -> int:
        """Count the newlines before a byte: only needed to report where a line is.

        The counts are cached, so that no byte is counted twice.
        """
        with self.raw() as raw:
            at, lines = self._newlines[bisect_right(self._newlines, (end, end)) - 1]
            raw.seek(at)
            while at < end and (block := raw.read(min(end - at, 1 << 20))):
                at += len(block)
                lines += block.count(b"\n")
                insort(self._newlines, (at, lines))
        return lines

    def member_name(self) -> str | None:
        """Name the file that is read, where this is a zip archive."""
        import zipfile

        if not zipfile.is_zipfile(self.name):
            return None
        with zipfile.ZipFile(self.name) as archive:
            return chosen_member(archive, self.name, self.member)

    def raw(self) -> Any:
        """Open the bytes as they are, for random access."""
        return _open_raw(self.name)


def _open_raw(path: str) -> io.FileIO:
    try:
        return open(path, "rb", buffering=0)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {reason(error)}") from error


class Span(File):
    r"""The lines of a file that begin at a byte or after it, and before another.

    So spans that follow each other have every line once, wherever they are cut. The file must not
    be compressed.

    Attributes
    ----------
    first, last : int
        Where the first of the lines begins, and the line after the last.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "some.svm")
    >>> _ = open(path, "w").write("1 1:1\n-1 2:1\n1 3:1\n")
    >>> [(span.first, span.last) for span in (Span(path, 0, 9), Span(path, 9, 20))]
    [(0, 13), (13, 19)]
    """

    def __init__(self, path: str, begin: int, end: int) -> None:
        super().__init__(path)
        if not os.path.isfile(path):
            raise DataError(f"{path} cannot be read in parts: it is not a file on a disk")
        with self.raw() as raw:
            self.first, self.last = (self._line_after(raw, place) for place in (begin, end))
        self.size = self.last - self.first

    def lines_before(self) -> int:
        """Count the lines of the file that come before: only needed to report an error."""
        return self.newlines_before(self.first)

    def is_plain(self) -> bool:
        """Return False, since the core reads plain files whole."""
        return False

    def open(self) -> Opened:
        """Begin to read."""
        raw = self.raw()
        raw.seek(self.first)
        return Opened(self.name, raw, None, self.size)

    def _line_after(self, raw: io.FileIO, place: int) -> int:
        """Find where the first line begins that begins at a byte or after it."""
        if place <= 0:
            return 0
        try:
            place = raw.seek(place - 1)
            while block := raw.read(1 << 16):
                found = block.find(b"\n")
                if found >= 0:
                    return place + found + 1
                place += len(block)
            return raw.seek(0, io.SEEK_END)
        except OSError as error:
            raise DataError(f"{self.name} cannot be read: {reason(error)}") from error


class Pipe:
    """Bytes that come once: standard input, a named pipe, or a file object of the caller.

    The first 64 KiB are kept, since the compression and the identity of the data show in them.
    ``open_file`` opens a pipe when its first bytes are asked for.
    """

    is_regular = False
    size: int | None = None
    member: str | None = None

    def __init__(self, open_file: Callable[[], Any], name: str) -> None:
        self.name = name
        self.keys: dict[str, str | None] = {}
        self._open_file = open_file
        self._file: Any = None
        self._head: bytes | None = None
        self._is_open = False

    @classmethod
    def of_standard_input(cls) -> Pipe:
        """Read standard input, past Python's own buffer, which a blocked read would lock."""
        return cls(lambda: io.FileIO(0, closefd=False), "standard input")

    @classmethod
    def of_file_object(cls, file: Any) -> Pipe:
        """Read a file object of the caller."""
        name = getattr(file, "name", None)
        name = name if isinstance(name, str) else "the file object"
        if isinstance(file, io.TextIOBase):
            raise DataError(f"{name} is open for text; open it in binary mode, as with 'rb'")
        return cls(lambda: file, name)

    def head(self) -> bytes:
        """Return the first 64 KiB; they will be read again."""
        if self._head is None:
            self._file = self._open_file()
            try:
                self._head = _read_head(self._file)
            except OSError as error:
                raise DataError(f"{self.name} cannot be read: {reason(error)}") from error
        return self._head

    def lines_before(self) -> int:
        """Return the number of lines before it, none."""
        return 0

    def is_plain(self) -> bool:
        """Return False, since it cannot be read from the middle on."""
        return False

    def member_name(self) -> str | None:
        """Return None, since archives are not read from a pipe."""
        return None

    def open(self) -> Opened:
        """Begin to read; possible once."""
        if self._is_open:
            raise DataError(f"{self.name} can be read once only")
        head = self.head()
        self._is_open = True
        rest = iter(lambda: self._file.read(PORTION) or b"", b"")
        joined = cast(BinaryIO, Portions(chain([head], rest)))
        return Opened(self.name, joined, compression_of(self.name, head))


def file_at(path: str, keys: dict[str, str | None] | None = None) -> File | Pipe:
    """Return the file at a path, or the named pipe."""
    file = File(path, keys)
    return file if os.path.isfile(path) else Pipe(partial(_open_raw, path), path)


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


def fingerprint(files: Sequence[File | Pipe]) -> str:
    """Return a text that identifies this data: all sizes, and the bytes of evenly spread samples.

    Files of up to 64 MiB together are compared whole. Neither names nor dates count, so a copy
    elsewhere is the same data. A pipe shows how it begins only if it is the first: the next ones
    may not be written to before this one is read.
    """
    import hashlib

    digest = hashlib.sha256(" ".join(str(file.size) for file in files).encode())
    if files[0].size is None:
        digest.update(files[0].head())
    regular = [file for file in files if isinstance(file, File)]
    samples = min((file.samples for file in regular), default=1)
    chosen = regular[:: -(-len(regular) // samples) or 1]
    of_a_byte = min(1.0 / HEAD_BYTES, samples / max(1, sum(file.size for file in chosen)))
    for file in chosen:
        count = math.ceil(of_a_byte * file.size)
        with file.raw() as raw:
            for i in range(count):
                raw.seek(i * max(0, file.size - HEAD_BYTES) // max(1, count - 1))
                digest.update(_read_head(raw))
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

"""Compressed bytes: told by how they begin, opened by the library they need."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, BinaryIO, cast

from polyak.errors import DataError

BEGINNINGS = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
SUFFIXES = {".gz": "gz", ".bz2": "bz2", ".xz": "xz", ".zst": "zst", ".zstd": "zst", ".zip": "zip"}
ZIP = b"PK\x03\x04"


def compression_of(name: str, head: bytes) -> str | None:
    r"""Name the compression of a file from its first bytes, or failing that from its suffix.

    Examples
    --------
    >>> compression_of("rows.txt", b"\x1f\x8b\x08...")
    'gz'
    >>> compression_of("rows.txt", b"1 2:0.5") is None
    True
    """
    for beginning, kind in BEGINNINGS.items():
        if head.startswith(beginning):
            return kind
    if head.startswith(ZIP):
        return "zip"
    return SUFFIXES.get(os.path.splitext(name)[1].lower())


def suffix_of(name: str) -> str:
    """Return the suffix of a file's name in lower case; importing pathlib takes 4 ms.

    Examples
    --------
    >>> suffix_of("rows.CSV"), suffix_of("rows."), suffix_of(".rows")
    ('.csv', '', '')
    """
    return os.path.splitext(name)[1].lower().rstrip(".")


def without_suffix(name: str) -> str:
    """Take the suffix of a compression off a file's name.

    Examples
    --------
    >>> without_suffix("rows.svm.gz")
    'rows.svm'
    """
    stem, suffix = os.path.splitext(name)
    return stem if suffix.lower() in SUFFIXES else name


_MODULES = {"gz": "gzip", "bz2": "bz2", "xz": "lzma"}
"""Python's own modules for compressions."""


def decompressed(file: BinaryIO, kind: str) -> BinaryIO:
    """Read ``file`` through the compression ``kind``, in bounded memory."""
    if kind == "gz":
        return cast(BinaryIO, import_module("gzip").open(file))
    if kind == "zst":
        new = _zstandard("read").ZstdDecompressor(max_window_size=2**31).decompressobj
        return cast(BinaryIO, Portions(_streams(file, new)))
    name = "BZ2Decompressor" if kind == "bz2" else "LZMADecompressor"
    new = getattr(import_module(_MODULES[kind]), name)
    return cast(BinaryIO, Portions(_streams(file, new, 1 << 18)))


def compressed(file: BinaryIO, kind: str) -> BinaryIO:
    """Write to ``file`` through the compression ``kind``; closing ends the data, not the file."""
    if kind == "zst":
        writer = _zstandard("write").ZstdCompressor()
        return cast(BinaryIO, writer.stream_writer(file, closefd=False))
    module = import_module(_MODULES[kind])
    if kind == "gz":  # equal data give equal files, so there is no date
        return cast(BinaryIO, module.GzipFile("", "wb", fileobj=file, mtime=0))
    return cast(BinaryIO, module.open(file, "wb"))


class Portions(io.RawIOBase):
    """A file of the bytes that an iterator yields, of any size at a time."""

    def __init__(self, portions: Iterator[bytes]) -> None:
        self._portions = portions
        self._ready = memoryview(b"")

    def readable(self) -> bool:  # noqa: D102
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: D102
        while not self._ready:
            portion = next(self._portions, None)
            if portion is None:
                return 0
            self._ready = memoryview(portion)
        n = min(len(buffer), len(self._ready))
        buffer[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n


def _streams(file: BinaryIO, new: Callable[[], Any], *most: int) -> Iterator[bytes]:
    """Decompress streams, one after the other, perhaps with zeros behind them.

    Unlike the packages' own readers, this distinguishes the end of a stream from a file cut short,
    and from other bytes behind it. ``most`` bytes are yielded at a time, if that is given.
    """
    stream, data = None, b""
    while data or not getattr(stream, "needs_input", True) or (data := file.read(1 << 17)):
        if stream is None:
            data = data.lstrip(b"\0")
            if not data:
                continue
            stream = new()
        yield stream.decompress(data, *most)
        stream, data = (None, stream.unused_data) if stream.eof else (stream, b"")
    if stream is not None:
        raise EOFError


def _zstandard(to: str) -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise DataError(
            f"to {to} zstandard files, install the package: pip install 'polyak[zstd]'"
        ) from error
    return zstandard


def open_member(file: BinaryIO, name: str, member: str | None) -> BinaryIO:
    """Read the one file in a zip archive, or the one named."""
    import zipfile

    try:
        archive = zipfile.ZipFile(file)
        return cast(BinaryIO, archive.open(chosen_member(archive, name, member)))
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{name} is not a valid zip archive: {str(error).lower()}") from error


def chosen_member(archive: Any, name: str, member: str | None) -> str:
    """Name the file to read in a zip archive; what programs keep for themselves does not count."""
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    names = [n for n in names if not n.startswith("__MACOSX/") and os.path.basename(n)[0] != "."]
    if member is not None and member not in names:
        raise DataError(f"{name} has no member {member}; it has {', '.join(names[:10])}")
    if member is None and len(names) != 1:
        shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        raise DataError(f"{name} holds {len(names)} files: member= says which to read; {shown}")
    return member or names[0]


ENOUGH = 1 << 14
"""First bytes that show the format and the encoding of a file."""


def first_bytes(file: Any, enough: int = ENOUGH) -> bytes:
    """Return the first bytes of a file; those of a pipe will be read again."""
    if file.is_regular:
        opened = file.open()
        buffer = memoryview(bytearray(enough))
        try:
            return bytes(buffer[: opened.fill(buffer)])
        finally:
            opened.close()
    head: bytes = file.head()
    compression = compression_of(file.name, head)
    if compression in (None, "zip"):
        return head[:enough]
    stream, found = decompressed(io.BytesIO(head), compression), b""
    try:
        while len(found) < enough and (more := stream.read(1024)):
            found += more
    except Exception:  # it is cut short here; damage is reported when it is read
        return found
    return found

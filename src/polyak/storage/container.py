"""Files of named arrays and one page of JSON, which are there whole or not at all.

Models and checkpoints are such files. They are safetensors, so that other programs can read them
and reading never runs code; what safetensors does not promise is added here: a format number, a
checksum of everything, and writing that a crash cannot tear.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import math
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from polyak.errors import ModelFileError

Arrays = dict[str, NDArray[Any]]
Page = dict[str, Any]

KEY = "polyak"
"""The one entry of the safetensors header's metadata that is ours."""
PLAIN = (str, bool, int, type(None))
"""What JSON holds as it is. Floats need a look: it holds finite ones only."""


_TYPES = {
    **{"BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "F16": "<f2"},
    **{"U32": "<u4", "I32": "<i4", "F32": "<f4", "U64": "<u8", "I64": "<i8", "F64": "<f8"},
}
"""What safetensors calls the types of numbers, and what NumPy does."""


class NewerFormatError(ModelFileError):
    """The file was written by a newer polyak."""


def write_file(path: str | os.PathLike[str], page: Page, arrays: Arrays) -> None:
    """Write arrays and a page; whatever was at ``path`` stays until the new file is complete.

    The page needs a ``kind`` and a ``format``.
    """
    write_bytes(path, pack(page, arrays))


def read_file(path: str | os.PathLike[str], kind: str, newest_format: int) -> tuple[Page, Arrays]:
    """Read what `write_file` wrote.

    Raises
    ------
    ModelFileError
        In one sentence, if the file is something else, newer than this program, or damaged.
    """
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ModelFileError(f"{name} cannot be read: {reason}") from error
    return unpack(data, name, kind, newest_format)


# -- bytes -----------------------------------------------------------------------------------------


def pack(page: Page, arrays: Arrays) -> bytes:
    """Return the bytes of a file; equal pages and arrays give equal bytes."""
    from safetensors.numpy import save

    ready = {name: np.require(array, None, ["C"]) for name, array in arrays.items()}
    complete = page | {"crc32": _checksum(page, ready)}
    # A single entry: safetensors writes several in no particular order.
    return save(ready, metadata={KEY: json.dumps(complete, allow_nan=False)})


def unpack(data: bytes, name: str, kind: str, newest_format: int) -> tuple[Page, Arrays]:
    """Return the page and the arrays that `pack` was given; ``name`` is for errors."""
    page = _page(data)
    if page is None or page.get("kind") != kind:
        raise ModelFileError(f"{name} is not a polyak {kind}")
    version = page.get("format")
    if not isinstance(version, int) or version < 1:
        raise ModelFileError(f"{name} is damaged: it has no format number")
    if version > newest_format:
        raise NewerFormatError(
            f"{name} has format {version}, but this polyak knows {kind}s up to format "
            f"{newest_format}: a newer polyak can read it"
        )
    from safetensors import SafetensorError, deserialize

    try:
        arrays = {
            array: np.frombuffer(its["data"], _TYPES[its["dtype"]]).reshape(its["shape"])
            for array, its in deserialize(data)  # type: ignore[no-untyped-call]
        }
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ModelFileError(f"{name} is damaged: {error}") from error
    if page.pop("crc32", None) != _checksum(page, arrays):
        raise ModelFileError(f"{name} is damaged: its checksum does not fit its contents")
    return page, arrays


def _page(data: bytes) -> Page | None:
    length = int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8 : 8 + length]) if length < len(data) else {}
        page = json.loads(header["__metadata__"][KEY])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return page if isinstance(page, dict) else None


def _checksum(page: Page, arrays: Arrays) -> str:
    text = json.dumps(page, sort_keys=True, allow_nan=True)
    crc = zlib.crc32(text.encode(errors="backslashreplace"))
    for name, array in sorted(arrays.items()):
        crc = zlib.crc32(f"{name} {array.dtype.str} {array.shape}".encode(), crc)
        crc = zlib.crc32(array.data, crc)
    return f"{crc:08x}"


# -- the disk --------------------------------------------------------------------------------------


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file and rename it into place once it is safely on the disk."""
    target = os.path.realpath(path)  # a link stays, what it points to is replaced
    with writing(path):
        if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
            with open(target, "wb") as file:  # a pipe or a device: nothing to rename
                file.write(data)
            return
        part = part_of(target)
        write_synced(part, data)
        os.replace(part, target)
        sync_folder(os.path.dirname(target))


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to write a piece at a time; it takes its place once the block has ended well.

    Whatever was at ``path`` stays until then. ``-`` is standard output.
    """
    if os.fspath(path) == "-":
        with writing("standard output"), _standard_output() as file:
            yield file
        return
    target = os.path.realpath(path)
    with writing(path):
        if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
            with open(target, "wb") as file:
                yield file
            return
        part = part_of(target)
        try:
            with open(part, "xb") as file:
                yield file
            os.replace(part, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.remove(part)
            raise


@contextlib.contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    if hasattr(sys.stdout, "buffer"):
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    kept = io.BytesIO()  # a notebook's output takes only text
    yield kept
    sys.stdout.write(kept.getvalue().decode())


def part_of(target: str) -> str:
    """Return a unique name beside the target, for a file that is not complete yet."""
    return f"{target}.{os.urandom(4).hex()}.part"


def write_synced(path: str, data: bytes) -> None:
    """Write a new file and wait until the disk has it; should that fail, leave none."""
    try:
        with open(path, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(path)
        raise


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an OSError into one sentence with the file and the reason."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OSError(error.errno, f"{os.fspath(path)} cannot be written: {reason}") from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError now rather than after an hour's work, if no file can be written there."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    with writing(path):
        if os.path.isdir(target):
            raise OSError(errno.EISDIR, "it is a folder")
        if not os.path.isdir(folder):
            raise OSError(errno.ENOENT, f"there is no folder {folder}")
        if not os.access(target if os.path.exists(target) else folder, os.W_OK):
            raise OSError(errno.EACCES, "permission denied")
        if os.path.isfile(target) or not os.path.exists(target):
            # Permissions do not show everything (a full disk, the root user): write a page to try.
            part = part_of(target)
            try:
                write_synced(part, bytes(4096))
            finally:  # whatever interrupts this
                with contextlib.suppress(FileNotFoundError):
                    os.remove(part)


def sync_folder(folder: str) -> None:
    """Make sure that a rename survives a loss of power, where the system can."""
    try:
        descriptor = os.open(folder or ".", os.O_RDONLY)
    except OSError:
        return
    with contextlib.suppress(OSError):
        os.fsync(descriptor)
    os.close(descriptor)


def plain(value: Any) -> Any:
    """Reduce a value to what JSON holds; numbers that are not finite become None.

    Of a dataclass, fields that are None where that is the default are left out.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"loss": np.float64("nan"), "rows": np.int64(3), "start": (1.0, None)})
    {'loss': None, 'rows': 3, 'start': [1.0, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, PLAIN):
        return value
    if hasattr(value, "_asdict"):  # a NamedTuple
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy's
        return plain(value.tolist())
    if hasattr(value, "__dataclass_fields__"):
        from dataclasses import fields

        found = ((field, getattr(value, field.name)) for field in fields(value))
        return {f.name: plain(v) for f, v in found if v is not None or f.default is not None}
    return str(value)

"""How a file begins, once it is decompressed: its format and its encoding show in that."""

from __future__ import annotations

import io
from typing import Any

from polyak.data.sources.compression import compression_of, decompressed

ENOUGH = 1 << 14


def first_bytes(file: Any, enough: int = ENOUGH) -> bytes:
    """Return the first bytes of a file; those of a pipe will be read again."""
    if getattr(file, "is_regular", False):
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

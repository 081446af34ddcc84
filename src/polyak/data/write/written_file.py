"""A file that is there when it is complete, compressed as its name says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from polyak.data.sources.compression import SUFFIXES, compressed, suffix_of


def compression_of_name(path: str) -> str | None:
    """Tell from a file's name how it is to be compressed."""
    return SUFFIXES.get(suffix_of(path))


@contextmanager
def written_file(path: str) -> Iterator[Any]:
    """Open a file that takes its place when the block ends well, compressed as its name says."""
    from polyak.storage.container import replacing

    kind = compression_of_name(path)
    with replacing(path) as file:
        if kind is None:
            yield file
            return
        inside = compressed(file, kind)
        yield inside
        inside.close()

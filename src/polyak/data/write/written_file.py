"""Output files: their format by their name, and files that appear when they are complete."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from polyak.data.formats.registry import PREDICTED, SUFFIXES, suffixes_of
from polyak.data.sources import compression
from polyak.data.sources.compression import compressed, suffix_of, without_suffix


def compression_of_name(path: str) -> str | None:
    """Infer the compression from a file's name."""
    return compression.SUFFIXES.get(suffix_of(path))


def table_format(path: str) -> str | None:
    """Infer the format of a table from a file's name; None for lines of text.

    Examples
    --------
    >>> table_format("out.csv.gz"), table_format("OUT.PQ"), table_format("out"), table_format("-")
    ('csv', 'parquet', None, None)
    >>> table_format("out.npz")
    Traceback (most recent call last):
    ...
    ValueError: out.npz cannot be written: predictions are tables called .csv, .tsv, .jsonl,
    .ndjson, .json, .parquet or .pq, or lines of text called .txt or without an ending
    """
    suffix = suffix_of(without_suffix(path))
    format = SUFFIXES.get(suffix)
    if compression_of_name(path) == "zip" or (format or "csv") not in PREDICTED:
        format, suffix = None, "."
    if format is None and suffix not in ("", ".txt"):
        raise ValueError(
            f"{path} cannot be written: predictions are tables called {suffixes_of(PREDICTED)}, "
            "or lines of text called .txt or without an ending"
        )
    return format


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

"""The formats there are. A new one is a line here and a module of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from polyak.data.options import ReadOptions
from polyak.data.sources.compression import without_suffix
from polyak.data.sources.files import File, Pipe
from polyak.data.stream import Reader
from polyak.errors import DataError

Opener = Callable[[Sequence[File | Pipe], ReadOptions], Reader]


# Each opener imports its module when it is called, so that reading one format never waits for
# the libraries of another.
def _svmlight(files: Sequence[File | Pipe], options: ReadOptions) -> Reader:
    from polyak.data.formats.svmlight import SvmlightReader

    return SvmlightReader(files, options)


def _vw(files: Sequence[File | Pipe], options: ReadOptions) -> Reader:
    from polyak.data.formats.vw import VwReader

    return VwReader(files, options)


def _npy(files: Sequence[File | Pipe], options: ReadOptions) -> Reader:
    from polyak.data.formats.numpy_files import open_npy

    return open_npy(files, options)


def _npz(files: Sequence[File | Pipe], options: ReadOptions) -> Reader:
    from polyak.data.formats.numpy_files import open_npz

    return open_npz(files, options)


def _table(format: str) -> Opener:
    def opener(files: Sequence[File | Pipe], options: ReadOptions) -> Reader:
        from polyak.data.formats.tables import open_table

        return open_table(format, files, options)

    return opener


TABLES = ("csv", "tsv", "jsonl", "parquet", "arrow")
FORMATS: dict[str, Opener] = {
    "svmlight": _svmlight,
    "vw": _vw,
    "npy": _npy,
    "npz": _npz,
    **{format: _table(format) for format in TABLES},
}
SUFFIXES = {
    ".vw": "vw",
    ".npy": "npy",
    ".npz": "npz",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
"""Formats by the end of the file's name; svmlight files are called anything."""


def format_of(files: Sequence[File | Pipe]) -> str:
    """Name the format of files from their names."""
    found = {SUFFIXES.get(os.path.splitext(without_suffix(f.name))[1], "svmlight") for f in files}
    if len(found) > 1:
        names = " and ".join(sorted(found))
        raise DataError(f"files of one stream must have one format, not {names}")
    return found.pop()


def open_files(files: Sequence[File | Pipe], options: ReadOptions) -> Reader:
    """Open files in the format given, or in that of their names."""
    format = options.format or format_of(files)
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise ValueError(f"there is no format {format!r}; there are {known}")
    return FORMATS[format](files, options)

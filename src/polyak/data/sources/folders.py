"""Folders of files, partitioned or not, and files in the stores that pyarrow knows by a URL."""

from __future__ import annotations

import os
from collections.abc import Container
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from polyak.data.sources.compression import compression_of, without_suffix
from polyak.data.sources.files import File, Opened, Pipe, file_at, reason
from polyak.errors import DataError
from polyak.optional_imports import pyarrow

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""How others write a folder's name where the value is missing."""


def files_of_folder_or_url(path: str, suffixes: Container[str]) -> list[File | Pipe]:
    """List the files of a folder, in the order of their names, or open a URL.

    Where some have one of the suffixes that are known, the others are left alone.

    Folders called ``key=value`` give their files a column. What begins with a dot or an underscore
    is left alone, as programs keep their own notes in such files.
    """
    if "://" in path:
        return _files_of_url(path, suffixes)
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if name[0] not in "._"]  # need not be listed
        found += [os.path.relpath(os.path.join(folder, name), path) for name in names]
    chosen = _to_read(found, path, suffixes)
    return [file_at(os.path.join(path, name), keys_of(name)) for name in chosen]


def _to_read(names: list[str], folder: str, suffixes: Container[str]) -> list[str]:
    """Return the files to read, by their names within a folder; raise DataError for none."""
    shown = sorted(name for name in names if not any(part[0] in "._" for part in _parts(name)))
    known = [n for n in shown if PurePosixPath(without_suffix(n)).suffix.lower() in suffixes]
    if not shown:
        raise DataError(f"{folder} is a folder without any file to read")
    return known or shown


def _parts(name: str) -> list[str]:
    return name.replace(os.sep, "/").split("/")


def keys_of(path: str) -> dict[str, str | None]:
    """Read the keys that a path's folders are called by.

    Examples
    --------
    >>> keys_of("year=2013/month=1/part-0.parquet")
    {'year': '2013', 'month': '1'}
    """
    keys: dict[str, str | None] = {}
    for part in _parts(path)[:-1]:
        name, equals, value = part.partition("=")
        if equals and name:
            keys[unquote(name)] = None if value == NO_VALUE else unquote(value)
    return keys


class RemoteFile(File):
    """A file in a store that pyarrow knows, where every sample is a request."""

    samples = 16

    def __init__(self, store: Any, info: Any, name: str, keys: dict[str, str | None]) -> None:
        self.name = name
        self.size = info.size
        self.keys = keys
        self.member = None
        self._store = store
        self._path = info.path

    def is_plain(self) -> bool:
        """Return False, since it is not on the disk."""
        return False

    def open(self) -> Opened:
        """Begin to read."""
        return Opened(self.name, self.raw(), compression_of(self.name, self.head()[:8]))

    def raw(self) -> Any:
        """Open the bytes as they are, for random access."""
        try:
            return self._store.open_input_file(self._path)
        except OSError as error:
            raise DataError(f"{self.name} cannot be read: {reason(error)}") from error


def _files_of_url(url: str, suffixes: Container[str]) -> list[File | Pipe]:
    pyarrow()
    from pyarrow import fs

    try:
        store, path = fs.FileSystem.from_uri(url)
        info = store.get_file_info(path)
        if info.type == fs.FileType.NotFound:
            raise DataError(f"{url} cannot be read: there is no such file")
        if info.type == fs.FileType.File:
            return [RemoteFile(store, info, url, {})]
        inside = store.get_file_info(fs.FileSelector(path, recursive=True))
    except (OSError, ValueError, NotImplementedError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{url} cannot be read: {str(error).lower()}") from error
    begin = len(path.rstrip("/")) + 1
    files = {part.path[begin:]: part for part in inside if part.type == fs.FileType.File}
    base = url.rstrip("/")
    return [
        RemoteFile(store, files[name], f"{base}/{name}", keys_of(name))
        for name in _to_read(list(files), url, suffixes)
    ]

"""From what a user names, a path, a pattern, a folder, a URL, to files."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, Any

from polyak.data.sources.files import File, Pipe, file_at
from polyak.errors import DataError

if TYPE_CHECKING:
    from polyak.data.tables.streams import StreamSource

QUERY = "duckdb:"
"""How a source begins that is a query: ``duckdb:SELECT ...`` or ``duckdb:FILE?SELECT ...``."""


def query_in(source: Any) -> str | None:
    """Return the text of a DuckDB query, also in a list of its own; None for any other source.

    Examples
    --------
    >>> query_in(["duckdb:SELECT 1 AS a"]), query_in("rows.csv")
    ('SELECT 1 AS a', None)
    """
    if isinstance(source, (list, tuple)) and len(source) == 1:
        source = source[0]
    is_query = isinstance(source, str) and source.startswith(QUERY)
    return source.removeprefix(QUERY) if is_query else None


def names_files(source: Any) -> bool:
    """Whether a source names files or is an open one, rather than arrays, tables or a query."""
    if query_in(source) is not None:
        return False
    if isinstance(source, (list, tuple)):
        return all(isinstance(part, (str, os.PathLike, File, Pipe)) for part in source)
    # A frame has an attribute for each of its columns, and one of those may be called read.
    return isinstance(source, (str, os.PathLike, File, Pipe)) or callable(
        getattr(source, "read", None)
    )


def read_once_only(source: Any) -> str | None:
    """Return the name of what cannot be read twice: a file such as a pipe, or an iterator."""
    if names_files(source):
        files = find_files(source)
        return next((file.name for file in files if not file.is_regular), None)
    from polyak.data.tables.streams import stream_of

    stream = stream_of(source)
    return stream.name if stream is not None and stream.is_once else None


def stream_at(source: Any) -> StreamSource | None:
    """Return the stream that a query's text or an object is; None for any other source."""
    from polyak.data.tables.streams import stream_of, stream_of_query

    query = query_in(source)
    return stream_of(source) if query is None else stream_of_query(query)


def find_files(source: Any) -> list[File | Pipe]:
    """Turn a path, a pattern, ``-``, a file object or a list of them into files, in order.

    The matches of a pattern come in the order of their names.
    """
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if path == "-":
            return [Pipe.of_standard_input()]
        if not os.path.exists(path) and glob.has_magic(path):
            matches = sorted(glob.glob(path, recursive=True))
            if not matches:
                raise DataError(f"no file matches {path}")
            return [file_at(match) for match in matches]
        if "://" in path or os.path.isdir(path):
            from polyak.data.formats.registry import SUFFIXES
            from polyak.data.sources.folders import files_of_folder_or_url

            return files_of_folder_or_url(path, SUFFIXES)
        return [file_at(path)]
    if isinstance(source, (File, Pipe)):
        return [source]
    if hasattr(source, "read"):
        return [Pipe.of_file_object(source)]
    files = [file for part in source for file in find_files(part)]
    if not files:
        raise DataError("no file was named")
    return files

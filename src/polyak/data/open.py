"""The entry point for reading: any source as a stream of batches, in bounded memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polyak.data.find import find_files, names_files, stream_at
from polyak.data.formats.registry import open_files
from polyak.data.options import ReadOptions
from polyak.data.position import Position
from polyak.data.random_order import shuffled
from polyak.data.stream import Reader, Stream


def open_stream(
    source: Any,
    options: ReadOptions | None = None,
    *,
    target: str | None = None,
    start: Position | None = None,
    seed: int = 0,
    **choices: Any,
) -> Stream:
    r"""Open files or arrays as a stream of batches; a DataError names the file and the line.

    Parameters
    ----------
    source : path, list of paths, pattern, "-", URL, file object, stream, frame, or arrays
        ``-`` is standard input. The matches of a pattern are read in the order of their names.
        A folder is all files in it, and folders called ``key=value`` give their rows a column.
        Files may be compressed by gzip, bzip2, xz or zstandard. A frame, or a tuple of one and
        ``y``, is pandas', polars' or has Arrow's interface. A stream is a DuckDB relation or
        ``duckdb:SELECT ...``, a polars lazy frame, a pyarrow data set or record batch reader, a
        Hugging Face data set, or any iterator of record batches or frames. Arrays are ``X``,
        ``(X, y)`` or ``(X, y, weights)``; ``X`` is two-dimensional, scipy's sparse or
        ``SparseRows``.
    options : ReadOptions, optional
        How to read.
    target : str, optional
        A table's column to predict: short for ``columns=Columns(target=...)``.
    start : dict, optional
        The ``position`` of an earlier stream of the same source and options, to go on from there.
    seed : int
        Begins the shuffling.
    **choices
        Options by their names, such as ``format="vw"``, where they are not as in ``options``.

    Examples
    --------
    >>> import io
    >>> text = io.BytesIO(b"+1 1:0.5 3:2 # a comment\n-1 2:0.25\n")
    >>> with open_stream(text) as stream:
    ...     for batch in stream:
    ...         print(batch.targets, batch.rows.indices, batch.rows.values)
    [ 1. -1.] [0 2 1] [0.5  2.   0.25]
    """
    options = replace(options or ReadOptions(), **choices)
    if target is not None:
        options = replace(options, columns=replace(options.columns, target=target))
    reader = shuffled(_open(source, options), options)
    return Stream(reader, seed=seed, start=start, warn_if_sorted=options.warn_if_sorted)


def _open(source: Any, options: ReadOptions) -> Reader:
    if names_files(source):
        return open_files(find_files(source), options)
    from polyak.data.tables.frames import columns_of, is_frame, open_frame
    from polyak.data.tables.reader import TableReader

    stream = stream_at(source)
    if stream is not None:
        return TableReader(stream, options)
    if is_frame(source):
        return open_frame(source, options)
    if isinstance(source, tuple) and len(source) == 2 and is_frame(source[0]):
        return open_frame(source[0], replace(options, y=source[1]))
    if options.schema is not None and not isinstance(source, tuple):
        return open_frame(columns_of(source, options.schema), options)
    from polyak.data.formats.numpy_files import open_arrays

    return open_arrays(source, options)

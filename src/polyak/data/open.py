"""Rows from wherever they lie, a batch at a time, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import DTypeLike

from polyak.data.find import find_files, names_files
from polyak.data.formats.registry import open_files
from polyak.data.head_start import BLOCK_BYTES, LONGEST_LINE
from polyak.data.options import Columns, Options
from polyak.data.position import Position
from polyak.data.stream import Reader, Stream

if TYPE_CHECKING:
    from polyak.model.schema import Schema


def open_stream(
    source: Any,
    *,
    format: str | None = None,
    y: Any = None,
    target: str | None = None,
    columns: Columns | None = None,
    schema: Schema | None = None,
    targets: bool = True,
    keep: Sequence[str] = (),
    dtype: DTypeLike | None = None,
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    skip_bad_lines: bool = False,
    threads: int | None = None,
    shuffle_buffer: int = 0,
    seed: int = 0,
    start: Position | None = None,
    warn_if_sorted: bool = True,
    block_bytes: int = BLOCK_BYTES,
    longest_line: int = LONGEST_LINE,
    batch_rows: int = 2048,
) -> Stream:
    r"""Open files or arrays as a stream of batches.

    Parameters
    ----------
    source : path, list of paths, pattern, "-", URL, binary file object, frame, or arrays
        ``-`` is standard input. The matches of a pattern are read in the order of their names.
        A folder is all files in it, and folders called ``key=value`` give their rows a column. A
        URL is opened by pyarrow. Files may be compressed by gzip, bzip2, xz or zstandard. Tables
        in memory are pandas and polars frames and whatever else has Arrow's interface, alone or
        with ``y`` as a tuple. Arrays are a matrix ``X``, or a
        tuple ``(X, y)`` or ``(X, y, weights)``, where ``X`` is two-dimensional, scipy's sparse,
        or `polyak.rows.sparse.SparseRows`.
    format : {"svmlight", "vw", "npy", "npz", "csv", "tsv", "jsonl", "parquet", "arrow"}, optional
        Told from the files' names if not given; what has no name of these is svmlight. Arrow files
        are called ``.arrow``, ``.feather`` or ``.ipc``, JSON lines ``.jsonl`` or ``.ndjson``.
        VW text is hashed, as `polyak.data.formats.vw` says. A ``.npz`` holds ``X``, or a sparse
        matrix as `scipy.sparse.save_npz` writes it, and perhaps ``y`` and ``weights``.
    y : array or path of a ``.npy`` file, optional
        The targets, where the source has none.
    target : str, optional
        A table's column to predict: short for ``columns=Columns(target=...)``.
    columns : Columns, optional
        What a table's columns are for, where their types do not tell.
    schema : Schema, optional
        Read a table as the one that this is the schema of, which a model keeps; ``columns`` then
        does not count.
    targets : bool
        Whether to read a table's targets. Without them no row is left out because its target is
        missing.
    keep : list of str
        Columns of a table to carry along in ``Batch.kept``, as they are.
    dtype : float32 or float64, optional
        The type of the values. If not given, float32 for text, and as they are for arrays.
    n_features : int, optional
        The width of the rows. A feature beyond is an error. If not given, rows of text are as
        wide as the largest feature seen so far.
    zero_based : bool or "auto"
        Whether the first feature of svmlight text has the id 0 rather than 1. "auto" takes it to
        be 1 unless the first block of lines has a feature 0; should one come up later, the error
        says to give this option.
    skip_bad_lines : bool
        Count the lines that cannot be read, instead of raising an error for the first.
    threads : int, optional
        How many threads read and parse ahead; by default as many as there are processors, up to
        four. With 0, what asks for a batch reads it itself. The batches are the same for any
        number.
    shuffle_buffer : int
        Shuffle rows within a buffer of as many; for files that are sorted.
    seed : int
        Begins the shuffling.
    start : dict, optional
        The ``position`` of an earlier stream of the same source and options, to go on from there.
    warn_if_sorted : bool
        Warn if the first rows look sorted by class.
    block_bytes : int
        How much text to parse at a time.
    longest_line : int
        How many bytes a line of text may have; a longer one is an error, before it fills the
        memory. Line breaks within quotation marks of CSV do not end a line.
    batch_rows : int
        How many rows of an array to deliver at a time.

    Returns
    -------
    Stream

    Raises
    ------
    DataError
        If the source cannot be read; the message names the file and the line.

    Examples
    --------
    >>> import io
    >>> text = io.BytesIO(b"+1 1:0.5 3:2 # a comment\n-1 2:0.25\n")
    >>> with open_stream(text) as stream:
    ...     for batch in stream:
    ...         print(batch.targets, batch.rows.indices, batch.rows.values)
    [ 1. -1.] [0 2 1] [0.5  2.   0.25]
    """
    columns = columns or Columns()
    if target is not None:
        columns = replace(columns, target=target)
    options = Options(
        y=y,
        columns=columns,
        schema=schema,
        targets=targets,
        keep=tuple(keep),
        dtype=dtype,
        n_features=n_features,
        zero_based=zero_based,
        skip_bad_lines=skip_bad_lines,
        threads=threads,
        block_bytes=block_bytes,
        longest_line=longest_line,
        batch_rows=batch_rows,
    )
    if names_files(source):
        reader: Reader = open_files(find_files(source), format, options)
    else:
        from polyak.data.tables.frames import is_frame, open_frame

        if is_frame(source):
            reader = open_frame(source, options)
        elif isinstance(source, tuple) and len(source) == 2 and is_frame(source[0]):
            reader = open_frame(source[0], options._replace(y=source[1]))
        else:
            from polyak.data.formats.arrays import open_arrays

            reader = open_arrays(source, options)
    return Stream(
        reader,
        shuffle_buffer=shuffle_buffer,
        seed=seed,
        start=start,
        warn_if_sorted=warn_if_sorted,
    )

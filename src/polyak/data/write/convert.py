"""Any source to a file that is read fast later: parsed once, and the same model from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from polyak._core import print_svmlight
from polyak.data.find import find_files
from polyak.data.formats import registry
from polyak.data.formats.registry import FORMATS, WRITTEN, format_named, load, suffixes_of
from polyak.data.open import open_stream
from polyak.data.options import ReadOptions
from polyak.data.sources.files import name_of_all
from polyak.data.stream import Stream
from polyak.data.write.written_file import compression_of_name, written_file
from polyak.errors import DataError
from polyak.rows.batch import Batch
from polyak.rows.sparse import core_rows


def format_of(path: str) -> str:
    """Infer the format to write from a file's name.

    Examples
    --------
    >>> format_of("rows.npz"), format_of("ROWS.SVM"), format_of("rows.svm.gz")
    ('npz', 'svmlight', 'svmlight')
    >>> format_of("rows.csv")
    Traceback (most recent call last):
    ...
    ValueError: cannot infer the format of rows.csv: its name must end with .svm, ... or .pq; ...
    """
    compression = compression_of_name(path)
    format = format_named(path)
    packs_itself = compression is not None and format != "svmlight"
    if format not in WRITTEN or packs_itself or compression == "zip":
        raise ValueError(
            f"cannot infer the format of {path}: its name must end with {suffixes_of(WRITTEN)}; "
            "text may be compressed, as in .svm.gz"
        )
    return format


def open_source(source: str | list[str], path: str, options: ReadOptions) -> Stream:
    """Open files, patterns or ``-`` to be converted to a file.

    Parquet files keep the columns of a table; the other formats hold rows of features.
    """
    if format_of(path) != "parquet":
        return open_stream(source, options, warn_if_sorted=False)
    files = find_files(source)
    known = options.format or registry.format_of(files)
    if not FORMATS[known].is_table:
        raise DataError(
            f"{name_of_all(files)} has no columns, which Parquet needs: {known} rows are converted "
            "to .npz or .svm"
        )
    from polyak.data.write.tables import open_columns

    return open_columns(files, known, options)


def convert(
    stream: Stream,
    path: str,
    watch: Callable[[Stream], None] = lambda stream: None,
    *,
    unlabelled: bool = False,
    change: Callable[[Batch], Batch] = lambda batch: batch,
) -> None:
    r"""Write all rows of a stream to a file, and call ``watch`` after every batch.

    The file takes its place when it is complete, and not at all if that fails. ``unlabelled`` rows
    are to be predicted, not learned from: where text needs a target, they have 0. What is written
    of a batch is what ``change`` makes of it.

    Examples
    --------
    >>> import io, os, tempfile
    >>> from polyak.data.open import open_stream
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "rows.npz")
    >>> with open_stream(io.BytesIO(b"1 | a b:0.5\n-1 | c\n"), format="vw") as stream:
    ...     convert(stream, path)
    >>> with open_stream(path) as stream:
    ...     print(next(stream).targets)
    [ 1. -1.]
    >>> folder.cleanup()
    """
    writer = load(WRITTEN[format_of(path)].writer)
    with writer(stream, path, unlabelled) as write:
        for batch in stream:
            write(change(batch))
            watch(stream)


@contextmanager
def svmlight_writer(
    stream: Stream, path: str, unlabelled: bool
) -> Iterator[Callable[[Batch], None]]:
    """Open a file of svmlight text, compressed as its name says; yields what writes a batch.

    Each number has the digits that bring it back to the last bit.
    """
    with written_file(path) as file:

        def write(batch: Batch) -> None:
            targets = batch.targets
            if unlabelled and targets is None:
                targets = np.zeros(len(batch))
            if targets is None or targets.dtype.kind not in "biuf":
                what = "that the source has none of" if targets is None else "not words"
                raise DataError(f"svmlight text needs targets that are numbers, {what}")
            if not unlabelled and batch.weights is not None and np.any(batch.weights != 1):
                raise DataError(
                    "svmlight text has no place for the rows' weights; .npz and .parquet have"
                )
            file.write(print_svmlight(core_rows(batch.rows), targets.astype(np.float64)))

        yield write

"""The registry of formats: their names and suffixes, and the functions that open and write them.

A new one is an entry here and a module of its own. Openers and writers are named, and imported when
they are asked for: so reading one format never waits for the libraries of another, and what a
command's help lists costs nothing. This module imports nothing that takes time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from polyak.data.sources.compression import without_suffix
from polyak.errors import DataError

if TYPE_CHECKING:
    from polyak.data.options import ReadOptions
    from polyak.data.sources.files import File, Pipe
    from polyak.data.stream import Reader


class Format(NamedTuple):
    """A format of files.

    Attributes
    ----------
    suffixes : tuple of str
        How its files are called, in small letters; they are known in large ones too.
    opener : str
        What makes a reader of files and options, as ``module:name``.
    is_table : bool
        Whether it has columns with names.
    writer, written : str
        What writes rows as such a file, and what is then in it; empty if there is none.
    is_predicted : bool
        Whether tables of predictions can be written as such a file.
    """

    suffixes: tuple[str, ...]
    opener: str
    is_table: bool = False
    writer: str = ""
    written: str = ""
    is_predicted: bool = False


_TABLE = "polyak.data.formats.tables:open_table"
FORMATS = {
    "svmlight": Format(
        (".svm", ".svmlight", ".libsvm"),
        "polyak.data.formats.svmlight:SvmlightReader",
        writer="polyak.data.write.convert:svmlight_writer",
        written="svmlight text, for other programs; no row weights, and classes must be numbers",
    ),
    "vw": Format((".vw",), "polyak.data.formats.vw:VwReader"),
    "npy": Format((".npy",), "polyak.data.formats.numpy_files:open_npy"),
    "npz": Format(
        (".npz",),
        "polyak.data.formats.numpy_files:open_npz",
        writer="polyak.data.write.npz:npz_writer",
        written="compressed sparse rows as scipy saves them, with y and weights: the fastest to "
        "read",
    ),
    "csv": Format((".csv",), _TABLE, is_table=True, is_predicted=True),
    "tsv": Format((".tsv",), _TABLE, is_table=True, is_predicted=True),
    "jsonl": Format((".jsonl", ".ndjson", ".json"), _TABLE, is_table=True, is_predicted=True),
    "parquet": Format(
        (".parquet", ".pq"),
        _TABLE,
        is_table=True,
        writer="polyak.data.write.tables:parquet_writer",
        written="tables with their columns",
        is_predicted=True,
    ),
    "arrow": Format((".arrow", ".feather", ".ipc"), _TABLE, is_table=True),
}
SUFFIXES = {suffix: name for name, format in FORMATS.items() for suffix in format.suffixes}
WRITTEN = {name: format for name, format in FORMATS.items() if format.writer}
PREDICTED = {name: format for name, format in FORMATS.items() if format.is_predicted}


def format_named(path: str) -> str | None:
    """Infer a format from a file's name without the suffix of a compression, or return None.

    Examples
    --------
    >>> format_named("rows.svm"), format_named("T.CSV.GZ"), format_named("rows.txt")
    ('svmlight', 'csv', None)
    """
    return SUFFIXES.get(os.path.splitext(without_suffix(path))[1].lower())


def suffixes_of(formats: Iterable[str], last: str = "or") -> str:
    """List the suffixes of formats for a sentence.

    Examples
    --------
    >>> suffixes_of(["npz", "parquet"])
    '.npz, .parquet or .pq'
    """
    *others, end = (suffix for name in formats for suffix in FORMATS[name].suffixes)
    return f"{', '.join(others)} {last} {end}" if others else end


def load(named: str) -> Any:
    """Import an opener or a writer."""
    from importlib import import_module

    module, _, name = named.partition(":")
    return getattr(import_module(module), name)


def format_of(files: Sequence[File | Pipe]) -> str:
    """Name the format of files from their names, or from how the first of the others begins.

    Only of the first: the next may be a pipe that is not written to before this one is read.
    """
    names = [format_named(file.name) for file in files]
    found = {name for name in names if name is not None}
    if None in names:
        file = files[names.index(None)]
        format = _format_within(file)
        if format is None:
            raise DataError(
                f"the format of {file.name} is not clear from its name or its first bytes: give it "
                f"with format=, one of {', '.join(FORMATS)}"
            )
        found.add(format)
    if len(found) > 1:
        several = " and ".join(sorted(found))
        raise DataError(f"files of one stream must have one format, not {several}")
    return found.pop()


def _format_within(file: Any) -> str | None:
    """Infer the format of a file, or of the one in an archive, from its first bytes."""
    from polyak.data.formats.sniff import format_within
    from polyak.data.sources.compression import first_bytes

    member = file.member_name()
    return (member and format_named(member)) or format_within(first_bytes(file))


_ARRAYS = {"target", "weight"}
_CSV = ("delimiter", "header", "encoding", "decimal", "missing", "skip_rows", "comment", "dates")


def _refuse_options(format: str, options: ReadOptions) -> None:
    """Raise DataError for options about columns, or about text, that the format does not have."""
    # With a schema, the dialect is that of the model's table.
    said = [] if options.schema is not None else list(options.dialect.said())
    if FORMATS[format].is_table:
        used = {"csv": _CSV, "tsv": _CSV, "jsonl": ("encoding", "missing", "dates")}
        unused = [name for name in said if name not in used.get(format, ("missing", "dates"))]
        why, where = "has nothing written like that", "CSV"
    else:
        columns, default = options.columns, type(options.columns)()
        own = {"vw": {"drop", "interact", "offset"}, "npy": _ARRAYS, "npz": _ARRAYS}.get(
            format, set()
        )
        given = [n for n in columns.__slots__ if getattr(columns, n) != getattr(default, n)]
        unused = [name for name in given if name not in {"bits", "names"} | own] + said
        why, where = "rows have no columns with names", "tables"
    for name in unused:
        spelled = "header=False" if name == "header" else f"{name}="
        raise DataError(f"{format} {why}: {spelled} is for {where}")


def open_files(files: Sequence[File | Pipe], options: ReadOptions) -> Reader:
    """Open files in the format given, or in that of their names."""
    from dataclasses import replace

    for file in files:
        file.member = options.member or file.member
    format = options.format or format_of(files)
    if format not in FORMATS:
        raise ValueError(f"there is no format {format!r}; there are {', '.join(FORMATS)}")
    if options.multilabel and FORMATS[format].is_table and options.targets:
        raise DataError(
            f"{format} rows have one target each: several labels are for svmlight and VW text, and "
            "NumPy files"
        )
    _refuse_options(format, options)
    reader: Reader = load(FORMATS[format].opener)(files, replace(options, format=format))
    return reader

"""Predictions as tables: CSV, JSON or Parquet, a batch at a time.

A table has the columns of the source that were asked for, then ``prediction``, then scores,
probabilities or contributions if they were asked for, then the ends of their intervals if those
were. pyarrow writes it, and is imported only for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyak.data.sources.compression import suffix_of, without_suffix
from polyak.data.write.predictions import What, label_lists
from polyak.data.write.written_file import written_file
from polyak.losses import get_loss
from polyak.model.effects import contribution_owners, contributions
from polyak.optional_imports import pyarrow
from polyak.rows.label_text import label_text, without_formula
from polyak.rows.labels import exact_labels

if TYPE_CHECKING:
    from polyak.model.linear import LinearModel

ROWS_A_GROUP, BYTES_A_GROUP = 1 << 17, 64 << 20
"""A Parquet file's row group is as long as the first of these allows."""


def table_maker(
    model: LinearModel, what: What, bounds: Callable[[Any], tuple[Any, Any]] | None = None
) -> Callable[[Any, Any], Any]:
    """Return a function from rows, and the columns kept of them or None, to a record batch.

    ``bounds`` gives the ends of the intervals of rows, a column a value.

    Examples
    --------
    >>> from polyak import LinearModel
    >>> model = LinearModel(np.array([[1.0]]), np.zeros(1), "log_loss", np.array(["no", "yes"]))
    >>> table_maker(model, "scores")(np.array([[2.0], [-2.0]]), None).to_pydict()
    {'prediction': ['yes', 'no'], 'score': [2.0, -2.0]}
    """
    pa = pyarrow()
    names = _names(model, what)
    if bounds is not None:
        values = names if model.classes is None else names[1:]
        names = names + [f"{name}_{end}" for end in ("low", "high") for name in values]
    labels = None if model.classes is None else pa.array(exact_labels(model.classes).tolist())
    if what == "proba":
        model.proba_from_scores(
            np.zeros((1, len(model.intercept)))
        )  # raises at once if it has none

    link = get_loss(model.loss).predictions

    def make(rows: Any, kept: Any) -> Any:
        scores = model.scores(rows)
        columns: list[Any] = []
        if labels is None:
            columns += list(link(scores).T)
        elif model.multilabel:
            columns.append(label_lists(model, rows))
        else:
            columns.append(labels.take(pa.array(model.best(scores))))
        if what == "proba":
            columns += list(model.proba_from_scores(scores).T)
        elif what == "scores" and labels is not None:
            columns += list(scores.T)
        elif what == "contributions":
            columns += list(contributions(model, rows)[1].reshape(len(scores), -1).T)
        for end in () if bounds is None else bounds(rows):
            columns += list(end.T)
        arrays = [pa.array(column) for column in columns]
        if kept is None:
            return pa.RecordBatch.from_arrays(arrays, names)
        _check_names(kept.schema.names, names)
        beside = [_decoded(column) for column in kept.columns]
        return pa.RecordBatch.from_arrays(beside + arrays, kept.schema.names + names)

    return make


def with_empty_rows(table: Any, gaps: NDArray[np.int64] | None) -> Any:
    """Add a row of missing values for each one that could not be read."""
    if gaps is None:
        return table
    pa = pyarrow()
    rows = np.insert(np.arange(table.num_rows), gaps, -1)
    return table.take(pa.array(rows, mask=rows < 0))


def with_row_numbers(table: Any, before: int) -> Any:
    """Put a column of the rows' numbers before the others."""
    pa = pyarrow()
    names = table.schema.names
    _check_names(names, ["row"])
    numbers = pa.array(np.arange(before + 1, before + 1 + table.num_rows))
    return pa.RecordBatch.from_arrays([numbers, *table.columns], ["row", *names])


def _names(model: LinearModel, what: What) -> list[str]:
    outputs = len(model.intercept)
    if what == "contributions":
        ends = [""] if outputs == 1 else [f"_{name}" for name in _outputs(model)]
        parts = [
            f"contribution_{term}{end}" for term in contribution_owners(model)[0] for end in ends
        ]
        return _names(model, "labels") + parts
    if model.classes is None:
        return ["prediction"] if outputs == 1 else [f"prediction_{i}" for i in range(outputs)]
    classes = _outputs(model)
    if what == "proba":
        return ["prediction", *(f"proba_{name}" for name in classes)]
    if what == "scores":
        several = [f"score_{name}" for name in classes]
        return ["prediction", *(["score"] if outputs == 1 else several)]
    return ["prediction"]


def _outputs(model: LinearModel) -> list[str]:
    """Return the classes, or the numbers of the outputs, as text."""
    if model.classes is None:
        return [str(output) for output in range(len(model.intercept))]
    return [label_text(label) for label in model.classes]


def _decoded(column: Any) -> Any:
    """Spell out what a reader may have found easier to read as codes."""
    return column.dictionary_decode() if hasattr(column, "dictionary_decode") else column


def _check_names(kept: list[str], ours: list[str]) -> None:
    for name in kept:
        if name in ours:
            raise ValueError(f"the column {name!r} cannot be kept beside our own of that name")


@contextmanager
def table_sink(path: str, format: str) -> Iterator[Callable[[Any], None]]:
    """Open a table to write; yields a function that takes record batches, all of one schema.

    The file is put in place when the block ends well, and not at all when it does not.
    """
    if format == "parquet" and path == "-":
        raise ValueError("a Parquet file cannot go to standard output; name a file with -o")
    is_array = suffix_of(without_suffix(path)) == ".json"
    with written_file(path) as file:
        if format == "parquet":
            sink = _parquet(file)
        elif format == "jsonl":
            sink = _json_array(file) if is_array else _json_lines(file)
        else:
            sink = _csv(file, "\t" if format == "tsv" else ",")
        with sink as write:
            yield write


@contextmanager
def _csv(file: Any, delimiter: str) -> Iterator[Callable[[Any], None]]:
    """Write CSV; strings are quoted, and so differ from what is missing."""
    import pyarrow as pa
    from pyarrow import csv

    is_begun = False

    def write(batch: Any) -> None:
        nonlocal is_begun
        if not is_begun:
            is_begun = True
            heads = delimiter.join(map(_quoted, batch.schema.names))
            file.write((heads + "\n").encode())
        names = batch.schema.names
        columns = [_flat(c, n == "prediction") for n, c in zip(names, batch.columns, strict=True)]
        flat = pa.RecordBatch.from_arrays(columns, names)
        sink = pa.BufferOutputStream()
        csv.write_csv(flat, sink, csv.WriteOptions(include_header=False, delimiter=delimiter))
        text = sink.getvalue()
        if len(columns) == 1 and columns[0].null_count:  # most programs skip an empty line
            lines = text.to_pybytes().splitlines(True)
            text = b"".join(b'""\n' if line == b"\n" else line for line in lines)
        file.write(text)

    yield write


def _quoted(name: str) -> str:
    """Spell a name in the head, where quotes are kept for the few that need them.

    Examples
    --------
    >>> _quoted("origin"), _quoted('5" or more, so')
    ('origin', '"5"" or more, so"')
    """
    plain = not any(letter in name for letter in ',"\t\r\n') and name.strip() == name and name
    return name if plain else '"' + name.replace('"', '""') + '"'


def _flat(column: Any, of_labels: bool) -> Any:
    """Turn what CSV has no cells for, lists and the like, into JSON, and labels into no formulas.

    Columns of the source are kept as they are there.
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_nested(kind):
        return pa.array([None if v is None else _json(v) for v in column.to_pylist()], pa.string())
    if of_labels and pa.types.is_string(kind):
        coded = column.dictionary_encode()
        labels = [without_formula(label) for label in coded.dictionary.to_pylist()]
        return pa.array(labels, pa.string()).take(coded.indices)
    return column


@contextmanager
def _json_lines(file: Any) -> Iterator[Callable[[Any], None]]:
    """Write an object a row."""
    yield lambda batch: file.write(_objects(batch))


@contextmanager
def _json_array(file: Any) -> Iterator[Callable[[Any], None]]:
    """Write an array of objects, each on a line of its own."""
    before = b"[\n"

    def write(batch: Any) -> None:
        nonlocal before
        if len(batch):
            rows = bytes(_objects(batch)).removesuffix(b"\n").replace(b"}\n{", b"},\n{")
            file.write(before + rows)
            before = b",\n"

    yield write
    file.write(b"\n]\n" if before == b",\n" else b"[]\n")


def _objects(batch: Any) -> memoryview:
    """Return a line of JSON for each row."""
    import pyarrow.compute as pc

    parts: list[Any] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        parts += [("{" if not parts else ", ") + f"{_json(name)}: ", _json_cells(column)]
    lines = pc.binary_join_element_wise(*parts, "}\n", "")
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int32, len(lines) + 1, lines.offset * 4)
    return memoryview(data)[ends[0] : ends[-1]]


_OTHER_LINE_ENDS = "\x85\u2028\u2029"
"""They are allowed in JSON, but some programs take a line to end there."""


def _json(value: Any) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False, default=_spelled)
    for end in _OTHER_LINE_ENDS:
        text = text.replace(end, f"\\u{ord(end):04x}")
    return text


def _spelled(value: Any) -> str:
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _json_cells(column: Any) -> Any:
    """Spell a column's values as JSON, at Arrow's speed where most tables have them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind):
        # JSON has no value for what is not finite.
        cells = pc.if_else(pc.is_finite(column), column, None).cast(pa.string())
    elif pa.types.is_nested(kind) or pa.types.is_null(kind):
        cells = pa.array([_json(value) for value in column.to_pylist()], pa.string())
    else:  # each distinct value once: words, names, dates, truths
        coded = column.dictionary_encode()
        words = [_json(value) for value in coded.dictionary.to_pylist()]
        cells = pa.array(words, pa.string()).take(coded.indices)
    return pc.fill_null(cells, "null")


@contextmanager
def _parquet(file: Any) -> Iterator[Callable[[Any], None]]:
    """Write row groups of several batches."""
    import pyarrow as pa
    from pyarrow import parquet

    waiting: list[Any] = []
    writer: Any = None

    def write_group() -> None:
        nonlocal writer
        writer = writer or parquet.ParquetWriter(file, waiting[0].schema)
        writer.write_table(pa.Table.from_batches(waiting))
        waiting.clear()

    def write(batch: Any) -> None:
        waiting.append(batch)
        rows, size = sum(map(len, waiting)), sum(batch.nbytes for batch in waiting)
        if rows >= ROWS_A_GROUP or size >= BYTES_A_GROUP:
            write_group()

    yield write
    if waiting:
        write_group()
    if writer is not None:
        writer.close()

"""Streams of record batches, and columns named as targets, weights and exposures."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from polyak.data.find import stream_at
from polyak.data.open import open_stream
from polyak.data.options import Columns, ReadOptions
from polyak.data.stream import Stream
from polyak.data.tables.advice import FRAME
from polyak.data.tables.arrow_types import stored_as
from polyak.data.tables.frames import as_table
from polyak.data.tables.inference import formats_to_learn, no_such_column
from polyak.data.tables.number_formats import with_values
from polyak.data.tables.streams import StreamSource
from polyak.errors import DataError
from polyak.model.dialect import Dialect
from polyak.rows.label_text import label_text
from polyak.rows.sparse import take_rows

Method = TypeVar("Method", bound=Callable[..., Any])


class NamedColumns:
    """The columns of targets, weights and exposures; rows without a target are left out.

    Parameters
    ----------
    y : str
        The column of the targets.
    roles : dict
        The other arguments of ``fit``: names of columns, or values.
    first : pyarrow.Table
        The first rows, or all of them, from which the formats of strings are inferred.
    source : str
        What messages call the table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"a": [1, 2], "b": [3.0, 4.0], "c": [5, 6]})
    >>> columns = NamedColumns("b", {"sample_weight": "a", "exposure": None}, table, "the frame")
    >>> rest, y, roles = columns.split(table)
    >>> rest.column_names, y, roles["sample_weight"]
    (['c'], array([3., 4.]), array([1, 2]))
    """

    def __init__(self, y: str, roles: dict[str, Any], first: Any, source: str) -> None:
        self._y, self._roles = y, roles
        # A column of offsets stays among the features: its weight is one.
        apart = {role: name for role, name in roles.items() if role != "offset"}
        self._named = {role: name for role, name in apart.items() if isinstance(name, str)}
        self.names = list(dict.fromkeys([y, *self._named.values()]))
        for role, name in {"target": y, **self._named}.items():
            what = f"{role.removeprefix('sample_')} "
            if name not in first.column_names:
                raise no_such_column(name, first.column_names, source, what)
            kind = first.schema.field(name).type
            if stored_as(kind) in (None, "strings"):
                raise DataError(f"{source}: the {what}column {name} holds {kind}, not numbers")
        dialect = Dialect()
        self._formats = formats_to_learn(
            first.select(self.names), Columns(target=y), dialect, source, None
        )
        self._left_out = 0

    def split(self, table: Any) -> tuple[Any, NDArray[Any], dict[str, Any]]:
        """Return the other columns of a table, the targets, and the arguments of ``fit``."""
        there, targets, roles = self.values(table.select(self.names))
        rest = table.drop_columns(self.names)
        return rest if there is None else rest.take(there), targets, roles

    def values(self, table: Any) -> tuple[NDArray[np.int64] | None, NDArray[Any], dict[str, Any]]:
        """Return the rows with a target, None for all; their targets; the arguments of ``fit``."""
        there = None
        without = table.column(self._y).is_null(nan_is_null=True).to_numpy()
        if without.any():
            there = np.flatnonzero(~without)
            table = table.take(there)
            self._left_out += len(without) - len(there)
        table = with_values(table, self._formats)
        found = {role: table.column(name).to_numpy() for role, name in self._named.items()}
        return there, table.column(self._y).to_numpy(), self._roles | found

    def warn_of_missing_targets(self) -> None:
        """Warn if rows were left out."""
        if self._left_out:
            said = f"left out {self._left_out:,} rows whose {self._y} is missing"
            warnings.warn(said, stacklevel=5)


def fit_columns(estimator: Any, source: Any, y: str, **roles: Any) -> Any:
    """Fit an estimator to the column ``y`` of a frame or a stream; return it.

    A stream is learned once, in the order of its rows.
    """
    stream = stream_at(source)
    if stream is None:
        return _learn_frame(estimator.fit, source, y, roles)
    if not estimator._going_on():
        for name in ("_run", "_first", "classes_"):
            vars(estimator).pop(name, None)
        if is_classifier(estimator):
            roles["classes"] = _classes(stream, y)
    return _learn_stream(estimator, stream, y, roles)


def partial_fit_columns(estimator: Any, source: Any, y: str, **roles: Any) -> Any:
    """Learn further from the column ``y`` of a frame, or of the batches of a stream."""
    stream = stream_at(source)
    if stream is None:
        return _learn_frame(estimator.partial_fit, source, y, roles)
    return _learn_stream(estimator, stream, y, roles)


def _learn_frame(learn: Callable[..., Any], frame: Any, y: str, roles: dict[str, Any]) -> Any:
    table = as_table(frame)
    columns = NamedColumns(y, roles, table, FRAME)
    rows, targets, roles = columns.split(table)
    columns.warn_of_missing_targets()
    return learn(rows, targets, **roles)


def _learn_stream(estimator: Any, stream: StreamSource, y: str, roles: dict[str, Any]) -> Any:
    """Learn the first rows as a frame, which decides the encoding, and the others by a reader."""
    for role in ("sample_weight", "exposure", "offset"):
        if not isinstance(roles.get(role), str | None):
            raise ValueError(f"the {role} of a stream has to name a column")
    first, row = stream.sample(), 0
    columns = NamedColumns(y, roles, first, stream.name)
    estimator._stream = stream
    try:
        if not estimator._has_encoding():
            rows, targets, found = columns.split(first)
            if not len(targets):
                raise DataError(f"{stream.name}: {y} is missing in the first {len(first):,} rows")
            estimator.partial_fit(rows, targets, **found)
            row = len(first)
        with _read(estimator, stream, columns.names, row) as batches:
            for batch in batches:
                there, targets, found = columns.values(as_table(batch.kept))
                rows = batch.rows if there is None else take_rows(batch.rows, there)
                if len(targets):
                    estimator.partial_fit(rows, targets, **found)
            estimator._add_names(batches.names())
    finally:
        del estimator._stream
    columns.warn_of_missing_targets()
    return estimator


def _classes(stream: StreamSource, y: str) -> NDArray[Any]:
    """Return the classes: of all rows, or of the first if the stream can be read only once."""
    first = stream.sample()
    if y not in first.column_names:
        raise no_such_column(y, first.column_names, stream.name)
    parts = [first] if stream.is_once else stream.record_batches([y])
    found = [np.unique(part.column(y).drop_null().to_numpy(zero_copy_only=False)) for part in parts]
    classes = np.unique(np.concatenate(found))
    if stream.is_once and len(classes) == 1:
        raise DataError(
            f"the first {len(first):,} rows of {stream.name} are all of class "
            f"{label_text(classes[0])}; name all classes with partial_fit(..., classes=...), or "
            f"{stream.advice}"
        )
    return classes


def _read(estimator: Any, stream: StreamSource, keep: list[str], row: int = 0) -> Stream:
    """Open a stream from a row on, encoded like the rows learned from."""
    there = [name for name in stream.sample().column_names if name not in keep]
    schema, dtype = estimator._schema_to_read(stream.sample().select(there))
    reading = ReadOptions(
        schema=schema, targets=False, keep=keep, dtype=dtype, warn_if_sorted=False
    )
    start = {"format": stream.format, "rows": row, "without_target": 0, "place": {"row": row}}
    return open_stream(stream, reading, start=start)


def by_batches(predict: Method) -> Method:
    """Let a method that predicts yield the predictions of a stream, a batch at a time."""

    @wraps(predict)
    def method(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        stream = stream_at(X)
        if stream is None:
            return predict(self, X, *arguments, **options)
        return (predict(self, rows, *arguments, **options) for rows in _rows(self, stream))

    return method  # type: ignore[return-value]


def _rows(estimator: Any, stream: StreamSource) -> Iterator[Any]:
    with _read(estimator, stream, []) as batches:
        for batch in batches:
            yield batch.rows

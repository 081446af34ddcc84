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
from polyak.data.tables.frames import as_table, is_frame
from polyak.data.tables.inference import formats_to_learn, no_such_column
from polyak.data.tables.number_formats import with_values
from polyak.data.tables.streams import StreamSource
from polyak.errors import DataError, NoRowsError, RowError
from polyak.model.dialect import Dialect
from polyak.rows.label_text import label_text
from polyak.rows.sparse import take_rows

Method = TypeVar("Method", bound=Callable[..., Any])


class NamedColumns:
    """The columns of targets, weights and exposures; rows without a target are left out.

    Parameters
    ----------
    y : str or array
        The column of the targets, or the targets.
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
    >>> columns = NamedColumns("b", {"sample_weight": "a"}, table, "the frame")
    >>> columns.learn(lambda X, y, sample_weight: print(X.column_names, y, sample_weight), table)
    ['c'] [3. 4.] [1 2]
    2
    """

    def __init__(self, y: Any, roles: dict[str, Any], first: Any, source: str) -> None:
        self._y, self._roles, self._source = y, roles, source
        target = y if isinstance(y, str) else None
        # A column of offsets stays among the features: its weight is one.
        apart = {role: name for role, name in roles.items() if role != "offset"}
        self._named = {role: name for role, name in apart.items() if isinstance(name, str)}
        named = self._named if target is None else {"target": target, **self._named}
        self.names = list(dict.fromkeys(named.values()))
        for role, name in named.items():
            what = f"{role.removeprefix('sample_')} "
            if name not in first.column_names:
                raise no_such_column(name, first.column_names, source, what)
            kind = first.schema.field(name).type
            if stored_as(kind) in (None, "strings"):
                raise DataError(f"{source}: the {what}column {name} holds {kind}, not numbers")
        dialect = Dialect()
        self._formats = formats_to_learn(
            first.select(self.names), Columns(target=target), dialect, source, None
        )
        self._left_out = 0

    def learn(
        self, learn: Callable[..., Any], table: Any, rows: Any = None, before: int = 0
    ) -> int:
        """Learn the rows that have a target, of the other columns or ``rows``; return their number.

        ``before`` is the number of rows of the source before the first of the table.
        """
        there, targets = None, self._y
        rows = table.drop_columns(self.names) if rows is None else rows
        table = table.select(self.names)
        if isinstance(targets, str):
            without = table.column(targets).is_null(nan_is_null=True).to_numpy()
            if without.any():
                there = np.flatnonzero(~without)
                table = table.take(there)
                rows = rows.take(there) if is_frame(rows) else take_rows(rows, there)
                self._left_out += len(without) - len(there)
        table = with_values(table, self._formats)
        targets = table.column(targets).to_numpy() if isinstance(targets, str) else targets
        found = {role: table.column(name).to_numpy() for role, name in self._named.items()}
        if not len(targets) and isinstance(self._y, str):
            return 0
        try:
            learn(rows, targets, **self._roles | found)
        except RowError as error:
            row = error.row if there is None else int(there[error.row])
            raise DataError(f"{self._source}, row {before + row + 1}{error.what}") from error
        return len(targets)

    def warn_of_missing_targets(self) -> None:
        """Warn if rows were left out."""
        if self._left_out:
            said = f"left out {self._left_out:,} rows whose {self._y} is missing"
            warnings.warn(said, stacklevel=5)


def name_columns(*values: Any) -> bool:
    """Whether any of the targets, weights and exposures is named rather than given."""
    return any(isinstance(value, str) for value in values)


def learn_columns(estimator: Any, method: str, source: Any, y: Any, **roles: Any) -> Any:
    """Call "fit" or "partial_fit" with named columns of a frame or a stream; return the estimator.

    A stream is learned once, in the order of its rows.
    """
    stream = stream_at(source)
    if stream is None:
        return _learn_frame(getattr(estimator, method), source, y, roles)
    if not isinstance(y, str):
        raise read_by_batches(stream)
    if method == "fit" and not estimator._going_on():
        for name in ("_run", "_first", "classes_"):
            vars(estimator).pop(name, None)
        if is_classifier(estimator):
            roles["classes"] = _classes(stream, y)
    return _learn_stream(estimator, stream, y, roles)


def read_by_batches(stream: StreamSource) -> DataError:
    """Return the error for a stream whose targets are not a column of it."""
    return DataError(
        f"{stream.name} is read a batch at a time: name a column of it as the target, as in "
        "fit(X, y='price'), or collect its rows first"
    )


def _learn_frame(learn: Any, frame: Any, y: Any, roles: dict[str, Any]) -> Any:
    if hasattr(frame, "shape") and not is_frame(frame):
        named = next(name for name in (y, *roles.values()) if isinstance(name, str))
        raise ValueError(f"{named!r} names a column: pass a frame or a stream, not an array")
    table = as_table(frame)
    columns = NamedColumns(y, roles, table, FRAME)
    if not columns.learn(learn, table):
        raise DataError(f"{FRAME}: {y} is missing in all {len(table):,} rows")
    columns.warn_of_missing_targets()
    return learn.__self__


def _learn_stream(estimator: Any, stream: StreamSource, y: str, roles: dict[str, Any]) -> Any:
    """Learn the first rows as a frame, which decides the encoding, and the others by a reader."""
    for role in ("sample_weight", "exposure", "offset"):
        if not isinstance(roles.get(role), str | None):
            raise ValueError(f"the {role} of a stream has to name a column")
    first, row = stream.sample(), 0
    columns = NamedColumns(y, roles, first, stream.name)
    estimator._stream = stream
    try:
        estimator._check_columns(first.drop_columns(columns.names))
        if not estimator._has_encoding():
            if not columns.learn(estimator.partial_fit, first):
                raise DataError(f"{stream.name}: {y} is missing in the first {len(first):,} rows")
            row = len(first)
        with _read(estimator, stream, columns.names, row) as batches:
            for batch in batches:
                columns.learn(estimator.partial_fit, as_table(batch.kept), batch.rows, row)
                row += len(batch)
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
    try:
        with _read(estimator, stream, []) as batches:
            for batch in batches:
                yield batch.rows
    except NoRowsError:  # as of a frame without rows, there are no predictions
        return

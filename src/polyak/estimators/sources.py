"""Streams of record batches, and columns named as targets, weights and exposures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from polyak.data.open import open_stream
from polyak.data.options import Columns, ReadOptions
from polyak.data.tables.advice import FRAME
from polyak.data.tables.frames import as_table
from polyak.data.tables.inference import formats_to_learn, no_such_column
from polyak.data.tables.number_formats import with_values
from polyak.data.tables.streams import StreamSource, feed_of
from polyak.model.dialect import Dialect

Method = TypeVar("Method", bound=Callable[..., Any])


def with_columns(frame: Any, y: str, roles: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Return a frame without the columns of targets, weights and exposures, and those columns.

    Rows without a target are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1, 2, 3], "b": [3, 4, None]})
    >>> rest, y, roles = with_columns(frame, "b", {"sample_weight": "a", "exposure": None})
    >>> rest.column_names, y, roles["sample_weight"]
    ([], array([3., 4.]), array([1, 2]))
    """
    table = as_table(frame)
    named = {role: name for role, name in roles.items() if isinstance(name, str)}
    names = list(dict.fromkeys([y, *named.values()]))
    for name in names:
        if name not in table.column_names:
            raise no_such_column(name, table.column_names, FRAME)
    without = table.column(y).is_null(nan_is_null=True).to_numpy()
    if without.any():
        table = table.take(np.flatnonzero(~without))
    columns = table.select(names)
    formats = formats_to_learn(columns, Columns(target=y), Dialect(), FRAME, None)
    columns = with_values(columns, formats)
    found = {role: columns.column(name).to_numpy() for role, name in named.items()}
    return table.drop_columns(names), columns.column(y).to_numpy(), roles | found


def fit_columns(estimator: Any, source: Any, y: str, **roles: Any) -> Any:
    """Fit an estimator to the column ``y`` of a frame or a stream; return it.

    A stream is learned once, in the order of its rows.
    """
    feed = feed_of(source)
    if feed is None:
        rows, targets, roles = with_columns(source, y, roles)
        return estimator.fit(rows, targets, **roles)
    stream = StreamSource(feed)
    if not estimator._going_on():
        for name in ("_run", "_first", "classes_"):
            vars(estimator).pop(name, None)
        if is_classifier(estimator):
            roles["classes"] = _classes(stream, y)
    return _learn_batches(estimator, stream, y, roles)


def partial_fit_columns(estimator: Any, source: Any, y: str, **roles: Any) -> Any:
    """Learn further from the column ``y`` of a frame, or of the batches of a stream."""
    feed = feed_of(source)
    if feed is not None:
        return _learn_batches(estimator, StreamSource(feed), y, roles)
    rows, targets, roles = with_columns(source, y, roles)
    return estimator.partial_fit(rows, targets, **roles)


def _learn_batches(estimator: Any, stream: StreamSource, y: str, roles: dict[str, Any]) -> Any:
    stream.plan({}, stream.sample().column_names, [])
    estimator._order_advice = stream.advice
    try:
        for piece in stream.pieces({}):
            rows, targets, found = with_columns(piece.data[0], y, roles)
            estimator.partial_fit(rows, targets, **found)
    finally:
        del estimator._order_advice
    return estimator


def _classes(stream: StreamSource, y: str) -> NDArray[Any]:
    """Return the classes: of all rows, or of the first if the stream can be read only once."""
    first = stream.sample()
    if y not in first.column_names:
        raise no_such_column(y, first.column_names, stream.name)
    parts = [first] if stream.is_once else stream.read([y])
    found = [np.unique(part.column(y).drop_null().to_numpy(zero_copy_only=False)) for part in parts]
    return np.unique(np.concatenate(found))


def by_batches(predict: Method) -> Method:
    """Let a method that predicts yield the predictions of a stream, a batch at a time."""

    @wraps(predict)
    def method(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        if feed_of(X) is None:
            return predict(self, X, *arguments, **options)
        return (predict(self, rows, *arguments, **options) for rows in _batches(self, X))

    return method  # type: ignore[return-value]


def _batches(estimator: Any, source: Any) -> Iterator[Any]:
    if estimator._schema is None:
        batches = StreamSource(feed_of(source))  # type: ignore[arg-type]
        there = batches.sample().column_names
        known = getattr(estimator, "feature_names_in_", there)
        batches.plan({}, [name for name in there if name in known] or there, [])
        for piece in batches.pieces({}):
            yield as_table(piece.data[0])
        return
    reading = ReadOptions(
        schema=estimator._schema, columns=Columns(names=0), targets=False, dtype=np.float64
    )
    with open_stream(source, reading) as stream:
        for batch in stream:
            yield batch.rows

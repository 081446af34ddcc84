"""Streams of record batches, and columns named as targets and weights, for the estimators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from polyak.data.open import open_stream
from polyak.data.options import Columns, ReadOptions
from polyak.data.tables.frames import as_table
from polyak.data.tables.inference import no_such_column
from polyak.data.tables.streams import StreamSource, feed_of
from polyak.training.job import Job
from polyak.training.loop import train

Method = TypeVar("Method", bound=Callable[..., Any])


def with_columns(frame: Any, y: str, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return a frame without the columns of targets and weights, and those columns.

    Examples
    --------
    >>> import pandas as pd
    >>> rest, y, weights = with_columns(pd.DataFrame({"a": [1, 2], "b": [3, 4]}), "b", None)
    >>> rest.column_names, y
    (['a'], array([3, 4]))
    """
    table = as_table(frame)
    names = [name for name in (y, sample_weight) if isinstance(name, str)]
    for name in names:
        if name not in table.column_names:
            raise no_such_column(name, table.column_names, "the frame")
    found = [table.column(name).to_numpy() for name in names]
    weights = found[1] if len(found) > 1 else sample_weight
    return table.drop_columns(names), found[0], weights


def fit_columns(estimator: Any, source: Any, y: str, sample_weight: Any) -> Any:
    """Fit an estimator to the column ``y`` of a frame or a stream; return it.

    A stream is learned as the command line learns it, in the order of its rows.
    """
    if feed_of(source) is None:
        rows, targets, weights = with_columns(source, y, sample_weight)
        return estimator.fit(rows, targets, weights)
    seed = int(estimator._generator().randint(np.iinfo(np.int32).max))
    reading = ReadOptions(columns=Columns(target=y, weight=sample_weight))
    recipe = estimator._recipe(seed)
    outcome = train(Job(source=source, recipe=recipe, reading=reading, order="as-is"))
    made = type(estimator).from_model(outcome.model)
    parameters = made.get_params()
    vars(estimator).update({n: value for n, value in vars(made).items() if n not in parameters})
    return estimator


def partial_fit_columns(
    estimator: Any, source: Any, y: str, sample_weight: Any, **more: Any
) -> Any:
    """Learn further from the column ``y`` of a frame, or of the batches of a stream."""
    feed = feed_of(source)
    parts = [source] if feed is None else StreamSource(feed).read(None)
    for part in parts:
        rows, targets, weights = with_columns(part, y, sample_weight)
        estimator.partial_fit(rows, targets, sample_weight=weights, **more)
    return estimator


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
        names = list(getattr(estimator, "feature_names_in_", ()))
        batches = StreamSource(feed_of(source)).read(names or None)  # type: ignore[arg-type]
        for batch in batches:
            for name in names:
                if name not in batch.schema.names:
                    raise no_such_column(name, batch.schema.names, "the stream")
            yield batch.select(names) if names else batch
        return
    reading = ReadOptions(
        schema=estimator._schema, columns=Columns(names=0), targets=False, dtype=np.float64
    )
    with open_stream(source, reading) as stream:
        for batch in stream:
            yield batch.rows

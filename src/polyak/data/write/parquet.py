"""Rows as a Parquet file: columns ``target``, ``weight``, and lists ``indices`` and ``values``.

Tables keep the columns they have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from polyak.data.feature_origin import origin_of, to_text
from polyak.data.formats.row_parquet import MARK
from polyak.data.stream import Stream
from polyak.data.write.prediction_tables import table_sink
from polyak.errors import DataError
from polyak.optional_imports import needed
from polyak.rows.batch import Batch
from polyak.rows.sparse import SparseRows, dense_as_sparse


@contextmanager
def parquet_writer(
    stream: Stream, path: str, unlabelled: bool = False
) -> Iterator[Callable[[Batch], None]]:
    """Open a file for rows, or for a table's columns; gives what writes a batch."""
    with table_sink(path, "parquet") as sink:
        schema: Any = None

        def write(batch: Batch) -> None:
            nonlocal schema
            if batch.kept is not None:
                sink(batch.kept)
                return
            table = _record_batch(batch)
            if schema is None:
                cursor = {MARK: to_text(origin_of(stream)).encode()}
                schema = table.schema.with_metadata(cursor)
            if table.schema.field("indices") != schema.field("indices"):
                raise DataError(
                    "a feature beyond 2^31 comes after others were written as 32-bit numbers; an "
                    ".npz file can hold both"
                )
            arrays = [a.cast(field.type) for a, field in zip(table.columns, schema, strict=True)]
            sink(type(table).from_arrays(arrays, schema=schema))

        yield write


def _record_batch(batch: Batch) -> Any:
    """Give a batch's rows as columns."""
    pa = needed("pyarrow", "tables")
    rows = batch.rows if isinstance(batch.rows, SparseRows) else dense_as_sparse(batch.rows)
    begin, end = int(rows.indptr[0]), int(rows.indptr[-1])
    ends = pa.array((rows.indptr - begin).astype(np.int32))
    columns: dict[str, Any] = {}
    if batch.targets is not None:
        columns["target"] = pa.array(batch.targets)
    weights = np.ones(len(batch)) if batch.weights is None else batch.weights
    columns["weight"] = pa.array(np.asarray(weights, np.float64))
    columns["indices"] = pa.ListArray.from_arrays(ends, pa.array(rows.indices[begin:end]))
    columns["values"] = pa.ListArray.from_arrays(ends, pa.array(rows.values[begin:end]))
    return pa.RecordBatch.from_pydict(columns)

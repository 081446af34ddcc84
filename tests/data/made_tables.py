"""Small tables of every kind of column, and the formats they are written in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyak.data.open import open_stream
from polyak.rows.sparse import SparseRows, join_rows

pa = pytest.importorskip("pyarrow")
for part in ("feather", "parquet"):
    pytest.importorskip(f"pyarrow.{part}")


def flights(rows: int = 3000, seed: int = 0) -> pa.Table:
    """Make up flights: numbers, words, times and holes, and a delay to predict."""
    random = np.random.default_rng(seed)
    carrier = random.choice(["AA", "UA", "WN", "Zürich Air"], rows)
    distance = random.integers(80, 3000, rows)
    begin = np.datetime64("2013-01-01T05:00:00", "s")
    time = begin + np.arange(rows) * np.timedelta64(900, "s")
    wind = random.normal(10, 4, rows).round(3)
    wind_missing = random.random(rows) < 0.1
    delay = (
        distance / 500
        + 8.0 * (carrier == "WN")
        - 0.5 * wind
        + 3.0 * np.sin(2 * np.pi * (time.astype(int) % 86400) / 86400)
        + random.normal(0, 2, rows)
    ).round(2)
    tail = random.choice([f"N{i}" for i in range(50)], rows)
    return pa.table(
        {
            "distance": distance,
            "wind": pa.array(wind, mask=wind_missing),
            "carrier": carrier.tolist(),
            "tail": pa.array(tail.tolist(), mask=random.random(rows) < 0.05),
            "left": [f"{t}Z" for t in time.astype(str)],
            "delay": pa.array(delay, mask=random.random(rows) < 0.03),
        }
    )


def write(table: pa.Table, path: Path) -> Path:
    """Write a table in the format that the name tells."""
    kind = path.name.split(".")[1]
    if kind in ("csv", "tsv"):
        separator = "," if kind == "csv" else "\t"
        table.to_pandas().to_csv(path, sep=separator, index=False)
    elif kind == "jsonl":
        table.to_pandas().to_json(path, orient="records", lines=True, force_ascii=False)
    elif kind == "parquet":
        pa.parquet.write_table(table, path, row_group_size=700)
    else:
        pa.feather.write_feather(table, path, chunksize=333)
    return path


def read_all(source: Any, **options: Any) -> tuple[SparseRows, Any, Any]:
    """Read a source to its end; give the rows in one piece, the targets, and the schema."""
    with open_stream(source, **options) as stream:
        batches = list(stream)
        schema = stream.schema
    rows = join_rows([batch.rows for batch in batches])
    assert isinstance(rows, SparseRows)
    targets = [batch.targets for batch in batches if batch.targets is not None]
    return rows, np.concatenate(targets) if targets else None, schema


def features(rows: SparseRows, row: int, schema: Any) -> dict[Any, float]:
    """Return the features of one row: plain ones by name, hashed ones by their bucket."""
    part = slice(int(rows.indptr[row]), int(rows.indptr[row + 1]))
    names = schema.feature_names
    return {
        names[index] if index < len(names) else index - len(names): value
        for index, value in zip(
            rows.indices[part].tolist(), rows.values[part].tolist(), strict=True
        )
    }

"""Random tables through every source give the same model, or the same sentence."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from polyak.data.options import Columns, ReadOptions
from polyak.errors import DataError
from polyak.learn.recipes import Recipe
from polyak.training.job import Job
from polyak.training.loop import train

duckdb = pytest.importorskip("duckdb")


def json_lines(table: pa.Table, folder: Path) -> str:
    path = folder / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, table.to_pylist())))
    return str(path)


def file(write: Callable[[pa.Table, Path], Any], name: str) -> Callable[[pa.Table, Path], str]:
    def written(table: pa.Table, folder: Path) -> str:
        write(table, folder / name)
        return str(folder / name)

    return written


PARQUET = file(pq.write_table, "t.parquet")
SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "csv": file(pyarrow.csv.write_csv, "t.csv"),
    "json": json_lines,
    "parquet": PARQUET,
    "feather": file(pyarrow.feather.write_feather, "t.feather"),
    "pandas": lambda table, folder: table.to_pandas(),
    "polars": lambda table, folder: pl.from_arrow(table),
    "arrow": lambda table, folder: table,
    "duckdb": lambda table, folder: f"duckdb:SELECT * FROM '{PARQUET(table, folder)}'",
    "dataset": lambda table, folder: pyarrow.dataset.dataset(PARQUET(table, folder)),
}
VALUES = {
    "numbers": st.one_of(st.none(), st.floats(-1e6, 1e6).map(lambda x: round(x, 2))),
    "words": st.one_of(st.none(), st.sampled_from(["Rome", "Oslo", "São Paulo", "a,b", 'q"q'])),
    "money": st.floats(0, 1e6).map(lambda x: f"${x:,.2f}"),
    "days": st.dates().map(lambda day: f"{day.day:02}-{day:%b}-{day.year:04}"),
    "truths": st.sampled_from(["yes", "no"]),
    "nothing": st.none(),
}
TYPES = {"numbers": pa.float64()}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(1, 30))
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4))
    columns = {
        f"{kind} {place}": pa.array(
            draw(st.lists(VALUES[kind], min_size=rows, max_size=rows)), TYPES.get(kind, pa.string())
        )
        for place, kind in enumerate(kinds)
    }
    # Text has no type for a column without any value.
    assume(all(columns[name].null_count < rows for name in columns if "numbers" in name))
    targets = draw(st.lists(st.floats(-9, 9).map(lambda x: round(x, 1)), min_size=rows))
    return pa.table({**columns, "y": pa.array(targets[:rows], pa.float64())})


def outcome(source: Any, folder: Path) -> Any:
    """Return the weights' bits and columns, or the sentence without the name of the source."""
    recipe = Recipe(loss="squared_error", recipe="sgd")
    reading = ReadOptions(columns=Columns(target="y"), threads=0)
    job = Job(source=source, recipe=recipe, reading=reading, order="as-is")
    with warnings.catch_warnings(action="ignore"):
        try:
            model = train(job).model
        except DataError as error:
            name = r"\S*/t\.\w+|the (frame|DuckDB query|data set)"
            return re.sub(rf"({name})(, (line|row) \d+)?", "it", str(error))
    assert model is not None
    return model.weights.tobytes(), model.intercept.tobytes(), model.features.schema.columns


@settings(max_examples=25, deadline=None)
@given(tables())
def test_every_source_gives_the_same_model_or_sentence(table: pa.Table) -> None:
    with TemporaryDirectory() as name:
        found = {
            kind: outcome(make(table, Path(name)), Path(name)) for kind, make in SOURCES.items()
        }
    for kind, each in found.items():
        assert each == found["parquet"], kind

"""Streams of record batches give the bits of the same rows from Parquet, from any library."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from polyak import ASGDClassifier, ASGDRegressor
from polyak.data.open import open_stream
from polyak.data.options import Columns, ReadOptions
from polyak.errors import DataError
from polyak.learn.recipes import Recipe
from polyak.training.job import Job
from polyak.training.loop import train

duckdb = pytest.importorskip("duckdb")
datasets = pytest.importorskip("datasets")

ROWS = 40_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, ROWS))
    city = random.choice(["Rome", "Oslo", "Lima"], ROWS)
    table = pa.table(
        {
            "a": a,
            "b": pa.array(b, mask=random.random(ROWS) < 0.05),
            "city": city,
            "unused": random.integers(0, 9, ROWS),
            "w": random.integers(1, 4, ROWS).astype(float),
            "y": 2 * a - b + (city == "Rome") + random.normal(size=ROWS) / 5,
            "c": np.where(a + random.logistic(size=ROWS) > 0, "yes", "no"),
        }
    )
    found = tmp_path_factory.mktemp("streams")
    pq.write_table(table, found / "t.parquet", row_group_size=9000)
    return found


def relation(path: Path) -> Any:
    return duckdb.connect().sql(f"SELECT * FROM read_parquet('{path}')")


def generated(path: Path) -> Iterator[Any]:
    yield from pq.ParquetFile(path).iter_batches(777)


class Foreign:
    """A table of a library that polyak does not know."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.columns = pq.read_schema(path).names

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pq.read_table(self.path).__arrow_c_stream__(requested_schema)


SOURCES: dict[str, Callable[[Path], Any]] = {
    "a DuckDB relation": relation,
    "a DuckDB query": lambda path: f"duckdb:SELECT * FROM read_parquet('{path}')",
    "a lazy frame": polars.scan_parquet,
    "a pyarrow data set": pyarrow.dataset.dataset,
    "a Hugging Face data set": lambda path: datasets.Dataset.from_parquet(
        str(path), cache_dir=str(path.parent / "cache")
    ),
    "a Hugging Face stream": lambda path: datasets.Dataset.from_parquet(
        str(path), cache_dir=str(path.parent / "cache")
    ).to_iterable_dataset(),
    "a record batch reader": lambda path: pq.read_table(path).to_reader(max_chunksize=1500),
    "an unknown library": Foreign,
    "an iterator of batches": generated,
    "an iterator of frames": lambda path: (
        polars.from_arrow(batch) for batch in pq.ParquetFile(path).iter_batches(5000)
    ),
}


def job(source: Any, **options: Any) -> Job:
    columns = Columns(target="y", weight="w", drop=("unused", "c"))
    recipe = Recipe(loss="squared_error", recipe="sgd")
    reading = ReadOptions(columns=columns)
    return Job(source=source, recipe=recipe, reading=reading, order="as-is", **options)


@pytest.fixture(scope="module")
def expected(folder: Path) -> Any:
    return train(job(str(folder / "t.parquet"))).model


@pytest.mark.parametrize("source", SOURCES)
def test_the_model_is_that_of_the_parquet_file(source: str, folder: Path, expected: Any) -> None:
    model = train(job(SOURCES[source](folder / "t.parquet"))).model
    assert model is not None
    np.testing.assert_array_equal(model.weights, expected.weights)
    np.testing.assert_array_equal(model.intercept, expected.intercept)
    assert model.features == expected.features


@pytest.mark.parametrize("source", ["a DuckDB relation", "a lazy frame", "a pyarrow data set"])
def test_only_the_columns_in_use_are_read(source: str, folder: Path) -> None:
    with open_stream(SOURCES[source](folder / "t.parquet"), job(None).reading) as stream:
        reader: Any = stream._reader
        batch = next(reader._source.record_batches(reader._source._columns))
    assert set(batch.schema.names) == {"a", "b", "city", "y", "w"}


@pytest.mark.parametrize("source", ["a DuckDB relation", "a lazy frame", "an iterator of batches"])
def test_a_run_resumes_by_skipping_rows(
    source: str, folder: Path, expected: Any, tmp_path: Path
) -> None:
    class StopError(Exception):
        pass

    def stop(progress: Any) -> None:
        if progress.rows > 20_000:
            raise StopError

    checkpoint = str(tmp_path / "checkpoint")
    made = SOURCES[source](folder / "t.parquet")
    with pytest.raises(StopError):
        train(job(made, checkpoint=checkpoint, every_rows=1), stop)
    again = train(
        job(SOURCES[source](folder / "t.parquet"), checkpoint=checkpoint, every_rows=1)
    ).model
    assert again is not None
    np.testing.assert_array_equal(again.weights, expected.weights)


def test_another_query_does_not_resume(folder: Path, tmp_path: Path) -> None:
    query = f"duckdb:SELECT * FROM read_parquet('{folder / 't.parquet'}')"
    checkpoint = str(tmp_path / "checkpoint")
    train(job(query, checkpoint=checkpoint))
    with pytest.raises(ValueError, match="other data"):
        train(job(query + " WHERE a > 0", checkpoint=checkpoint))


def test_another_filter_of_a_data_set_does_not_resume(folder: Path, tmp_path: Path) -> None:
    source = pyarrow.dataset.dataset(folder / "t.parquet")
    checkpoint = str(tmp_path / "checkpoint")
    train(job(source, checkpoint=checkpoint))
    with pytest.raises(ValueError, match="other data"):
        train(job(source.filter(pyarrow.dataset.field("a") > 0), checkpoint=checkpoint))


def test_an_iterator_has_one_pass(folder: Path) -> None:
    with pytest.raises(ValueError, match="the iterator can be read once only; passes needs"):
        job(generated(folder / "t.parquet"), passes=2)


# -- estimators ----------------------------------------------------------------------------------


def test_fit_and_predict(folder: Path) -> None:
    path = folder / "t.parquet"
    features = "a, b, city"
    source = duckdb.connect().sql(f"SELECT {features}, y, w FROM read_parquet('{path}')")
    regressor = ASGDRegressor(random_state=0).fit(source, y="y", sample_weight="w")
    table = pq.read_table(path)
    together = np.concatenate(list(regressor.predict(source)))
    np.testing.assert_array_equal(together, regressor.predict(table.select(["a", "b", "city"])))
    y = table.column("y").to_numpy()
    assert 1 - np.var(y - together) / np.var(y) > 0.95


def test_a_classifier_finds_the_classes_of_a_stream(folder: Path) -> None:
    lazy = polars.scan_parquet(folder / "t.parquet").select("a", "city", "c")
    classifier = ASGDClassifier(random_state=0).fit(lazy, y="c")
    assert classifier.classes_.tolist() == ["no", "yes"]
    (first, *_) = classifier.predict_proba(lazy)
    assert first.shape[1] == 2


@pytest.mark.parametrize("convert", [pa.Table.to_pandas, polars.from_arrow, lambda table: table])
def test_a_frame_with_its_target(convert: Callable[[Any], Any], folder: Path) -> None:
    table = pq.read_table(folder / "t.parquet").select(["a", "b", "city", "y", "w"]).slice(0, 3000)
    rows, y, w = table.drop_columns(["y", "w"]), table["y"].to_numpy(), table["w"].to_numpy()
    expected = ASGDRegressor(random_state=0).fit(rows, y, sample_weight=w)
    found = ASGDRegressor(random_state=0).fit(convert(table), y="y", sample_weight="w")
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    with pytest.raises(ValueError, match="has no target column z"):
        ASGDRegressor().fit(convert(table), y="z")


def test_tables_of_unknown_libraries_are_streams(folder: Path) -> None:
    table = Foreign(folder / "t.parquet")
    model = ASGDRegressor(drop=["c"]).fit(table, y="y", sample_weight="w")
    assert sum(map(len, model.predict(table))) == ROWS


# -- what is wrong -------------------------------------------------------------------------------


def batches_of(*tables: dict[str, Any]) -> Iterator[Any]:
    for columns in tables:
        yield pa.RecordBatch.from_pydict(columns)


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "no such target": (
        lambda: batches_of({"a": [1.0, 2.0]}),
        "the iterator has no target column y",
    ),
    "a query that fails": (
        lambda: "duckdb:SELECT nothing FROM nowhere",
        "the DuckDB query cannot be run: Catalog Error",
    ),
    "another type": (
        lambda: batches_of({"a": [1.0] * 1500, "y": [1.0, 2.0] * 750}, {"a": ["x"], "y": [1.0]}),
        "the iterator, row 1501: the column a holds string, but it was double before",
    ),
    "a column that is gone": (
        lambda: batches_of({"a": [1.0] * 1500, "y": [1.0, 2.0] * 750}, {"y": [1.0]}),
        "the iterator, row 1501: there is no column a, but there was before",
    ),
    "a column that is new": (
        lambda: batches_of({"b": [1] * 1500, "y": [1, 2] * 750}, {"b": [1], "y": [1], "a": [1]}),
        "the iterator, row 1501: the column a was not there before",
    ),
    "another order": (
        lambda: batches_of({"a": [1.0] * 1500, "y": [1.0, 2.0] * 750}, {"y": [1.0], "a": [1.0]}),
        "the iterator, row 1501: the columns are in another order than before",
    ),
    "no rows": (lambda: iter(()), "the iterator has no rows"),
    "several data sets": (
        lambda: datasets.DatasetDict({"train": datasets.Dataset.from_dict({"a": [1], "y": [2]})}),
        r"the DatasetDict has the data sets train: pass one of them, as in data\['train'\]",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_one_sentence(case: str) -> None:
    make, sentence = WRONG[case]
    with pytest.raises(DataError, match=sentence), open_stream(make(), target="y") as stream:
        list(stream)


def test_what_was_learned_before_a_failure_is_kept(tmp_path: Path) -> None:
    def failing() -> Iterator[Any]:
        random = np.random.default_rng(0)
        for _ in range(3):
            a = random.normal(size=2000)
            yield pa.RecordBatch.from_pydict({"a": a, "w": np.ones(2000), "y": 2 * a})
        raise OSError("the connection was lost")

    checkpoint = tmp_path / "checkpoint"
    columns = Columns(target="y")
    doing = Job(
        source=failing(),
        recipe=Recipe(loss="squared_error", recipe="sgd"),
        reading=ReadOptions(columns=columns),
        order="as-is",
        checkpoint=str(checkpoint),
        every_rows=1,
    )
    with pytest.raises(DataError, match="failed after 6,000 rows: the connection was lost"):
        train(doing)
    assert any(checkpoint.iterdir())


def test_the_remedy_for_sorted_rows_is_that_of_the_source() -> None:
    query = "duckdb:SELECT range AS a, CASE WHEN range < 400 THEN 'x' ELSE 'z' END AS y"
    with (
        pytest.warns(UserWarning, match="add ORDER BY hash"),
        open_stream(query + " FROM range(6000)", target="y") as stream,
    ):
        list(stream)


def test_positions_are_json(folder: Path) -> None:
    source = SOURCES["a DuckDB query"](folder / "t.parquet")
    with open_stream(source, target="y") as stream:
        next(stream)
        position = json.loads(json.dumps(stream.position))
    with open_stream(source, target="y", start=position) as stream:
        rows = sum(map(len, stream))
    assert rows == ROWS - position["rows"]

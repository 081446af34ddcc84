"""Estimators learn a stream through one reader, which asks for the columns in use."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import pandas as pd
from tests.extras import polars as pl

from polyak import ASGDClassifier, ASGDRegressor
from polyak.data.open import open_stream

duckdb, pa = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow")
pyarrow_dataset = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 60_000


def requested(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the columns that DuckDB is asked for, filled as it is asked."""
    found: list[str] = []

    def column(name: str) -> Any:
        found.append(name)
        return expression(name)

    expression = duckdb.ColumnExpression
    monkeypatch.setattr(duckdb, "ColumnExpression", column)
    return found


@pytest.mark.parametrize("word", ["'b'", "2"], ids=["words", "numbers"])
def test_columns_to_drop_are_not_requested(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = requested(monkeypatch)
    source = duckdb.connect().sql(
        f"SELECT range AS a, {word} AS b, 1.5 AS w, 'secret' AS id, a % 9 AS y FROM range(5000)"
    )
    ASGDRegressor(drop=["id"], random_state=0).fit(source, y="y", sample_weight="w")
    assert set(names) == {"a", "b", "w", "y"}


def test_threads_are_started_once_for_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    start = threading.Thread.start
    monkeypatch.setattr(
        threading.Thread, "start", lambda thread: (started.append(thread.name), start(thread))
    )
    source = duckdb.connect().sql(
        f"SELECT range AS a, 'w' || a % 5 AS b, a % 9 AS y FROM range({ROWS})"
    )
    model = ASGDRegressor(random_state=0).fit(source, y="y")
    assert model.t_ == ROWS + 1
    assert started.count("polyak-reader") <= 4


FRAME = pd.DataFrame(
    {
        "a": np.random.default_rng(0).normal(size=4000),
        "b": ["x", "y", "z", None] * 1000,
        "y": ["yes", "no", None, "no"] * 1000,
    }
)


def batches(frame: pd.DataFrame) -> Iterator[Any]:
    yield from pa.Table.from_pandas(frame).to_batches(max_chunksize=300)


@pytest.mark.parametrize("columns", [["a", "y"], ["a", "b", "y"]])
@pytest.mark.parametrize("is_stream", [False, True])
def test_rows_without_a_target_are_left_out_with_a_warning(
    columns: list[str], is_stream: bool
) -> None:
    frame = FRAME[columns]
    settings: dict[str, Any] = {"shuffle": False, "max_iter": 1, "random_state": 0}
    there = frame[frame["y"].notna()]
    expected = ASGDClassifier(**settings).partial_fit(
        there.drop(columns="y"), there["y"], classes=["no", "yes"]
    )
    with pytest.warns(UserWarning, match="left out 1,000 rows whose y is missing") as seen:
        model = ASGDClassifier(**settings).partial_fit(
            batches(frame) if is_stream else frame, y="y", classes=["no", "yes"]
        )
    assert len([one for one in seen if "left out" in str(one.message)]) == 1
    assert model.t_ == expected.t_ == 3001
    if not is_stream:
        np.testing.assert_array_equal(model.coef_, expected.coef_)


@pytest.mark.parametrize("before", [0, 300, 2000])
@pytest.mark.parametrize("columns", [["a", "c"], ["a", "b"]])
def test_a_stream_is_learned_as_its_rows_in_a_frame(before: int, columns: list[str]) -> None:
    frame = FRAME.assign(c=np.arange(4000.0), y=FRAME["a"] * 2)[[*columns, "y"]]
    if columns == ["a", "c"]:
        frame.loc[3000, "c"] = None  # replaced by the mean of the first rows
    frame = pa.Table.from_pandas(frame)
    expected = ASGDRegressor(random_state=0).partial_fit(frame, y="y")
    model = ASGDRegressor(random_state=0)
    if before:
        model.partial_fit(frame.slice(0, before), y="y")
    model.partial_fit(iter(frame.slice(before).to_batches(max_chunksize=700)), y="y")
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert list(model.get_feature_names_out()) == list(expected.get_feature_names_out())


COLUMNS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "number": lambda random, n: random.normal(size=n),
    "narrow": lambda random, n: random.normal(size=n).astype(np.float32),
    "whole": lambda random, n: random.integers(-5, 5, n),
    "true": lambda random, n: random.random(n) > 0.5,
    "late": lambda random, n: pa.array(random.normal(size=n), mask=np.arange(n) > 2000),
    "word": lambda random, n: random.choice(["a", "b", "c"], n),
    "code": lambda random, n: pa.array(random.integers(0, 9, n)).dictionary_encode(),
    "day": lambda random, n: np.datetime64("2020-01-01") + random.integers(0, 900, n),
    "struct": lambda random, n: [{"p": x, "q": f"k{x > 0}"} for x in random.normal(size=n)],
    "list": lambda random, n: [[x, 2.0] for x in random.normal(size=n)],
    "bag": lambda random, n: [["m", "n"][:size] for size in random.integers(0, 3, n)],
    "money": lambda random, n: [f"${x:.2f}" for x in random.random(n)],
    "nothing": lambda random, n: pa.nulls(n),
}
TARGETS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "numbers": lambda random, n: pa.array(random.normal(size=n), mask=np.arange(n) % 1001 == 1000),
    "words": lambda random, n: random.choice(["p", "q"], n),
    "codes": lambda random, n: random.integers(0, 3, n),
    "truths": lambda random, n: random.random(n) > 0.5,
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(12))
def test_random_tables_in_a_stream_are_as_in_a_frame(seed: int) -> None:
    """The same model and predictions, or the same sentence."""
    random = np.random.default_rng(seed)
    rows = int(random.choice([5, 999, 1000, 1001, 3000]))
    names = random.choice(list(COLUMNS), random.integers(1, 5), replace=False)
    kind = list(TARGETS)[seed % len(TARGETS)]
    columns = {name: COLUMNS[name](random, rows) for name in names}
    table = pa.table(columns | {"y": TARGETS[kind](random, rows)})
    known = {} if kind == "numbers" else {"classes": np.unique(table["y"].to_numpy())}

    def batches() -> Iterator[Any]:
        return iter(table.to_batches(max_chunksize=int(random.choice([100, 777, 5000]))))

    def learned(source: Any) -> Any:
        model = ASGDClassifier(random_state=0) if known else ASGDRegressor(random_state=0)
        try:
            return model.partial_fit(source, y="y", **known)
        except ValueError as error:
            return str(error).replace("the iterator", "the frame")

    expected, found = learned(table), learned(batches())
    if isinstance(expected, str):
        assert found == expected
        return
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    predicted = np.concatenate(list(found.predict(batches())))
    np.testing.assert_array_equal(predicted, expected.predict(table.drop_columns("y")))


def test_numbers_of_32_bits_stay_so() -> None:
    table = pa.table({"a": np.arange(3000, dtype=np.float32), "y": np.arange(3000.0)})
    model = ASGDRegressor(random_state=0).fit(iter(table.to_batches(max_chunksize=700)), y="y")
    assert model.coef_.dtype == np.float32
    assert sum(map(len, model.predict(iter(table.to_batches())))) == 3000


def test_weights_of_a_stream_are_a_column() -> None:
    with pytest.raises(ValueError, match="sample_weight of a stream has to name a column"):
        ASGDRegressor().fit(batches(FRAME), y="a", sample_weight=np.ones(4000))


@pytest.mark.parametrize("kind", ["data set", "file"])
def test_parquet_is_not_read_far_ahead(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    columns = np.random.default_rng(0).normal(size=(8, 1_000_000))
    table = pa.table({f"x{i}": column for i, column in enumerate(columns)})
    pq.write_table(table, path, row_group_size=10_000, compression="none")
    before, most = pa.total_allocated_bytes(), 0
    source = pyarrow_dataset.dataset(path) if kind == "data set" else str(path)
    with open_stream(source, target="x0") as stream:
        for _ in stream:
            most = max(most, pa.total_allocated_bytes() - before)
            time.sleep(0.01)  # as if learning were slower than reading
    assert most < table.nbytes / 3


def test_first_rows_of_one_class_name_the_remedy() -> None:
    table = pa.table({"x": np.arange(4000.0), "y": ["a"] * 2000 + ["b"] * 2000})
    with pytest.raises(
        ValueError, match="the first 1,000 rows of the iterator are all of class a; name all"
    ):
        ASGDClassifier().fit(iter(table.to_batches(max_chunksize=500)), y="y")


@pytest.mark.parametrize("role", ["y", "sample_weight"])
def test_a_column_that_cannot_be_used_is_named(role: str) -> None:
    table = pa.table({"x": np.arange(2000.0), "y": np.arange(2000.0), "odd": [[1.0, 2.0]] * 2000})
    columns = {"y": "y", role: "odd"}
    what = "target" if role == "y" else "weight"
    for source, name in ((table, "the frame"), (iter(table.to_batches()), "the iterator")):
        with pytest.raises(ValueError, match=f"{name}: the {what} column odd holds list<"):
            ASGDRegressor().fit(source, **columns)


def test_a_stream_with_an_array_of_targets_is_refused() -> None:
    lazy = pl.DataFrame({"a": np.arange(9.0)}).lazy()
    with pytest.raises(ValueError, match="lazy frame is read a batch at a time: name a column"):
        ASGDRegressor().fit(lazy, np.arange(9.0))


def test_the_text_of_a_query_is_learned_and_predicted() -> None:
    text = "SELECT range AS a, hash(range) % 7 AS b, a + 2 * b AS y FROM range(3000)"
    model = ASGDRegressor(random_state=0).fit(f"duckdb:{text}", y="y")
    expected = ASGDRegressor(random_state=0).fit(duckdb.connect().sql(text), y="y")
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    predicted = np.concatenate(list(model.predict(f"duckdb:{text}")))
    table = duckdb.connect().sql(text).to_arrow_table()
    np.testing.assert_array_equal(predicted, expected.predict(table))
    model.partial_fit(f"duckdb:{text}", y="y")
    assert model.t_ == 6001
    with pytest.raises(ValueError, match="the DuckDB query is read a batch at a time: name a col"):
        ASGDRegressor().fit(f"duckdb:{text}", np.arange(3000.0))


def test_classes_of_the_text_of_a_query() -> None:
    text = "SELECT range AS a, CASE WHEN a < 2900 THEN 'no' ELSE 'yes' END AS y FROM range(3000)"
    model = ASGDClassifier(random_state=0).fit(f"duckdb:{text}", y="y")
    assert model.classes_.tolist() == ["no", "yes"]
    assert next(model.predict_proba(f"duckdb:{text}")).shape[1] == 2


@pytest.mark.parametrize(
    "text",
    [
        "COPY (SELECT 1 AS a) TO '{file}'",
        "CREATE TABLE a AS SELECT 1 AS a; COPY a TO '{file}'; SELECT 1 AS a",
        "ATTACH '{file}'",
        "",
    ],
)
def test_a_statement_that_is_no_query_is_not_run(text: str, tmp_path: Path) -> None:
    file = tmp_path / "written"
    with pytest.raises(ValueError, match="the DuckDB query has to be one SELECT"):
        ASGDRegressor().fit("duckdb:" + text.format(file=file), y="a")
    assert not file.exists()


def test_a_pivot_is_a_query_and_what_writes_one_is_not(tmp_path: Path) -> None:
    text = "SELECT range AS r, range % 3 AS k, hash(range) % 9 AS v FROM range(2000)"
    pivot = f"PIVOT ({text}) ON k USING sum(v)"
    for query in (pivot, f"FROM ({pivot}); "):
        with open_stream(f"duckdb:{query}", target="r") as stream:
            assert sum(map(len, stream)) == 2000
    file = tmp_path / "written"
    with pytest.raises(ValueError, match="the DuckDB query cannot be run: Parser Error"):
        open_stream(f"duckdb:COPY ({pivot}) TO '{file}'", target="r")
    assert not file.exists()


REGRESSOR, RATES = ASGDRegressor(), ASGDRegressor(loss="poisson")
BAD_ROWS: dict[str, tuple[Callable[..., Any], dict[str, Any], Any, str]] = {
    "y": (REGRESSOR.fit, {"y": "y"}, 1e300, ": the target 1e+300 is too large"),
    "x": (REGRESSOR.fit, {"y": "y"}, 1e300, ": the value"),
    "w": (REGRESSOR.fit, {"y": "y", "sample_weight": "w"}, -1.0, " has the weight -1, which is"),
    "time": (RATES.fit, {"y": "n", "exposure": "time"}, 0.0, " has the exposure 0, which is not"),
    "label": (
        ASGDClassifier().partial_fit,
        {"y": "label", "classes": ["no", "yes"]},
        "odd",
        " has the previously unseen label odd",
    ),
}


@pytest.mark.parametrize("bad", [10, 700, 1700])
@pytest.mark.parametrize("column", BAD_ROWS)
def test_an_error_names_the_row_of_the_stream(column: str, bad: int) -> None:
    learn, named, value, says = BAD_ROWS[column]
    numbers = np.random.default_rng(1).normal(size=(2, 3000))
    frame = pd.DataFrame({"x": numbers[0], "y": numbers[1], "w": 1.0, "time": 1.0, "n": 1.0})
    frame["label"] = ["no", "yes"] * 1500
    frame.loc[bad, column] = value
    frame.loc[5, named["y"]] = None  # a row that is left out is counted
    chosen = frame[list({"x", column, named["y"]})]
    with pytest.raises(ValueError, match=re.escape(f"the iterator, row {bad + 1}{says}")):
        learn(batches(chosen), **named)


@pytest.mark.parametrize("order", [("pandas", "polars"), ("polars", "pandas"), ("arrow", "polars")])
def test_batches_of_several_libraries_are_one_stream(order: tuple[str, str]) -> None:
    """Each has another type of strings."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=1600), "w": random.choice(["k", "l"], 1600)})
    frame["y"] = frame.a + (frame.w == "k")
    turned: dict[str, Callable[[pd.DataFrame], Any]] = {
        "pandas": lambda part: part,
        "polars": pl.from_pandas,
        "arrow": lambda part: pa.table({name: part[name].tolist() for name in part}),
    }
    parts = [turned[order[i % 2]](frame[i * 400 : (i + 1) * 400]) for i in range(4)]
    model = ASGDRegressor(random_state=0).fit(iter(parts), y="y")
    alone = ASGDRegressor(random_state=0).fit(iter([frame]), y="y")
    np.testing.assert_array_equal(model.predict(frame), alone.predict(frame))
    several = ASGDRegressor(random_state=0)
    for begin in range(0, 1600, 400):
        part = turned[order[begin // 400 % 2]](frame[["a", "w"]][begin : begin + 400])
        several.partial_fit(part, frame.y[begin : begin + 400])
    np.testing.assert_allclose(several.predict(frame), frame.y, atol=0.1)


def test_a_stream_without_rows_has_no_predictions() -> None:
    frame = pd.DataFrame({"a": np.arange(30.0), "w": ["k", "l"] * 15})
    model = ASGDRegressor().fit(frame, frame.a)
    none = pl.from_pandas(frame).lazy().filter(pl.col("a") > 99)
    assert list(model.predict(none)) == list(model.predict(iter(()))) == []
    few = pl.from_pandas(frame).lazy().filter(pl.col("a") > 27)
    np.testing.assert_allclose(model.to_model().predict(few), [28.0, 29.0], atol=0.1)

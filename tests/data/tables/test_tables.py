"""Tables: the same rows from every format, and what becomes of each kind of column."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from tests.data.made_tables import features, flights, read_all, write

from polyak._core import hash_name
from polyak.data.open import open_stream
from polyak.data.options import Columns
from polyak.model.schema import Schema
from polyak.storage.container import plain
from polyak.storage.records import read

FORMATS = ["t.csv", "t.csv.gz", "t.tsv", "t.jsonl", "t.parquet", "t.feather"]


def same(some: Any, others: Any) -> None:
    for name in ("indptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(some, name), getattr(others, name))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_rows(name: str, tmp_path: Path) -> None:
    table = flights()
    rows, targets, schema = read_all(table, target="delay")
    got, got_targets, got_schema = read_all(write(table, tmp_path / name), target="delay")
    same(got, rows)
    np.testing.assert_array_equal(got_targets, targets)
    assert got_schema == schema
    assert read(Schema, plain(got_schema), "schema") == schema
    assert 0 < 3000 - len(rows) < 200  # rows without a target are left out


@pytest.mark.parametrize("options", [{"block_bytes": 5000}, {"threads": 1}, {"threads": 3}])
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_neither_blocks_nor_threads_show(name: str, options: Any, tmp_path: Path) -> None:
    path = write(flights(), tmp_path / name)
    rows, targets, schema = read_all(path, target="delay")
    got, got_targets, got_schema = read_all(path, target="delay", **options)
    same(got, rows)
    np.testing.assert_array_equal(got_targets, targets)
    assert got_schema == schema


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.parquet", "t.feather"])
def test_reading_goes_on_from_any_batch(name: str, tmp_path: Path) -> None:
    path = write(flights(), tmp_path / name)
    options: dict[str, Any] = {"target": "delay", "block_bytes": 20_000}
    rows, targets, _ = read_all(path, **options)
    with open_stream(path, **options) as stream:
        first = next(stream)
        position, schema = stream.position, stream.schema
    with open_stream(path, start=position, schema=schema, **options) as stream:
        rest = list(stream)
        left_out = stream.rows_without_target
    assert len(first) + sum(map(len, rest)) == len(rows)
    np.testing.assert_array_equal(
        np.concatenate([first.targets, *(batch.targets for batch in rest)]), targets
    )
    np.testing.assert_array_equal(rest[-1].rows.values[-5:], rows.values[-5:])
    assert left_out == 3000 - len(rows)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    path = write(flights(), tmp_path / "t.csv")
    rows, _, _ = read_all(path, target="delay")
    with path.open("rb") as file:
        got, _, _ = read_all(file, format="csv", target="delay", block_bytes=10_000)
    same(got, rows)


def test_what_becomes_of_each_column() -> None:
    noon = dt.datetime(2024, 2, 29, 12, 0)  # a Thursday
    table = pa.table(
        {
            "n": [1.0, 3.0, None],
            "flag": [True, False, None],
            "city": ["Rome", "NA", None],
            "day": [dt.date(2024, 2, 26), None, dt.date(2024, 2, 28)],
            "at": pa.array([noon, noon, None], pa.timestamp("ns")),
            "tags": [["a", "b", "a"], [], None],
            "clock": pa.array([dt.time(6), dt.time(0), None]),
        }
    )
    rows, targets, schema = read_all(table, dtype=np.float64)
    assert targets is None
    assert schema.columns[0].offset == 2.0
    assert schema.columns[0].scale == 4.0
    first, second, third = (features(rows, row, schema) for row in range(3))

    def slot(name: str) -> int:
        return hash_name(name) & ((1 << 18) - 1)

    assert first["n"] == -0.25
    assert first["flag"] == 1.0
    assert first[slot("city=Rome")] == 1.0
    assert first[slot("tags=a")] == 2.0
    assert first[slot("tags=b")] == 1.0
    assert "day weekday sin" not in first  # a Monday is where the week begins
    assert first["day weekday cos"] == 1.0
    assert first["at hour cos"] == pytest.approx(-1.0)
    assert first["at weekday sin"] == pytest.approx(np.sin(2 * np.pi * 3 / 7))
    assert first["clock hour sin"] == pytest.approx(1.0)
    assert first["clock"] == -0.25
    assert second["city is missing"] == 1.0
    assert second["day is missing"] == 1.0
    assert "tags is missing" not in second
    assert set(third) == {
        "n is missing",
        "flag is missing",
        "city is missing",
        "day",
        "day weekday sin",
        "day weekday cos",
        "at is missing",
        "tags is missing",
        "clock is missing",
    }


def test_text_is_words_and_runs_of_words() -> None:
    table = pa.table({"body": ["The cat, the hat…", "", None], "n": [1, 2, 3]})
    columns = Columns(text=("body",), ngrams=2)
    rows, _, schema = read_all(table, columns=columns)

    def slot(name: str) -> int:
        return hash_name(f"body={name}") & ((1 << 18) - 1)

    first = features(rows, 0, schema)
    first.pop("n")
    words = {"the": 2.0, "cat": 1.0, "hat": 1.0, "the cat": 1.0, "cat the": 1.0, "the hat": 1.0}
    assert first == {slot(name): count for name, count in words.items()}
    assert features(rows, 1, schema)["body is missing"] == 1.0


def test_crossed_columns() -> None:
    table = pa.table({"a": ["x", "y"], "b": ["u", None], "n": [5.0, 7.0]})
    columns = Columns(interact=("a:b", "a:n"), bits=20)
    rows, _, schema = read_all(table, columns=columns)

    def slot(name: str) -> int:
        return hash_name(name) & ((1 << 20) - 1)

    first, second = features(rows, 0, schema), features(rows, 1, schema)
    assert first[slot("a=x^b=u")] == 1.0
    assert first[slot("a=x^n")] == first["n"] == -0.25
    assert second[slot("a=y^n")] == 0.25
    assert slot("a=y^b=u") not in second


def test_numbers_that_are_names() -> None:
    columns = Columns(categorical=("n",))
    whole = read_all(pa.table({"n": [7, 8]}), columns=columns)
    floats = read_all(pa.table({"n": [7.0, 8.0]}), columns=columns)
    words = read_all(pa.table({"n": ["7", "8"]}), columns=columns)
    same(whole[0], floats[0])
    same(whole[0], words[0])


def test_slices_are_read_where_they_begin() -> None:
    table = flights(400)
    whole, targets, schema = read_all(table, target="delay")
    parts = [read_all(table.slice(begin, 37), schema=schema) for begin in range(0, 400, 37)]
    np.testing.assert_array_equal(np.concatenate([part[1] for part in parts]), targets)
    np.testing.assert_array_equal(np.concatenate([part[0].values for part in parts]), whole.values)


def test_dictionaries_are_words() -> None:
    table = flights(500)
    coded = table.set_column(2, "carrier", table.column("carrier").dictionary_encode())
    same(read_all(table, target="delay")[0], read_all(coded, target="delay")[0])


def test_words_name_classes_and_one_of_them_is_positive() -> None:
    table = pa.table({"x": np.arange(6.0), "y": ["no", "yes", "no", None, "yes", "no"]})
    _, targets, _ = read_all(table, target="y")
    assert targets.tolist() == ["no", "yes", "no", "yes", "no"]
    _, targets, schema = read_all(table, columns=Columns(target="y", positive="no"))
    assert targets.tolist() == ["no", "yes", "no", "yes", "no"]
    assert (schema.target.negative, schema.target.positive) == ("yes", "no")
    several = pa.table({"x": np.arange(3.0), "y": ["a", "b", "c"]})
    _, targets, _ = read_all(several, columns=Columns(target="y", positive="b"))
    assert targets.tolist() == ["not b", "b", "not b"]


def test_columns_can_be_dropped_or_chosen_and_weigh_rows() -> None:
    table = flights(50)
    with open_stream(table, columns=Columns(target="delay", weight="distance")) as stream:
        batch = next(stream)
        assert stream.schema is not None
        assert "distance" not in [column.name for column in stream.schema.columns]
    assert batch.weights is not None
    assert set(batch.weights) <= set(table.column("distance").to_pylist())
    _, _, schema = read_all(table, columns=Columns(only=("wind",)))
    assert [column.name for column in schema.columns] == ["wind"]
    _, _, schema = read_all(table, columns=Columns(target="delay", drop=("wind", "left")))
    assert [column.name for column in schema.columns] == ["distance", "carrier", "tail"]


def test_columns_are_carried_along() -> None:
    table = flights(50)
    with open_stream(table, target="delay", keep=["tail", "distance"]) as stream:
        kept = next(stream).kept
    there = [i for i, delay in enumerate(table.column("delay").to_pylist()) if delay is not None]
    assert kept.to_pydict() == table.select(["tail", "distance"]).take(there).to_pydict()


def test_names_of_hashed_features() -> None:
    with open_stream(flights(500), columns=Columns(target="delay")) as stream:
        list(stream)
        names, schema = stream.names(), stream.schema
    assert schema is not None
    index = schema.hashed_begin + (hash_name("carrier=Zürich Air") & ((1 << 18) - 1))
    assert names[index] == "carrier=Zürich Air"
    assert len(names) == 54


def test_every_type_that_polars_has() -> None:
    n = 6
    frame = pl.DataFrame(
        {
            "word": pl.Series(["a", "b", None] * 2, dtype=pl.Categorical),
            "one of": pl.Series(["p", "q"] * 3, dtype=pl.Enum(["p", "q"])),
            "day": [dt.date(2024, 1, 1 + i) for i in range(n)],
            "at": [dt.datetime(2024, 1, 1, i) for i in range(n)],
            "took": [dt.timedelta(seconds=i) for i in range(n)],
            "tags": [["x", "y"], [], None] * 2,
            "flag": [True, False, None] * 2,
            "exact": [decimal.Decimal(i) for i in range(n)],
            "small": pl.Series(range(n), dtype=pl.UInt8),
            "nothing": [None] * n,
        }
    )
    rows, targets, schema = read_all((frame, [1.5] + [2.5] * 5))
    kinds = "category category date time number bag boolean number number number"
    assert [column.kind for column in schema.columns] == kinds.split()
    first, last = features(rows, 0, schema), features(rows, 5, schema)
    assert first["took"] == first["exact"] == first["small"] == -last["took"]
    assert first["nothing is missing"] == 1.0
    assert targets.tolist() == [1.5] + [2.5] * 5
    with pytest.warns(UserWarning, match="column s of the frame holds large_list<"):
        read_all(pl.DataFrame({"s": [[{"k": 1}]], "n": [1]}))

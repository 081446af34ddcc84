"""Columns within columns: lists of numbers and structs, in every format that can have them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from commands import fails, polyak
from pyarrow import feather, parquet

from polyak import ASGDRegressor
from polyak.data.open import open_stream
from polyak.model.linear import LinearModel

ROWS = 300
OPTIONS = ["--target=y", "--recipe=sgd", "--loss=squared_error", "--bits=6", "-q"]


def rows() -> list[dict[str, Any]]:
    """Make up people: an embedding, and an object in an object; some of them are missing."""
    random = np.random.default_rng(3)
    found: list[dict[str, Any]] = []
    for i in range(ROWS):
        emb = random.normal(size=3).round(3).tolist()
        home = {"city": "Rome" if i % 3 else "Oslo", "since": f"2020-0{i % 9 + 1}-11"}
        y = round(emb[0] - 2 * emb[2] + (i % 7) / 4, 3)
        found.append({"emb": emb, "who": {"age": i % 7, "home": home}, "y": y})
    found[5]["emb"] = None
    found[6]["emb"][1] = None
    found[7]["who"] = None
    found[8]["who"]["home"] = None
    return found


def flat_text() -> str:
    """Write the same as a plain CSV."""
    lines = ["emb[0],emb[1],emb[2],who.age,who.home.city,who.home.since,y"]
    for row in rows():
        who = row["who"] or {}
        home = who.get("home") or {}
        cells = [*(row["emb"] or [None] * 3), who.get("age"), home.get("city"), home.get("since")]
        lines.append(",".join("" if cell is None else str(cell) for cell in (*cells, row["y"])))
    return "\n".join(lines) + "\n"


def fixed(table: pa.Table) -> pa.Table:
    column = table.column("emb").combine_chunks().cast(pa.list_(pa.float64(), 3))
    return table.set_column(0, "emb", column)


TABLE = pa.Table.from_pylist(rows())
WRITTEN: dict[str, Callable[[Path], Any]] = {
    "t.jsonl": lambda path: path.write_text("\n".join(map(json.dumps, rows()))),
    "t.json": lambda path: path.write_text(json.dumps(rows(), indent=1)),
    "t.parquet": lambda path: parquet.write_table(TABLE, path, row_group_size=70),
    "fixed.parquet": lambda path: parquet.write_table(fixed(TABLE), path),
    "t.arrow": lambda path: feather.write_feather(TABLE, path, chunksize=70),
    "fixed.feather": lambda path: feather.write_feather(fixed(TABLE), path),
    "polars.parquet": lambda path: pl.DataFrame(rows()).write_parquet(path),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    (folder / "t.csv").write_text(flat_text())
    polyak("train", folder / "t.csv", "-m", folder / "m.polyak", *OPTIONS)
    polyak("predict", folder / "m.polyak", folder / "t.csv", "-o", folder / "predictions")
    return folder


@pytest.mark.parametrize("name", WRITTEN)
def test_it_is_the_model_of_the_flat_file(name: str, plain: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    WRITTEN[name](path)
    polyak("train", path, "-m", tmp_path / "m.polyak", *OPTIONS)
    model, expected = (LinearModel.load(f / "m.polyak") for f in (tmp_path, plain))
    assert model.features.schema is not None
    assert expected.features.schema is not None
    assert model.features.schema.columns == expected.features.schema.columns
    assert model.features.schema.lists == {"emb": 3}
    np.testing.assert_array_equal(model.weights, expected.weights)
    # and the model of the flat file reads it too
    for folder in (tmp_path, plain):
        polyak("predict", folder / "m.polyak", path, "-o", tmp_path / "predictions")
        assert (tmp_path / "predictions").read_bytes() == (plain / "predictions").read_bytes()


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.Table.from_pylist])
def test_frames(library: Callable[[list[Any]], Any]) -> None:
    flat = pd.read_csv(io.StringIO(flat_text()))
    y = flat.pop("y")
    other = library([{name: row[name] for name in ("emb", "who")} for row in rows()])
    how = {"random_state": 0, "recipe": "sgd"}
    model = ASGDRegressor(**how).fit(other, y)
    expected = ASGDRegressor(**how).fit(flat, y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.predict(other), expected.predict(flat))
    assert model.feature_names_in_.tolist() == ["emb", "who"]


def test_all_numbers_of_a_list_are_shown_in_one_line(tmp_path: Path) -> None:
    WRITTEN["t.jsonl"](tmp_path / "t.jsonl")
    options = [option for option in OPTIONS if option != "-q"]
    said = polyak("train", tmp_path / "t.jsonl", "-m", tmp_path / "m", *options).stderr
    assert "  emb[0] … emb[2]  number" in said
    assert "emb[1]" not in said


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
def test_a_list_of_another_length_is_named(name: str, tmp_path: Path) -> None:
    other = rows()
    other[200]["emb"] = [1.0, 2.0]
    path = tmp_path / name
    if name == "t.jsonl":
        path.write_text("\n".join(map(json.dumps, other)))
    else:
        parquet.write_table(pa.Table.from_pylist(other), path, row_group_size=70)
    unit = "line" if name == "t.jsonl" else "row"
    expected = f"{path}, {unit} 201: the list in column emb has 2 numbers, where the first has 3"
    model = tmp_path / "m.polyak"
    said = fails("train", path, "-m", model, *OPTIONS)
    assert f"{expected}; --drop emb leaves it out" in said
    polyak("train", path, "-m", model, *OPTIONS, "--drop", "emb")
    done = polyak("train", path, "-m", model, *OPTIONS, "--skip-bad-lines", "--json")
    assert f"skipped {path}, line 201: the list in column emb has 2 numbers" in done.stderr
    figures = json.loads(done.stdout)
    assert (figures["rows"], figures["bad_lines"]) == (ROWS - 1, 1)
    assert expected in fails("predict", model, path)


def test_a_bad_value_behind_a_skipped_row_is_named_by_its_own_row(tmp_path: Path) -> None:
    other = rows()
    other[20]["emb"] = [1.0]
    with open_stream(pa.Table.from_pylist(other), target="y", skip_bad_lines=True) as stream:
        batch = next(stream)
    assert batch.where is not None
    assert [batch.where(row)[1] for row in (19, 20)] == [20, 22]


@pytest.mark.parametrize("drop", ["who", "who.home"])
def test_a_struct_is_dropped_by_its_name(drop: str, tmp_path: Path) -> None:
    WRITTEN["t.jsonl"](tmp_path / "t.jsonl")
    model = tmp_path / "m.polyak"
    polyak("train", tmp_path / "t.jsonl", "-m", model, *OPTIONS, "--drop", drop)
    schema = LinearModel.load(model).features.schema
    assert schema is not None
    names = [column.name for column in schema.columns]
    assert names == ["emb[0]", "emb[1]", "emb[2]", *(["who.age"] if drop == "who.home" else [])]


def test_values_of_several_types_within_are_words(tmp_path: Path) -> None:
    other = rows()
    other[250]["who"] = {"age": "old"}
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, other)))
    model = tmp_path / "m.polyak"
    polyak("train", tmp_path / "t.jsonl", "-m", model, *OPTIONS)
    schema = LinearModel.load(model).features.schema
    assert schema is not None
    assert {c.name: c.kind for c in schema.columns}["who.age"] == "category"

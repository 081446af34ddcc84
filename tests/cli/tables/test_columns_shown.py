"""How a table's columns were read: said in a line each, with a warning of what looks wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import polyak

from polyak.model.linear import LinearModel

ROWS = 300


def table(**more: Any) -> pd.DataFrame:
    random = np.random.default_rng(1)
    size = random.normal(10, 3, ROWS).round(2)
    frame = pd.DataFrame(
        {
            "size": np.where(np.arange(ROWS) % 4 == 0, np.nan, size),
            "garden": random.choice(["yes", "no"], ROWS),
            "city": random.choice(["Rome", "Oslo", "Köln"], ROWS),
            "day": pd.date_range("2020-01-01", periods=ROWS).strftime("%d.%m.%Y"),
            **more,
        }
    )
    return frame.assign(price=(3 * size + random.normal(0, 1, ROWS)).round(3))


def train(frame: pd.DataFrame, folder: Path, *options: str, **how: Any) -> list[str]:
    """Train, and give the lines that are said."""
    frame.to_csv(folder / "t.csv", **({"index": False} | how))
    command = ["train", folder / "t.csv", "--target", "price", "-m", folder / "m"]
    return polyak(*command, "--recipe", "sgd", *options).stderr.splitlines()


def features(folder: Path) -> list[str]:
    schema = LinearModel.load(folder / "m").features.schema
    assert schema is not None
    return [column.name for column in schema.columns]


def test_a_line_a_column(tmp_path: Path) -> None:
    lines = train(table(), tmp_path)[1:6]
    words = [" ".join(line.split()) for line in lines]
    assert words[0].startswith("size number ")
    assert words[0].endswith("25% missing")
    assert words[1].startswith("garden boolean yes/no 5")
    assert words[1].endswith("% true")
    assert words[2] == "city words 3 different"
    assert words[3] == "day date d/m/y 2020-01-01 to 2020-10-26"
    assert words[4].startswith("price target ")


def test_nothing_is_shown_to_scripts(tmp_path: Path) -> None:
    assert train(table(), tmp_path, "--json") == []
    assert train(table(), tmp_path, "--quiet") == []


def test_many_and_long_columns_are_cut_to_the_screen(tmp_path: Path) -> None:
    wide = pd.DataFrame({f"a column with a long name, number {i}": [1, 2, 3] for i in range(50)})
    wide["price"] = [0.5, 1.5, 2.5]
    wide.to_csv(tmp_path / "t.csv", index=False)
    done = polyak(
        *("train", tmp_path / "t.csv", "--target", "price", "-m", tmp_path / "m"),
        env={"COLUMNS": "40", "PATH": ""},
    )
    lines = done.stderr.splitlines()[1:42]
    assert all(len(line) <= 40 for line in lines)
    assert lines[0].endswith("…")
    assert lines[-1] == "  … and 11 more columns"


@pytest.mark.parametrize("most", [1, 3])
def test_an_index_that_pandas_writes_is_left_out(most: int, tmp_path: Path) -> None:
    """Of a whole table, or of some rows of a larger one; not numbers that fall."""
    frame = table()
    frame.index = np.cumsum(np.random.default_rng(2).integers(1, most + 1, ROWS))
    lines = train(frame, tmp_path, index=True)
    assert any("the column without a name of" in line for line in lines)
    assert any("numbers the rows; it is left out" in line for line in lines)
    assert any(line.split()[:4] == ["(no", "name)", "left", "out"] for line in lines)
    assert features(tmp_path) == ["size", "garden", "city", "day"]
    frame.index = frame.index[::-1]
    train(frame, tmp_path, index=True)
    assert "" in features(tmp_path)


def test_a_column_with_a_name_that_counts_the_rows_is_only_warned_of(tmp_path: Path) -> None:
    lines = train(table(id=range(1, ROWS + 1)), tmp_path)
    assert any("the column id counts the rows: --drop id leaves it out" in line for line in lines)
    assert "id" in features(tmp_path)
    assert not any("counts the rows" in line for line in train(table(), tmp_path))


def test_words_among_numbers_are_warned_of(tmp_path: Path) -> None:
    numbers = [str(i * 7 % 1000) for i in range(ROWS)]
    numbers[17] = "none"
    lines = train(table(number=numbers), tmp_path)
    told = (
        "the column number is read as words because of 'none', though nearly all of it is numbers"
    )
    assert any(told in line and "--missing none reads" in line for line in lines)
    lines = train(table(number=numbers), tmp_path, "--missing", "none")
    assert not any("because of" in line for line in lines)


def test_a_column_that_tells_the_target_is_warned_of(tmp_path: Path) -> None:
    frame = table()
    frame["cents"] = frame["price"] * 100 + 1
    frame["paid"] = np.where(frame["price"] > 30, "dear", "cheap")
    lines = train(frame, tmp_path)
    told = "alone predicts the target price perfectly in the first rows"
    assert [line for line in lines if told in line and "the column cents" in line]
    assert not [line for line in lines if told in line and "the column size" in line]
    frame["price"] = np.where(frame["price"] > 30, "a lot", "little")
    lines = train(frame, tmp_path)
    assert [line for line in lines if told in line and "the column paid" in line]


def test_times_are_shown_from_the_first_to_the_last(tmp_path: Path) -> None:
    hours = pd.date_range("2019-12-31", periods=ROWS, freq="h")
    lines = train(table(at=hours.astype(str), on=hours.date.astype(str)), tmp_path)
    words = [" ".join(line.split()) for line in lines]
    assert "at time 2019-12-31 to 2020-01-12 11:00" in words
    assert "on date 2019-12-31 to 2020-01-12" in words


def test_where_only_the_first_rows_are_shown_it_is_said(tmp_path: Path) -> None:
    said = "  as in the first "
    assert said not in "".join(train(table(), tmp_path))
    few, many = pd.concat([table()] * 4), pd.concat([table()] * 200)
    assert f"{said}{len(few):,} rows" in train(few, tmp_path)  # all were looked at
    (line,) = [line for line in train(many, tmp_path) if line.startswith(said)]
    assert 1000 < int(line.split()[4].replace(",", "")) < len(many)


def test_counts_learned_by_squares_get_a_hint(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    counts = random.poisson(random.gamma(1.0, 40.0, ROWS))
    told = "\n".join(train(table().assign(price=counts), tmp_path))
    assert "the loss is squared_error (--loss poisson is for counts)" in told
    told = "\n".join(train(table().assign(price=1990 + counts), tmp_path))
    assert "the loss is squared_error (--loss sets another)" in told


def test_the_features_in_use_are_counted(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    command = ("train", tmp_path / "t.csv", "--target", "price", "-m", tmp_path / "m", "--json")
    figures = json.loads(polyak(*command).stdout)
    assert 5 <= figures["features"] <= 20  # not the largest of 2^18 slots


def test_words_of_which_nearly_every_row_has_its_own(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = (f"{i % 7},user{i}@example.org,{i % 5}\n" for i in range(900))
    path.write_text("x,who,y\n" + "".join(rows))
    said = polyak("train", path, "--target", "y", "-m", tmp_path / "m").stderr
    assert "the column who is read as words, and nearly every row has its own" in said
    assert "--drop who leaves it out" in said

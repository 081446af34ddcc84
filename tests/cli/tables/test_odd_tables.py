"""Tables as people have them: odd headers, blanks between fields, units, years as targets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import fails, polyak

from polyak import ASGDRegressor
from polyak.model.linear import LinearModel

RANDOM = np.random.default_rng(0)
NUMBERS = RANDOM.normal(size=(300, 2)).round(2).tolist()
ROWS = [(a, b, round(2 * a - b, 2)) for a, b in NUMBERS]


def lines(delimiter: str = ",") -> str:
    return "".join(delimiter.join(map(str, row)) + "\n" for row in ROWS)


TABLES = {
    "lines above the header": ("Report 2021\n\na,b,y\n" + lines(), ["--skip-rows", "2"], "ab"),
    "Excel's delimiter": ("sep=;\na;b;y\n" + lines(";"), [], "ab"),
    "two columns of one name": ("a,a,y\n" + lines(), [], ["a", "a.1"]),
    "a comma in a name": ('"a, b",c,y\n' + lines(), ["--drop", 'c,"a, b"', "--only", "c"], None),
    "a header of years": ("2019,2020,2021\n" + lines(), ["--target", "2021"], ["2019", "2020"]),
    "blanks": ("  a   b  y\n" + lines("   "), [], "ab"),
}


@pytest.mark.parametrize("case", TABLES)
def test_headers_and_delimiters(case: str, tmp_path: Path) -> None:
    text, options, columns = TABLES[case]
    path = tmp_path / "t.csv"
    path.write_text(text)
    model = tmp_path / "m"
    if "--target" not in options:
        options = ["--target", "y", *options]
    if columns is None:
        assert "has no column left to learn from" in fails("train", path, *options, "-m", model)
        return
    done = polyak("train", path, *options, "-m", model)
    schema = LinearModel.load(model).features.schema
    assert schema is not None
    assert [column.name for column in schema.columns] == list(columns)
    assert ("two columns of " in done.stderr) == (case == "two columns of one name")
    predicted = [float(line) for line in polyak("predict", model, path).stdout.split()]
    np.testing.assert_allclose(predicted, [y for *_, y in ROWS], atol=0.1)


def test_years_sorted_by_time_are_numbers(tmp_path: Path) -> None:
    years = np.sort(RANDOM.integers(1950, 2020, 20_000))
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{y + RANDOM.normal():.2f},{y}\n" for y in years))
    done = polyak("train", path, "--target", "y", "-m", tmp_path / "m")
    assert "the loss is squared_error" in done.stderr


def test_classes_that_are_sorted_stay_classes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    labels = np.repeat([1, 2, 3, 4], 400)
    path.write_text("x,y\n" + "".join(f"{y + RANDOM.normal():.2f},{y}\n" for y in labels))
    done = polyak("train", path, "--target", "y", "-m", tmp_path / "m")
    assert "the target y has 4 classes" in done.stderr


@pytest.mark.parametrize("unit", ["{} kg", "USD {}", "{}%ABV"])
def test_numbers_with_units_are_warned_of(unit: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = (f"{i % 7},{unit.format(i % 60)},{i % 5}\n" for i in range(900))
    path.write_text("x,weight,y\n" + "".join(rows))
    done = polyak("train", path, "--target", "y", "-m", tmp_path / "m", "-q")
    unit = unit.format("").strip()
    said = f"the column weight is read as words, though all are numbers with {unit!r}"
    assert done.stderr.count(said) == 1


@pytest.mark.parametrize("options", [["-q"], ["--json"], ["-q", "--loss", "squared_error"]])
def test_doubts_about_columns_are_always_said(options: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,x,y\n" + "".join(f"{i},{i % 7},{i % 9 / 2}\n" for i in range(900)))
    done = polyak("train", path, "--target", "y", "-m", tmp_path / "m", *options)
    assert done.stderr.count("the column id counts the rows: --drop id leaves it out") == 1


def test_values_of_several_kinds_in_json_are_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    price = [{"eur": 5}] * 20 + [7] * 300
    rows = ({"price": value, "x": i % 7, "y": i % 9 / 2} for i, value in enumerate(price))
    path.write_text("\n".join(map(json.dumps, rows)))
    done = polyak("train", path, "--target", "y", "-m", tmp_path / "m", "-q")
    assert done.stderr.count("the column price is read as words, as it has values of several") == 1


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    """They would set its title and its colours; a name ends in a line of its own."""
    path, model, odd = tmp_path / "t.csv", tmp_path / "m", "\x1b]0;title\x07\u202e"
    rows = [f"{a},{odd}{i % 3},{i % 7},{odd if a > b else 'no'}\n" for i, (a, b, _) in
            enumerate(ROWS)]  # fmt: skip
    path.write_text(f"a,level,{odd}name,y\n{''.join(rows)}n/a,no,x{odd},no\n")
    shown = [
        polyak("train", path, "--target", "y", "-m", model),
        polyak("inspect", model),
        polyak("evaluate", model, path, "--by", "level"),
    ]
    for done in shown:
        assert "\\x1b]0;title\\x07\\u202e" in done.stdout + done.stderr
        for text in (done.stdout, done.stderr):
            assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_blanks_around_a_name_may_be_given_or_left_out(tmp_path: Path) -> None:
    """The shell shows names without them, and pandas with them."""
    path, model = tmp_path / "t.csv", tmp_path / "m"
    path.write_text(" a ,b,Life expectancy \n" + lines())
    frame = pd.read_csv(path)
    y = frame["Life expectancy "]
    for target in ("Life expectancy", "Life expectancy "):
        polyak("train", path, "--target", target, "-m", model)
        polyak("evaluate", model, path)
        np.testing.assert_allclose(LinearModel.load(model).predict(frame), y, atol=0.1)
    ASGDRegressor().fit(frame.assign(w="word"), y="Life expectancy ").to_model().save(model)
    done = polyak("predict", model, path)
    np.testing.assert_allclose([float(line) for line in done.stdout.split()], y, atol=0.1)
    polyak("train", path, "--target", "Life expectancy", "-m", model)
    twice = frame.assign(**{"a  ": "another"})  # the first of the two is the column of the model
    np.testing.assert_allclose(LinearModel.load(model).predict(twice), y, atol=0.1)

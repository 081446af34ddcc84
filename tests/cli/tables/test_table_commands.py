"""Tables from the shell: learned, shown in words, predicted, and refused in a sentence."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from commands import POLYAK, fails, polyak, rows_of_text
from tests.data.made_tables import flights, write


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(flights(4000), tmp_path_factory.mktemp("tables") / "t.csv")


def test_from_a_table_to_predictions(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.polyak"
    options = ["--target", "delay", "--loss", "squared_error", "--drop", "tail"]
    done = polyak("train", table, "-m", model, "-q", "--interact", "carrier:distance", *options)
    assert "rows whose delay is missing" in done.stderr

    shown = polyak("inspect", model).stdout
    assert "carrier=WN" in shown
    assert "read as" in shown
    assert "The target is delay. Crossed: carrier:distance. Words are hashed into 2^18" in shown
    page = json.loads(polyak("inspect", model, "--json", "--top", "50").stdout)
    weights = {entry.get("name"): entry["weight"] for entry in page["heaviest"]}
    assert weights["wind"] == pytest.approx(-0.5, abs=0.2)  # per unit of the column

    assert json.loads(polyak("evaluate", model, table, "--json").stdout)["r2"] > 0.6
    assert len(polyak("predict", model, table).stdout.splitlines()) == 4000


def test_one_value_is_positive(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.polyak"
    options = ["--target", "carrier", "--positive", "AA", "--loss", "log_loss", "--only", "delay"]
    polyak("train", table, "-m", model, "-q", *options)
    assert json.loads(polyak("inspect", model, "--json").stdout)["classes"] == ["not AA", "AA"]
    assert set(polyak("predict", model, table).stdout.split("\n")) <= {"not AA", "AA", ""}


def test_what_makes_no_sense(table: Path, tmp_path: Path) -> None:
    model = ["-m", tmp_path / "m", "-q"]
    assert "name it with --target" in fails("train", table, *model)
    assert "did you mean delay?" in fails("train", table, "--target", "delays", *model)
    loss = ["--loss", "log_loss"]
    assert "too many for classes" in fails("train", table, "--target", "delay", *loss, *model)
    numbers = ["--loss", "squared_error"]
    assert "names classes" in fails("train", table, "--target", "carrier", *numbers, *model)
    assert "bits" in fails("train", table, "--target", "delay", "--bits", "99", *model, code=2)


USELESS = {
    "svmlight": "--target --drop --weight --text --positive --interact --categorical --only",
    "vw": "--target --weight --text --categorical --only --ngrams --delimiter --no-header",
}


@pytest.mark.parametrize(
    ("format", "option"),
    [(f, option) for f, options in USELESS.items() for option in options.split()],
)
def test_options_of_tables_are_refused_for_other_rows(
    format: str, option: str, tmp_path: Path
) -> None:
    rows = tmp_path / f"t.{format}"
    rows.write_text(rows_of_text(50) if format == "svmlight" else "1 |a b\n-1 |a c\n" * 30)
    target = ["--target", "y"] if option == "--positive" else []
    value = {"--interact": ["a:b"], "--ngrams": ["2"], "--delimiter": [";"], "--no-header": []}
    said = fails("train", rows, *target, option, *value.get(option, ["y"]), "-m", tmp_path / "m")
    expected = "--target" if target else option
    assert f"{format} rows have no columns with names: {expected} is for tables" in said


def test_a_way_of_writing_is_refused_where_nothing_is_written(tmp_path: Path) -> None:
    rows = tmp_path / "t.jsonl"
    rows.write_text('{"a": 1, "y": 2}\n{"a": 2, "y": 3}\n')
    said = fails("train", rows, "--target", "y", "--decimal", ",", "-m", tmp_path / "m")
    assert "jsonl has nothing written like that: --decimal is for CSV" in said


def test_pandas_is_not_imported_for_tables(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("day,place,y\n" + "03/25/2020,here,1.5\n2/26/2020,there,2.5\n" * 30)
    program = (
        "import sys; from polyak.cli import main\n"
        "try: main()\n"
        "finally: print(*{'pyarrow', 'pandas'} & sys.modules.keys())\n"
    )
    words = ["train", str(path), "--target", "y", "-m", str(tmp_path / "m.polyak"), "-q"]
    done = subprocess.run([POLYAK[0], "-c", program, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "pyarrow"

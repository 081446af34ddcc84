"""``predict --skip-bad-lines``: the predictions line up with the rows, bad ones among them."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import polyak
from pyarrow import parquet

BAD = {0, 7, 8, 30, 98, 99}
"""The indices of the invalid rows: single ones and pairs, including the first and last row."""
ROWS = 100


def _svmlight(n: int) -> str:
    return f"{n % 2} 1:{n % 7}.25 2:{n % 2}\n"


def _vw(n: int) -> str:
    return f"{2 * (n % 2) - 1} 'row{n}| a:{n % 7} b:{n % 2}\n"


def _csv(n: int) -> str:
    return f"row{n},{n % 7}.25,{'yes' if n % 2 else 'no'}\n"


def _json(n: int) -> str:
    row = {"id": f"row{n}", "a": n % 7 + 0.25, "of": {"two": [n % 2, 3]}, "y": "ny"[n % 2]}
    return json.dumps(row) + "\n"


FORMS: dict[str, tuple[str, Callable[[int], str], tuple[str, ...]]] = {
    "svm": ("", _svmlight, ("1 one:2\n", "x 1:1\n")),
    "vw": ("", _vw, ("1 |a b:x\n", "a b c\n")),
    "csv": ("id,a,y\n", _csv, ("row,1,2,3,no\n", "row,1\n", "row\n")),
    "jsonl": ("", _json, ('{"id": \n', '{"id": "x", "of": {"two": [1]}}\n', "[1]\n")),
}


@pytest.fixture(scope="module", params=FORMS)
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Train a model, and write rows to predict: all of them, and with some that are bad."""
    form = request.param
    folder = tmp_path_factory.mktemp(form)
    head, row, bad = FORMS[form]
    good = [row(n) for n in range(ROWS)]
    mixed = [bad[n % len(bad)] if n in BAD else text for n, text in enumerate(good)]
    for name, lines in (("good", good), ("bad", mixed)):
        (folder / f"{name}.{form}").write_text(head + "".join(lines))
    packed = gzip.compress((folder / f"bad.{form}").read_bytes())
    (folder / f"packed.{form}.gz").write_bytes(packed)
    target = ("--target", "y", "--drop", "id") if form in ("csv", "jsonl") else ()
    polyak("train", folder / f"good.{form}", "-m", folder / "m", "-q", *target)
    return folder, form


def _read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a prediction file, with None for empty predictions."""
    if path.suffix == ".parquet":
        rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
        return rows
    text = path.read_text()
    if path.suffix == ".json":
        return list(json.loads(text))
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    if path.suffix == ".txt":
        return [{"prediction": line or None} for line in text.splitlines()]
    read = csv.DictReader(text.splitlines(), delimiter="\t" if path.suffix == ".tsv" else ",")
    return [{name: value or None for name, value in row.items()} for row in read]


@pytest.mark.parametrize(
    ("files", "ending"),
    [
        ("svm", "txt"),
        ("svm", "parquet"),
        ("vw", "csv"),
        ("csv", "tsv"),
        ("csv", "jsonl"),
        ("jsonl", "json"),
    ],
    indirect=["files"],
)
def test_an_empty_prediction_stands_for_a_bad_line(
    files: tuple[Path, str], ending: str, tmp_path: Path
) -> None:
    folder, form = files
    out = tmp_path / f"out.{ending}"
    polyak("predict", folder / "m", folder / f"good.{form}", "-o", out)
    good = _read(out)
    done = polyak("predict", folder / "m", folder / f"bad.{form}", "--skip-bad-lines", "-o", out)
    assert "6 bad lines have an empty prediction" in done.stderr
    expected = [{"prediction": None} if n in BAD else row for n, row in enumerate(good)]
    assert _read(out) == expected


@pytest.mark.parametrize("name", ["bad.{}", "packed.{}.gz"])
def test_beside_the_columns_and_the_numbers_of_rows(
    files: tuple[Path, str], name: str, tmp_path: Path
) -> None:
    folder, form = files
    keep = {"svm": (), "vw": ("--keep", "tag")}.get(form, ("--keep", "id"))
    options = ("--skip-bad-lines", "--row-number", "--what", "scores", *keep)
    out = tmp_path / "out.jsonl"
    polyak("predict", folder / "m", folder / name.format(form), *options, "-o", out)
    rows = _read(out)
    assert [row["row"] for row in rows] == list(range(1, ROWS + 1))
    assert {n for n, row in enumerate(rows) if row["score"] is None} == BAD
    for column in keep[1:]:
        expected = [None if n in BAD else f"row{n}" for n in range(ROWS)]
        assert [row[column] for row in rows] == expected


def test_a_csv_of_one_column_has_no_blank_line(files: tuple[Path, str]) -> None:
    """Most programs would pass over it."""
    folder, form = files
    command = ("predict", folder / "m", folder / f"bad.{form}", "--skip-bad-lines", "--to", "csv")
    head, *lines = polyak(*command).stdout.splitlines()
    assert head == "prediction"
    assert {n for n, line in enumerate(lines) if line == '""'} == BAD
    assert "" not in lines

"""A column that equals the target in the first rows is left out only if it does so in all."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from commands import polyak

from polyak.model.linear import LinearModel

HOW = ["--target", "y", "--loss", "squared_error", "-q"]


def text(rows: int, differing: bool) -> str:
    lines = []
    for i in range(rows):
        y = i % 11
        copy = y + 1 if differing and i == rows - 1 else y
        lines.append(f"{i % 7},{copy},{y}")
    return "a,copy,y\n" + "\n".join(lines) + "\n"


def columns(model: Path) -> list[str]:
    schema = LinearModel.load(model).features.schema
    assert schema is not None
    return [column.name for column in schema.columns]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize("order", ["auto", "as-is"])
def test_one_that_differs_later_is_learned(name: str, order: str, tmp_path: Path) -> None:
    path, model = tmp_path / name, tmp_path / "m"
    pack = gzip.compress if name.endswith("gz") else bytes
    path.write_bytes(pack(text(1500, differing=True).encode()))
    done = polyak("train", path, "-m", model, *HOW, "--order", order)
    assert columns(model) == ["a", "copy"]
    assert "equals the target" not in done.stderr
    path.write_bytes(pack(text(1500, differing=False).encode()))
    done = polyak("train", path, "-m", model, *HOW, "--order", order)
    assert columns(model) == ["a"]
    expected = "copy of {} equals the target y in all rows; it is left out, unless --only or "
    assert expected.format(path) + "--categorical names it" in done.stderr


def test_a_pipe_is_judged_by_its_first_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text(1500, differing=True))
    with (tmp_path / "t.csv").open("rb") as rows:
        done = polyak("train", "-", "--format", "csv", "-m", tmp_path / "m", *HOW, stdin=rows)
    assert columns(tmp_path / "m") == ["a"]
    assert "equals the target y in the first 1,000 rows; it is left out" in done.stderr


def test_one_that_is_asked_for_is_kept(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text(300, differing=False))
    polyak("train", tmp_path / "t.csv", "-m", tmp_path / "m", *HOW, "--only", "a,copy")
    assert columns(tmp_path / "m") == ["a", "copy"]

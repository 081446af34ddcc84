"""Fields of JSON that first come up after the rows that types are found from."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import polyak

from polyak.model.linear import LinearModel

ROWS, LATE = 3000, 1500
HOW = ["--target", "y", "--loss", "squared_error", "-q"]


def rows(late: int = LATE) -> list[dict[str, Any]]:
    """Make up rows whose target mostly depends on fields that come late."""
    random = np.random.default_rng(0)
    found: list[dict[str, Any]] = []
    for i in range(ROWS):
        a, b = random.normal(size=2).round(3).tolist()
        city = "Rome" if random.random() < 0.5 else "Oslo"
        row = {"a": a, "y": round(a + 1.0, 3)}
        if i >= late:
            row |= {"b": 100 * b, "city": city, "at": {"hour": i % 24}, "e": [b, 1.0]}
            row["y"] = round(a + 1.0 + 3 * b + 2 * (city == "Rome"), 3)
        found.append(row)
    return found


def written(path: Path, some: list[dict[str, Any]]) -> Path:
    text = json.dumps(some) if path.suffix == ".json" else "\n".join(map(json.dumps, some))
    path.write_text(text)
    return path


def columns(model: Path) -> dict[str, str]:
    schema = LinearModel.load(model).features.schema
    assert schema is not None
    return {column.name: column.kind for column in schema.columns}


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
def test_they_are_learned(name: str, tmp_path: Path) -> None:
    path, model = written(tmp_path / name, rows()), tmp_path / "m"
    done = polyak("train", path, "-m", model, *HOW)
    expected = {"a": "number", "b": "number", "city": "category", "at.hour": "number"}
    assert columns(model) == expected | {"e[0]": "number", "e[1]": "number"}
    assert "read as words" not in done.stderr
    without = tmp_path / "without"
    polyak("train", path, "-m", without, *HOW, "--only", "a")
    late = written(tmp_path / f"late{path.suffix}", rows()[LATE:])
    losses = [
        json.loads(polyak("evaluate", each, late, "--json").stdout)["loss"]
        for each in (model, without)
    ]
    assert losses[0] < losses[1] / 4


def test_as_they_stand_with_any_blocks_and_threads(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", rows())
    models = []
    for number, how in enumerate([[], ["--block-bytes", 3000], ["--threads", 1]]):
        model = tmp_path / f"m{number}"
        polyak("train", path, "-m", model, *HOW, "--order", "as-is", *how)
        models.append(model.read_bytes())
    assert models[1] == models[0]
    assert models[2] == models[0]
    assert "city" in columns(tmp_path / "m0")


def test_what_is_dropped_stays_out(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", rows())
    polyak("train", path, "-m", tmp_path / "m", *HOW, "--drop", "b,e,at")
    assert columns(tmp_path / "m") == {"a": "number", "city": "category"}


def piped(path: Path, model: Path) -> str:
    """Learn from a real pipe, and give what was said."""
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
        done = polyak("train", "-", "--format", "jsonl", "-m", model, *HOW, stdin=cat.stdout)
    return done.stderr


def test_they_are_learned_from_a_pipe(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", rows())
    told = piped(path, tmp_path / "piped")
    assert "first 1,000 rows" not in told  # that the target changes with them is said
    polyak("train", path, "-m", tmp_path / "m", *HOW, "--order", "as-is")
    models = [LinearModel.load(tmp_path / name) for name in ("m", "piped")]
    assert models[0].features == models[1].features
    np.testing.assert_array_equal(models[0].weights, models[1].weights)


@pytest.mark.parametrize("order", ["as-is", "auto"])
def test_it_is_said_that_what_comes_after_a_megabyte_is_not(order: str, tmp_path: Path) -> None:
    some = rows()
    for row in some:
        row["long"] = "x" * 9000
    path, model = written(tmp_path / "t.jsonl", some), tmp_path / "m"
    done = polyak("train", path, "-m", model, *HOW, "--order", order)
    said = [line for line in done.stderr.splitlines() if "first megabyte" in line]
    assert len(said) == 1
    assert "the column b of" in said[0]
    assert "b" not in columns(model)

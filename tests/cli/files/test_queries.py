"""Queries of DuckDB from the shell: order, checkpoints and bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import fails, polyak

pytest.importorskip("duckdb")


def rows(count: int) -> str:
    columns = "range AS n, hash(n) % 1000 / 500 - 1 AS x, hash(n + 7) % 10 AS z"
    return f"FROM (SELECT {columns} FROM range({count}))"


def train(query: str, folder: Path, *more: Any) -> Any:
    return polyak("train", f"duckdb:{query}", "--target", "y", "-m", folder / "m", "-q", *more)


def test_the_remedy_for_sorted_rows_is_a_clause_of_the_query(tmp_path: Path) -> None:
    query = f"SELECT x, z, CASE WHEN n < 15000 THEN 'a' ELSE 'b' END AS y {rows(30_000)}"
    remedy = "add ORDER BY hash(...) of a column to the query"
    said = fails("train", f"duckdb:{query}", "--target", "y", "-m", tmp_path / "m", "-q")
    assert "the first 1000 rows are all of class a; say which classes there are" in said
    assert remedy in said
    said = train(query, tmp_path, "--classes", "a,b").stderr
    assert "sorted by class" in said
    assert f"unless that is the point, {remedy}" in said
    assert "warning" not in train(f"{query} ORDER BY hash(n)", tmp_path).stderr


def test_rows_learned_before_a_failure_are_kept(tmp_path: Path) -> None:
    # The query fails as long as there is no such file.
    late = tmp_path / "late.csv"
    is_there = f"len((SELECT list(file) FROM glob('{late}'))) > 0"
    query = (
        "SELECT x, z, CASE WHEN n < 250000 THEN 3 * x + z / 9 "
        f"WHEN {is_there} THEN x ELSE error('lost') END AS y {rows(300_000)}"
    )
    command = ["train", f"duckdb:{query}", "--target", "y", "-m", tmp_path / "m", "-q", "--json"]
    command += ["--checkpoint", tmp_path / "checkpoint"]
    said = fails(*command)
    assert "the DuckDB query failed after" in said
    assert "lost" in said
    late.write_text("x\n")
    resumed = json.loads(polyak(*command).stdout)
    assert resumed["rows"] == 300000
    assert resumed["resumed_at_row"] > 0

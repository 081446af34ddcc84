"""``polyak convert`` as a user runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from commands import POLYAK, fails, on_terminal, polyak, rows_of_text, write


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "rows.svm", rows_of_text(3000))


def test_vw_text_from_a_pipe(tmp_path: Path) -> None:
    text = "".join(
        f"{1 if i % 3 else -1} {i % 2 + 1} |a w{i % 3} n{i % 11}:0.5\n" for i in range(2000)
    )
    path = tmp_path / "rows.npz"
    with_bits = ("--format", "vw", "--bits", 10)
    said = polyak("convert", "-", path, *with_bits, input=text)
    assert [line.split() for line in said.stdout.splitlines()][1] == ["rows", "2,000"]
    assert "rows/s" in said.stderr
    models = [tmp_path / "a", tmp_path / "b"]
    polyak("train", "-", "--model", models[0], "-q", *with_bits, input=text)
    polyak("train", path, "--order", "as-is", "--model", models[1], "-q")
    assert models[0].read_bytes() == models[1].read_bytes()
    # What was learned from numbers predicts from names too.
    rows = write(tmp_path / "rows.vw", "|a w0\n|a w1\n")
    assert polyak("predict", models[1], rows).stdout == "-1\n1\n"


def test_a_model_of_numbers_and_text_of_names(tmp_path: Path, model_file: Path) -> None:
    rows = write(tmp_path / "rows.vw", "1 |a w0\n")
    sentence = fails("predict", model_file, rows)
    assert "rows.vw are names hashed into 2^18 slots, but those of the model are not" in sentence


def test_wrong_usage(tmp_path: Path, source: Path) -> None:
    assert "cannot infer the format of rows.csv" in fails("convert", source, "rows.csv", code=2)
    assert "is the source itself" in fails("convert", source, source, code=2)
    assert "there is no folder" in fails("convert", source, tmp_path / "no" / "rows.npz")
    assert "cannot be read" in fails("convert", tmp_path / "nothing.svm", tmp_path / "rows.npz")
    assert "rows.svm has no columns" in fails("convert", source, tmp_path / "rows.parquet")
    for_model = ("convert", source, tmp_path / "rows.parquet", "--for", tmp_path / "m")
    assert "--for writes features, not columns" in fails(*for_model, code=2)
    assert os.listdir(tmp_path) == ["rows.svm"]


def test_bad_lines(tmp_path: Path) -> None:
    source = write(tmp_path / "rows.svm", rows_of_text(300, bad=100))
    path = tmp_path / "rows.npz"
    assert "line 100: a value is not a number" in fails("convert", source, path, "-q")
    said = polyak("convert", source, path, "-q", "--skip-bad-lines", "--json")
    assert json.loads(said.stdout) | {"megabytes": 0} == {
        "file": str(path),
        "rows": 297,
        "bad_lines": 3,
        "megabytes": 0,
    }
    assert said.stderr.count("polyak: skipped ") == 3


@pytest.mark.parametrize("output", ["parquet", "npz", "svm"])
def test_an_interrupted_run_leaves_nothing(tmp_path: Path, output: str) -> None:
    is_table = output == "parquet"
    rows = b"1,2.5,word\n" * 100_000 if is_table else rows_of_text(2000).encode()
    path = tmp_path / f"rows.{output}"
    process = subprocess.Popen(
        [*POLYAK, "convert", "-", str(path), "--format", "csv" if is_table else "svmlight"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(rows * 20)
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not os.listdir(tmp_path):  # until something is being written
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate()
    assert process.returncode == 130
    assert b"polyak: error: stopped" in said
    assert os.listdir(tmp_path) == []


def test_on_a_terminal(tmp_path: Path, source: Path) -> None:
    colours = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
    shown = colours.sub("", on_terminal("convert", source, tmp_path / "rows.npz"))
    assert "3,000 rows" in shown
    assert "100%" in shown
    assert "loss" not in shown

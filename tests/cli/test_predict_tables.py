"""``polyak predict -o`` to tables."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from commands import POLYAK, fails, polyak, rows_of_text, write
from pyarrow import parquet


def test_every_format_holds_the_same(model_file: Path, test_file: Path, tmp_path: Path) -> None:
    labels = [int(word) for word in polyak("predict", model_file, test_file).stdout.split()]
    scores = np.array(
        polyak("predict", model_file, test_file, "--what", "scores").stdout.split(), float
    )
    for name in ("out.csv", "out.jsonl", "out.parquet"):
        polyak("predict", model_file, test_file, "--what", "scores", "-o", tmp_path / name)
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table["prediction"].to_pylist() == labels
    assert table["score"].to_pylist() == scores.tolist()
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert lines == table.to_pylist()
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["prediction", "score"]
    assert [[int(row[0]), float(row[1])] for row in rows[1:]] == [
        list(row.values()) for row in lines
    ]
    assert {path.name for path in tmp_path.iterdir()} == {"out.csv", "out.jsonl", "out.parquet"}


def test_tables_on_standard_output(model_file: Path, test_file: Path) -> None:
    shown = polyak("predict", model_file, test_file, "--to", "csv", "--what", "proba").stdout
    assert shown.splitlines()[0] == "prediction,proba_-1,proba_1"
    assert len(shown.splitlines()) == 1001
    shown = polyak("predict", model_file, test_file, "--to", "jsonl").stdout
    assert set(shown.splitlines()) == {'{"prediction": 1}', '{"prediction": -1}'}


def test_refusals(model_file: Path, test_file: Path, tmp_path: Path) -> None:
    predict = ("predict", model_file, test_file)
    assert "svmlight rows have no columns to keep" in fails(*predict, "--keep", "id")
    assert "lines of text have no columns" in fails(
        *predict, "--keep", "id", "-o", tmp_path / "out.txt", code=2
    )
    assert "cannot go to standard output" in fails(*predict, "--to", "parquet")
    assert "cannot be written" in fails(*predict, "-o", tmp_path / "no" / "out.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["out", "out.csv", "out.jsonl", "out.parquet"])
def test_a_bad_line_leaves_no_file(name: str, model_file: Path, tmp_path: Path) -> None:
    source = write(tmp_path / "bad.svm", rows_of_text(100, bad=100))
    fails("predict", model_file, source, "-o", tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.svm"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_file(
    number: signal.Signals, model_file: Path, test_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    process = subprocess.Popen(
        [*POLYAK, "predict", str(model_file), "-", "-o", str(out)],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(test_file.read_bytes())
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not os.path.exists(f"{out}.part"):  # it has begun, and waits for more rows
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"stopped" in said
    assert not list(tmp_path.iterdir())


def test_whoever_stops_reading_ends_it_quietly(model_file: Path, train_file: Path) -> None:
    for format in ("csv", "jsonl"):
        command = " ".join([*POLYAK, "predict", str(model_file), *[str(train_file)] * 30])
        done = subprocess.run(
            ["sh", "-c", f"{command} --to {format} | head -1"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert len(done.stdout.splitlines()) == 1
        assert done.stderr == ""


def test_lines_import_no_pyarrow(model_file: Path, test_file: Path) -> None:
    program = (
        "import sys; from polyak.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print(*{'pyarrow', 'sklearn', 'pandas'} & sys.modules.keys(), file=sys.stderr)"
    )
    command = [POLYAK[0], "-c", program, "predict", str(model_file), str(test_file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == ""

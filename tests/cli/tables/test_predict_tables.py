"""``polyak predict -o`` to tables."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pandas
import pyarrow as pa
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


@pytest.mark.parametrize("name", ["out", "out.parquet"])
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
    while not list(tmp_path.glob("out.csv*.part")):  # it has begun, and waits for more rows
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"stopped" in said
    assert not list(tmp_path.iterdir())


def test_whoever_stops_reading_ends_it_quietly(model_file: Path, train_file: Path) -> None:
    command = " ".join([*POLYAK, "predict", str(model_file), *[str(train_file)] * 30])
    done = subprocess.run(
        ["sh", "-c", f"{command} --to csv | head -1"], capture_output=True, text=True, check=True
    )
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


# -- tables to tables ------------------------------------------------------------------------------

TABLE = pa.table(
    {
        "id": [f"{i:04}" for i in range(3000)],
        "order": [2**53 + 1 + i for i in range(3000)],
        "name": [None if i % 7 == 0 else f'"{i}", so' for i in range(3000)],
        "x": (np.arange(3000) % 13 - 6.0) / 4,
        "color": [["red", "green", "blue"][i % 3] for i in range(3000)],
        "kind": ["good" if (i % 13) > 5 else "so, so" for i in range(3000)],
    }
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    TABLE.to_pandas().to_csv(folder / "t.csv", index=False)
    parquet.write_table(TABLE, folder / "t.parquet")
    TABLE.to_pandas().to_json(folder / "t.jsonl", orient="records", lines=True)
    options = ("--target", "kind", "--drop", "id,name", "--bits", 8, "--loss", "log_loss")
    polyak("train", folder / "t.csv", *options, "-q", "--model", folder / "m")
    polyak("predict", folder / "m", folder / "t.csv", "-o", folder / "lines")
    return folder


@pytest.mark.parametrize(
    ("source", "name"),
    [("t.csv", "out.csv"), ("t.csv", "out.parquet"), ("t.parquet", "out.jsonl")],
)
def test_kept_columns_come_along(source: str, name: str, tables: Path, tmp_path: Path) -> None:
    """Ids with zeros in front, ids beyond what a double holds, words with quotes and holes."""
    keep = ("--keep", "name,id,order,x,kind")
    polyak("predict", tables / "m", tables / source, *keep, "-o", tmp_path / name)
    kept = ["name", "id", "order", "x", "kind"]
    if name == "out.parquet":
        found = parquet.read_table(tmp_path / name).to_pylist()
    elif name == "out.jsonl":
        found = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
    else:
        with open(tmp_path / name, newline="") as file:
            found = list(csv.DictReader(file))
    assert list(found[0]) == [*kept, "prediction"]
    for row, source_row in zip(found, TABLE.to_pylist(), strict=True):
        assert (row["name"] or None) == source_row["name"]
        assert row["id"] == source_row["id"]
        assert int(row["order"]) == source_row["order"]
        assert float(row["x"]) == source_row["x"]
        assert row["kind"] == source_row["kind"]
    predictions = (tables / "lines").read_text().splitlines()
    assert [row["prediction"] for row in found] == predictions
    assert set(predictions) == {"good", "so, so"}


def test_kept_columns_stay_with_their_rows(tables: Path, tmp_path: Path) -> None:
    lines = (tables / "t.csv").read_text().splitlines(keepends=True)
    lines[10] = "one,field\n"
    write(tmp_path / "bad.csv", "".join(lines))
    predict = ("predict", tables / "m", tmp_path / "bad.csv", "--keep", "id,order")
    assert "line 11" in fails(*predict)
    done = polyak(*predict, "--skip-bad-lines")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    expected = TABLE.to_pylist()
    assert list(rows.pop(9).values()) == ["", "", ""]
    del expected[9]
    assert [row["id"] for row in rows] == [row["id"] for row in expected]
    assert [int(row["order"]) for row in rows] == [row["order"] for row in expected]


def test_a_column_that_is_not_there(tables: Path, tmp_path: Path) -> None:
    said = fails(
        "predict", tables / "m", tables / "t.csv", "--keep", "ordr", "-o", tmp_path / "o.csv"
    )
    assert "has no column ordr; did you mean order?" in said
    assert not list(tmp_path.iterdir())
    said = fails(
        "predict", tables / "m", tables / "t.jsonl", "--keep", "id", "--to", "lines", code=2
    )
    assert "--keep needs a table" in said


@pytest.mark.slow
def test_an_exported_table_model_predicts_the_columns(tmp_path: Path) -> None:
    import onnxruntime
    import skops.io

    random = np.random.default_rng(0)
    x = np.stack([random.normal(1900, 50, 2000), random.normal(0, 0.01, 2000)], axis=1).round(4)
    x[::9, 1] = np.nan
    y = x[:, 0] / 100 + np.nan_to_num(x[:, 1]) * 300 + np.isnan(x[:, 1])
    frame = pandas.DataFrame(x, columns=["year", "rate"])
    source = tmp_path / "t.csv"
    frame.assign(y=y).to_csv(source, index=False)
    options = ("--target", "y", "--loss", "squared_error", "-q")
    polyak("train", source, *options, "--model", tmp_path / "m.polyak")
    ours = np.array(polyak("predict", tmp_path / "m.polyak", source).stdout.split(), float)
    assert np.std(ours - y) < np.std(y) / 2  # it is a model worth comparing
    polyak("export", tmp_path / "m.polyak", tmp_path / "m.onnx")
    found = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"X": x})[0]
    np.testing.assert_allclose(found, ours, rtol=1e-5, atol=1e-5)
    assert "numpy.dtype" in polyak("export", tmp_path / "m.polyak", tmp_path / "m.skops").stderr
    pipeline = skops.io.load(tmp_path / "m.skops", trusted=["numpy.dtype"])
    np.testing.assert_allclose(pipeline.predict(frame), ours, rtol=1e-5, atol=1e-5)
    shown = polyak("export", tmp_path / "m.polyak", "-", "--to", "csv").stdout
    weights = {row["name"]: float(row["weight"]) for row in csv.DictReader(shown.splitlines())}
    terms = np.nan_to_num(x) @ [weights["year"], weights["rate"]]
    terms += np.isnan(x[:, 1]) * weights["rate is missing"] + weights[""]
    np.testing.assert_allclose(terms, ours, rtol=1e-5, atol=1e-5)


def test_intervals_beside_predictions(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.normal(size=(3000, 3)), columns=["a", "b", "c"])
    table["y"] = 2 * table["a"] - table["b"] + rng.normal(size=3000)
    table["late"] = np.where(table["y"] > 0, "yes", "no")
    table.to_csv(tmp_path / "all.csv", index=False)
    train = ("train", tmp_path / "all.csv", "--no-progress")
    model, without = tmp_path / "m.polyak", tmp_path / "without.polyak"
    numbers = ("--target", "y", "--drop", "late", "--loss", "squared_error")
    polyak(*train, *numbers, "--intervals", "--model", model)
    polyak("predict", model, tmp_path / "all.csv", "--intervals", "-o", tmp_path / "out.csv")
    out = pandas.read_csv(tmp_path / "out.csv")
    assert list(out) == ["prediction", "prediction_low", "prediction_high"]
    truth = 2 * table["a"] - table["b"]
    held = ((out["prediction_low"] < truth) & (truth < out["prediction_high"])).mean()
    assert held > 0.7
    assert ((out["prediction_high"] - out["prediction_low"]) < 0.5).mean() > 0.95

    words = ("--target", "late", "--drop", "y", "--loss", "log_loss")
    polyak(*train, *words, "--intervals", "--model", model)
    shown = polyak("predict", model, tmp_path / "all.csv", "--intervals", "--what", "proba").stdout
    rows = list(csv.DictReader(shown.splitlines()))
    assert all(0 < float(r["proba_yes_low"]) < float(r["proba_yes_high"]) < 1 for r in rows)
    said = fails("predict", model, tmp_path / "all.csv", "--intervals", code=2)
    assert "labels have no intervals: add --what proba or --what scores" in said
    polyak(*train, *numbers, "--model", without)
    said = fails("predict", without, tmp_path / "all.csv", "--intervals")
    assert "without.polyak has no intervals: train it with --intervals" in said

"""Every suffix there is, in small and in large letters: read, converted to, and predicted to."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from commands import fails, polyak
from pyarrow import csv, feather, parquet
from tests.in_process import polyak as command

from polyak.data.formats.registry import FORMATS, PREDICTED, SUFFIXES, WRITTEN
from polyak.model.linear import LinearModel

ROWS = 300
X = np.random.default_rng(0).normal(size=(ROWS, 3)).round(3)
Y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
TABLE = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": Y})


def both(suffixes: Any) -> list[str]:
    return [spelled for suffix in suffixes for spelled in (suffix, suffix.upper())]


def write(format: str, path: Path) -> list[str]:
    """Write the rows in a format; give the options that learning from them needs."""
    if format == "svmlight":
        rows = (
            f"{y} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x))
            for x, y in zip(X.tolist(), Y.tolist(), strict=True)
        )
        path.write_text("\n".join(rows) + "\n")
    elif format == "vw":
        rows = (f"{y} | a:{x[0]} b:{x[1]}" for x, y in zip(X.tolist(), Y.tolist(), strict=True))
        path.write_text("\n".join(rows) + "\n")
    elif format == "npz":
        with path.open("wb") as file:
            np.savez(file, X=X, y=Y)
    elif format == "csv":
        csv.write_csv(TABLE, path)
    elif format == "tsv":
        csv.write_csv(TABLE, path, csv.WriteOptions(delimiter="\t"))
    elif format == "jsonl":
        TABLE.to_pandas().to_json(path.open("w"), orient="records", lines=True)
    elif format == "parquet":
        parquet.write_table(TABLE, path)
    elif format == "arrow":
        feather.write_feather(TABLE, path.open("wb"))
    else:
        with path.open("wb") as file:
            np.save(file, X)
    return ["--target", "y"] if FORMATS[format].is_table else []


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("trained")
    write("svmlight", folder / "rows.svm")
    command("train", folder / "rows.svm", "-m", folder / "m", "-q")
    return folder / "rows.svm", folder / "m"


@pytest.mark.parametrize("suffix", both(SUFFIXES))
@pytest.mark.slow
def test_read(suffix: str, tmp_path: Path) -> None:
    format = SUFFIXES[suffix.lower()]
    source = tmp_path / f"rows{suffix}"
    needed = write(format, source)
    if format == "npy":  # which has no targets
        model = tmp_path / "m"
        LinearModel(np.ones((3, 1)), np.zeros(1), "log_loss", np.array([0, 1])).save(model)
        command("predict", model, source, "-o", tmp_path / "out")
        assert len((tmp_path / "out").read_text().splitlines()) == ROWS
        return
    command("train", source, *needed, "-m", tmp_path / "m", "-q")
    assert LinearModel.load(tmp_path / "m").report.rows == ROWS
    # A folder has only what is known by its name.
    (tmp_path / "folder").mkdir()
    write(format, tmp_path / "folder" / f"rows{suffix}")
    (tmp_path / "folder" / "README.txt").write_text("no rows\n")
    command("train", tmp_path / "folder", *needed, "-m", tmp_path / "m", "-q")


@pytest.mark.parametrize("suffix", [".csv.gz", ".CSV.GZ", ".SVM.GZ"])
def test_read_compressed(suffix: str, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    needed = write(SUFFIXES[suffix[:4].lower()], plain)
    source = tmp_path / f"rows{suffix}"
    source.write_bytes(gzip.compress(plain.read_bytes()))
    command("train", source, *needed, "-m", tmp_path / "m", "-q")
    assert LinearModel.load(tmp_path / "m").report.rows == ROWS


@pytest.mark.parametrize("suffix", both(s for s in SUFFIXES if SUFFIXES[s] in WRITTEN))
def test_converted_is_read_as_it_is_written(
    suffix: str, trained: tuple[Path, Path], tmp_path: Path
) -> None:
    (source, model), needed = trained, []
    if SUFFIXES[suffix.lower()] == "parquet":  # which is for tables
        source = tmp_path / "rows.csv"
        needed, model = write("csv", source), tmp_path / "of-csv"
        command("train", source, *needed, "-m", model, "-q")
    output = tmp_path / f"rows{suffix}"
    command("convert", source, output, "-q")
    command("train", output, *needed, "-m", tmp_path / "m", "-q")
    ours, theirs = LinearModel.load(tmp_path / "m"), LinearModel.load(model)
    np.testing.assert_array_equal(ours.weights, theirs.weights)


@pytest.mark.parametrize("suffix", both(s for s in SUFFIXES if SUFFIXES[s] in PREDICTED))
def test_predicted_is_read_as_it_is_written(
    suffix: str, trained: tuple[Path, Path], tmp_path: Path
) -> None:
    source, model = trained
    output = tmp_path / f"out{suffix}"
    command("predict", model, source, "--what", "scores", "-o", output)
    command("train", output, "--target", "prediction", "-m", tmp_path / "m", "-q")
    assert LinearModel.load(tmp_path / "m").report.rows == ROWS


def test_what_cannot_be_written_is_a_sentence_that_lists_what_can(
    trained: tuple[Path, Path], tmp_path: Path
) -> None:
    source, model = trained
    for name in ("rows.csv", "rows.xlsx", "rows"):
        said = fails("convert", source, tmp_path / name, code=2)
        assert "must end with .svm, .svmlight, .libsvm, .npz, .parquet or .pq" in said
    for name in ("out.npz", "out.xlsx", "out.csv.zip"):
        said = fails("predict", model, source, "-o", tmp_path / name, code=2)
        assert f"{name} cannot be written" in said
        assert "called .csv, .tsv, .jsonl, .ndjson, .json, .parquet or .pq" in said
    assert not list(tmp_path.iterdir())
    assert "choose from" in fails("train", source, "--format", "xlsx", "-m", "m", code=2)


def test_help_lists_what_there_is() -> None:
    for name, formats in (("predict", PREDICTED), ("convert", WRITTEN)):
        shown = polyak(name, "--help").stdout
        for format in formats.values():
            assert all(suffix in shown for suffix in format.suffixes)

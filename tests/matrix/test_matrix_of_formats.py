"""Every suffix converted to every one that can be written, and models exported to every format.

The default run has a part of the matrix; the rest is slow.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
import skops.io
from model_bytes import differences
from pyarrow import Table, feather, parquet
from scipy import sparse

from polyak.cli import main
from polyak.data.formats.registry import FORMATS, SUFFIXES, WRITTEN
from polyak.data.open import open_stream
from polyak.exports import SUFFIXES as EXPORTED
from polyak.model.linear import LinearModel

pytestmark = pytest.mark.slow

ROWS = 400
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
READ = [
    *(s for s in SUFFIXES if s != ".npy"),  # which has no targets
    *(f"{s}.gz" for s in (".svm", ".vw", ".csv", ".tsv", ".jsonl", ".json")),
]
TO = [
    *(s for s in SUFFIXES if SUFFIXES[s] in WRITTEN),
    *(f".svm{packed}" for packed in COMPRESSIONS),
]


def command(*arguments: Any) -> str:
    """Run a command as the command line does, in this process: there are many of them."""
    said, out = StringIO(), StringIO()
    with redirect_stderr(said), redirect_stdout(out), pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert ended.value.code == 0, said.getvalue()
    return out.getvalue()


def frame(task: str) -> pd.DataFrame:
    random = np.random.default_rng(4)
    made = pd.DataFrame(random.normal(size=(ROWS, 3)).round(3), columns=list("abc"))
    made["city"] = random.choice(["Ulm", "Rome", "Oslo"], ROWS)
    score = made.a - 2 * made.b + (made.city == "Rome") + random.normal(size=ROWS) / 2
    if task == "number":
        made["y"] = score.round(2)
    else:
        made["y"] = pd.qcut(score, 2 if task == "two" else 3, labels=False)
    return made


def rows_of(made: pd.DataFrame) -> sparse.csr_matrix:
    words = pd.get_dummies(made.city).to_numpy(np.float32)
    return sparse.csr_matrix(np.hstack([made[list("abc")].to_numpy(np.float32), words]))


def write(made: pd.DataFrame, path: Path) -> list[str]:
    """Write the rows as a file of this name; give the options that learning from it needs."""
    format = SUFFIXES[Path(path.name.removesuffix(".gz")).suffix]
    if path.suffix == ".gz":
        write(made, path.with_suffix(""))
        path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))
    elif format == "svmlight":
        X = rows_of(made)
        each = zip(made.y, X.indptr, X.indptr[1:], strict=False)
        text = (
            f"{y} " + " ".join(f"{X.indices[k] + 1}:{X.data[k]}" for k in range(a, b))
            for y, a, b in each
        )
        path.write_text("\n".join(text) + "\n")
    elif format == "vw":
        each = zip(made.y, made.a, made.b, made.c, made.city, strict=True)
        path.write_text("".join(f"{y} |n a:{a} b:{b} c:{c} |w {w}\n" for y, a, b, c, w in each))
    elif format == "npz":
        X = rows_of(made)
        parts = {"indptr": X.indptr, "indices": X.indices, "data": X.data, "shape": X.shape}
        np.savez(path, **parts, format="csr", y=made.y.to_numpy(float))
    elif format in ("csv", "tsv"):
        made.to_csv(path, index=False, sep="," if format == "csv" else "\t")
    elif format == "jsonl":
        records = made.to_dict("records")
        lines = "\n".join(map(json.dumps, records))
        path.write_text(json.dumps(records) if path.suffix == ".json" else lines)
    elif format == "parquet":
        parquet.write_table(Table.from_pandas(made), path)
    else:
        feather.write_feather(made, path.open("wb"))
    return ["--target", "y"] if FORMATS[format].is_table else []


def scores(model: Path, source: Path) -> Any:
    found = command("predict", model, source, "--what", "scores").splitlines()
    return np.array([line.split() for line in found], float)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a cached function that trains on a source: its path, options and model."""
    known: dict[tuple[str, str], tuple[Path, list[str], Path]] = {}

    def learn(suffix: str, task: str = "two") -> tuple[Path, list[str], Path]:
        if (suffix, task) not in known:
            folder = tmp_path_factory.mktemp("learned")
            source, model = folder / f"rows{suffix}", folder / "model"
            needed = write(frame(task), source)
            command("train", source, *needed, "-m", model, "-q", "--order", "as-is")
            known[suffix, task] = source, needed, model
        return known[suffix, task]

    return learn


def in_turn(*kinds: Sequence[str]) -> list[tuple[str, ...]]:
    """Pair each of the longest list with those of the others in turn, so that each occurs."""
    return [tuple(kind[n % len(kind)] for kind in kinds) for n in range(max(map(len, kinds)))]


def conversions() -> list[tuple[str, ...]]:
    """List every source with what it can be converted to in turn: Parquet is for tables."""
    tables = [s for s in READ if FORMATS[SUFFIXES[s.removesuffix(".gz")]].is_table]
    rows = [to for to in TO if SUFFIXES.get(to) != "parquet"]
    return in_turn(tables, list(TO)) + in_turn([s for s in READ if s not in tables], rows)


@pytest.mark.parametrize(("suffix", "to"), conversions())
def test_converted_and_learned(suffix: str, to: str, learned: Any, tmp_path: Path) -> None:
    """What is learned from the converted file is what is learned from the source."""
    source, needed, model = learned(suffix)
    output, again = tmp_path / f"rows{to}", tmp_path / "again"
    command("convert", source, output, "-q", *needed)
    keeps_columns = SUFFIXES.get(to) == "parquet"
    columns = needed if keeps_columns else []
    command("train", output, *columns, "-m", again, "-q", "--order", "as-is")
    if keeps_columns:
        assert differences(again.read_bytes(), model.read_bytes()) == []
    np.testing.assert_array_equal(scores(again, output), scores(model, source))


def _narrow_rows(path: Path, width: int) -> sparse.csr_matrix:
    with open_stream(str(path), n_features=width) as stream:
        rows = [batch.rows for batch in stream]
    some = [sparse.csr_matrix((r.values, r.indices, r.indptr), (len(r), width)) for r in rows]
    return sparse.vstack(some).astype(np.float64)


def _by_onnx(file: Path, X: sparse.csr_matrix) -> Any:
    session = onnxruntime.InferenceSession(file)
    kind = {"tensor(float)": np.float32}.get(session.get_inputs()[0].type, np.float64)
    return session.run(None, {"X": X.toarray().astype(kind)})[0].ravel()


def _by_skops(file: Path, X: sparse.csr_matrix) -> Any:
    return skops.io.load(file).predict(X)


BY = {"onnx": _by_onnx, "skops": _by_skops}


def exports() -> list[Any]:
    ends = [suffix for suffix, format in EXPORTED.items() if format in BY]
    return in_turn([".svm", ".vw", ".csv", ".npz"], ["two", "three", "number"], ends)


@pytest.mark.parametrize(("suffix", "task", "end"), exports())
def test_exported_and_predicted(
    suffix: str, task: str, end: str, learned: Any, tmp_path: Path
) -> None:
    """What another program predicts from an exported model is what we predict."""
    source, _, model = learned(suffix, task)
    file, rows = tmp_path / f"model{end}", tmp_path / "rows.npz"
    command("export", model, file)
    command("convert", source, rows, "--for", model, "-q")
    with np.load(rows) as arrays:
        width = int(arrays["shape"][1])
    found = BY[EXPORTED[end]](file, _narrow_rows(rows, width))
    expected = np.array(command("predict", model, source).split(), float)
    if task == "number":
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    else:
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("end", [".csv", ".tsv"])
@pytest.mark.parametrize("task", ["two", "three", "number"])
def test_tables_of_weights_are_the_model(task: str, end: str, learned: Any, tmp_path: Path) -> None:
    source, _, model = learned(".svm", task)
    command("export", model, tmp_path / f"model{end}")
    with (tmp_path / f"model{end}").open(newline="") as file:
        lines = list(csv.DictReader(file, delimiter="\t" if end == ".tsv" else ","))
    own = LinearModel.load(model)
    weights, intercept = np.zeros_like(own.weights, float), np.zeros(len(own.intercept))
    outputs = {line["class"]: n for n, line in enumerate(lines)} if "class" in lines[0] else {}
    for line in lines:
        output = list(outputs).index(line["class"]) if outputs and len(intercept) > 1 else 0
        if line["feature"] == "intercept":
            intercept[output] = float(line["weight"])
        else:
            weights[int(line["feature"]) - 1, output] = float(line["weight"])
    found = rows_of(frame(task)) @ weights + intercept
    np.testing.assert_allclose(found, scores(model, source), rtol=1e-5, atol=1e-5)

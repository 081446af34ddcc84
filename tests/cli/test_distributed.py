"""``polyak train --engine dask``, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import fails, polyak, write

from polyak.model.linear import LinearModel
from polyak.model.training_report import Engine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write more rows than the head takes."""
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 5))
    y = np.where(X[:, 0] + random.normal(size=len(X)) > 0, 1, -1)
    text = "".join(
        f"{target} {' '.join(f'{j + 1}:{value:.4g}' for j, value in enumerate(row))}\n"
        for row, target in zip(X.tolist(), y.tolist(), strict=True)
    )
    return write(tmp_path_factory.mktemp("source") / "rows.svm", text)


def test_train_and_predict(source: Path, tmp_path: Path) -> None:
    model = tmp_path / "cluster.polyak"
    arguments = ("train", source, "-m", model, "--engine", "dask", "--workers", 2)
    done = polyak(*arguments, "--test", source)
    assert "2 workers; watch them at http://" in done.stderr
    assert "20,000" in done.stderr  # the progress of all workers
    assert "test accuracy" in done.stdout
    loaded = LinearModel.load(model)
    assert loaded.report.rows == 20_000
    assert loaded.report.engine == Engine(name="dask", chains=2, rounds=1)
    assert loaded.features.first_id == 1
    first = model.read_bytes()
    figures = json.loads(polyak(*arguments, "--json").stdout)
    assert figures["rows"] == 20_000
    # The same data on the same number of workers yields the same file.
    assert model.read_bytes() == first


def test_several_labels(tmp_path: Path) -> None:
    """Workers find the labels in the first rows of every part."""
    random = np.random.default_rng(0)
    X = random.normal(size=(6000, 4)).round(3)
    Y = X[:, :3] + random.logistic(size=(6000, 3)) > 0.5
    text = "".join(
        f"{','.join(map(str, np.flatnonzero(y)))} "
        f"{' '.join(f'{j + 1}:{value}' for j, value in enumerate(x))}\n"
        for x, y in zip(X.tolist(), Y, strict=True)
    )
    source, model = write(tmp_path / "rows.svm", text), tmp_path / "m.polyak"
    start = ("train", source, "--multilabel", "-q", "-m", model, "--engine", "dask", "--workers", 2)
    polyak(*start)
    loaded = LinearModel.load(model)
    assert loaded.multilabel
    assert loaded.classes.tolist() == [0, 1, 2]
    assert (loaded.predict(X) == Y).mean() > 0.65
    sentence = fails(*start, "--classes", "0,1")
    assert "has the label 2, which is not among 0, 1" in sentence


def test_errors_are_a_sentence_and_leave_no_model(source: Path, tmp_path: Path) -> None:
    model = tmp_path / "none.polyak"
    start = ("train", source, "-m", model)
    sentence = fails(*start, "--engine", "dask", "--scheduler", "tcp://127.0.0.1:1")
    assert "the scheduler at tcp://127.0.0.1:1 cannot be reached" in sentence
    bad = tmp_path / "bad.svm"
    bad.write_text("1 1:1\n" * 3000 + "1 1:x\n")
    sentence = fails("train", source, bad, "-m", model, "--engine", "dask", "--workers", 1)
    assert "bad.svm" in sentence
    assert "on the worker tcp://" in sentence
    assert not model.exists()
    assert not list(tmp_path.glob("*.part"))


def test_a_bad_line_has_its_number_in_the_file(source: Path, tmp_path: Path) -> None:
    lines = source.read_text().splitlines(keepends=True)
    lines[18_500] = "1 1:x\n"  # behind the head, where several parts have begun
    bad = write(tmp_path / "bad.svm", "".join(lines))
    engine = ("--engine", "dask", "--workers", 2)
    sentence = fails("train", bad, "-m", tmp_path / "m", *engine)
    assert "bad.svm, line 18501: " in sentence
    done = polyak("train", bad, "-m", tmp_path / "m", *engine, "--skip-bad-lines")
    assert f"skipped {bad}, line 18501: " in done.stderr


def test_a_table_has_its_classes_and_missing_targets(tmp_path: Path) -> None:
    """As one process has them: the positive value last, whatever the alphabet says."""
    random = np.random.default_rng(0)
    lines = ["x,kind"]
    for value in random.normal(size=3000).round(3).tolist():
        lines.append(f"{value},{'' if abs(value) > 2 else 'ant' if value > 0 else 'bee'}")
    table = write(tmp_path / "rows.csv", "\n".join(lines) + "\n")
    options = ("-q", "--target", "kind", "--positive", "ant")
    models = []
    for name, engine in ("alone", ()), ("cluster", ("--engine", "dask", "--workers", 1)):
        polyak("train", table, "-m", tmp_path / name, *options, *engine)
        models.append(LinearModel.load(tmp_path / name))
    alone, cluster = models
    assert cluster.classes is not None
    assert cluster.classes.tolist() == alone.classes.tolist()  # type: ignore[union-attr]
    assert cluster.weights[0] > 0 < alone.weights[0]
    assert cluster.report.rows_without_target == alone.report.rows_without_target > 0
    assert "name it with --target" in fails(
        "train", table, "-m", tmp_path / "none", "--engine", "dask", "--workers", 1
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--workers", 2], "--workers needs --engine dask"),
        (["--scheduler", "tcp://x:1"], "--scheduler needs --engine dask"),
        (["--engine", "dask", "--workers", 2, "--scheduler", "x"], "give one of them"),
        (["--engine", "dask", "--passes", 2], "--passes is for one process"),
        (["--engine", "dask", "--checkpoint", "x"], "--checkpoint is for one process"),
        (["--engine", "dask", "--shuffle-buffer", 9], "--shuffle-buffer is for one process"),
    ],
)
def test_options_that_do_not_go_together(options: list[object], words: str, source: Path) -> None:
    assert words in fails("train", source, "-m", "x.polyak", *options, code=2)


def test_standard_input_is_out_of_reach() -> None:
    assert "name files" in fails("train", "-", "-m", "x", "--engine", "dask", code=2)


def test_one_process_does_not_wait_for_dask(source: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom polyak.cli import main\n"
        f"try: main(['train', {str(source)!r}, '-q', '-m', {str(tmp_path / 'm.polyak')!r}])\n"
        "finally: print(*{'dask', 'distributed'} & sys.modules.keys(), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == ""

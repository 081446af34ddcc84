"""``polyak train``, run as a user would."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import fails, polyak, rows_of_text, write

from polyak import ASGDClassifier, ASGDRegressor
from polyak.cli.commands.train import _job, parser
from polyak.data.open import open_stream
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.model.linear import LinearModel
from polyak.model.training_report import Rate
from polyak.training.job import MEMORY, Job


@pytest.mark.parametrize("recipe", ["paper", "auto"])
def test_learns_what_the_library_learns(train_file: Path, tmp_path: Path, recipe: str) -> None:
    options = ("--loss", "log_loss", "--recipe", recipe, "--order", "as-is")
    polyak("train", train_file, "--model", tmp_path / "m.polyak", *options)
    learner = Learner(Recipe(loss="log_loss", recipe=recipe))
    for batch in open_stream(str(train_file)):
        learner.learn(batch.rows, batch.targets)
    model = LinearModel.load(tmp_path / "m.polyak")
    np.testing.assert_array_equal(model.weights, learner.model().weights)
    np.testing.assert_array_equal(model.intercept, learner.model().intercept)
    assert model.report.rows == 4000
    assert model.features.first_id == 1


def test_prints_lines_as_the_rows_double_and_a_summary(train_file: Path, tmp_path: Path) -> None:
    done = polyak(
        *("train", train_file, "--model", tmp_path / "m", "--recipe", "sgd"),
        *("--order", "as-is", "--block-bytes", 10000, "--no-progress"),
    )
    first, *lines = done.stderr.splitlines()
    assert first.endswith("2 classes, -1 and 1: the loss is log_loss (--loss sets another)")
    assert lines[0].split() == ["recent", "overall", "recent", "overall"]
    assert lines[1].split()[0] == "rows"
    rows = [int(line.split()[0].replace(",", "")) for line in lines[2:]]
    assert rows[-1] == 4000
    assert all(1000 * 2**i <= n < 1150 * 2**i for i, n in enumerate(rows[:-1]))
    summary = dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines())
    assert summary["rows"] == "4,000"
    assert float(summary["error rate since first row"]) < 0.2
    needed = LinearModel.load(tmp_path / "m").report.rows_needed.rows
    assert f"averaging pays after about {needed:,} rows" in " ".join(done.stdout.split())


def test_large_numbers_stand_below_their_heads(tmp_path: Path) -> None:
    rows = "".join(f"{n * n % 977 * 1000} 1:{n % 7}\n" for n in range(1500))
    source = tmp_path / "large.svm"
    source.write_text(rows)
    done = polyak("train", source, "--loss", "squared_error", "-m", tmp_path / "m")
    lines = done.stderr.splitlines()
    heads = next(n for n, line in enumerate(lines) if "rows/s" in line)
    assert len(lines) > heads + 1
    assert {len(line) for line in lines[heads:]} == {len(lines[heads])}


def test_json_is_one_object_and_nothing_else(
    train_file: Path, test_file: Path, tmp_path: Path
) -> None:
    done = polyak("train", train_file, "--model", tmp_path / "m", "--json", "--test", test_file)
    found = json.loads(done.stdout)
    assert done.stderr == ""
    assert found["rows"] == 4000
    assert found["test"]["rows"] == 1000
    assert found["test"]["error"] < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("source", ["a9a", "rcv1"])
def test_real_files(real_data: Path, tmp_path: Path, source: str) -> None:
    train, test = (real_data / f"{source}.{part}.svm.gz" for part in ("train", "test"))
    if not train.exists():
        pytest.skip(f"{train} is not there")
    if not test.exists() or source == "rcv1":
        test = train
    done = polyak("train", train, "--model", tmp_path / "m", "--json", "--test", test)
    assert json.loads(done.stdout)["test"]["error"] < 0.16


def test_one_file_several_files_a_pattern_a_pipe_and_gz_are_the_same(
    train_file: Path, tmp_path: Path
) -> None:
    text = train_file.read_text()
    lines = text.splitlines(keepends=True)
    for i in range(3):
        write(tmp_path / f"part-{i}.svm", "".join(lines[i * 1500 : (i + 1) * 1500]))
    (tmp_path / "all.svm.gz").write_bytes(gzip.compress(text.encode()))
    sources = {
        "file": [train_file],
        "files": [tmp_path / f"part-{i}.svm" for i in range(3)],
        "pattern": [tmp_path / "part-*.svm"],
        "pipe": ["-"],
        "gz": [tmp_path / "all.svm.gz"],
    }
    models = []
    for name, source in sources.items():
        given = {"input": text} if name == "pipe" else {}
        polyak("train", *source, "--order", "as-is", "-q", "--model", tmp_path / name, **given)
        models.append((tmp_path / name).read_bytes())
    assert len(set(models)) == 1


def test_threads_and_block_size_leave_no_trace(train_file: Path, tmp_path: Path) -> None:
    models = []
    for options in [("--threads", 1), ("--threads", 3), ("--block-bytes", 999)]:
        polyak("train", train_file, "-q", "--model", tmp_path / "m", *options)
        models.append((tmp_path / "m").read_bytes())
    assert len(set(models)) == 1


def test_options_reach_the_learner(train_file: Path, tmp_path: Path) -> None:
    options = "--recipe paper --alpha 0.001 --eta0 0.01 --decay 0.1 --power 0.5 --average 50 "
    options += "--step implicit --precondition 0.25 --no-intercept --seed 7 --n-features 200"
    polyak("train", train_file, "-q", "--model", tmp_path / "m", *options.split())
    model = LinearModel.load(tmp_path / "m")
    assert model.report.winner.alpha == 0.001
    assert model.report.winner.schedule == Rate(gamma0=0.01, a=0.1, c=0.5)
    assert model.report.average_start == (50,)
    assert model.report.winner.step == "implicit"
    assert model.report.winner.precondition == 0.25
    assert model.report.recipe["seed"] == 7
    assert model.n_features == 200
    assert model.intercept[0] == 0


def test_passes_read_the_source_again(train_file: Path, test_file: Path, tmp_path: Path) -> None:
    command = ("train", train_file, "--recipe", "sgd", "--order", "as-is", "--json")
    command += ("--model", tmp_path / "m", "--test", test_file)
    once = json.loads(polyak(*command).stdout)
    thrice = json.loads(polyak(*command, "--passes", 3).stdout)
    assert thrice["rows"] == 3 * once["rows"]
    assert thrice["test"]["loss"] < once["test"]["loss"]
    assert thrice["progressive_loss"] == once["progressive_loss"]  # known rows prove nothing
    assert LinearModel.load(tmp_path / "m").report.passes == 3


def test_several_classes_and_named_ones(tmp_path: Path) -> None:
    source = write(tmp_path / "three.svm", rows_of_text(1500, labels=(1, 2, 5)))
    done = polyak("train", source, "--model", tmp_path / "m", "--json", "--test", source)
    assert json.loads(done.stdout)["test"]["error"] < 0.25
    np.testing.assert_array_equal(LinearModel.load(tmp_path / "m").classes, [1, 2, 5])
    polyak("train", source, "-q", "--model", tmp_path / "m", "--classes", "7,5,2,1")
    np.testing.assert_array_equal(LinearModel.load(tmp_path / "m").classes, [1, 2, 5, 7])


def test_skipped_lines_are_counted_and_the_first_reported(tmp_path: Path) -> None:
    source = write(tmp_path / "bad.svm", rows_of_text(3000, bad=100))
    message = fails("train", source, "--model", tmp_path / "m")
    assert f"{source}, line 100: " in message
    assert "3:x" in message
    assert not (tmp_path / "m").exists()
    done = polyak("train", source, "--model", tmp_path / "m", "--skip-bad-lines")
    skipped = [line for line in done.stderr.splitlines() if "skipped" in line]
    assert len(skipped) == 11
    assert f"{source}, line 100: " in skipped[0]
    assert "20 more" in skipped[-1]
    assert "bad lines" in done.stdout
    assert LinearModel.load(tmp_path / "m").report.bad_lines == 30


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["train"],
        ["train", "x.svm"],
        ["train", "x.svm", "--model", "m", "--loss", "cubic"],
        ["train", "x.svm", "--model", "m", "--alpha", "much"],
        ["train", "x.svm", "--model", "m", "--alpha", "-1"],
        ["train", "x.svm", "--model", "m", "--passes", "0"],
        ["train", "-", "--model", "m", "--passes", "2"],
        ["train", "x.svm", "--model", "m", "--checkpoint-every", "often"],
        ["train", "x.svm", "--model", "m", "--classes", "1"],
        ["train", "x.svm", "--model", "m", "--frobnicate"],
        ["frobnicate"],
        ["predict", "m"],
        ["inspect"],
        ["inspect", "m", "--top", "-1"],
    ],
)
def test_wrong_usage_is_exit_code_two(arguments: list[str], tmp_path: Path) -> None:
    polyak(*arguments, code=2, cwd=tmp_path)


def test_help_and_version() -> None:
    assert "train" in polyak("--help").stdout
    assert "--checkpoint" in polyak("train", "--help").stdout
    assert polyak("--version").stdout.startswith("polyak 0.")


def test_training_needs_numpy_and_the_core_alone(train_file: Path, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from polyak.cli import main\n"
        f"try: main(['train', {str(train_file)!r}, '-q', '--model', {str(tmp_path / 'm')!r}])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'scipy', 'sklearn', 'matplotlib', 'pandas', 'pyarrow', 'rich', 'typer',\n"
        "         'numpy.ma', 'inspect.never', 'polyak.training.checkpoint',\n"
        "         'polyak.model.schema', 'polyak.data.readahead'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_only_a_process_of_its_own_collects_rarely(train_file: Path, tmp_path: Path) -> None:
    code = (
        "import atexit, gc, sys\n"
        "before, frozen = gc.get_threshold(), gc.get_freeze_count()\n"  # 3.12 begins with a few
        "as_before = lambda: (gc.get_threshold() == before, gc.get_freeze_count() <= frozen)\n"
        "atexit.register(lambda: print(*as_before()))\n"
        "from polyak.cli import main\n"
        f"words = ['train', {str(train_file)!r}, '-q', '--model', {str(tmp_path / 'm')!r}]\n"
    )
    calls = {"main(words)": "True True", "sys.argv[1:] = words; main()": "False False"}
    for call, as_it_was in calls.items():
        done = subprocess.run(
            [sys.executable, "-c", f"{code}{call}"], check=True, capture_output=True, text=True
        )
        assert done.stdout.splitlines()[-1] == as_it_was


def test_defaults_are_those_of_python() -> None:
    """The command, the estimators and `Job` learn alike unless an option says otherwise."""
    job = _job(parser().parse_args(["rows.svm", "-m", "m"]))
    assert job.recipe == Recipe()
    assert (job.order, job.memory, job.passes) == (Job(source="x").order, MEMORY, None)
    for estimator in (ASGDClassifier, ASGDRegressor):
        for name, value in estimator().get_params().items():
            if name in Recipe.__slots__ and not (name == "loss" and estimator is ASGDRegressor):
                assert value == getattr(Recipe(), name), (estimator, name)

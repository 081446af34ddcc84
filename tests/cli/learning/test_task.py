"""Classes or numbers: without ``--loss``, the target decides, in every format alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import fails, polyak, write
from tests.in_process import polyak as command

from polyak.model.linear import LinearModel

ROWS = 200
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(ROWS, 2)).round(3).tolist()
TARGETS: dict[str, tuple[list[Any], str, str]] = {
    "two numbers": ([(-1, 1)[i % 2] for i in range(ROWS)], "log_loss", "2 classes, -1 and 1"),
    "digits": ([i % 10 for i in range(ROWS)], "log_loss", "10 classes, 0, 1, 2, 3, 4, …"),
    "counts": ([i % 47 for i in range(ROWS)], "squared_error", "numbers from 0 to 46"),
    "fractions": ([0.5 * (i % 2) for i in range(ROWS)], "squared_error", "numbers from 0 to 0.5"),
}


def svmlight(targets: list[Any]) -> str:
    return "".join(f"{y} 1:{a} 2:{b}\n" for y, (a, b) in zip(targets, X, strict=True))


def vw(targets: list[Any]) -> str:
    return "".join(f"{y} | a:{a} b:{b}\n" for y, (a, b) in zip(targets, X, strict=True))


def csv(targets: list[Any]) -> str:
    rows = "".join(f"{a},{b},{y}\n" for y, (a, b) in zip(targets, X, strict=True))
    return "a,b,y\n" + rows


def jsonl(targets: list[Any]) -> str:
    rows = zip(targets, X, strict=True)
    return "".join(json.dumps({"a": a, "b": b, "y": y}) + "\n" for y, (a, b) in rows)


WRITERS = {"t.svm": svmlight, "t.vw": vw, "t.csv": csv, "t.jsonl": jsonl}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("target", TARGETS)
def test_the_target_decides(name: str, target: str, tmp_path: Path) -> None:
    targets, loss, words = TARGETS[target]
    path = write(tmp_path / name, WRITERS[name](targets))
    column = ["--target", "y"] if name in ("t.csv", "t.jsonl") else []
    options = ("-m", tmp_path / "m", "--recipe", "sgd")
    first = command("train", path, *column, *options).stderr.splitlines()[0]
    advice = "--loss poisson is for counts" if target == "counts" else "--loss sets another"
    assert f"has {words}: the loss is {loss} ({advice})" in first
    assert LinearModel.load(tmp_path / "m").loss == loss


@pytest.mark.parametrize("words", [("no", "yes"), ("true", "false"), ("a", "b")])
def test_words_and_truths_are_classes(words: tuple[str, str], tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", csv([words[i % 2] for i in range(ROWS)]))
    command("train", path, "--target", "y", "-m", tmp_path / "m", "--recipe", "sgd")
    model = LinearModel.load(tmp_path / "m")
    assert model.loss == "log_loss"
    assert model.classes is not None


def test_fractions_are_classes_if_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", csv(TARGETS["fractions"][0]))
    train = ["train", path, "--target", "y", "-m", tmp_path / "m", "--recipe", "sgd"]
    for how in (["--loss", "log_loss"], ["--classes", "0,0.5"]):
        command(*train, *how)
        assert LinearModel.load(tmp_path / "m").classes.tolist() == [0.0, 0.5]  # type: ignore[union-attr]


def test_a_pipe_is_looked_at_and_still_read_whole(tmp_path: Path) -> None:
    text = csv(TARGETS["fractions"][0])
    done = polyak(
        *("train", "-", "--target", "y", "-m", tmp_path / "m", "--recipe", "sgd"), input=text
    )
    assert "the loss is squared_error" in done.stderr.splitlines()[0]
    assert LinearModel.load(tmp_path / "m").report.rows == ROWS  # type: ignore[union-attr]
    write(tmp_path / "t.csv", text)
    as_is = ("--order", "as-is", "--recipe", "sgd")
    polyak("train", tmp_path / "t.csv", "--target=y", "-m", tmp_path / "n", *as_is)
    one, other = (LinearModel.load(tmp_path / name).weights for name in "mn")
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("from_pipe", [False, True])
@pytest.mark.parametrize(
    ("option", "cell", "says"),
    [
        ("--weight", "-1", "the weight is -1"),
        ("--offset", "", "the offset is missing"),
    ],
)
def test_a_bad_first_row_is_told_as_it_is(
    option: str, cell: str, says: str, from_pipe: bool, tmp_path: Path
) -> None:
    rows = [f"{a},{b},{cell if row == 5 else 1}" for row, (a, b) in enumerate(X)]
    path = write(tmp_path / "t.csv", "\n".join(["a,y,c", *rows, ""]))
    train = ("train", "-" if from_pipe else path, "--target", "y", "-m", tmp_path / "m")
    more = {"input": path.read_text()} if from_pipe else {}
    said = fails(*train, option, "c", **more)
    assert said.endswith(f"{'standard input' if from_pipe else path.name}, line 7: {says}")


def test_no_readable_row_is_one_sentence(tmp_path: Path) -> None:
    path = write(tmp_path / "t.svm", "one two\nthree four\n")
    assert "t.svm, line 1" in fails("train", path, "-m", tmp_path / "m")


@pytest.mark.parametrize("order", ["auto", "as-is"])
def test_one_unreadable_target_among_numbers(order: str, tmp_path: Path) -> None:
    numbers = [a for a, _ in X]
    path = write(tmp_path / "t.csv", csv([*numbers[:7], "oops", *numbers[8:]]))
    train = ("train", path, "--target", "y", "-m", tmp_path / "m", "--order", order)
    said = polyak(*train, code=1).stderr
    assert "the target column y of " in said
    assert "t.csv is read as classes because of 'oops' in row 8, though nearly all of it" in said
    assert "different labels in 200 rows, such as oops" in said
    assert "name all of them with --classes" in said
    assert "left out 1 rows whose y is missing" in polyak(*train, "--missing", "oops").stderr
    assert LinearModel.load(tmp_path / "m").loss == "squared_error"


@pytest.mark.parametrize(
    ("rows", "classes", "is_taken"),
    [(20, 3, True), (60, 20, True), (60, 21, False), (300, 30, True), (300, 31, False)],
)
def test_more_classes_than_a_tenth_of_the_rows_are_named(
    rows: int, classes: int, is_taken: bool, tmp_path: Path
) -> None:
    labels = [f"k{row % classes}" for row in range(rows)]
    text = "".join(f"{a},{y}\n" for (a, _), y in zip(2 * X, labels, strict=False))
    path = write(tmp_path / "t.csv", "a,y\n" + text)
    train = ("train", path, "--target", "y", "-m", tmp_path / "m", "-q", "--recipe", "sgd")
    if not is_taken:
        said = fails(*train)
        assert (
            f"has {classes} different labels in {rows} rows, such as k9: is it the right one; if"
            in said
        )
    known = () if is_taken else ("--classes", ",".join(sorted(set(labels))))
    polyak(*train, *known)
    assert len(LinearModel.load(tmp_path / "m").classes) == classes  # type: ignore[arg-type]


@pytest.mark.parametrize("order", ["auto", "as-is"])
def test_many_numbers_are_classes_if_they_are_named(order: str, tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,y\n" + "".join(f"{i % 7},{i % 120}\n" for i in range(1200)))
    train = ("train", path, "--target", "y", "-m", tmp_path / "m", "-q", "--order", order)
    log_loss = ("--loss", "log_loss", "--recipe", "sgd")
    assert "too many for classes" in fails(*train, *log_loss)
    polyak(*train, *log_loss, "--classes", ",".join(map(str, range(120))))
    assert len(LinearModel.load(tmp_path / "m").classes) == 120  # type: ignore[arg-type]

"""What messages advise can be pasted: it is quoted, is known to the command, and helps."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from commands import fails, polyak, write

from polyak import ASGDRegressor
from polyak.cli.commands import command_module

NUMBERS = np.random.default_rng(0).random(1200).round(4).tolist()
TARGET = ["--target", "y", "--loss", "squared_error"]


class Case(NamedTuple):
    """A source that a command complains about, and the option that it is to advise."""

    make: Callable[[Path], Path]
    advised: str
    options: tuple[str, ...] = tuple(TARGET)


def table(folder: Path, name: str, words: list[str], delimiter: str = ",") -> Path:
    """Write a column of numbers among which are words, beside a target."""
    column = [*map(str, NUMBERS[: 1200 - len(words)]), *words]
    lines = [f'"{x}"{delimiter}{y}' for x, y in zip(column, NUMBERS, strict=True)]
    head = f'"{name}"{delimiter}y'
    return write(folder / "t.csv", "\n".join([head, *lines]) + "\n")


def among_the_first(word: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        lines = [f'"{word if n % 50 == 3 else x}",{x}' for n, x in enumerate(NUMBERS)]
        return write(folder / "t.csv", "\n".join(["a,y", *lines]) + "\n")

    return make


def counted(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        lines = [
            f"{n},{x},{y}" for n, (x, y) in enumerate(zip(NUMBERS, NUMBERS[::-1], strict=False))
        ]
        return write(folder / "t.csv", "\n".join([f'"{name}",x,y', *lines]) + "\n")

    return make


def in_cp1252(folder: Path) -> Path:
    path = folder / "t.csv"
    path.write_bytes(b"ort,y\n" + "".join(f"Köln €,{x}\n" for x in NUMBERS).encode("cp1252"))
    return path


def header_in_cp1252(folder: Path) -> Path:
    path = folder / "t.csv"
    path.write_bytes("größe,y\n".encode("cp1252") + "".join(f"{x},{x}\n" for x in NUMBERS).encode())
    return path


def without_header(folder: Path) -> Path:
    return write(
        folder / "t.csv",
        "".join(f"{x},{y}\n" for x, y in zip(NUMBERS, NUMBERS[::-1], strict=False)),
    )


def unsure_dates(folder: Path) -> Path:
    lines = (f"0{n % 9 + 1}/0{n % 9 + 1}/2020,{x}\n" for n, x in enumerate(NUMBERS))
    return write(folder / "t.csv", "day,y\n" + "".join(lines))


def odd_dates(folder: Path) -> Path:
    days = pd.date_range("2020-01-01", periods=len(NUMBERS))
    lines = [f"{day.date()},{x}\n" for day, x in zip(days, NUMBERS, strict=True)]
    return write(folder / "t.csv", "the day,y\n" + "".join(lines) + "soon,1\n")


CASES = {
    "a symbol of the shell among numbers": Case(among_the_first(">100"), "--missing '>100'"),
    "two words among numbers": Case(among_the_first("not known"), "--missing 'not known'"),
    "a word that looks like an option": Case(among_the_first("--none"), "--missing=--none"),
    "a word further down": Case(lambda f: table(f, "a", ["unknown"]), "--missing unknown"),
    "a quotation mark further down": Case(
        lambda f: table(f, "a", ["it's"]), "--missing 'it'\"'\"'s'"
    ),
    "decimal commas": Case(
        lambda f: write(
            f / "t.csv",
            "a;y\n" + "".join(f"1.{n % 997:03},5;{n % 5},25\n" for n in range(1200)) + "many;1\n",
        ),
        "--missing many",
    ),
    "an index": Case(counted("the id"), "--drop 'the id'"),
    "words in cp1252": Case(in_cp1252, "--encoding cp1252"),
    "a header in cp1252": Case(header_in_cp1252, "--encoding cp1252"),
    "no header": Case(without_header, "--no-header", ("--target", "column_2", *TARGET[2:])),
    "dates of two kinds": Case(unsure_dates, "--dates d/m/y"),
    "a word among dates": Case(odd_dates, "--missing soon"),
}


def said_by(*words: Any) -> tuple[int, str]:
    """Run a command, whatever comes of it; return its exit code and what it says."""
    for code in (0, 1):
        try:
            return code, polyak(*words, code=code).stderr
        except AssertionError as error:
            if "exit code" not in str(error):
                raise
    raise AssertionError(words)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_advice_can_be_pasted(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    words = ["train", str(case.make(tmp_path)), *case.options, "-m", str(tmp_path / "m")]
    _, said = said_by(*words)
    assert case.advised in said
    pasted = [*words, *shlex.split(case.advised)]
    command_module("train").parser().parse_intermixed_args(pasted[1:])
    code, said_now = said_by(*pasted)
    assert (code, case.advised in said_now) == (0, False), said_now


@pytest.mark.parametrize("name", ["a, b", ""])
def test_a_column_that_no_option_can_name_is_not_named(name: str, tmp_path: Path) -> None:
    """Options that take several names take commas for their ends, and skip empty ones."""
    path = table(tmp_path, name, ["x"])
    said = polyak("train", path, *TARGET, "--recipe", "sgd", "-m", tmp_path / "m", "-q").stderr
    assert "--missing x" in said
    assert "--categorical" not in said


def test_only_options_of_the_command_are_advised(tmp_path: Path) -> None:
    """Whether a column is of words was decided in training."""
    train = table(tmp_path, "a", [])
    polyak("train", train, *TARGET, "-m", tmp_path / "m", "-q")
    path = table(tmp_path, "a", ["x"])
    said = polyak("predict", tmp_path / "m", path, "-o", tmp_path / "p.csv").stderr
    assert "'x' in column a, which was a number so far, is read as missing" in said
    assert "categorical" not in said
    polyak("predict", tmp_path / "m", path, "--missing", "x", "-o", tmp_path / "p.csv")
    several = write(tmp_path / "t.svm", "1,2 1:1\n")
    polyak("train", write(tmp_path / "u.svm", "1 1:1\n2 2:1\n" * 20), "-m", tmp_path / "n", "-q")
    said = fails("evaluate", tmp_path / "n", several)
    assert "several labels are for models that learn them" in said
    assert "multilabel" not in said


def test_settings_are_called_as_the_options_are(tmp_path: Path, train_file: Path) -> None:
    for option, name in (("--non-negative",) * 2, ("--penalty=l1", "--penalty l1")):
        how = ["train", train_file, "-m", tmp_path / "m", option, "--recipe", "paper", "-q"]
        assert f"{name} needs --recipe auto, not 'paper'" in fails(*how, code=2)


@pytest.mark.parametrize("kind", ["unsure", "a word", "a disguised word"])
def test_estimators_do_not_advise_options_of_files(kind: str) -> None:
    days = [str(day.date()) for day in pd.date_range("2020-01-01", periods=1200)]
    said = "because of 'soon', though nearly all of it is numbers or dates"
    if kind != "a word":
        days = [f"0{n % 9 + 1}/0{n % 9 + 1}/20{n % 90 + 10}" for n in range(1200)]
    if kind == "unsure":
        said = "could also be d/m/y"
    else:
        days[1100] = "soon"
    frame = pd.DataFrame({"day": days, "city": ["oslo", "rome"] * 600})
    with pytest.warns(UserWarning, match=said) as warned:
        ASGDRegressor(random_state=0).fit(frame, NUMBERS)
    assert re.search(r"--|\w=", str(warned[0].message)) is None

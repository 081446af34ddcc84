"""``polyak predict`` of svmlight text, plain and compressed, with and without bad lines."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import numpy as np
import pytest
from commands import POLYAK, fails, polyak

from polyak.data.text import SCORED_BYTES

LINES = 90_000
"""More than a block of text has, so that some are written before a bad one comes."""


def rows(classes: int, first_id: int = 1, count: int = 3000) -> str:
    """Write rows whose first features tell the class, or a number if there are no classes."""
    random = np.random.default_rng(classes)
    lines = []
    for values in random.normal(size=(count, 5)).round(4).tolist():
        best = int(np.argmax(values[:classes])) if classes else sum(values)
        pairs = " ".join(f"{first_id + j}:{value}" for j, value in enumerate(values))
        lines.append(f"{best} {pairs} {first_id + 20}:1\n")
    return "".join(lines)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a model of two classes, one a softmax of three, one of numbers, one from 0 on."""
    folder = tmp_path_factory.mktemp("straight")
    texts = {"two": rows(2), "three": rows(3), "number": rows(0), "zero": rows(2, first_id=0)}
    for name, text in texts.items():
        (folder / f"{name}.svm").write_text(text)
        (folder / f"{name}.svm.gz").write_bytes(gzip.compress(text.encode()))
        loss = "squared_error" if name == "number" else "log_loss"
        polyak("train", folder / f"{name}.svm", "-m", folder / name, "-q", "--loss", loss)
    return folder


def predicted(*words: object) -> str:
    return polyak("predict", *words).stdout


@pytest.mark.parametrize("what", ["labels", "scores"])
@pytest.mark.parametrize("name", ["two", "three", "number", "zero"])
def test_the_same_lines(name: str, what: str, folder: Path, tmp_path: Path) -> None:
    lines = predicted(folder / name, folder / f"{name}.svm.gz", "--what", what)
    command = (folder / name, folder / f"{name}.svm", "--what", what)
    assert predicted(*command) == lines
    assert predicted(*command, "-o", tmp_path / "lines.txt") == ""
    assert (tmp_path / "lines.txt").read_text() == lines


def test_a_file_name_without_a_suffix(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes((folder / "two.svm").read_bytes())
    expected = predicted(folder / "two", folder / "two.svm")
    assert predicted(folder / "two", tmp_path / "rows") == expected


def test_ids_begin_where_those_of_the_model_did(folder: Path, tmp_path: Path) -> None:
    """Text without a feature 0 looks as if its ids began at 1."""
    text = "".join(line.replace(" 0:", " 5:1 6:") for line in rows(2, 0, 9).splitlines(True))
    text = "".join(" ".join(sorted(line.split(), key=place)) + "\n" for line in text.splitlines())
    (tmp_path / "late.svm").write_text(text)
    command = (folder / "zero", tmp_path / "late.svm", "--what", "scores")
    scores = predicted(*command, "--zero-based")
    assert predicted(*command) == scores
    assert predicted(*command, "--one-based") != scores


def place(word: str) -> int:
    """Return the sort key of a word of a row: its feature id, the label first."""
    return int(word.split(":")[0]) if ":" in word else -1


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write text with an unreadable line in its last block."""
    path = tmp_path_factory.mktemp("bad") / "bad.svm"
    lines = rows(2).splitlines(keepends=True) * (LINES // 3000)
    lines[LINES - 10] = "1 one:2\n"
    path.write_text("".join(lines))
    assert path.stat().st_size > SCORED_BYTES
    (path.parent / "bad.svm.gz").write_bytes(gzip.compress(path.read_bytes(), 1))
    return path


class TestBadLines:
    def test_are_named_after_the_lines_before_them(self, folder: Path, bad: Path) -> None:
        plain = polyak("predict", folder / "two", bad, "--what", "scores", code=1)
        packed = polyak("predict", folder / "two", f"{bad}.gz", "--what", "scores", code=1)
        assert plain.stderr == packed.stderr.replace(".gz", "")
        assert f"line {LINES - 9}" in plain.stderr
        assert plain.stdout == packed.stdout
        assert len(plain.stdout) > 100_000

    def test_alone_in_a_block(self, folder: Path, tmp_path: Path) -> None:
        first = rows(2) * (SCORED_BYTES // len(rows(2)) + 1)
        first = first[: first.rindex("\n", 0, SCORED_BYTES) + 1]
        bad = f"1 one:{'2' * 1000}\n"
        count = SCORED_BYTES // len(bad) + 1
        (tmp_path / "bad.svm").write_text(first + bad * count + rows(2, count=10))
        done = polyak("predict", folder / "two", tmp_path / "bad.svm", "--skip-bad-lines")
        lines = done.stdout.splitlines()
        begin = first.count("\n")
        assert all(lines[:begin])
        assert lines[begin:-10] == [""] * count
        assert all(lines[-10:])

    def test_leave_a_file_as_it_was(self, folder: Path, bad: Path, tmp_path: Path) -> None:
        lines = tmp_path / "lines.txt"
        lines.write_text("before")
        assert f"line {LINES - 9}" in fails("predict", folder / "two", bad, "-o", lines)
        assert lines.read_text() == "before"
        assert list(tmp_path.iterdir()) == [lines]


def test_errors_are_one_sentence(folder: Path, tmp_path: Path) -> None:
    source = folder / "two.svm"
    assert "--delimiter is for tables" in fails("predict", folder / "two", source, "--delimiter=;")
    assert "cannot be read" in fails("predict", tmp_path / "none", source)
    damaged = bytearray((folder / "two").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    assert "its checksum does not fit" in fails("predict", tmp_path / "damaged", source)
    (tmp_path / "words.svm").write_text("1 one:2\n")
    assert "line 1" in fails("predict", folder / "two", tmp_path / "words.svm")
    there = tmp_path / "no" / "lines.txt"
    assert "there is no folder" in fails("predict", folder / "two", source, "-o", there)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_tables_are_written_without_pandas(suffix: str, folder: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from polyak.cli import main\n"
        "try: main()\n"
        "finally: print(*{'pyarrow', 'pandas'} & sys.modules.keys())\n"
    )
    words = ["predict", folder / "two", folder / "two.svm", "-o", tmp_path / f"out{suffix}"]
    done = subprocess.run([POLYAK[0], "-c", program, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["pyarrow"]

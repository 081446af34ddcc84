"""Rows that come through a pipe: killed, a run goes on when the same rows come again."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from commands import POLYAK, fails, polyak, rows_of_text

from polyak.model.linear import LinearModel
from polyak.training.checkpoint import NEWEST

# The columns of tables are looked at in the first megabyte, so there has to be more: of long rows,
# since each takes its time to be learned.
ROWS = 18_000
KILLED_AFTER = 0.9
"""How much of the bytes comes before the pipe stalls and the run is killed."""
STEPS = ("--block-bytes", "20000", "--checkpoint-every", "2000", "-q")


def vw_text() -> str:
    random = np.random.default_rng(0)
    words = random.integers(0, 3000, size=(ROWS, 6))
    lines = []
    for number, row in enumerate(words.tolist()):
        label = 1 if row[0] % 2 else -1
        names = " ".join(f"word{word}" for word in row)
        lines.append(f"{label} |text {names} only{number // 100}")
    return "\n".join(lines) + "\n"


def table_rows() -> list[dict[str, object]]:
    random = np.random.default_rng(1)
    x = random.normal(size=(ROWS, 3))
    towns = [f"town number {town} " + "on the way " * 5 for town in range(150)]
    return [
        {"y": "up" if a + b > 0 else "down", "a": a, "b": b, "c": c, "town": towns[town]}
        for (a, b, c), town in zip(x.tolist(), random.integers(0, 150, size=ROWS), strict=True)
    ]


def delimited(delimiter: str) -> str:
    rows = table_rows()
    lines = [delimiter.join(rows[0])]
    lines += [delimiter.join(str(value) for value in row.values()) for row in rows]
    return "\n".join(lines) + "\n"


TEXTS: dict[str, Callable[[], str]] = {
    "svmlight": lambda: rows_of_text(ROWS),
    "vw": vw_text,
    "csv": lambda: delimited(","),
    "tsv": lambda: delimited("\t"),
    "jsonl": lambda: "".join(json.dumps(row) + "\n" for row in table_rows()),
}
OPTIONS: dict[str, tuple[str, ...]] = {
    "svmlight": (),
    "vw": ("--names", "1000"),
    **dict.fromkeys(("csv", "tsv", "jsonl"), ("--target", "y", "--names", "1000")),
}
COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": gzip.compress,
    "zst": zstandard.compress,
}


@pytest.fixture(scope="module")
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with rows of a format and the model of an uninterrupted run."""
    folder = tmp_path_factory.mktemp(request.param)
    format = request.param
    (folder / "rows").write_text(TEXTS[format]())
    command = ["train", folder / "rows", "--format", format, *OPTIONS[format], "-q"]
    command += ["--order", "as-is"]  # as rows of pipes come
    polyak(*command, "-m", folder / "model")
    if "--names" in OPTIONS[format]:
        assert len(LinearModel.load(folder / "model").features.names) > 100
    (folder / "format").write_text(format)
    return folder


@contextmanager
def standard_input(rows: Path, part: int | None, folder: Path) -> Iterator[tuple[str, list[str]]]:
    yield "-", ["sh", "-c", f'({feeding(rows, part)}) | "$@"', "sh"]


@contextmanager
def named_pipe(rows: Path, part: int | None, folder: Path) -> Iterator[tuple[str, list[str]]]:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen(
        ["sh", "-c", f"exec 3> {pipe}; {feeding(rows, part, '>&3')}"],
        start_new_session=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield str(pipe), []
    finally:
        os.killpg(writer.pid, signal.SIGKILL)
        writer.wait()
        pipe.unlink()  # what a child of the shell's, that is still dying, has written goes with it


def feeding(rows: Path, part: int | None, to: str = "") -> str:
    """Write shell words that give all rows, or a part of their bytes and then never an end."""
    if part is None:
        return f"cat {rows} {to}"
    return f"head -c {part} {rows} {to}; exec sleep 600 {to}"


def kill_in_the_middle(command: list[str], checkpoints: Path) -> None:
    """Kill a run and the process that feeds it, once it has written a checkpoint."""
    run = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while run.poll() is None and not (checkpoints / NEWEST).exists():
            time.sleep(0.002)
            assert time.monotonic() < deadline, "there is no checkpoint"
        assert run.poll() is None
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("whole", "way", "compression"),
    [
        ("svmlight", standard_input, "plain"),
        ("vw", standard_input, "gz"),
        ("csv", named_pipe, "plain"),
        ("tsv", standard_input, "zst"),
        ("jsonl", named_pipe, "gz"),
    ],
    indirect=["whole"],
)
def test_killed_and_fed_again(whole: Path, tmp_path: Path, way: Any, compression: str) -> None:
    rows = tmp_path / "rows"
    rows.write_bytes(COMPRESSED[compression]((whole / "rows").read_bytes()))
    format, checkpoints = (whole / "format").read_text(), tmp_path / "checkpoints"
    options = ["--format", format, *OPTIONS[format], *STEPS]
    options += ["--checkpoint", str(checkpoints), "-m", str(tmp_path / "model")]
    with way(rows, int(rows.stat().st_size * KILLED_AFTER), tmp_path) as (source, shell):
        kill_in_the_middle([*shell, *POLYAK, "train", source, *options], checkpoints)
    with way(rows, None, tmp_path) as (source, shell):
        done = subprocess.run(
            [*shell, *POLYAK, "train", source, *options],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "resumed at row" in done.stdout
    assert (tmp_path / "model").read_bytes() == (whole / "model").read_bytes()


@pytest.mark.slow
def test_bash_hands_a_pipe_over(tmp_path: Path) -> None:
    """As in ``polyak train <(command)``."""
    rows = tmp_path / "rows"
    rows.write_text(delimited(","))
    options = f"--format csv --target y {' '.join(STEPS)} --checkpoint {tmp_path / 'checkpoints'}"
    train = f"exec {' '.join(POLYAK)} train {options} -m"
    as_is = ("--order", "as-is", "-q", "-m", tmp_path / "whole")
    polyak("train", rows, "--format", "csv", "--target", "y", *as_is)
    part = feeding(rows, int(rows.stat().st_size * KILLED_AFTER))
    killed = ["bash", "-c", f"{train} {tmp_path / 'model'} <({part})"]
    kill_in_the_middle(killed, tmp_path / "checkpoints")
    again = ["bash", "-c", f"{train} {tmp_path / 'model'} <({feeding(rows, None)})"]
    done = subprocess.run(again, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "resumed at row" in done.stdout
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()


def test_other_rows_in_the_pipe_are_refused(tmp_path: Path) -> None:
    rows, other = tmp_path / "rows", tmp_path / "other"
    rows.write_text(rows_of_text(6000))
    other.write_text(rows_of_text(6000, seed=1))
    command = [*POLYAK, "train", str(tmp_path / "pipe"), *STEPS, "-m", str(tmp_path / "model")]
    command += ["--checkpoint", str(tmp_path / "checkpoints")]
    with named_pipe(rows, int(rows.stat().st_size * KILLED_AFTER), tmp_path):
        kill_in_the_middle(command, tmp_path / "checkpoints")
    with named_pipe(other, None, tmp_path):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "is a checkpoint of other data" in done.stderr


@pytest.mark.parametrize("named", [["rows.svm"], ["first.svm", "rows.svm"], ["rows.*"]])
def test_what_can_be_read_once_only_is_refused_before_a_second_pass_waits_for_it(
    named: list[str], tmp_path: Path
) -> None:
    # The pipe has no writer, so opening it blocks forever.
    os.mkfifo(tmp_path / "rows.svm")
    (tmp_path / "first.svm").write_text(rows_of_text(10))
    sources = [tmp_path / name for name in named]
    said = fails("train", *sources, "-m", tmp_path / "m", "--passes", 2, code=2)
    assert f"{tmp_path / 'rows.svm'} can be read once only; passes needs one" in said

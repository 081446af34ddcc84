"""A feature whose id is far beyond the rest is refused where its weights would find no room."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="asks Linux for the memory there is"
)
ROOM = 4 << 30
FAR = 2_000_000_000


def train(*arguments: object, stdin: bytes = b"") -> str:
    command = [sys.executable, "-m", "polyak", "train", *map(str, arguments), "--quiet"]
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM)),
    )
    return done.stderr.decode()


def rows(n: int) -> str:
    return "".join(f"{'-1' if i % 2 else '+1'} 1:{i % 7} 2:0.5\n# nothing\n" for i in range(n))


@pytest.mark.parametrize(
    ("before", "far"),
    [(3, FAR), (5000, 1 << 25)],
    ids=["among the first rows", "later, where the weights alone would fit"],
)
def test_the_file_the_line_the_id_and_the_option_are_named(
    tmp_path: Path, before: int, far: int
) -> None:
    first, path = tmp_path / "a.svm", tmp_path / "b.svm"
    first.write_text(rows(40))
    path.write_text(rows(before) + f"+1 1:1 {far}:1\n" + rows(2000 if before > 3 else 10))
    said = train(first, path, "-m", tmp_path / "m", "--block-bytes", 20_000)
    line = 2 * before + 1
    assert f"{path}, line {line}, feature {far}: the weights of {far} features would take" in said
    assert "--n-features N refuses ids beyond N" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_from_a_pipe_there_is_still_a_sentence(tmp_path: Path) -> None:
    text = rows(3000) + f"+1 1:1 {FAR}:1\n"
    said = train("-", "-m", tmp_path / "m", stdin=text.encode())
    assert f"standard input: the weights of {FAR} features would take" in said
    assert "--n-features N" in said


def test_with_the_option_the_line_can_be_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text(rows(3000) + f"+1 1:1 {FAR}:1\n")
    said = train(path, "-m", tmp_path / "m", "--n-features", 10, "--skip-bad-lines")
    assert "line 6001: " in said
    assert (tmp_path / "m").exists()

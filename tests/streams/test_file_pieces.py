"""Files are read in pieces of a quarter of a megabyte: where one ends must leave no trace."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from reading import assert_same, read_all

from polyak.streams import open_stream

PIECE = 1 << 18


def line(rng: np.random.Generator, size: int) -> bytes:
    """One row of exactly so many characters, its newline counted, that says something."""
    text = b"1" if rng.random() < 0.5 else b"-1"
    feature = 0
    while len(text) + 20 < size:
        feature += int(rng.integers(1, 9))
        text += b" %d:%.5f" % (feature, rng.uniform(0, 9))
    return text + b" " * (size - 1 - len(text)) + b"\n"


def sizes(rng: np.random.Generator, which: str) -> list[int]:
    if which == "short":
        return rng.integers(30, 300, 6000).tolist()
    if which == "a line longer than two pieces":
        return [100, 2 * PIECE + 777, 100, 50, PIECE, 100]
    if which == "lines that end where a piece ends":
        return [PIECE, PIECE - 64, 64, 64, PIECE - 64, PIECE]
    return [100] * 3000 + [PIECE // 2 + 1] * 5


@pytest.mark.parametrize(
    "which", ["short", "a line longer than two pieces", "lines that end where a piece ends", "both"]
)
@pytest.mark.parametrize("block_bytes", [1 << 17, PIECE, 3 * PIECE, 1 << 22])
@pytest.mark.parametrize("end", [b"", b"-1 3:0.25"])
def test_as_if_it_were_one(tmp_path: Path, which: str, block_bytes: int, end: bytes) -> None:
    rng = np.random.default_rng(7)
    text = b"".join(line(rng, size) for size in sizes(rng, which)) + end
    path = tmp_path / "rows.svm"
    path.write_bytes(text)
    options = {"block_bytes": block_bytes, "warn_if_sorted": False}
    for threads in (1, 3):
        assert_same(
            read_all(io.BytesIO(text), **options), read_all(str(path), **options, threads=threads)
        )


def test_a_bad_line_far_inside_a_block_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_bytes(b"1 1:0.5 2:0.25\n" * 60_000 + b"1 1:x\n" + b"1 1:0.5\n")
    with pytest.raises(ValueError, match=r"rows\.svm.*60,?001.*1:x"):
        read_all(str(path), warn_if_sorted=False)


def test_ids_from_zero_far_inside_the_first_block(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_bytes(b"1 1:0.5 2:0.25\n" * 60_000 + b"1 0:0.5\n")
    (batch,) = read_all(str(path), warn_if_sorted=False)
    assert batch.rows.indices[0] == 1
    assert batch.rows.indices[-1] == 0
    assert len(batch) == 60_001


def test_a_file_that_becomes_shorter_is_no_file_that_ends(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_bytes(b"1 1:0.5 2:0.25\n" * 200_000)
    with open_stream(str(path), block_bytes=10_000, threads=1, warn_if_sorted=False) as stream:
        next(stream)
        path.write_bytes(b"1 1:0.5\n")
        with pytest.raises(ValueError, match=r"rows\.svm became shorter while it was read"):
            list(stream)

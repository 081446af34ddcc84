"""Files are read in pieces of a quarter of a megabyte: where one ends must leave no trace."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from reading import assert_same, read_all

from polyak._core import SvmlightText
from polyak.data.open import open_stream
from polyak.data.options import Columns
from polyak.errors import DataError

PIECE = 1 << 18


def line(rng: np.random.Generator, size: int) -> bytes:
    """Return one row of exactly ``size`` bytes, including its newline, with random features."""
    text = bytearray(b"1" if rng.random() < 0.5 else b"-1")  # grows in place
    feature = 0
    while len(text) + 20 < size:
        feature += int(rng.integers(1, 9))
        text += b" %d:%.5f" % (feature, rng.uniform(0, 9))
    return bytes(text.ljust(size - 1) + b"\n")


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
@pytest.mark.parametrize(
    "block_bytes",
    [1 << 17, *(pytest.param(n, marks=pytest.mark.slow) for n in (PIECE, 3 * PIECE, 1 << 22))],
)
@pytest.mark.parametrize("end", [pytest.param(b"", marks=pytest.mark.slow), b"-1 3:0.25"])
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


LINE = b"1 1:0.5 2:0.25\n"


@pytest.mark.parametrize("threads", [0, 1, 2])
@pytest.mark.parametrize("suffix", ["svm", "vw", "csv", "jsonl"])
def test_a_file_cut_while_it_is_read_names_both_sizes(
    tmp_path: Path, suffix: str, threads: int
) -> None:
    line, columns = {
        "svm": (LINE, None),
        "vw": (b"1 | a:0.5 b:0.25\n", None),
        "csv": (b"1,0.5,0.25\n", Columns(target="y")),
        "jsonl": (b'{"y": 1, "a": 0.5}\n', Columns(target="y")),
    }[suffix]
    path = tmp_path / f"rows.{suffix}"
    path.write_bytes(b"y,a,b\n" * (suffix == "csv") + line * 400_000)
    size = path.stat().st_size
    options = {} if columns is None else {"columns": columns}
    with open_stream(
        str(path), block_bytes=100_000, threads=threads, warn_if_sorted=False, **options
    ) as stream:
        first = next(stream)
        kept = size - len(line) * 100_000  # ends with a line, as a file does
        os.truncate(path, kept)
        with pytest.raises(DataError) as caught:
            list(stream)
    assert len(first)
    assert f"rows.{suffix} became shorter while it was read" in str(caught.value)
    assert f"it had {size} bytes, and now has {kept}" in str(caught.value)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="asks Linux which files are open")
def test_a_block_cut_while_its_pieces_are_read_is_all_there_or_an_error(tmp_path: Path) -> None:
    # One block of many pieces: cut as soon as the reader has found the block's end and opened the
    # file a second time to read it. Should it be quicker than we are, it has read every row.
    path, rows, message = tmp_path / "rows.svm", 3_000_000, ""
    for _ in range(20):
        path.write_bytes(LINE * rows)
        size = path.stat().st_size
        how = {"block_bytes": 1 << 30, "longest_line": 1 << 30, "threads": 1, "head_start": 1}
        text = SvmlightText([str(path)], base=1, **how)
        while times_open(path) < 2:
            pass
        os.truncate(path, len(LINE) * 10)
        try:
            block = text.next()
        except RuntimeError as error:
            message = str(error)
            break
        assert block is not None
        assert len(block.targets) == rows
    assert f"it had {size} bytes, and now has {len(LINE) * 10}" in message


def times_open(path: Path) -> int:
    links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    return sum(os.path.exists(link) and os.path.samefile(link, path) for link in links)


@pytest.mark.parametrize("threads", [0, 1])
def test_what_is_added_while_a_file_is_read_is_left_for_another_time(
    tmp_path: Path, threads: int
) -> None:
    path = tmp_path / "rows.svm"
    path.write_bytes(LINE * 400_000)
    with open_stream(
        str(path), block_bytes=100_000, threads=threads, warn_if_sorted=False
    ) as stream:
        rows = len(next(stream))
        with path.open("ab") as file:
            file.write(LINE * 1000)
        assert rows + sum(len(batch) for batch in stream) == 400_000

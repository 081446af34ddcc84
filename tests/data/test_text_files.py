"""Plain text files are read ahead by threads of the core."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyak.data.open import open_stream
from polyak.errors import DataError

LINES = [b"%d %d:%.3f 7:1\n" % (i % 2, 1 + i % 5, i / 7) for i in range(5000)]


def read(source: Any, **options: Any) -> tuple[list[tuple[int, int]], Any, Any]:
    """Where every batch ended, the targets, and the values."""
    options = {"block_bytes": 1000, "threads": 2, "warn_if_sorted": False} | options
    ends, targets, values = [], [], []
    with open_stream(source, **options) as stream:
        for batch in stream:
            ends.append((stream.position["file"], stream.position["offset"]))
            targets.append(batch.targets)
            values.append(batch.rows.values)
    return ends, np.concatenate(targets), np.concatenate(values)


def assert_same(some: Any, others: Any) -> None:
    assert some[0] == others[0]
    np.testing.assert_array_equal(some[1], others[1])
    np.testing.assert_array_equal(some[2], others[2])


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., tuple[list[str], list[str]]]:
    """Write the same texts plainly, for the core to read, and compressed, for Python to."""

    def write(*texts: bytes) -> tuple[list[str], list[str]]:
        plain, packed = [], []
        for i, text in enumerate(texts):
            plain.append(str(tmp_path / f"{i}.svm"))
            packed.append(str(tmp_path / f"{i}.svm.gz"))
            Path(plain[-1]).write_bytes(text)
            Path(packed[-1]).write_bytes(gzip.compress(text, 1))
        return plain, packed

    return write


@pytest.mark.parametrize(
    "texts",
    [
        [b"".join(LINES)],
        [b"".join(LINES)[:-1]],  # the last line without its end
        [b"".join(LINES[:300]), b"", b"".join(LINES[300:900])],
        [b"1 1:1\n", b"0 " + b" ".join(b"%d:1" % i for i in range(1, 2000)) + b"\n" + LINES[0]],
        [b"1\n" * 700 + b"1 0:1\n" * 700],  # what ids begin with shows late
    ],
)
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_core_reads_what_python_reads(texts: list[bytes], threads: int, files: Any) -> None:
    plain, packed = files(*texts)
    assert_same(read(plain, threads=threads), read(packed, threads=threads))


def test_going_on_from_any_place(files: Any) -> None:
    plain, _ = files(b"".join(LINES[:400]), b"".join(LINES[400:700]))
    whole = read(plain)
    with open_stream(plain, block_bytes=1000, warn_if_sorted=False) as stream:
        places = [(stream.rows_read, stream.position) for _ in stream]
    for done, (rows, position) in list(enumerate(places, 1))[:-1:7]:
        rest = whole[0][done:], whole[1][rows:], whole[2][2 * rows :]  # two features a row
        assert_same(read(plain, start=position), rest)


class TestVw:
    @pytest.fixture
    def paths(self, tmp_path: Path) -> tuple[str, str]:
        text = b"".join(
            b"%d %d |a x%d:%.2f y\n" % (i % 2, 1 + i % 3, i % 90, i / 7) for i in range(900)
        )
        (tmp_path / "some.vw").write_bytes(text)
        (tmp_path / "some.vw.gz").write_bytes(gzip.compress(text))
        return str(tmp_path / "some.vw"), str(tmp_path / "some.vw.gz")

    def test_the_core_reads_what_python_reads(self, paths: tuple[str, str]) -> None:
        assert_same(read(paths[0]), read(paths[1]))


def test_a_bad_line_keeps_its_place(files: Any) -> None:
    plain, _ = files(b"".join(LINES[:500]), b"".join(LINES[:300]) + b"1 2:x\n" + LINES[0])
    with pytest.raises(DataError, match=r"1\.svm, line 301: a value is not a number: '2:x'"):
        read(plain)


def test_a_file_that_goes_away(files: Any) -> None:
    plain, _ = files(b"".join(2 * LINES), LINES[0])  # the first is longer than what is read ahead
    with open_stream(plain, block_bytes=1000, threads=1, warn_if_sorted=False) as stream:
        next(stream)
        os.remove(plain[1])
        with pytest.raises(DataError, match=r"1\.svm cannot be read"):
            for _ in stream:
                pass


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted by Linux")
def test_no_thread_is_left(files: Any) -> None:
    plain, _ = files(b"".join(LINES))
    before = len(os.listdir("/proc/self/task"))
    with open_stream(plain, block_bytes=1000, threads=3) as stream:
        next(stream)
        assert len(os.listdir("/proc/self/task")) == before + 3
    assert len(os.listdir("/proc/self/task")) == before

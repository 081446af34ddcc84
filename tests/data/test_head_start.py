"""Plain files are read by threads of the core, and may have been begun before they are opened."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polyak.data.head_start import Text, begin, svmlight_text, vw_text
from polyak.data.open import open_stream
from polyak.data.options import Columns
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


class TestBegun:
    def text(self, paths: list[str], **options: Any) -> Text:
        return svmlight_text(tuple(paths), 1000, 2, **options)

    def test_is_taken_over_once(self, files: Any) -> None:
        plain, packed = files(b"".join(LINES))
        begun = begin(self.text(plain))
        assert begun is not None
        held = begun._reader
        assert held is not None
        assert_same(read(plain, begun=begun), read(packed))
        assert held.next() is None  # it was this one that was read
        assert_same(read(plain, begun=begun), read(packed))

    @pytest.mark.parametrize(
        "options",
        [
            {"n_features": 9},
            {"dtype": "float64"},
            {"threads": 3},
            {"block_bytes": 900},
            {"longest_line": 1 << 20},
        ],
    )
    def test_is_left_where_it_was_begun_otherwise(self, options: Any, files: Any) -> None:
        plain, packed = files(b"".join(LINES))
        begun = begin(self.text(plain))
        assert_same(read(plain, begun=begun, **options), read(packed, **options))

    @pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted by Linux")
    @pytest.mark.parametrize("format", ["svmlight", "tsv"])
    def test_what_is_left_ends(self, format: str, files: Any) -> None:
        plain, _ = files(b"1\t2:3\n0\t4:5\n" * 5000)
        before = len(os.listdir("/proc/self/task"))
        begun = begin(self.text(plain))
        assert len(os.listdir("/proc/self/task")) > before
        more = {"target": "1"} if format == "tsv" else {"threads": 0}
        with open_stream(plain, format=format, begun=begun, **more) as stream:
            next(stream)
            if format == "svmlight":
                assert len(os.listdir("/proc/self/task")) <= before
            else:
                assert begun is not None
                assert begun.taken_over(self.text(plain)) is None

    @pytest.mark.parametrize("zero_based", [True, False])
    def test_the_base_decides(self, zero_based: bool, files: Any) -> None:
        plain, _ = files(b"".join(LINES))
        how: Any = {"block_bytes": 1000, "threads": 2, "zero_based": zero_based}
        with open_stream(plain, begun=begin(self.text(plain)), **how) as stream:
            assert next(stream).rows.indices[0] == (1 if zero_based else 0)

    @pytest.mark.parametrize("head", [b"a,b,c\n1,2,3\n", b"\x1f\x8b\x08", b"", b"1 | a:1\n"])
    def test_not_with_other_text(self, head: bytes, files: Any) -> None:
        assert begin(self.text(files(head)[0])) is None

    def test_not_with_what_is_no_file(self, tmp_path: Path) -> None:
        assert begin(self.text([str(tmp_path)])) is None
        assert begin(self.text(["-"])) is None


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

    @pytest.mark.parametrize("bits", [18, 10])
    def test_what_was_begun_is_taken_over_or_left(self, bits: int, paths: tuple[str, str]) -> None:
        begun = begin(vw_text((paths[0],), 1000, 2, bits=18))
        assert begun is not None
        held = begun._reader
        assert held is not None
        columns = Columns(bits=bits)
        assert_same(read(paths[0], columns=columns, begun=begun), read(paths[1], columns=columns))
        assert (held.next() is None) == (bits == 18)

    def test_not_with_other_text(self, files: Any) -> None:
        assert begin(vw_text(tuple(files(b"1 1:2\n")[0]), 1000, 2)) is None


def test_a_bad_line_keeps_its_place(files: Any) -> None:
    plain, _ = files(b"".join(LINES[:500]), b"".join(LINES[:300]) + b"1 2:x\n" + LINES[0])
    with pytest.raises(DataError, match=r"1\.svm, line 301: a value is not a number: '2:x'"):
        read(plain)


def test_a_file_that_goes_away(files: Any) -> None:
    plain, _ = files(b"".join(2 * LINES), LINES[0])  # the first is longer than a head start
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

"""Where bytes come from: compressed files, several files, pipes, and damaged files."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from reading import assert_same, read_all, read_with_positions

from polyak.data.open import open_stream
from polyak.data.sources.files import File, fingerprint
from polyak.errors import DataError

COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}

Write = Callable[..., str]


@pytest.fixture(params=COMPRESS)
def suffix(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestCompressed:
    def test_the_same_batches(self, suffix: str, text: bytes, write: Write) -> None:
        plain = read_all(io.BytesIO(text), block_bytes=9999)
        pack, cut = COMPRESS[suffix], len(text) // 3
        parts = pack(text[:cut]) + pack(text[cut:])  # one after the other
        path = write(parts, f"rows.svm{suffix}")
        assert_same(plain, read_all(path, block_bytes=9999))
        # The first bytes tell, whatever the name.
        assert_same(plain, read_all(write(pack(text), "rows"), block_bytes=9999))

    @pytest.mark.parametrize("kind", [".gz", ".bz2", ".xz", ".zst"])
    def test_cut_short(self, kind: str, text: bytes, write: Write) -> None:
        path = write(COMPRESS[kind](text)[:-20], f"rows.svm{kind}")
        with pytest.raises(DataError, match=r"rows\.svm.* is cut short"):
            read_all(path)

    @pytest.mark.parametrize("kind", [".gz", ".bz2", ".xz", ".zst"])
    def test_damaged(self, kind: str, text: bytes, write: Write) -> None:
        data = bytearray(COMPRESS[kind](text))
        data[len(data) // 2 : len(data) // 2 + 50] = bytes(50)
        with pytest.raises(DataError, match=r"rows\.svm"):
            read_all(write(bytes(data), f"rows.svm{kind}"))

    @pytest.mark.parametrize("kind", [".gz", ".bz2", ".xz", ".zst"])
    def test_what_stands_behind_it(self, kind: str, text: bytes, write: Write) -> None:
        packed = COMPRESS[kind](text)
        with pytest.raises(DataError, match=rf"rows\.svm.* is not valid {kind[1:]} data"):
            read_all(write(packed + b"junk", f"rows.svm{kind}"))
        if kind != ".zst":  # as tapes and xz itself fill up
            rows = sum(map(len, read_all(write(packed + bytes(1 << 18), f"full.svm{kind}"))))
            assert rows == text.count(b"\n")

    def test_called_gz_but_not_gz(self, write: Write) -> None:
        with pytest.raises(DataError, match=r"rows\.gz is not valid gz data"):
            read_all(write(b"1 1:1\n", "rows.gz"))

    def test_zstandard_is_asked_for(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "zstandard", None)
        path = write(zstandard.compress(b"1 1:1\n"))
        with pytest.raises(DataError, match=r"pip install 'polyak\[zstd\]'"):
            read_all(path)


class TestProgress:
    def test_bytes_on_the_disk(self, suffix: str, text: bytes, write: Write) -> None:
        path = write(COMPRESS[suffix](text), f"rows.svm{suffix}")
        with open_stream([path, path], block_bytes=10_000) as stream:
            assert stream.bytes_total == 2 * os.path.getsize(path)
            assert stream.bytes_read == stream.rows_read == 0
            seen = [stream.bytes_read for _ in stream]
        assert seen == sorted(seen)
        assert stream.bytes_read == stream.bytes_total
        assert stream.rows_read == 4000

    def test_a_pipe_has_no_size(self) -> None:
        with open_stream(io.BytesIO(b"1 1:1\n")) as stream:
            assert stream.bytes_total is None
            assert stream.format == "svmlight"
            assert stream.n_features is None


class TestSeveral:
    def test_in_order(self, write: Write, tmp_path: Path) -> None:
        for i in (3, 1, 2, 10):
            write(f"{i} 1:1", f"part-{i}.svm")
        everything = [batch.targets[0] for batch in read_all(str(tmp_path / "part-*.svm"))]
        assert everything == [1, 10, 2, 3]
        listed = [tmp_path / "part-3.svm", str(tmp_path / "part-1.svm")]
        assert [batch.targets[0] for batch in read_all(listed)] == [3, 1]

    def test_one_of_them_empty(self, write: Write) -> None:
        batches = read_all([write("", "a"), write("1 1:1\n", "b"), write("# none\n", "c")])
        assert sum(map(len, batches)) == 1

    def test_bad_lines_are_named_by_file(self, write: Write) -> None:
        first, second = write("1 1:1\n" * 9, "a"), write("1 1:1\n1 x\n", "b")
        with pytest.raises(DataError, match=r"/b, line 2: "):
            read_all([first, second])

    def test_a_name_with_a_bracket(self, write: Write) -> None:
        assert len(read_all(write("1 1:1\n", "rows[1].svm"))) == 1


class TestNotThere:
    def test_missing(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"none\.svm cannot be read: no such file"):
            open_stream(str(tmp_path / "none.svm"))
        with pytest.raises(DataError, match=r"no file matches .*\*\.svm"):
            open_stream(str(tmp_path / "*.svm"))
        with pytest.raises(DataError, match="no file was named"):
            open_stream([])

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="is a folder without any file to read"):
            open_stream(tmp_path)

    @pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
    def test_forbidden(self, write: Write) -> None:
        path = write("1 1:1")
        os.chmod(path, 0)
        with pytest.raises(DataError, match="cannot be read: permission denied"):
            read_all(path)

    @pytest.mark.parametrize("data", ["", "\n\n", "# only a comment"])
    def test_no_rows(self, data: str, write: Write) -> None:
        with pytest.raises(DataError, match=r"rows\.svm has no rows$"):
            read_all(write(data))

    def test_only_bad_rows(self, write: Write) -> None:
        with pytest.raises(DataError, match=r"rows\.svm has no rows but 2 bad lines$"):
            read_all(write("x\ny\n"), skip_bad_lines=True)

    def test_open_for_text(self, write: Write) -> None:
        with open(write("1 1:1")) as file, pytest.raises(DataError, match="binary mode"):
            open_stream(file)

    def test_unknown_format(self, write: Write) -> None:
        with pytest.raises(ValueError, match=r"no format 'cvs'; there are svmlight"):
            open_stream(write("1"), format="cvs")

    def test_mixed_formats(self, write: Write) -> None:
        with pytest.raises(DataError, match="one format, not npz and svmlight"):
            open_stream([write("1", "a.svm"), write("1", "b.npz")])


class TestGoingOn:
    def test_from_every_position(self, suffix: str, text: bytes, write: Write) -> None:
        cut = text.index(b"\n", len(text) // 2) + 1
        pack = COMPRESS[suffix]
        files = [
            write(pack(b"# first\n" + text[:cut]), f"a{suffix}"),
            write(b"", "b"),
            write(pack(text[cut:].rstrip()), f"c{suffix}"),
        ]
        options = {"block_bytes": 20_000, "threads": 3}
        batches, positions = read_with_positions(files, **options)
        assert len(batches) > 10
        for i, position in enumerate(positions):
            rest, after = read_with_positions(files, start=position, **options)
            assert_same(batches[i:], rest)
            assert after == positions[i:]

    def test_not_a_position_of_this(self, write: Write) -> None:
        path = write("1 1:1")
        with pytest.raises(DataError, match="not one in"):
            open_stream(path, start={"format": "npz", "rows": 3})
        with open_stream([path, path]) as stream:
            list(stream)
        with pytest.raises(DataError, match="not one in"):
            open_stream(path, start=stream.position)

    def test_a_pipe_that_is_too_short(self) -> None:
        with open_stream(io.BytesIO(b"1 1:1\n" * 10)) as stream:
            list(stream)
        with pytest.raises(DataError, match="ends before the place to go on from"):
            read_all(io.BytesIO(b"1 1:1\n"), start=stream.position)


class TestFingerprint:
    def test_content_counts_and_names_do_not(self, write: Write) -> None:
        first = open_stream(write("1 1:1\n", "a")).fingerprint
        assert open_stream(write("1 1:1\n", "b")).fingerprint == first
        assert open_stream(write("1 1:2\n", "c")).fingerprint != first
        assert open_stream(write("1 1:1\n\n", "d")).fingerprint != first

    def test_one_changed_byte_in_the_middle(self, write: Write) -> None:
        data = b"a,b\n" + b"1,1\n" * 60_000
        middle = len(data) // 2
        changed = data[:middle] + data[middle:].replace(b"1", b"2", 1)
        first, same, other = (
            open_stream(write(each, f"{i}.csv"), target="b").fingerprint
            for i, each in enumerate([data, data, changed])
        )
        assert first == same != other

    def test_other_rows_in_the_middle_of_a_large_file(self, tmp_path: Path) -> None:
        prints = []
        for byte in b"12":
            path = tmp_path / f"{byte}.svm"
            with path.open("wb") as file:  # sparse, so it takes neither time nor room
                file.write(b"1 1:1\n" * 20_000)
                file.seek(1 << 30)
                file.write(bytes([byte]) * (1 << 22))
                file.seek(1 << 31)
                file.write(b"\n")
            prints.append(fingerprint([File(str(path))]))
        assert prints[0] != prints[1]

    def test_of_a_pipe(self) -> None:
        streams = [open_stream(io.BytesIO(b"1 1:1\n" * 99)) for _ in range(2)]
        assert streams[0].fingerprint == streams[1].fingerprint
        assert sum(map(len, streams[0])) == 99


READ_STANDARD_INPUT = """
import json, sys
import numpy as np
from polyak.data.open import open_stream
from polyak.data.sources.files import File, fingerprint
start = json.loads(sys.argv[1])
with open_stream("-", block_bytes=20_000, start=start) as stream:
    total, positions = 0.0, []
    for batch in stream:
        total += float(batch.rows.values.astype(np.float64).sum())
        positions.append(stream.position)
print(json.dumps([total, stream.rows_read, stream.bytes_total, positions]))
"""


class TestStandardInput:
    def read(self, data: bytes, start: object = None) -> list:
        command = [sys.executable, "-c", READ_STANDARD_INPUT, json.dumps(start)]
        done = subprocess.run(command, input=data, capture_output=True, timeout=60, check=True)
        return json.loads(done.stdout)

    def test_read_and_gone_on_with(self, suffix: str, text: bytes) -> None:
        data = COMPRESS[suffix](text)
        batches = read_all(io.BytesIO(text), block_bytes=20_000)
        sums = [float(batch.rows.values.astype(np.float64).sum()) for batch in batches]
        total, rows, size, positions = self.read(data)
        assert (rows, size, len(positions)) == (2000, None, len(batches))
        assert total == pytest.approx(sum(sums), rel=1e-12)
        rest, rows, _, _ = self.read(data, positions[len(positions) // 2])
        assert rest == pytest.approx(sum(sums[len(positions) // 2 + 1 :]), rel=1e-12)
        assert rows == 2000


def test_only_numpy_is_imported(write: Write) -> None:
    code = (
        "import sys; from polyak.data.open import open_stream\n"
        f"for batch in open_stream({write('1 1:1')!r}): pass\n"
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    loaded = set(done.stdout.split())
    assert "numpy" in loaded
    assert not loaded & {"scipy", "sklearn", "rich", "typer", "pandas", "pyarrow", "zstandard"}

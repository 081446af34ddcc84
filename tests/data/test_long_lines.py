"""Lines longer than a block, or than a line may be: in every text, from every source."""

from __future__ import annotations

import gzip
import io
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_tables import read_all

from polyak.data.open import open_stream
from polyak.errors import DataError

LONG = 5000
TEXTS = {
    "svmlight": (b"1 1:1\n-1 2:1\n", b"1 " + b" " * LONG + b"3:1\n"),
    "vw": (b"1 | a\n-1 | b\n", b"1 | " + b"x" * LONG + b"\n"),
    "csv": (b"a,y\n1,2\n2,3\n", b"5," + b"0" * LONG + b"\n"),
    "jsonl": (b'{"a": 1, "y": 2}\n{"a": 1, "y": 3}\n', b'{"a": 1, "y": ' + b" " * LONG + b"3}\n"),
}
LINE = {"svmlight": 3, "vw": 3, "csv": 4, "jsonl": 3}


def sources(format: str, text: bytes, folder: Path) -> dict[str, Any]:
    plain, packed = folder / f"t.{format}", folder / f"t.{format}.gz"
    plain.write_bytes(text)
    packed.write_bytes(gzip.compress(text))
    return {"file": str(plain), "gz": str(packed), "pipe": io.BytesIO(text)}


@pytest.mark.parametrize("format", TEXTS)
@pytest.mark.parametrize("kind", ["file", "gz", "pipe"])
@pytest.mark.parametrize("block_bytes", [64, 1 << 22])
def test_a_line_that_is_too_long(format: str, kind: str, block_bytes: int, tmp_path: Path) -> None:
    head, long = TEXTS[format]
    target = {"target": "y"} if format in ("csv", "jsonl") else {}
    options: dict[str, Any] = {"format": format, "block_bytes": block_bytes, **target}

    def read(longest: int) -> int:
        source = sources(format, head + long + head.split(b"\n", 1)[1], tmp_path)[kind]
        with open_stream(source, longest_line=longest, warn_if_sorted=False, **options) as stream:
            return sum(len(batch) for batch in stream)

    assert read(len(long) - 1) == read(1 << 26) == (5 if format == "csv" else 4)
    with pytest.raises(DataError, match=rf", line {LINE[format]}: the line has more than") as error:
        read(len(long) - 2)
    assert f"longest_line={len(long) - 2}" in str(error.value)


@pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="the sanitizer takes terabytes of addresses, so they cannot be limited",
)
def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.svm.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"1 1:1\n-1 1:")
        for _ in range(600):
            file.write(b"1" * (1 << 20))
    run = subprocess.run(
        [sys.executable, "-m", "polyak", "train", path, "-m", tmp_path / "m", "-q"],
        capture_output=True, text=True, timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29)),
    )  # fmt: skip
    assert run.returncode == 1
    assert "bomb.svm.gz, line 2: the line has more than 67108864 bytes" in run.stderr
    assert "--longest-line 67108864" in run.stderr


def quoted_table(field: str) -> str:
    rows = [f'{i},"{field if i % 50 == 7 else "w"}",{3 * i % 11}' for i in range(400)]
    return "\n".join(["a,words,y", *rows]) + "\n"


@pytest.mark.parametrize("block_bytes", [50, 300, 4000, 1 << 22])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_quoted_field_longer_than_a_block(
    block_bytes: int, delimiter: str, tmp_path: Path
) -> None:
    text = quoted_table('one,\n""two""\n\n' * 40).replace(",", delimiter)
    path = tmp_path / "t.csv"
    path.write_text(text)
    rows, targets, _ = read_all(path, target="y", block_bytes=block_bytes)
    expected, expected_targets, _ = read_all(path, target="y")
    assert len(targets) == 400
    np.testing.assert_array_equal(targets, expected_targets)
    np.testing.assert_array_equal(rows.indices, expected.indices)
    with open_stream(path, target="y", block_bytes=block_bytes, warn_if_sorted=False) as stream:
        for batch in stream:
            position = stream.position
            with open_stream(path, target="y", start=position, warn_if_sorted=False) as rest:
                assert len(batch) + sum(map(len, rest)) >= 400 - position["rows"]
                assert rest.rows_read == 400


def test_marks_inside_a_field_quote_nothing(tmp_path: Path) -> None:
    rows = [f'{i},5" pipe{i % 3},{3 * i % 11}' for i in range(400)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,words,y", *rows]) + "\n")
    for block_bytes in (100, 1 << 22):
        assert len(read_all(path, target="y", block_bytes=block_bytes)[1]) == 400


@pytest.mark.parametrize("block_bytes", [100, 5000, 1 << 22])
def test_a_quotation_mark_that_is_never_closed(block_bytes: int, tmp_path: Path) -> None:
    rows = [f"{i},w{i % 3},{3 * i % 11}" for i in range(2000)]
    rows[1200] = '7,"open,3'
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a,words,y", *rows]) + "\n")
    options: dict[str, Any] = {"target": "y", "block_bytes": block_bytes, "warn_if_sorted": False}
    with pytest.raises(DataError, match=r"line 1202: a quotation mark opens a field that is not"):
        read_all(path, **options)
    with open_stream(path, skip_bad_lines=True, **options) as stream:
        assert sum(map(len, stream)) == 1999
        assert [line.line for line in stream.first_bad_lines] == [1202]

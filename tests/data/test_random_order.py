"""Files read piece by piece in a random order: the same rows, mixed, whatever reads them."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sorted_files import ROWS, delimited, every_file, made, svmlight

from polyak.data import random_order
from polyak.data.formats import arrays as numpy_arrays
from polyak.data.open import open_stream
from polyak.data.random_order import TABLE_WINDOW_BYTES, Pieces, Windows
from polyak.data.sources import line_pieces
from polyak.data.tables import parquet
from polyak.errors import DataError
from polyak.rows.batch import Batch
from polyak.rows.sparse import SparseRows

pa = pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small files have many windows of many pieces."""
    for module, name, value in (
        (line_pieces, "SMALLEST", 1 << 9),
        (line_pieces, "HEAD_PIECES", 20),
        (line_pieces, "HEAD_BYTES", 1 << 7),
        (random_order, "WINDOW_BYTES", 1 << 12),
        (random_order, "TABLE_WINDOW_BYTES", 1 << 14),
        (parquet, "PIECE_BYTES", 1 << 10),
        (numpy_arrays, "PIECE_BYTES", 1 << 10),
    ):
        monkeypatch.setattr(module, name, value)


# -- what was read ---------------------------------------------------------------------------------


def rows_of(batch: Batch) -> list[tuple[Any, ...]]:
    """Each row with its target and weight, as something that can be compared."""
    rows, n = batch.rows, len(batch)
    if isinstance(rows, SparseRows):
        ends = rows.indptr.tolist()
        spans = [slice(a, b) for a, b in pairwise(ends)]
        each = [(tuple(rows.indices[s].tolist()), tuple(rows.values[s].tolist())) for s in spans]
    else:
        each = [tuple(row) for row in rows.tolist()]
    targets = [None] * n if batch.targets is None else batch.targets.tolist()
    weights = [None] * n if batch.weights is None else batch.weights.tolist()
    return list(zip(each, targets, weights, strict=True))


def read(source: Any, seed: int = 0, random: bool = True, **options: Any) -> list[tuple[Any, ...]]:
    options = {"warn_if_sorted": False, "threads": 2, **options}
    with open_stream(source, random_order=random, seed=seed, **options) as stream:
        return [row for batch in stream for row in rows_of(batch)]


@every_file
def test_all_rows_come_once_and_well_mixed(name: str, tmp_path: Path) -> None:
    path, choices = made(name, tmp_path)
    as_is = read(path, random=False, **choices)
    rows, read_so_far = [], [0]
    with open_stream(path, random_order=True, warn_if_sorted=False, **choices) as stream:
        for batch in stream:
            rows += rows_of(batch)
            read_so_far.append(stream.bytes_read)
    assert read_so_far == sorted(read_so_far)
    assert stream.bytes_total is not None
    assert 0.9 * stream.bytes_total <= read_so_far[-1] <= stream.bytes_total
    assert len(rows) == ROWS
    assert Counter(rows) == Counter(as_is)
    assert rows != as_is
    if name == "a.svm.gz":
        return  # shuffled in a buffer alone
    targets = np.array([target for _, target, _ in rows], dtype=float)
    tenths = [part.mean() for part in np.array_split(targets, 10)]
    assert 0.3 < min(tenths) < max(tenths) < 0.7


@every_file
def test_the_order_depends_on_the_seed_alone(name: str, tmp_path: Path) -> None:
    path, choices = made(name, tmp_path)
    rows = read(path, seed=3, **choices)
    for threads, block_bytes in (0, 100), (1, 1 << 22), (3, 5000):
        options = {"threads": threads, "block_bytes": block_bytes, "batch_rows": block_bytes}
        assert read(path, seed=3, **choices, **options) == rows
    assert read(path, seed=4, **choices) != rows


@every_file
def test_reading_goes_on_from_any_position(name: str, tmp_path: Path) -> None:
    path, choices = made(name, tmp_path)
    options = {"random_order": True, "seed": 1, "warn_if_sorted": False, **choices}
    told = []
    with open_stream(path, **options) as stream:
        for batch in stream:
            told.append((rows_of(batch), json.loads(json.dumps(stream.position)), stream.rows_read))
            told[-1] += ((stream.bytes_read, stream.bad_lines, stream.rows_without_target),)
    assert len(told) >= (1 if name == "a.svm.gz" else 5)
    last = len(told) - 1
    for place in sorted({0, 1, 2, last // 3, last // 2, last - 1, last} & set(range(len(told)))):
        _, position, rows_read, _ = told[place]
        with open_stream(path, start=position, threads=place % 3, **options) as stream:
            assert stream.rows_read == rows_read
            tail = [
                (rows_of(batch), stream.rows_read, (stream.bytes_read, 0, 0)) for batch in stream
            ]
        assert tail == [(rows, n, counts) for rows, _, n, counts in told[place + 1 :]]


def test_a_position_of_another_seed_is_refused(tmp_path: Path) -> None:
    path = svmlight(tmp_path / "a.svm")
    with open_stream(path, random_order=True, seed=1) as stream:
        next(stream)
        position = stream.position
    with pytest.raises(DataError, match="shuffled differently"):
        open_stream(path, random_order=True, seed=2, start=position)
    with pytest.raises(DataError, match="is not one in"):
        open_stream(path, random_order=True, start={"format": "svmlight", "rows": 3})


@pytest.mark.parametrize("name", ["a.svm", "a.csv", "a.jsonl", "a.parquet"])
def test_pieces_of_several_files_are_mixed(name: str, tmp_path: Path) -> None:
    path, choices = made(name, tmp_path)
    (tmp_path / "other").mkdir()
    other, _ = made(name, tmp_path / "other")
    rows = read([path, other], **choices)
    assert Counter(rows) == Counter(read(path, random=False, **choices) * 2)
    half = Counter(rows[: len(rows) // 2])
    assert 0.1 * ROWS < sum(count == 2 for count in half.values()) < 0.4 * ROWS


# -- lines that cannot be read ---------------------------------------------------------------------


def with_bad_lines(path: Path, bad: str, every: int = 400) -> list[int]:
    lines = path.read_text().split("\n")
    numbers = list(range(every, len(lines), every))
    for number in numbers:
        lines[number - 1] = bad
    path.write_text("\n".join(lines))
    return numbers


BAD = {"a.svm": "1 nonsense", "a.vw": "x y z |a b", "a.csv": "1,2,3", "a.jsonl": "{no"}


@pytest.mark.parametrize("name", BAD)
def test_bad_lines_are_named_by_their_numbers(name: str, tmp_path: Path) -> None:
    path, choices = made(name, tmp_path)
    numbers = with_bad_lines(path, BAD[name])
    options = {"random_order": True, "seed": 1, "warn_if_sorted": False, **choices}
    with open_stream(path, skip_bad_lines=True, **options) as stream:
        rows = sum(map(len, stream))
        assert rows == ROWS - len(numbers)
        assert stream.bad_lines == len(numbers)
        told = [(line.file, line.line) for line in stream.first_bad_lines]
        assert sorted(told) == [(str(path), number) for number in numbers]
        assert told != sorted(told)
    with (
        pytest.raises(DataError, match=re.escape(str(path))) as caught,
        open_stream(path, **options) as s,
    ):
        list(s)
    assert int(re.findall(r"line (\d+)", str(caught.value))[0]) in numbers


@pytest.mark.parametrize("name", ["a.svm", "a.vw", "a.csv", "quoted.csv", "a.jsonl", "a.parquet"])
@pytest.mark.parametrize("with_bad", [False, True])
def test_rows_say_where_they_are(name: str, with_bad: bool, tmp_path: Path) -> None:
    """The value of every row is the number it has in the file."""
    path, choices = made(name, tmp_path)
    if with_bad and name in BAD:
        with_bad_lines(path, BAD[name])
    options = {"random_order": True, "warn_if_sorted": False, "skip_bad_lines": True}
    if choices:
        choices["keep"] = ["number"]
    checked = 0
    text = path.read_text().split("\n") if name != "a.parquet" else []
    with open_stream(path, **choices, **options) as stream:
        for batch in stream:
            for row in range(0, len(batch), 37):
                assert batch.where is not None
                file, line, _ = batch.where(row)
                assert file == str(path)
                assert isinstance(batch.rows, SparseRows)
                if batch.kept is not None:
                    number = int(batch.kept.column("number")[row].as_py())
                else:
                    values = batch.rows.values[batch.rows.indptr[row] : batch.rows.indptr[row + 1]]
                    number = int(max(values)) - 1
                if text:
                    assert re.search(
                        rf"(?<![\d.]){number + (name in ('a.svm', 'a.vw'))}\b", text[line - 1]
                    )
                else:
                    assert line == number + 1
                checked += 1
    assert checked > 50


def test_lines_of_any_length_are_whole(tmp_path: Path) -> None:
    """Pieces begin and end within lines, at them, and in lines longer than several pieces."""
    random = np.random.default_rng(0)
    lines = []
    for number in range(400):
        ids = np.unique(random.integers(2, 3000, random.choice([0, 1, 100, 1000])))
        lines.append(f"1 1:{number + 1} " + " ".join(f"{i}:1" for i in ids))
    for end in "", "\n", "\n\n\n":
        path = tmp_path / "long.svm"
        path.write_text("\n".join(lines) + end)
        assert Counter(read(path)) == Counter(read(path, random=False))


@pytest.mark.parametrize("name", ["a.svm", "a.csv"])
def test_a_line_that_is_too_long_is_named(name: str, tmp_path: Path) -> None:
    path, choices = made(name, tmp_path)
    lines = path.read_text().split("\n")
    lines[1234] += " " * 5000
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"line 1235: the line has more than 2000 bytes"):
        read(path, longest_line=2000, **choices)


def test_a_file_that_becomes_shorter_is_refused(tmp_path: Path) -> None:
    path = svmlight(tmp_path / "a.svm")
    with open_stream(path, random_order=True, threads=0) as stream:
        next(stream)
        path.write_text(path.read_text()[:1000])
        with pytest.raises(DataError, match="became shorter while it was read"):
            list(stream)


# -- what the first rows tell ----------------------------------------------------------------------


def test_ids_that_begin_at_zero_are_seen_in_the_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "zero.svm"
    path.write_text("1 0:5 1:2\n" + "-1 1:1 2:1\n" * 2000)
    with open_stream(path, random_order=True, warn_if_sorted=False) as stream:
        largest = max(int(batch.rows.indices.max()) for batch in stream)  # type: ignore[union-attr]
        assert stream.position["base"] == 0
    assert largest == 2


def test_a_table_has_the_schema_and_names_of_its_first_rows(tmp_path: Path) -> None:
    from polyak.data.options import Columns

    path = delimited(tmp_path / "a.csv")
    how = Columns(target="target")
    with open_stream(path, columns=how, warn_if_sorted=False) as as_is:
        list(as_is)
    with open_stream(path, columns=how, random_order=True) as mixed:
        list(mixed)
    assert mixed.schema == as_is.schema
    assert mixed.names() == as_is.names()
    assert mixed.fingerprint == as_is.fingerprint


def test_rows_without_a_target_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [f"{'' if n % 7 == 0 else n % 2},{n}" for n in range(2000)]
    path.write_text("y,x\n" + "\n".join(rows))
    with open_stream(path, target="y", random_order=True) as stream:
        assert sum(map(len, stream)) == 2000 - 286
        assert stream.rows_without_target == 286


def test_a_constant_target_is_refused_in_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("y,x\n" + "1,2\n" * 500)
    with pytest.raises(DataError, match="nothing to learn"):
        read(path, target="y")


def test_a_pipe_comes_as_it_is() -> None:
    text = b"".join(b"%d 1:%d\n" % (n % 2, n + 1) for n in range(500))
    assert read(io.BytesIO(text)) == read(io.BytesIO(text), random=False)
    assert read(io.BytesIO(text), shuffle_buffer=100) != read(io.BytesIO(text), random=False)


def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("")
    with pytest.raises(DataError, match="has no rows"):
        read(tmp_path / "a.svm")


def test_every_window_has_pieces_from_everywhere() -> None:
    for number, in_window in (1000, 16), (77, 16), (33, 32), (5, 16), (16, 16), (17, 16):
        pieces = Pieces.of_units([[n] for n in range(number)], TABLE_WINDOW_BYTES, in_window)
        dealt = [window.pieces for window in Windows(pieces, seed=1)]
        assert sorted(piece for window in dealt for piece in window) == list(range(number))
        sizes = [len(window) for window in dealt]
        assert max(sizes) <= 1.5 * in_window + 1
        if number > 2 * in_window:
            means = [np.mean(window) / number for window in dealt]
            assert 0.35 < min(means) < max(means) < 0.65

"""Text is cut, checked and parsed in one way, wherever its bytes come from; and its memory is
reused only when nothing refers to it any more."""

from __future__ import annotations

import gc
import gzip
import io
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polyak.data.open import open_stream
from polyak.errors import DataError

LINES = st.one_of(
    st.integers(1, 60).map(lambda n: b"1 " + b" ".join(b"%d:1" % i for i in range(1, n))),
    st.sampled_from([b"", b"# nothing", b"0 1:x", b"-1 2:0.5\r", b"1 1:1 1:2"]),
)


VW_LINES = st.one_of(
    st.integers(1, 60).map(lambda n: b"1 |a " + b" ".join(b"w%d:0.5" % i for i in range(n))),
    st.sampled_from([b"", b"-1 2.5 'tag| a", b"|a no label", b"1 no bar", b"0 |b c:x"]),
)


TEXTS = st.one_of(
    st.tuples(st.just("svmlight"), st.lists(LINES, max_size=40)),
    st.tuples(st.just("vw"), st.lists(VW_LINES, max_size=40)),
)


def told(source: Any, **options: Any) -> list[Any]:
    """All that a stream tells: every batch, where it ended, the bad lines; or the error."""
    found: list[Any] = []
    try:
        with open_stream(source, warn_if_sorted=False, **options) as stream:
            for batch in stream:
                place = {k: v for k, v in stream.position.items() if k != "bytes_read"}
                place["first_bad_lines"] = [line[1:] for line in place["first_bad_lines"]]
                found.append((batch.targets.tolist(), batch.rows.indices.tolist(), place))
    except DataError as error:
        found.append(str(error).replace("the file object", "FILE"))
    return found


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    text=TEXTS,
    ends=st.booleans(),
    block=st.integers(1, 400),
    longest=st.sampled_from([20, 100, 1 << 20]),
    threads=st.integers(0, 3),
    skip=st.booleans(),
)
def test_files_pipes_and_compressed_text_are_cut_alike(
    tmp_path: Path,
    text: tuple[str, list[bytes]],
    ends: bool,
    block: int,
    longest: int,
    threads: int,
    skip: bool,
) -> None:
    format, lines = text
    source = b"\n".join(lines) + b"\n" * ends
    how: Any = {"block_bytes": block, "longest_line": longest, "skip_bad_lines": skip}
    how["format"] = format
    (tmp_path / "FILE").write_bytes(source)
    (tmp_path / "FILE.gz").write_bytes(gzip.compress(source, 1))
    path = str(tmp_path / "FILE")
    plain = told(path, threads=threads, **how)
    if plain and isinstance(plain[-1], str):
        plain[-1] = plain[-1].replace(path, "FILE")
    assert told(io.BytesIO(source), threads=threads, **how) == plain
    packed = told(path + ".gz", threads=threads, **how)
    if packed and isinstance(packed[-1], str):
        packed[-1] = packed[-1].replace(path + ".gz", "FILE")
    assert packed == plain


def rows_of(batches: Any) -> list[tuple[Any, ...]]:
    """Every row with its target and weight."""
    rows = []
    for batch in batches:
        weights = np.ones(len(batch)) if batch.weights is None else batch.weights
        ends = batch.rows.indptr.tolist()
        for row, (begin, end) in enumerate(pairwise(ends)):
            features = batch.rows.indices[begin:end], batch.rows.values[begin:end]
            rows.append((batch.targets[row], weights[row], *(part.tolist() for part in features)))
    return rows


@settings(deadline=None, max_examples=60)
@given(
    text=TEXTS,
    block=st.integers(1, 4000),
    threads=st.integers(0, 3),
)
def test_blocks_threads_and_positions_leave_no_trace(
    text: tuple[str, list[bytes]], block: int, threads: int
) -> None:
    format, lines = text
    good = {"svmlight": b"1 1:1", "vw": b"1 |a b"}[format]
    source = b"\n".join([good, *lines])
    how: Any = {"format": format, "skip_bad_lines": True, "warn_if_sorted": False}
    with open_stream(io.BytesIO(source), **how) as stream:
        whole = rows_of(stream)
    told = stream.rows_read, stream.bad_lines, stream.first_bad_lines, stream.rows_without_target
    how |= {"block_bytes": block, "threads": threads}
    read = []
    with open_stream(io.BytesIO(source), **how) as stream:
        for batch in stream:
            read.append((rows_of([batch]), stream.position))
            places = [batch.where(row) for row in range(len(batch))]
            found = [source.split(b"\n")[line - 1] for _, line, _ in places]
            assert [float(line.split()[0]) for line in found] == batch.targets.tolist()
    assert [row for rows, _ in read for row in rows] == whole
    for number in {0, len(read) // 2, len(read) - 1}:
        with open_stream(io.BytesIO(source), start=read[number][1], **how) as stream:
            rest = rows_of(stream)
        assert rest == [row for rows, _ in read[number + 1 :] for row in rows]
        counts = stream.rows_read, stream.bad_lines, stream.first_bad_lines
        assert (*counts, stream.rows_without_target) == told


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Text whose blocks have arrays large enough to be reused."""
    random = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("large") / "rows.svm"
    with path.open("w") as file:
        for i in range(40_000):
            values = random.random(8)
            file.write(f"{i} " + " ".join(f"{j}:{v:.5f}" for j, v in enumerate(values, 1)) + "\n")
    return str(path)


@pytest.mark.parametrize("piped", [False, True])
def test_what_somebody_keeps_is_never_overwritten(large: str, piped: bool) -> None:
    with open_stream(large, block_bytes=1 << 12, warn_if_sorted=False) as stream:
        wanted = np.concatenate([batch.rows.values for batch in stream])
    source: Any = io.BytesIO(Path(large).read_bytes()) if piped else large
    kept, targets = [], []
    with open_stream(source, block_bytes=400_000, warn_if_sorted=False) as stream:
        for i, batch in enumerate(stream):
            values = batch.rows.values[:]  # a view, after whose batch is gone
            targets.append(batch.targets)
            kept.append(values if i % 2 else values.copy())
            del batch, values
    gc.collect()
    with open_stream(large, block_bytes=400_000, warn_if_sorted=False) as stream:
        assert sum(len(batch) for batch in stream) == 40_000
    np.testing.assert_array_equal(np.concatenate(kept), wanted)
    np.testing.assert_array_equal(np.concatenate(targets), np.arange(40_000))


@pytest.mark.parametrize("piped", [False, True])
def test_what_nobody_keeps_is_used_again(large: str, piped: bool) -> None:
    source: Any = io.BytesIO(Path(large).read_bytes()) if piped else large
    places = []
    with open_stream(source, block_bytes=100_000, threads=0, warn_if_sorted=False) as stream:
        for batch in stream:
            places.append(batch.rows.values.ctypes.data)
    assert len(places) > 20
    assert len(set(places)) <= 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_process_lets_go_of_what_it_was_left(large: str) -> None:
    stream = open_stream(large, block_bytes=400_000, warn_if_sorted=False)
    batches = [next(stream) for _ in range(3)]
    child = os.fork()
    if child == 0:
        batches.clear()
        gc.collect()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert len(batches[0]) + sum(len(batch) for batch in [*batches[1:], *stream]) == 40_000


def test_a_file_that_goes_away(large: str, tmp_path: Path) -> None:
    last = tmp_path / "last.svm"
    last.write_text("1 1:1\n")
    with open_stream([large, last], block_bytes=1000, threads=1, warn_if_sorted=False) as stream:
        next(stream)
        last.unlink()
        with pytest.raises(DataError, match=r"last\.svm cannot be read"):
            for _ in stream:
                pass


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted by Linux")
def test_no_thread_is_left(large: str) -> None:
    before = len(os.listdir("/proc/self/task"))
    with open_stream(large, block_bytes=1000, threads=3, warn_if_sorted=False) as stream:
        next(stream)
        assert len(os.listdir("/proc/self/task")) == before + 3
    assert len(os.listdir("/proc/self/task")) == before

"""Spans of a file: every line once, wherever the file is cut."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyak.data.open import open_stream
from polyak.data.sources.files import Span
from polyak.data.stream import NoRowsError
from polyak.errors import DataError


def targets(source: Any, **options: Any) -> list[float]:
    try:
        with open_stream(source, threads=0, warn_if_sorted=False, **options) as stream:
            return [float(target) for batch in stream for target in batch.targets]
    except NoRowsError:
        return []


@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=30),
    cuts=st.lists(st.integers(0, 600), max_size=6),
    newline_at_end=st.booleans(),
)
def test_every_line_once_in_order(
    tmp_path_factory: Any, lengths: list[int], cuts: list[int], newline_at_end: bool
) -> None:
    lines = [f"{n} 1:0.{'1' * length}" for n, length in enumerate(lengths)]
    path = tmp_path_factory.mktemp("spans") / "some.svm"
    path.write_text("\n".join(lines) + "\n" * newline_at_end)
    size = path.stat().st_size
    edges = [0, *sorted(min(cut, size) for cut in cuts), size]
    spans = [Span(str(path), *pair) for pair in pairwise(edges)]
    assert [t for span in spans for t in targets(span)] == list(range(len(lines)))
    assert sum(span.size or 0 for span in spans) == size


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_reading_goes_on_from_a_position(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "some.svm"
    path.write_text("".join(f"{n} 1:1 {n % 7 + 2}:0.5\n" for n in range(5000)))
    span = Span(str(path), 20_000, 60_000)
    expected = targets(span)
    with open_stream(span, threads=threads, block_bytes=4096, warn_if_sorted=False) as stream:
        first = [float(t) for t in next(stream).targets]
        position = stream.position
    rest = targets(span, start=position)
    assert first + rest == expected
    # The same place, as a span of its own.
    assert targets(Span(str(path), span.first + position["offset"], 60_000)) == rest


def test_errors_name_the_file_and_the_place(tmp_path: Path) -> None:
    path = tmp_path / "some.svm"
    path.write_text("1 1:1\n-1 1:1\n1 1:x\n")
    with pytest.raises(DataError, match=r"some\.svm, line 3: .*1:x"):
        targets(Span(str(path), 3, 100))
    with pytest.raises(DataError, match=r"nowhere\.svm cannot be read: no such file"):
        Span(str(tmp_path / "nowhere.svm"), 0, 1)
    with pytest.raises(DataError, match="folder"):
        Span(str(tmp_path), 0, 1)

"""One object, `ReadOptions`, holds all options of reading, for every reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from polyak import open_stream
from polyak.data.options import Columns, ReadOptions
from polyak.learn.recipes import Recipe
from polyak.training.job import Job

TEXT = "1 2:1 5:x\n-1 0:3\n1 4:2\n"


def test_an_object_says_what_keywords_say_and_keywords_come_after_it(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_text(TEXT)
    options = ReadOptions(zero_based=True, skip_bad_lines=True, n_features=9)
    with (
        open_stream(path, options) as one,
        open_stream(path, zero_based=True, skip_bad_lines=True, n_features=9) as other,
        open_stream(path, options, n_features=5) as narrow,
    ):
        batches = [next(stream) for stream in (one, other, narrow)]
        assert [stream.bad_lines for stream in (one, other, narrow)] == [1, 1, 1]
    assert [batch.rows.n_features for batch in batches] == [9, 9, 5]
    assert batches[0].rows.indices.tolist() == batches[1].rows.indices.tolist() == [0, 4]


def test_a_choice_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="skip_bad_rows"):
        open_stream("rows", skip_bad_rows=True)


def test_a_checkpoint_is_of_the_rows_and_not_of_how_fast_they_come() -> None:
    columns = Columns(target="y")
    slow = ReadOptions(columns=columns, threads=0, block_bytes=10, longest_line=100)
    job, other = (
        Job(source="x", reading=r, order="as-is") for r in (slow, ReadOptions(columns=columns))
    )
    assert job.options() == other.options()
    assert job.options().keys() - Recipe.__dataclass_fields__.keys() == {
        *("classes", "passes", "format", "n_features", "zero_based"),
        *("skip_bad_lines", "shuffle_buffer", "columns", "order"),
        *("dialect", "member", "random_order", "multilabel"),
    }
    changed = Job(
        source="x", reading=ReadOptions(columns=columns, skip_bad_lines=True), order="as-is"
    )
    assert changed.options() != job.options()

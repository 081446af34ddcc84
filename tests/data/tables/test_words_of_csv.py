"""Words that the core reads from CSV are those that pyarrow reads."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv

from polyak._core import csv_columns
from polyak.data.tables.text.csv import CsvFormat
from polyak.data.tables.text.lines import Lines
from polyak.errors import DataError
from polyak.model.dialect import Dialect

CELLS = (
    *("a", "", "two words", "NA", "none", '""', '"q"', '"a, b"', '"say ""so"""', '"two\nlines"'),
    *("é", "日本", "😀", '"ü""ö"', "5'10\"", 'in"side', "x" * 70, f'"{"y" * 130}"'),
    *("'", "\\", "\t"),
)
ODD = ('"behind" it', '"a"b', '"two" "pairs"')
NAMES = ["a", "b", "c"]


def ours(text: bytes, missing: tuple[str, ...] = ()) -> Any:
    """Read three columns of words as `polyak train` does."""
    lines = Lines(memoryview(text), "a.csv", NAMES, {}, 2)
    form = CsvFormat("csv", Dialect(missing=missing))
    return form.parse(lines, dict.fromkeys(NAMES, "string"), [], False)


def theirs(text: bytes, missing: tuple[str, ...] = ()) -> Any:
    nulls = arrow_csv.ConvertOptions().null_values
    return arrow_csv.read_csv(
        io.BytesIO(text),
        arrow_csv.ReadOptions(column_names=NAMES),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(NAMES, pa.string()),
            null_values=[*nulls, *missing],
            strings_can_be_null=bool(missing),
        ),
    )


def by_core(text: bytes) -> Any:
    return csv_columns(text, ",", NAMES, [], NAMES, [], True, False)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("missing", [(), ("none",)])
@given(rows=st.lists(st.tuples(*3 * [st.sampled_from(CELLS)]), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_words(rows: list[tuple[str, ...]], end: str, missing: tuple[str, ...]) -> None:
    text = end.join(",".join(row) for row in rows).encode()
    found = by_core(text)
    assert found is not None
    assert found.names == NAMES  # pyarrow has nothing left to do
    assert ours(text, missing).to_pylist() == theirs(text, missing).to_pylist()


@pytest.mark.parametrize("cell", ODD)
def test_what_stands_behind_a_quotation_mark_is_left_to_pyarrow(cell: str) -> None:
    text = f"1,{cell},2\n3,4,5\n".encode()
    assert by_core(text).names == ["a", "c"]
    assert ours(text).to_pylist() == theirs(text).to_pylist()


@given(st.lists(st.binary(min_size=1, max_size=6), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_words_are_utf8_or_not_as_python_has_it(words: list[bytes]) -> None:
    words = [bytes(byte for byte in word if byte not in b',"\r\n') or b"a" for word in words]
    text = b"".join(word + b",b,c\n" for word in words)
    found = by_core(text)
    try:
        wanted = [word.decode() for word in words]
    except UnicodeDecodeError:
        assert "a" not in found.names
    else:
        assert pa.record_batch(found).column("a").to_pylist() == wanted


def test_characters_beyond_the_last_and_halves_of_pairs_are_no_utf8() -> None:
    bad = [b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xc3", b"\x80"]
    for word in bad:
        assert "a" not in by_core(word + b",b,c\n").names
    # Two halves in neighbouring cells make no whole.
    assert "a" not in by_core(b"\xc3,b,c\n\xa9,b,c\n").names


def test_an_error_names_the_line_of_a_word_that_is_not_utf8() -> None:
    text = b"a,b,c\n" * 50 + b"a,\xff,c\n"
    with pytest.raises(DataError, match="line 52"):
        ours(text)


def test_rows_of_another_number_of_cells_and_open_quotation_marks_are_left_to_pyarrow() -> None:
    for text in (b"a,b\n", b"a,b,c,d\n", b'a,b,"c\n', b"a,b,c\rd,e,f"):
        assert by_core(text) is None


def test_long_texts_are_cut_at_the_same_places() -> None:
    random = np.random.default_rng(0)
    cells = [list(map(str, row)) for row in random.integers(10**9, size=(500, 3)).tolist()]
    for cut in range(130):  # ends at every place of 64 characters, and before and behind
        text = "\n".join(map(",".join, cells)).encode()[: 2000 + cut] + b",x,y"
        whole = b"\n".join(line for line in text.split(b"\n") if line.count(b",") == 2)
        assert pa.record_batch(by_core(whole)).to_pylist() == theirs(whole).to_pylist()

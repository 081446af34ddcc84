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
from polyak.data.tables.text.lines import Heading, Lines

CELLS = (
    *("a", "", "two words", "NA", "none", '""', '"q"', '"a, b"', '"say ""so"""', '"two\nlines"'),
    *("é", "日本", "😀", '"ü""ö"', "5'10\"", 'in"side', "x" * 70, f'"{"y" * 130}"'),
    *("'", "\\", "\t"),
)
ODD = ('"behind" it', '"a"b', '"two" "pairs"')
NAMES = ["a", "b", "c"]


def ours(text: bytes) -> Any:
    """Read three columns of words as `polyak train` does."""
    lines = Lines(memoryview(text), "a.csv", Heading(NAMES, ","), {}, 2)
    return CsvFormat("csv").parse(lines, dict.fromkeys(NAMES, "string"), [])


def theirs(text: bytes) -> Any:
    return arrow_csv.read_csv(
        io.BytesIO(text),
        arrow_csv.ReadOptions(column_names=NAMES),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(column_types=dict.fromkeys(NAMES, pa.string())),
    )


def by_core(text: bytes) -> Any:
    return csv_columns(text, ",", NAMES, [], NAMES, [])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
@given(rows=st.lists(st.tuples(*3 * [st.sampled_from(CELLS + ODD)]), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_words(rows: list[tuple[str, ...]], end: str) -> None:
    text = end.join(",".join(row) for row in rows).encode()
    assert ours(text).table.to_pylist() == theirs(text).to_pylist()


@given(st.lists(st.binary(min_size=1, max_size=6), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_words_are_utf8_or_not_as_python_has_it(words: list[bytes]) -> None:
    words = [bytes(byte for byte in word if byte not in b',"\r\n') or b"a" for word in words]
    text = b"".join(word + b",b,c\n" for word in words)
    found = by_core(text)
    wanted = [word.decode() if _is_utf8(word) else None for word in words]
    assert found.no_text == [(row, "a") for row, word in enumerate(wanted) if word is None]
    assert pa.record_batch(found).column("a").to_pylist() == wanted


def _is_utf8(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_characters_beyond_the_last_and_halves_of_pairs_are_no_utf8() -> None:
    bad = [b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xe0\x80\x80", b"\xc3", b"\x80"]
    for word in bad:
        assert by_core(word + b",b,c\n").no_text == [(0, "a")]
    # Two halves in neighbouring cells make no whole.
    assert by_core(b"\xc3,b,c\n\xa9,b,c\n").no_text == [(0, "a"), (1, "a")]


@pytest.mark.parametrize(
    ("text", "rows", "bad"),
    [
        (b"a,b\n1,2,3\n", 1, [(0, 3, 0, 2)]),
        (b"1,2,3\na,b,c,d\n", 1, [(6, 13, 1, 4)]),
        (b'1,2,"x\ny"\na,b,"c\n', 1, [(10, 17, 2, -1)]),
        (b"a,b,c\rd,e,f", 2, []),
        (b"\n\n1,x\n", 0, [(2, 5, 2, 2)]),
    ],
)
def test_rows_of_another_number_of_cells_are_left_out(
    text: bytes, rows: int, bad: list[tuple[int, ...]]
) -> None:
    found = by_core(text)
    assert pa.record_batch(found).num_rows == rows
    assert found.bad_rows == bad


def test_what_is_no_number_is_missing_and_named() -> None:
    text = b"1,2,x\nno,1\nyes,3,4\nnever,5\n7,NA,8\n"
    found = csv_columns(text, ",", NAMES, ["a", "b"], ["c"], ["NA"])
    assert found.no_numbers == [(1, "a", b"yes")]
    assert pa.record_batch(found).to_pydict() == {
        "a": [1.0, None, 7.0],
        "b": [2.0, 3.0, None],
        "c": ["x", "4", "8"],
    }
    assert found.lines.tolist() == [0, 2, 4]


def test_long_texts_are_cut_at_the_same_places() -> None:
    random = np.random.default_rng(0)
    cells = [list(map(str, row)) for row in random.integers(10**9, size=(500, 3)).tolist()]
    for cut in range(130):  # ends at every place of 64 characters, and before and behind
        text = "\n".join(map(",".join, cells)).encode()[: 2000 + cut] + b",x,y"
        whole = b"\n".join(line for line in text.split(b"\n") if line.count(b",") == 2)
        assert pa.record_batch(by_core(whole)).to_pylist() == theirs(whole).to_pylist()

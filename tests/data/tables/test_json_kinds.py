"""Values of JSON that are not of their column's kind: found by the core as pyarrow would."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.json
import pytest

from polyak._core import json_misfits
from polyak.data.open import open_stream
from polyak.errors import DataError

TYPES = {"n": pa.float64(), "s": pa.string(), "b": pa.bool_(), "l": pa.list_(pa.string())}
VALUES = [
    "1",
    "-2.5e3",
    '"w"',
    '"\\"}, "',
    "true",
    "false",
    "null",
    '["a", "}"]',
    "[]",
    "NaN",
    "-Inf",
]
VALUES += ['{"a": "x"}', "{}"]
PLACES = [
    '{{"a": {}}}',
    ' {{ "o" :{{"a": [1,{{}}]}},"a"\t: {} , "p":"\\\\"}} ',
    '{{"p": "a\\"",\t"a":{}}}',
]


def pyarrow_takes(line: str, schema: pa.Schema) -> bool:
    parse = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        pyarrow.json.read_json(pa.py_buffer(line.encode()), parse_options=parse)
    except pa.ArrowInvalid:
        return False
    return True


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("place", PLACES)
def test_as_pyarrow_has_it(kind: str, place: str) -> None:
    schema = pa.schema([("p", pa.string()), ("a", TYPES[kind])])
    lines = [place.format(value) for value in VALUES]
    rows, columns = json_misfits(" \n".join(lines).encode(), ["p", "a"], "s" + kind)
    refused = [row for row, line in enumerate(lines) if not pyarrow_takes(line, schema)]
    assert rows.tolist() == refused
    assert set(columns.tolist()) == {1}


def test_blank_lines_are_not_counted() -> None:
    rows, columns = json_misfits(b'\n  \r\n{"a":1}\n\n{"b":1,"a":"x"}', ["b", "a"], "nn")
    assert (rows.tolist(), columns.tolist()) == ([1], [1])


def test_text_that_is_no_json_is_survived() -> None:
    parts = ["{", '"a"', ":", "[", '"', "\\", "1", "}", "]", ",", "\n", "x"]
    for choice in itertools.product(parts, repeat=4):
        json_misfits("".join(choice).encode(), ["a"], "s")


@pytest.mark.parametrize("size", [{"block_bytes": 900}, {}])
@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (b'{"a": 1, "c": "\xff", "y": 1}', "the column c is not UTF-8"),
        (b'{"a": 1e999, "c": "w", "y": 1}', "a number is too large"),
        (b'{"a": 1, "a": 2, "c": "w", "y": 1}', "it is not JSON: "),
    ],
)
def test_the_first_bad_line_is_named_before_one_of_another_kind(
    first: bytes, reason: str, size: dict[str, int], tmp_path: Path
) -> None:
    rows = [json.dumps({"a": i, "c": f"w{i % 3}", "y": i % 11}).encode() for i in range(2000)]
    rows[1200], rows[1300] = first, b'{"a": "x", "c": "w", "y": 1}'
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n".join(rows))
    with (
        pytest.raises(DataError, match=f"line 1201: {reason}"),
        open_stream(path, target="y", warn_if_sorted=False, **size) as stream,
    ):
        list(stream)
    with open_stream(path, target="y", skip_bad_lines=True, **size) as stream:
        list(stream)
    assert [line.line for line in stream.first_bad_lines] == [1201, 1301]

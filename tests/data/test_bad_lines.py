"""Many bad lines in tables of text: the right ones are named and skipped, whatever the blocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polyak.data.open import open_stream
from polyak.errors import DataError

ROWS = 3000
SIZES = [{"block_bytes": 700}, {"block_bytes": 20_000, "threads": 3}, {}]


def csv_row(i: int) -> str:
    return f'{i},{i % 7}.5,"w{i % 3}",{3 * i % 11}'


def json_row(i: int) -> str:
    return json.dumps({"a": i, "b": i % 7 + 0.5, "c": f"w{i % 3}", "y": 3 * i % 11})


BAD = {
    "csv": ["1,2", "1,2,w,3,4", ' ', "1,2,\xff,3", "a\r1,2,w,3", '1,"2\n3",w'],
    "jsonl": [
        '{{"a": 1, "y": 1}} {{"a": 2, "y": 3}}',
        "{{]",
        '{{"a": 1, "y": 2',
        "null",
        '{{"c": "\xff", "y": 1}}',
        '{{"a": 1e999, "y": 1}}',
        '"a"}}',
    ],
}  # fmt: skip


def table(folder: Path, format: str, every: int) -> tuple[Path, list[int]]:
    """Write a table with a bad line after every ``every`` rows beyond the first 1000.

    Returns its path and the numbers of the bad lines.
    """
    good = csv_row if format == "csv" else json_row
    lines = ["a,b,c,y"] if format == "csv" else []
    bad = []
    kinds = BAD[format]
    for i in range(ROWS):
        lines.append(good(i))
        if i > 1000 and i % every == 0:
            lines.append("")  # blank lines have numbers, too
            bad.append(1 + sum(line.count("\n") + 1 for line in lines))
            lines.append(kinds[len(bad) % len(kinds)].format(i))
    path = folder / f"t.{format}"
    path.write_bytes(("\n".join(lines) + "\n").encode("latin-1"))
    return path, bad


def read(path: Any, **options: Any) -> Any:
    with open_stream(path, target="y", warn_if_sorted=False, **options) as stream:
        batches = list(stream)
    return stream, batches


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize("options", SIZES)
def test_all_bad_lines_are_skipped_and_no_other(
    format: str, options: dict[str, Any], tmp_path: Path
) -> None:
    path, bad = table(tmp_path, format, 10)
    stream, batches = read(path, skip_bad_lines=True, **options)
    extra = sum(1 for n in range(len(bad)) if "\r" in BAD[format][(n + 1) % len(BAD[format])])
    assert stream.rows_read == ROWS + extra  # a carriage return ends a row of CSV
    assert stream.bad_lines == len(bad)
    assert [line.line for line in stream.first_bad_lines] == bad[:10]
    targets = [target for batch in batches for target in batch.targets.tolist()]
    if not extra:
        assert targets == [3 * i % 11 for i in range(ROWS)]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize("kind", range(6))
def test_the_first_bad_line_is_named(format: str, kind: int, tmp_path: Path) -> None:
    good = csv_row if format == "csv" else json_row
    lines = [good(i) for i in range(1500)]
    lines[1300:1300] = ["", BAD[format][kind].format(5)]
    head = ["a,b,c,y"] if format == "csv" else []
    path = tmp_path / f"t.{format}"
    path.write_bytes("\n".join([*head, *lines]).encode("latin-1"))
    for options in SIZES:
        with pytest.raises(DataError, match=rf"t.{format}, line {1302 + len(head)}: "):
            read(path, **options)


def test_an_object_over_two_lines_is_none_whatever_the_blocks(tmp_path: Path) -> None:
    rows = [json_row(i) for i in range(2000)]
    rows[1500] = '{"a": 1,\n"y": 3}'
    rows[1600] += " " + rows[1600]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(rows))
    for options in SIZES:
        stream, _ = read(path, skip_bad_lines=True, **options)
        assert [line.line for line in stream.first_bad_lines] == [1501, 1502, 1602]
        assert "it is not JSON: Extra data" in stream.first_bad_lines[2].reason
        assert stream.rows_read == 1998


def test_lines_after_skipped_ones_keep_their_numbers(tmp_path: Path) -> None:
    path, bad = table(tmp_path, "csv", 100)
    text = path.read_bytes().split(b"\n")
    text[2500] = b"1e300,1,w,3"
    path.write_bytes(b"\n".join(text))
    for options in SIZES:
        stream, _ = read(path, skip_bad_lines=True, **options)
        shown = {line.line: line.text for line in stream.first_bad_lines}
        assert shown.get(2501, "1e+300") == "1e+300"
        assert stream.bad_lines == len(bad) + 1
    rows = [csv_row(i) for i in range(1500)]
    rows[1300] = "1e300,1,w,3"
    path.write_text("\n".join(["a,b,c,y", *rows]))
    with pytest.raises(DataError, match=r"line 1302: '1e\+300' in column a is too large"):
        read(path)


def test_kept_columns_leave_out_the_same_lines(tmp_path: Path) -> None:
    rows = [f"{i:05},{i % 7}.5,{3 * i % 11}" for i in range(2000)]
    rows[1500] = "01500,3"
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["id,b,y", *rows]))
    _, batches = read(path, skip_bad_lines=True, keep=["id"])
    ids = [word for batch in batches for word in batch.kept.column("id").to_pylist()]
    assert ids == [f"{i:05}" for i in range(2000) if i != 1500]


LATE = {
    "csv": ("a,d,y", lambda i: f"{i % 9},2024-01-{i % 28 + 1:02},{i % 5}", "x,soon,many"),
    "jsonl": (
        "",
        lambda i: json.dumps({"a": i % 9, "d": f"2024-01-{i % 28 + 1:02}", "y": i % 5}),
        '{"a": "x", "d": "soon", "y": [1]}',
    ),
}


@pytest.mark.parametrize("format", LATE)
@pytest.mark.parametrize("options", SIZES[1:])
def test_late_values_of_another_type_are_missing_with_one_warning(
    format: str, options: dict[str, Any], tmp_path: Path
) -> None:
    head, row, odd = LATE[format]
    rows = [row(i) for i in range(100_000)]
    rows[98_000] = rows[99_000] = odd
    path = tmp_path / f"t.{format}"
    path.write_text("\n".join([head, *rows] if head else rows))
    with pytest.warns(UserWarning, match="in column") as said:
        stream, _ = read(path, **options)
    line = 98_001 + bool(head)
    told = [str(one.message) for one in said if "in column" in str(one.message)]
    assert sorted(one.partition("column ")[2][0] for one in told) == ["a", "d", "y"]
    assert all(f"t.{format}, line {line}: " in one for one in told)
    assert any("'x' in column a, which was a number so far, is read as missing" in t for t in told)
    assert any("missing=('x',) expects it" in one for one in told)
    assert stream.rows_read == 99_998
    assert stream.rows_without_target == 2
    assert stream.bad_lines == 0


def test_going_on_behind_bad_lines(tmp_path: Path) -> None:
    for format in ("csv", "jsonl"):
        path, bad = table(tmp_path, format, 10)
        options: dict[str, Any] = {"target": "y", "skip_bad_lines": True, "block_bytes": 3000}
        whole, _ = read(path, skip_bad_lines=True)
        with open_stream(path, warn_if_sorted=False, **options) as stream:
            for _ in range(12):
                next(stream)
            position = json.loads(json.dumps(stream.position))
        with open_stream(path, start=position, **options) as stream:
            for _ in stream:
                pass
            assert stream.bad_lines == len(bad)
            assert stream.rows_read == whole.rows_read
            assert stream.first_bad_lines == whole.first_bad_lines

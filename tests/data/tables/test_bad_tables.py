"""Tables that cannot be read: one sentence, with the file, the row and what is wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data.made_tables import features

from polyak.data.open import open_stream
from polyak.data.options import Columns
from polyak.errors import DataError

ROWS = [f"{i},{i % 7}.5,w{i % 3},{3 * i % 11}" for i in range(1500)]
HEAD = "a,b,c,y\n"


def csv(tmp_path: Path, rows: list[str], head: str = HEAD) -> Path:
    path = tmp_path / "t.csv"
    path.write_bytes((head + "\n".join(rows) + "\n").encode("latin-1"))
    return path


def changed(row: int, text: str) -> list[str]:
    return [*ROWS[:row], text, *ROWS[row + 1 :]]


def read(path: Any, **options: Any) -> Any:
    with open_stream(path, **({"target": "y"} | options)) as stream:
        for _ in stream:
            pass
        return stream


CASES: dict[str, tuple[Callable[[], tuple[list[str], str]], str]] = {
    "too many fields": (
        lambda: (changed(1400, "1,2,w1,3,9"), HEAD),
        r"t.csv, line 1402: 5 fields where the header has 4, too many: '1,2,w1,3,9'",
    ),
    "too few fields": (
        lambda: (changed(1400, "1,2"), HEAD),
        r"t.csv, line 1402: 2 fields where the header has 4, too few: '1,2'",
    ),
    "not UTF-8": (
        lambda: (changed(1400, "1,2,\xff,3"), HEAD),
        r"t.csv, line 1402: the column c is not UTF-8",
    ),
    "not UTF-8, at once": (
        lambda: (changed(1, "1,2,\xff,3"), HEAD),
        r"t.csv, line 3: the column c is not UTF-8",
    ),
    "a constant target": (
        lambda: ([row.rsplit(",", 1)[0] + ",3" for row in ROWS], HEAD),
        r"the target column y of .*t.csv is 3 in all 1500 rows: there is nothing to learn",
    ),
    "no target at all": (
        lambda: ([row.rsplit(",", 1)[0] + ",NA" for row in ROWS], HEAD),
        r"the target column y of .*t.csv is missing in all 1500 rows",
    ),
    "no rows": (lambda: ([], HEAD.strip()), r"t.csv has no rows"),
    "no header": (
        lambda: (["1,2,3,4", "5,6,7,8"], ""),
        r"t.csv has no header: its first line is numbers",
    ),
    "a NUL character": (
        lambda: (ROWS, HEAD.replace("b", "b\0")),
        r"t.csv, line 1: the header has a NUL character; .* encoding='utf-16-le' may read it",
    ),
    "infinity": (
        lambda: (changed(1400, "inf,2,w1,3"), HEAD),
        r"t.csv, line 1402: 'inf' in column a is too large",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_csv(case: str, tmp_path: Path) -> None:
    make, sentence = CASES[case]
    with pytest.raises(DataError, match=sentence):
        read(csv(tmp_path, *make()), block_bytes=4000, warn_if_sorted=False)


@pytest.mark.parametrize("row", ["1,2,w1,3,9", "1,2", "1,2,\xff,3", "inf,1,w1,2"])
def test_bad_lines_of_a_csv_are_skipped(row: str, tmp_path: Path) -> None:
    path = csv(tmp_path, changed(1400, row))
    stream = read(path, skip_bad_lines=True, block_bytes=4000)
    assert stream.rows_read == 1499
    assert [line.line for line in stream.first_bad_lines] == [1402]
    assert stream.bad_lines == 1


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{]", "t.jsonl, line 1401: it is not JSON"),
        (r'{"a": 1, "y": "\ud800"}', "t.jsonl, line 1401: it has half of a pair of surrogates"),
        (r'{"a": 1, "\udfff": 1}', "t.jsonl, line 1401: it has half of a pair of surrogates"),
    ],
)
def test_json_lines(line: str, sentence: str, tmp_path: Path) -> None:
    rows = [f'{{"a": {i}, "y": {i % 5}}}' for i in range(1500)]
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join([*rows[:1400], line, *rows[1401:]]) + "\n")
    with pytest.raises(DataError, match=sentence):
        read(path)
    stream = read(path, skip_bad_lines=True)
    assert (stream.rows_read, stream.bad_lines) == (1499, 1)


@pytest.mark.parametrize("late", [0, 1500])
def test_nan_in_json_is_missing_whatever_the_column_holds(late: int, tmp_path: Path) -> None:
    rows = [f'{{"a": {i}.5, "b": {"ft"[i % 2]}, "w": "{i % 3}k", "l": ["u"], "y": {i % 5}}}'
            for i in range(1500)]  # fmt: skip
    rows = [row.replace(": f,", ": false,").replace(": t,", ": true,") for row in rows]
    rows.insert(late, '{"a": NaN, "b": NaN, "w": NaN, "l": NaN, "y": 1}')
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(rows))
    with open_stream(path, target="y", block_bytes=4000) as stream:
        assert stream.schema is not None
        kinds = [column.kind for column in stream.schema.columns]
        assert kinds == ["number", "boolean", "category", "bag"]
        assert sum(map(len, stream)) == 1501


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    path = csv(tmp_path, ROWS)
    there = "it has a, b, c, y"
    with pytest.raises(DataError, match=f"no target column Y; did you mean y\\? {there}"):
        read(path, target="Y")
    with pytest.raises(DataError, match=f"t.csv has no column zzz; {there}"):
        read(path, columns=Columns(target="y", drop=("zzz",)))
    with pytest.raises(DataError, match="no column left to learn from"):
        read(path, columns=Columns(target="y", drop=("a", "b", "c")))


def test_a_table_that_lacks_a_column_of_the_model(tmp_path: Path) -> None:
    schema = read(csv(tmp_path, ROWS)).schema
    with pytest.warns(UserWarning, match=r"t.csv does not have b, which the model was learned"):
        read(csv(tmp_path, ["1,x", "2,y"], "a,c\n"), schema=schema, targets=False)
    with pytest.raises(
        DataError, match=r"t.csv has none of the columns .*: it has z; the model has"
    ):
        read(csv(tmp_path, ["x", "y"], "z\n"), schema=schema, targets=False)


def test_a_type_that_changes_between_files(tmp_path: Path) -> None:
    table = pa.table({"a": [2.0, 1.0], "y": [1.0, 2.0]})
    pq.write_table(table, tmp_path / "1.parquet")
    words = pa.table({"a": ["x", "z"], "y": [1.0, 2.0]})
    pq.write_table(words, tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"2.parquet: the column a holds string, but it was a num"):
        read(tmp_path)


@pytest.mark.parametrize("rows", [1500, 100_000])
def test_a_time_that_is_none(rows: int, tmp_path: Path) -> None:
    """Within the first megabyte it makes the column one of words, later it is missing."""
    days = [f"2024-01-{i % 28 + 1:02},{i % 5}" for i in range(rows)]
    days[-100] = "soon,3"
    path = csv(tmp_path, days, "day,y\n")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        stream = read(path)
    assert stream.schema.columns[0].kind == ("category" if rows == 1500 else "date")
    told = [f"line {rows - 98}: 'soon' in column day" in str(one.message) for one in said]
    assert any(told) == (rows > 1500)


def test_a_word_that_begins_as_a_number_is_missing() -> None:
    table = pa.table({"a": ["1", "9E", "3"], "y": [1.0, 2.0, 4.0]})
    with (
        pytest.warns(UserWarning, match="row 2: '9E' in column a"),
        open_stream(table, columns=Columns(target="y", numeric=("a",))) as stream,
    ):
        (batch,) = stream
    assert stream.schema is not None
    assert "a is missing" in features(batch.rows, 1, stream.schema)


def test_a_parquet_file_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": range(1000), "y": range(1000)}), path)
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(DataError, match=r"t.parquet is not a sound Parquet file, or cut short"):
        read(path)


@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())])
@pytest.mark.parametrize("row", [3, 1400])
def test_text_of_a_parquet_file_that_is_not_utf8(kind: Any, row: int, tmp_path: Path) -> None:
    words = [b"a", b"b"] * 750
    words[row] = b"\xff"
    text = pa.array(words)
    if kind != pa.binary():
        text = pa.Array.from_buffers(pa.string(), len(text), text.buffers())
    if kind not in (pa.binary(), pa.string()):
        text = text.dictionary_encode()
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"c": text, "y": [i % 5 for i in range(1500)]}), path)
    with pytest.raises(DataError, match=rf"t.parquet, row {row + 1}: the column c is not UTF-8"):
        read(path)
    stream = read(path, skip_bad_lines=True)
    assert (stream.rows_read, stream.bad_lines) == (1499, 1)


@pytest.mark.parametrize("kind", ["binary", "binary_view", "string_view"])
def test_text_of_a_frame_that_is_not_utf8(kind: str) -> None:
    if not hasattr(pa, kind):
        pytest.skip(f"this pyarrow has no {kind}")
    text = pa.array([b"a", b"b", b"\xff"] * 500)
    if kind != "binary":
        text = text.cast(pa.binary_view()).view(getattr(pa, kind)())
    table = pa.table({"c": text, "y": range(1500)})
    with pytest.raises(DataError, match="row 3: the column c is not UTF-8"):
        read(table)
    stream = read(table, skip_bad_lines=True)
    assert (stream.rows_read, stream.bad_lines) == (1000, 500)


def test_an_empty_folder_and_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").touch()
    with pytest.raises(DataError, match="is a folder without any file to read"):
        read(tmp_path)
    (tmp_path / "t.csv").touch()
    with pytest.raises(DataError, match=r"t.csv is empty"):
        read(tmp_path / "t.csv")


def test_weights_that_are_none(tmp_path: Path) -> None:
    path = csv(tmp_path, changed(1400, "-1,1,w,2"))
    with pytest.raises(DataError, match=r"t.csv, line 1402: the weight is -1"):
        read(path, columns=Columns(target="y", weight="a"))
    with pytest.raises(DataError, match="no weight column W"):
        read(path, columns=Columns(target="y", weight="W"))


def test_choices_that_make_no_sense() -> None:
    for wrong in ({"bits": 40}, {"ngrams": 0}, {"interact": ("a",)}, {"positive": "x"}):
        with pytest.raises(ValueError, match=r"bits|ngrams|cross|target"):
            Columns(**wrong)
    with pytest.raises(DataError, match="holds lists of words"):
        read(
            pa.table({"t": ["x y"], "c": ["u"], "y": [1.0]}),
            columns=Columns(target="y", text=("t",), interact=("t:c",)),
        )

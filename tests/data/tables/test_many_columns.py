"""Tables of thousands of columns: what a column costs does not grow with their number."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv

from polyak.data.find import find_files
from polyak.data.formats.tables import open_source
from polyak.data.open import open_stream
from polyak.data.options import Columns, ReadOptions
from polyak.data.tables.reader import TableReader
from polyak.data.tables.text import source as text_source
from polyak.data.tables.text.csv import CsvFormat
from polyak.data.tables.text.lines import Heading, Lines
from polyak.model.schema import Schema

FEW, MANY = 300, 1200


def wide(path: Path, columns: int, last: str = "1.5") -> Path:
    """Write a table of numbers, with a column z of whatever is said."""
    numbers = np.random.default_rng(0).normal(size=(12, columns)).round(4)
    names = [f"x{number}" for number in range(columns)]
    rows = [",".join([*map(str, row), last, str(i % 2)]) for i, row in enumerate(numbers.tolist())]
    path.write_text("\n".join([",".join([*names, "z", "y"]), *rows]) + "\n")
    return path


def calls(path: Path) -> int:
    """Count the calls of functions, Python's and others', that reading takes."""
    made = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        with open_stream(path, target="y", threads=0) as stream:
            rows = sum(len(batch) for batch in stream)
    finally:
        sys.setprofile(None)
    assert rows == 12
    return made


@pytest.mark.parametrize("last", ["1.5", "word", '"quoted, word"', "NA", "2013-01-01"])
def test_a_column_of_numbers_takes_a_few_calls_however_many_there_are(
    last: str, tmp_path: Path
) -> None:
    calls(wide(tmp_path / "first.csv", 3, last))  # which imports what is needed
    few, many = (calls(wide(tmp_path / f"{n}.csv", n, last)) for n in (FEW, MANY))
    assert many - few < 40 * (MANY - FEW)


class Asked:
    """A table that counts what it is asked for."""

    def __init__(self, table: Any, counts: Counter[str]) -> None:
        self._table = table
        self._counts = counts

    def __getattr__(self, name: str) -> Any:
        self._counts[name] += 1
        return getattr(self._table, name)


def lists_asked_for(path: Path, schema: Schema | None = None) -> Counter[str]:
    """Count how often all names or types of a table were listed to find out what it holds."""
    options = ReadOptions(threads=0, columns=Columns(target="y"), schema=schema)
    source = open_source("csv", find_files(path), options)
    counts: Counter[str] = Counter()
    sample = source.sample
    source.sample = lambda: Asked(sample(), counts)  # type: ignore[method-assign]
    TableReader(source, options)
    return Counter({name: counts[name] for name in ("column_names", "schema", "columns")})


def test_names_are_not_listed_once_for_every_column(tmp_path: Path) -> None:
    few, many = (lists_asked_for(wide(tmp_path / f"{n}.csv", n)) for n in (FEW, MANY))
    assert few["column_names"] > 0
    assert many == few


def test_nor_where_the_schema_is_known(tmp_path: Path) -> None:
    paths = [wide(tmp_path / f"{n}.csv", n) for n in (FEW, MANY)]
    schemas = [open_stream(path, target="y").schema for path in paths]
    few, many = map(lists_asked_for, paths, schemas)
    assert few["column_names"] > 0
    assert many == few


CELLS = (
    *("1", "-2.5", "007", "-0", "3e2", "1E-3", "123456789012345678901234567890", "0.1"),
    *("", "NA", "nan", "#N/A", "1.", ".5", " 4", "5 ", "+6", "inf", "1e-400", '"7"'),
    *("9007199254740993", "2.2250738585072011e-308", "179769313486231570e291", "0e-999"),
)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_numbers_are_those_that_pyarrow_reads(end: str) -> None:
    random = np.random.default_rng(1)
    names = [f"x{number}" for number in range(60)]
    # Most columns are of plain numbers, others have a cell of any kind.
    cells = random.normal(size=(40, len(names))).round(6).astype(str).astype(object)
    for column, cell in enumerate(CELLS):
        cells[random.integers(40), column] = cell
    text = end.join(",".join(row) for row in cells.tolist())
    for tail in ("", end):
        whole = memoryview((text + tail).encode())
        lines = Lines(whole, "a.csv", Heading(names, ","), {}, 2)
        types = dict.fromkeys(names, "number")
        found = CsvFormat("csv").parse(lines, types, []).table
        read = arrow_csv.ReadOptions(column_names=names)
        convert = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()))
        wanted = arrow_csv.read_csv(io.BytesIO(text.encode()), read, convert_options=convert)
        assert found.schema.names == names
        for name in names:
            ours, theirs = found.column(name), wanted.column(name)
            assert ours.null_count == theirs.null_count, name
            assert ours.to_pylist() == theirs.to_pylist(), name


def test_a_value_too_large_leaves_the_other_rows_as_they_are() -> None:
    """Of a table this wide, fewer rows than usual are encoded at a time."""
    n_rows, width, bad = 1500, 600, 1318
    values = np.random.default_rng(0).normal(size=(n_rows, width))
    values[bad, 0] = 1e300
    names = [f"x{j}" for j in range(width)]
    table = pa.table(dict(zip(names, values.T, strict=True)) | {"y": np.arange(float(n_rows))})
    with open_stream(table, target="y", skip_bad_lines=True) as stream:
        batches = list(stream)
    targets = np.concatenate([batch.targets for batch in batches])
    assert targets.tolist() == [y for y in range(n_rows) if y != bad]
    assert min(np.diff(batch.rows.indptr).min() for batch in batches) == width


def test_pieces_in_random_order_that_hold_few_rows_are_parsed_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A piece costs something for every column, however few rows it has."""
    path = tmp_path / "wide.csv"
    names = [f"x{number}" for number in range(MANY)]
    lines = [",".join([*["0.125"] * (MANY - 1), f"{n}", f"{n % 2}"]) for n in range(60)]
    path.write_text("\n".join([",".join([*names, "y"]), *lines]) + "\n")
    parsed = []

    def counted(self: CsvFormat, *arguments: Any) -> Any:
        parsed.append(1)
        return PARSE(self, *arguments)

    PARSE = CsvFormat.parse
    with open_stream(path, target="y", random_order=True, threads=0, dtype=np.float64) as stream:
        monkeypatch.setattr(CsvFormat, "parse", counted)
        (batch,) = stream
    assert len(parsed) == 1
    assert batch.where is not None
    assert batch.targets is not None
    wheres = [batch.where(row)[1] for row in range(60)]
    assert sorted(wheres) == list(range(2, 62)) != wheres
    assert batch.targets.tolist() == [line % 2 for line in wheres]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_the_sample_has_rows_where_a_line_is_longer_than_it(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_source, "SAMPLE_BYTES", 1 << 12)
    path = wide(tmp_path / "wide.csv", MANY)
    if ending == "jsonl":
        rows = arrow_csv.read_csv(path).to_pylist()
        path = tmp_path / "wide.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_stream(path, target="y", block_bytes=1 << 13, threads=0) as stream:
        look = stream.look()
        assert look is not None
        assert look.rows >= 8
        assert sum(map(len, stream)) == 12

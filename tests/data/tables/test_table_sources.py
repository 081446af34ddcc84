"""Tables in folders, behind URLs, in quotation marks; and the real flights, in every format."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.made_tables import flights, read_all, write

from polyak._core import hash_name
from polyak.data.open import open_stream
from polyak.data.options import Columns, ReadOptions
from polyak.data.tables.number_formats import parse_words
from polyak.data.tables.targets import numbers_of
from polyak.learn.recipes import Recipe
from polyak.training.job import Job
from polyak.training.loop import train
from reproduction.datasets import real


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = flights(1000)
    for year, city, begin in ((2012, "Rome", 0), (2013, "Köln", 500)):
        part = tmp_path / "t" / f"year={year}" / f"city={city}"
        part.mkdir(parents=True)
        write(table.slice(begin, 500), part / "part.parquet")
    (tmp_path / "t" / "_SUCCESS").touch()
    return tmp_path / "t"


def test_a_partitioned_folder(folder: Path) -> None:
    rows, _, schema = read_all(folder, target="delay")
    kinds = {column.name: column.kind for column in schema.columns}
    assert kinds["year"] == "number"
    assert kinds["city"] == "category"
    index = schema.hashed_begin + (hash_name("city=Köln") & ((1 << 18) - 1))
    assert 400 < np.count_nonzero(rows.indices == index) <= 500


def test_a_url_is_the_folder(folder: Path) -> None:
    rows, targets, _ = read_all(folder, target="delay")
    got, got_targets, _ = read_all(folder.as_uri(), target="delay")
    np.testing.assert_array_equal(got.values, rows.values)
    np.testing.assert_array_equal(got_targets, targets)
    one = next(folder.rglob("*.parquet"))
    with pytest.raises(ValueError, match="no such file"):
        read_all(one.as_uri() + "x", target="delay")


def test_patterns_and_lists_of_files(tmp_path: Path) -> None:
    table = flights(900)
    paths = [write(table.slice(i * 300, 300), tmp_path / f"{i}.csv") for i in range(3)]
    rows, targets, _ = read_all(table, target="delay")
    for source in (str(tmp_path / "*.csv"), [str(path) for path in paths], tmp_path):
        got, got_targets, _ = read_all(source, target="delay", block_bytes=5000)
        np.testing.assert_array_equal(got.values, rows.values)
        np.testing.assert_array_equal(got_targets, targets)


@pytest.mark.parametrize("block_bytes", [200, 1 << 21])
def test_quoted_fields_may_hold_anything(block_bytes: int, tmp_path: Path) -> None:
    words = [f'a "quoted", word\nand a line {i}' for i in range(60)]
    table = pa.table({"w": words, "y": np.arange(60.0)})
    path = tmp_path / "t.csv"
    pa.csv.write_csv(table, path)
    rows, targets, _ = read_all(path, target="y", block_bytes=block_bytes)
    expected, _, _ = read_all(table, target="y")
    np.testing.assert_array_equal(rows.indices, expected.indices)
    assert targets.tolist() == list(range(60))


def test_columns_that_are_not_used_are_not_read(tmp_path: Path) -> None:
    table = flights(2000)
    path = write(table, tmp_path / "t.parquet")
    # Where the column lies, the file is now damaged: only who reads it can notice.
    column = pq.ParquetFile(path).metadata.row_group(2).column(3)
    assert column.path_in_schema == "tail"
    data = bytearray(path.read_bytes())
    begin = column.dictionary_page_offset or column.data_page_offset
    data[begin : begin + column.total_compressed_size] = bytes(column.total_compressed_size)
    path.write_bytes(data)
    read_all(path, columns=Columns(target="delay", drop=("tail",)))
    with pytest.raises(ValueError, match="not a sound Parquet file"):
        read_all(path, target="delay")


@given(st.datetimes(timezones=st.sampled_from([None])))
def test_times_in_words_are_those_of_arrow(time: object) -> None:
    array = pa.array([time], pa.timestamp("us"))
    values, wrong = parse_words(pa.array([time.isoformat()]), "y/m/d")  # type: ignore[attr-defined]
    assert len(wrong) == 0
    assert values == array


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("1970-01-02T00:00Z", 24.0),
        ("1970-01-01 12:00:00+02:00", 10.0),
        ("1970-01-01T00:00:00.25-0130", 1.5 + 0.25 / 3600),
        ("1969-12-31", -24.0),
        ("2024-02-30", None),
        ("1970-01-01T25:00", None),
        ("1970-1-1", 0.0),
        ("1970-01-01x", None),
    ],
)
def test_times_in_words(text: str, hours: float | None) -> None:
    values, wrong = parse_words(pa.array([text]), "y/m/d")
    assert (len(wrong) == 0) == (hours is not None)
    if hours is not None:
        assert numbers_of(values)[0] * 24 == pytest.approx(hours, abs=1e-9)


def test_without_pyarrow_it_says_what_to_install(tmp_path: Path) -> None:
    path = write(flights(10), tmp_path / "t.csv")
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from polyak.data.open import open_stream\n"
        f"try: open_stream({str(path)!r}, target='delay')\n"
        "except ValueError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'polyak[tables]'" in done.stdout


def test_a_run_that_was_stopped_ends_with_the_same_bits(tmp_path: Path) -> None:
    path = write(flights(6000), tmp_path / "t.csv")

    def job(folder: str | None) -> Job:
        return Job(
            source=str(path),
            recipe=Recipe(loss="squared_error", recipe="paper"),
            reading=ReadOptions(columns=Columns(target="delay"), block_bytes=10_000),
            checkpoint=folder,
            every_rows=1,
            order="as-is",
        )

    class StopError(Exception):
        pass

    def stop(progress: object) -> None:
        if progress.rows > 3000:  # type: ignore[attr-defined]
            raise StopError

    whole = train(job(None)).model
    folder = str(tmp_path / "checkpoint")
    with pytest.raises(StopError):
        train(job(folder), stop)
    again = train(job(folder)).model
    assert whole is not None
    assert again is not None
    np.testing.assert_array_equal(again.weights, whole.weights)
    assert again.features.schema == whole.features.schema
    assert again.report.rows_without_target == whole.report.rows_without_target


# -- the real flights ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_flights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = real.data_folder()
    if folder is None or not (Path(folder) / "nycflights13.csv.gz").exists():
        pytest.skip("POLYAK_DATA has no nycflights13.csv.gz")
    return Path(folder) / "nycflights13.csv.gz"


DROPPED = Columns(target="arr_delay", drop=("arr_time", "air_time"))


def test_the_real_flights_collide_as_often_as_chance_has_it(real_flights: Path) -> None:
    with open_stream(real_flights, columns=DROPPED) as stream:
        schema = stream.schema
    assert schema is not None
    words = [column.name for column in schema.columns if column.kind == "category"]
    assert words == ["carrier", "tailnum", "origin", "dest"]
    with gzip.open(real_flights) as file:
        table = pa.csv.read_csv(file, convert_options=pa.csv.ConvertOptions(include_columns=words))
    # Alone the four columns have 4,000 values and thirty collisions; crossed they have more.
    pairs = table.group_by(["tailnum", "dest"]).aggregate([])
    names = [f"tailnum={t}^dest={d}" for t, d in zip(*pairs.to_pydict().values(), strict=True)]
    names += [f"{w}={v}" for w in words for v in table.column(w).unique().to_pylist()]
    n, slots = len(names), 1 << 18
    taken = np.bincount([hash_name(name) & (slots - 1) for name in names], minlength=slots)
    share = taken[taken > 1].sum() / n
    chance = 1 - (1 - 1 / slots) ** (n - 1)
    assert n > 40_000
    assert share == pytest.approx(chance, rel=0.1)


@pytest.mark.slow
def test_the_real_flights_are_the_same_in_every_format(real_flights: Path, tmp_path: Path) -> None:
    with gzip.open(real_flights) as file:
        table = pa.csv.read_csv(file)
    pq.write_table(table, tmp_path / "t.parquet")
    table.to_pandas().to_json(tmp_path / "t.jsonl", orient="records", lines=True, date_format="iso")
    models = []
    for source in (real_flights, tmp_path / "t.parquet", tmp_path / "t.jsonl"):
        recipe = Recipe(loss="squared_error", recipe="paper")
        reading = ReadOptions(columns=DROPPED)
        models.append(
            train(Job(source=str(source), recipe=recipe, reading=reading, order="as-is")).model
        )
    for model in models:
        assert model is not None
        np.testing.assert_array_equal(model.weights, models[0].weights)
        assert (model.features, model.report) == (models[0].features, models[0].report)
    # Half the squared error, against half the variance of 1,992: the mean explains nothing.
    assert models[0].report.recent.loss < 0.2 * 996


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_slow_modules_are_not_imported_to_read_tables(format: str, tmp_path: Path) -> None:
    path = tmp_path / f"flights.{format}"
    write(flights(1000), path)
    program = (
        "import sys\n"
        "from polyak.data.open import open_stream\n"
        "from polyak.data.options import Columns\n"
        "with open_stream(sys.argv[1], columns=Columns(target='delay')) as stream:\n"
        "    rows = sum(map(len, stream))\n"
        "slow = {'pandas', 'pyarrow.compute', 'numpy.ma'}\n"
        "print(rows, *(slow | {'pyarrow'}) & sys.modules.keys())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    count, *imported = done.stdout.split()
    assert int(count) > 0
    assert imported == ["pyarrow"]

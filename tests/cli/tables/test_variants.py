"""One table written in many ways: each gives the model of the plain CSV, bit for bit."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import zstandard
from commands import polyak
from pyarrow import feather, parquet

from polyak.cli import main
from polyak.model.linear import LinearModel

ROWS = 240


def frame() -> pd.DataFrame:
    """Make up houses: numbers with decimals and without, truths, words, dates, missing values."""
    random = np.random.default_rng(7)
    size = (random.integers(90, 4000, ROWS) + random.integers(0, 100, ROWS) / 100).round(2)
    day = np.datetime64("2019-03-01") + random.integers(0, 700, ROWS)
    seen = np.datetime64("2020-01-01T00:00") + random.integers(0, 500_000, ROWS)
    city = random.choice(["Rome", "Oslo", "Köln"], ROWS).astype(object)
    city[random.random(ROWS) < 0.1] = None
    share = (random.integers(0, 1000, ROWS) / 10).astype(float)
    share[random.random(ROWS) < 0.1] = np.nan
    rooms = random.integers(1, 9, ROWS)
    garden = random.random(ROWS) < 0.4
    price = (3 * size + 90 * rooms + 700 * garden + random.normal(0, 40, ROWS)).round(2)
    return pd.DataFrame(
        {
            "size": size,
            "share": share,
            "rooms": rooms,
            "garden": garden,
            "city": city,
            "day": day.astype("datetime64[s]"),
            "seen": seen.astype("datetime64[s]"),
            "price": price,
        }
    )


FRAME = frame()


def words(
    number: Callable[[float], str] = repr,
    truth: tuple[str, str] = ("true", "false"),
    missing: str = "",
    day: str = "%Y-%m-%d",
    seen: str = "%Y-%m-%dT%H:%M:%S",
) -> pd.DataFrame:
    """Write all values as words."""

    def written(x: Any) -> str:
        return missing if x is None or x != x else number(float(x)) if isinstance(x, float) else x

    return pd.DataFrame(
        {
            "size": [written(x) for x in FRAME["size"].tolist()],
            "share": [written(x) for x in FRAME["share"].tolist()],
            "rooms": FRAME["rooms"].astype(str),
            "garden": np.where(FRAME["garden"], *truth),
            "city": [written(x) for x in FRAME["city"].tolist()],
            "day": FRAME["day"].dt.strftime(day),
            "seen": FRAME["seen"].dt.strftime(seen),
            "price": [written(x) for x in FRAME["price"].tolist()],
        }
    )


def text(table: pd.DataFrame | None = None, **how: Any) -> str:
    return str((words() if table is None else table).to_csv(index=False, **how))


def grouped(x: float, thousands: str, decimal: str, pattern: str = "{}") -> str:
    digits = f"{x:,.2f}".replace(",", "T").replace(".", "D")
    return pattern.format(digits.replace("T", thousands).replace("D", decimal))


def as_json(**changes: Any) -> list[dict[str, Any]]:
    table = words()
    rows = []
    for i, row in enumerate(FRAME.to_dict("records")):
        row = {key: None if value != value else value for key, value in row.items()}
        row |= {name: table[name][i] for name in ("day", "seen")}
        row |= {name: table[name][i] for name in changes.get("words", ())}
        rows.append(row)
    return rows


def arrow(**types: Any) -> pa.Table:
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    for name, kind in ({"day": pa.date32()} | types).items():
        column = table.column(name).cast(kind, safe=False)
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def zipped(*members: tuple[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, inside in members:
            archive.writestr(name, inside)
    return file.getvalue()


def parquet_bytes(table: pa.Table, **how: Any) -> bytes:
    file = io.BytesIO()
    parquet.write_table(table, file, **how)
    return file.getvalue()


def feather_bytes(table: pa.Table, **how: Any) -> bytes:
    file = io.BytesIO()
    feather.write_feather(table, file, **how)
    return file.getvalue()


def stream_bytes(table: pa.Table) -> bytes:
    file = io.BytesIO()
    with pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def numbers(thousands: str, decimal: str, pattern: str = "{}", **how: Any) -> str:
    return text(words(number=lambda x: grouped(x, thousands, decimal, pattern)), **how)


def comma(sep: str, **how: Any) -> str:
    return text(words(number=lambda x: repr(x).replace(".", ",")), sep=sep, **how)


def dates(day: str, seen: str = "%Y-%m-%dT%H:%M:%S") -> str:
    return text(words(day=day, seen=seen))


def missing(mark: str) -> str:
    return text(words(missing=mark))


PLAIN = text()
NO_HEADER = [f"--target=column_{FRAME.columns.get_loc('price') + 1}", "--no-header"]
VARIANTS: dict[str, tuple[str, str | bytes, list[str]]] = {
    # delimiters
    "semicolons": ("t.csv", text(sep=";"), []),
    "tabs": ("t.csv", text(sep="\t"), []),
    "tabs, tsv": ("t.tsv", text(sep="\t"), []),
    "bars": ("t.csv", text(sep="|"), []),
    "a delimiter that is said": ("t.csv", text(sep=":", quoting=1), ["--delimiter", ":"]),
    "tabs that are said": ("t.csv", text(sep="\t"), ["--delimiter", "tab"]),
    "all in quotation marks": ("t.csv", text(quoting=1), []),
    # line ends, marks, headers, comments
    "line ends of Windows": ("t.csv", PLAIN.replace("\n", "\r\n"), []),
    "no newline at the end": ("t.csv", PLAIN.rstrip("\n"), []),
    "a byte order mark": ("t.csv", b"\xef\xbb\xbf" + PLAIN.encode(), []),
    "blank lines": ("t.csv", PLAIN.replace("\n", "\n\n", 3), []),
    "comments": ("t.csv", "# houses\n" + PLAIN + "# the end\n", ["--comment", "#"]),
    "a line of Excel's": ("t.csv", "sep=;\n" + text(sep=";"), []),
    "no header": ("t.csv", PLAIN.partition("\n")[2], NO_HEADER),
    # encodings
    "latin-1": ("t.csv", PLAIN.encode("latin-1"), ["--encoding", "latin-1"]),
    "UTF-16 with its mark": ("t.csv", PLAIN.encode("utf-16"), []),
    "UTF-16, said": ("t.csv", PLAIN.encode("utf-16-le"), ["--encoding", "utf-16-le"]),
    "Windows": ("t.csv", PLAIN.encode("cp1252"), ["--encoding", "cp1252"]),
    # decimals and thousands
    "decimal commas": ("t.csv", comma(";"), []),
    "decimal commas and tabs": ("t.tsv", comma("\t"), []),
    "decimal commas in quotation marks": ("t.csv", comma(",", quoting=1), ["--decimal", ","]),
    "thousands with commas": ("t.csv", numbers(",", "."), []),
    "thousands with points": ("t.csv", numbers(".", ",", sep=";"), []),
    "thousands with blanks": ("t.csv", numbers(" ", ",", sep=";"), []),
    "thousands with fixed blanks": ("t.csv", numbers("\u202f", ",", sep=";"), []),
    "thousands with apostrophes": ("t.csv", numbers("'", "."), []),
    "per cent": ("t.csv", numbers("", ".", "{}%"), []),
    "per cent, apart": ("t.csv", numbers("", ",", "{} %", sep=";"), []),
    "dollars": ("t.csv", numbers(",", ".", "${}"), []),
    "euros behind": ("t.csv", numbers(".", ",", "{} €", sep=";"), []),
    "pounds": ("t.csv", numbers("", ".", "£ {}"), []),
    "exponents": ("t.csv", text(words(number=lambda x: f"{x:.17e}")), []),
    "plus signs": ("t.csv", text(words(number=lambda x: f"+{x!r}")), []),
    # missing values
    **{f"missing as {mark}": ("t.csv", missing(mark), []) for mark in ("?", "-", "NA", "N/A")},
    **{f"missing as {mark}": ("t.csv", missing(mark), []) for mark in ("null", "#N/A", "nan")},
    "missing as said": ("t.csv", missing("unknown"), ["--missing", "unknown"]),
    "missing as a number": ("t.csv", missing("-999"), ["--missing=-999,none"]),
    # truths
    "yes and no": ("t.csv", text(words(truth=("yes", "no"))), []),
    "Yes and No": ("t.csv", text(words(truth=("Yes", "No"))), []),
    "T and F": ("t.csv", text(words(truth=("T", "F"))), []),
    "y and n": ("t.csv", text(words(truth=("y", "n"))), []),
    "TRUE and FALSE": ("t.csv", text(words(truth=("TRUE", "FALSE"))), []),
    # dates
    "month first": ("t.csv", dates("%m/%d/%Y"), []),
    "day first": ("t.csv", dates("%d/%m/%Y"), []),
    "days with points": ("t.csv", dates("%d.%m.%Y", "%d.%m.%Y %H:%M:%S"), []),
    "months and halves of days": ("t.csv", dates("%m/%d/%y", "%m/%d/%Y %I:%M:%S %p"), []),
    "year first": ("t.csv", dates("%Y/%m/%d", "%Y/%m/%d %H:%M:%S"), []),
    "dates that are said": ("t.csv", dates("%d-%m-%Y"), ["--dates", "d/m/y"]),
    # names and compression
    "large letters": ("T.CSV", PLAIN, []),
    "txt": ("t.txt", PLAIN, []),
    "no ending": ("table", text(sep=";"), []),
    "gzip": ("t.csv.gz", gzip.compress(PLAIN.encode()), []),
    "bzip2": ("t.csv.bz2", bz2.compress(PLAIN.encode()), []),
    "xz": ("t.csv.xz", lzma.compress(PLAIN.encode()), []),
    "zstandard": ("t.csv.zst", zstandard.compress(PLAIN.encode()), []),
    "gzip without ending": ("t", gzip.compress(PLAIN.encode()), []),
    "zip": ("t.zip", zipped(("houses.csv", PLAIN)), []),
    "zip, named": ("t.csv.zip", zipped(("houses", PLAIN)), []),
    "zip of two": ("t.zip", zipped(("a.csv", PLAIN), ("b", "x")), ["--member", "a.csv"]),
    # JSON
    "JSON lines": ("t.jsonl", "\n".join(map(json.dumps, as_json())), []),
    "JSON lines, json": ("t.json", "\n".join(map(json.dumps, as_json())), []),
    "JSON array": ("t.json", json.dumps(as_json()), []),
    "JSON array, laid out": ("t.json", json.dumps(as_json(), indent=2), []),
    "JSON objects, laid out": ("t.json", "\n".join(json.dumps(r, indent=1) for r in as_json()), []),
    "JSON without ending": ("t", json.dumps(as_json()), []),
    "JSON in UTF-16": ("t.json", json.dumps(as_json(), ensure_ascii=False).encode("utf-16"), []),
    "JSON, zipped": ("t.zip", zipped(("t.json", json.dumps(as_json()))), []),
    # Parquet and Arrow
    "Parquet": ("t.parquet", parquet_bytes(arrow()), []),
    "Parquet, pq": ("t.PQ", parquet_bytes(arrow(), row_group_size=50), []),
    "Parquet without ending": ("t", parquet_bytes(arrow(), compression="zstd"), []),
    "Parquet of small integers": ("t.parquet", parquet_bytes(arrow(rooms=pa.int8())), []),
    "Parquet of decimals": ("t.parquet", parquet_bytes(arrow(size=pa.decimal128(12, 2))), []),
    "Parquet of dates": ("t.parquet", parquet_bytes(arrow(day=pa.date64())), []),
    "Parquet of nanoseconds": ("t.parquet", parquet_bytes(arrow(seen=pa.timestamp("ns"))), []),
    "Parquet of a dictionary": (
        "t.parquet",
        parquet_bytes(arrow(city=pa.dictionary(pa.int8(), pa.string()))),
        [],
    ),
    "Parquet of large strings": ("t.parquet", parquet_bytes(arrow(city=pa.large_string())), []),
    "Feather": ("t.feather", feather_bytes(arrow()), []),
    "Arrow, uncompressed": ("t.arrow", feather_bytes(arrow(), compression="uncompressed"), []),
    "Arrow stream": ("t.ipc", stream_bytes(arrow()), []),
    "Arrow without ending": ("t", feather_bytes(arrow()), []),
}


def run(*arguments: Any) -> str:
    """Run a command as the command line does, in this process: there are many of them."""
    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(io.StringIO()), pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert ended.value.code == 0, said.getvalue()
    return said.getvalue()


def learned(path: Path, *options: str) -> LinearModel:
    model = path.with_name("m.polyak")
    target = [] if any(option.startswith("--target") for option in options) else ["--target=price"]
    how = ["--loss", "squared_error", "--recipe", "sgd", "--bits", "6", "-q"]
    run("train", path, "-m", model, *target, *how, *options)
    return LinearModel.load(model)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[LinearModel, Path]:
    folder = tmp_path_factory.mktemp("plain")
    path = folder / "t.csv"
    path.write_text(PLAIN)
    model = learned(path)
    run("predict", folder / "m.polyak", path, "-o", folder / "predictions")
    return model, folder


def kinds(model: LinearModel) -> list[tuple[str, float, float]]:
    assert model.features.schema is not None
    return [(c.kind, c.offset, c.scale) for c in model.features.schema.columns]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.slow
def test_a_variant_gives_the_model_of_the_plain_file(
    variant: str, plain: tuple[LinearModel, Path], tmp_path: Path
) -> None:
    name, content, options = VARIANTS[variant]
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    model = learned(path, *options)
    expected, folder = plain
    assert kinds(model) == kinds(expected)
    if variant == "no header":  # whose columns, and so their words, have other names
        np.testing.assert_allclose(model.weights[:18], expected.weights[:18], rtol=1e-9)
        return
    # A decimal becomes a number by a division, whose last bit may be another.
    far = 1e-9 if variant == "Parquet of decimals" else 0.0
    np.testing.assert_allclose(model.weights, expected.weights, rtol=far)
    np.testing.assert_allclose(model.intercept, expected.intercept, rtol=far)
    if far:
        return
    # What was said in training is remembered, so that prediction reads alike.
    said = ["--member", "a.csv"] if "--member" in options else []
    run("predict", tmp_path / "m.polyak", path, "-o", tmp_path / "predictions", *said)
    predicted = (tmp_path / "predictions").read_bytes()
    assert predicted == (folder / "predictions").read_bytes()


FAST = ["thousands with points", "month first", "a byte order mark", "JSON array"]


@pytest.mark.parametrize("variant", FAST)
def test_a_model_of_the_plain_file_reads_variants(
    variant: str, plain: tuple[LinearModel, Path], tmp_path: Path
) -> None:
    name, content, _ = VARIANTS[variant]
    data = content.encode() if isinstance(content, str) else content
    (tmp_path / name).write_bytes(data)
    run("predict", plain[1] / "m.polyak", tmp_path / name, "-o", tmp_path / "predictions")
    expected = (plain[1] / "predictions").read_bytes()
    assert (tmp_path / "predictions").read_bytes() == expected


@pytest.mark.parametrize("variant", ["semicolons", "JSON array", "UTF-16 with its mark", "gzip"])
def test_standard_input_is_recognised(
    variant: str, plain: tuple[LinearModel, Path], tmp_path: Path
) -> None:
    _, content, _ = VARIANTS[variant]
    data = content.encode() if isinstance(content, str) else content
    (tmp_path / "rows").write_bytes(data)
    with (tmp_path / "rows").open("rb") as rows:
        done = polyak("predict", plain[1] / "m.polyak", "-", stdin=rows)
    assert done.stdout == (plain[1] / "predictions").read_text()

"""``polyak predict`` to files of every name: compressed, as arrays of JSON, with rows' numbers."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import zstandard
from commands import fails, polyak


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("predict")
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=120).round(3), "id": range(120)})
    frame["price"] = [f"{x:.2f}".replace(".", ",") for x in frame.a * 2 + 1]
    frame.to_csv(folder / "t.csv", index=False, sep=";")
    polyak(
        *("train", folder / "t.csv", "--target", "price", "--drop", "id"),
        *("-m", folder / "m", "-q", "--recipe", "sgd"),
    )
    return folder


def predicted(folder: Path, name: str, *options: str) -> bytes:
    polyak("predict", folder / "m", folder / "t.csv", "-o", folder / name, *options)
    return (folder / name).read_bytes()


OPENED: dict[str, Any] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}


@pytest.mark.parametrize(("kind", "suffix"), [("csv", ".gz"), ("jsonl", ".zst"), ("txt", ".bz2")])
def test_compressed_as_the_name_says(folder: Path, kind: str, suffix: str) -> None:
    plain = predicted(folder, f"out.{kind}")
    assert OPENED[suffix](predicted(folder, f"out.{kind}{suffix}")) == plain


def test_tabs(folder: Path) -> None:
    lines = predicted(folder, "out.tsv", "--keep", "id").decode().splitlines()
    assert lines[0] == "id\tprediction"
    assert [line.split("\t")[0] for line in lines[1:3]] == ["0", "1"]


def test_an_array(folder: Path) -> None:
    rows = json.loads(predicted(folder, "out.json", "--keep", "id"))
    lines = predicted(folder, "out.jsonl", "--keep", "id").splitlines()
    assert rows == [json.loads(line) for line in lines]
    assert len(rows) == 120


def test_all_columns_as_they_are_written_and_the_rows_numbers(folder: Path) -> None:
    rows = json.loads(predicted(folder, "out.json", "--keep", "*", "--row-number"))
    source = pd.read_csv(folder / "t.csv", sep=";")
    assert list(rows[0]) == ["row", "a", "id", "price", "prediction"]
    assert [row["row"] for row in rows] == list(range(1, 121))
    assert [row["price"] for row in rows] == source["price"].tolist()


def test_tags_of_vw_text_stand_beside_the_predictions(tmp_path: Path) -> None:
    lines = [
        f"{1 if n % 2 else -1} 'row{n}| {'a' if n % 2 else 'b'} c:{n % 7}\n" for n in range(90)
    ]
    lines[3] = "1 | a\n"  # no tag
    lines[4] = "without_a_quote|n b\n"
    lines[5] = "-1 'behind |n b\n"
    (tmp_path / "t.vw").write_text("".join(lines))
    polyak("train", tmp_path / "t.vw", "-m", tmp_path / "m", "-q")
    command = ("predict", tmp_path / "m", tmp_path / "t.vw", "--keep")
    plain = polyak(*command[:-1]).stdout.split()
    for keep in ("tag", "*"):
        head, *rows = polyak(*command, keep).stdout.splitlines()
        assert head == "tag,prediction"
        tags = [row.split(",")[0].strip('"') for row in rows]
        expected = [f"row{n}" for n in range(90)]
        expected[3:6] = ["", "without_a_quote", "behind"]
        assert tags == expected
        assert [float(row.split(",")[1]) for row in rows] == [float(word) for word in plain]
    assert "--keep needs a table" in fails(*command, "label")

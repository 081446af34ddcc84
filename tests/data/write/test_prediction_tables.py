"""Tables of predictions: every format brings back what the model predicted."""

from __future__ import annotations

import csv
import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from polyak.data.write.prediction_tables import ROWS_A_GROUP, table_maker, table_sink
from polyak.model.linear import LinearModel

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(50, 3))
WORDS = ["plain", 'with "quotes", and commas', "two\nlines", "ü", ""]


def model(outputs: int, **more: Any) -> LinearModel:
    return LinearModel(RANDOM.normal(size=(3, outputs)), np.ones(outputs), **more)


MODELS = {
    "signs": model(1, loss="log_loss", classes=np.array([-1.0, 1.0])),
    "words": model(5, loss="log_loss", classes=np.array(WORDS)),
    "objects": model(3, loss="log_loss", classes=np.array(["a", "b", "c"], dtype=object)),
    "fractions": model(3, loss="log_loss", classes=np.array([0.5, 1.5, 2.5])),
    "truths": model(1, loss="log_loss", classes=np.array([False, True])),
    "regression": model(1, loss="squared_error"),
    "outputs": model(2, loss="squared_error"),
}


def written(path: Path, batches: list[Any]) -> Path:
    with table_sink(str(path), path.suffix[1:]) as write:
        for batch in batches:
            write(batch)
    return path


def read_back(path: Path) -> dict[str, list[Any]]:
    if path.suffix == ".parquet":
        return parquet.read_table(path).to_pydict()
    if path.suffix == ".jsonl":
        lines = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        with open(path, newline="") as file:
            lines = list(csv.DictReader(file))
    return {name: [line[name] for line in lines] for name in lines[0]}


def same(found: list[Any], expected: list[Any]) -> bool:
    """Compare, where CSV gives everything as text."""
    if expected and isinstance(expected[0], bool):
        return [str(value).lower() for value in found] == [str(v).lower() for v in expected]
    kind = type(expected[0])
    return [kind(value) for value in found] == expected


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("name", MODELS)
def test_predictions_come_back(name: str, suffix: str, tmp_path: Path) -> None:
    made, several = MODELS[name], len(MODELS[name].intercept) > 1
    for what in ("labels", "scores", "proba"):
        if what == "proba" and made.classes is None:
            continue
        table = table_maker(made, what)
        parts = [table(ROWS[:30], None), table(ROWS[30:], None)]
        found = read_back(written(tmp_path / f"out.{suffix}", parts))
        predicted, scores = made.predict(ROWS), made.scores(ROWS)
        if made.classes is None:
            names = ["prediction_0", "prediction_1"] if several else ["prediction"]
            assert list(found) == names
            for column, values in zip(found.values(), scores.T.tolist(), strict=True):
                assert same(column, values)
            continue
        assert same(found.pop("prediction"), predicted.tolist())
        if what == "labels":
            assert not found
        else:
            numbers = made.predict_proba(ROWS) if what == "proba" else scores
            assert len(found) == numbers.shape[1]
            for column, values in zip(found.values(), numbers.T.tolist(), strict=True):
                assert same(column, values)


KEPT = {
    "id": pa.array([1, None, 2**62]),
    'a "name", so': pa.array(['say "hi", you', None, ""]),
    "lines": pa.array(["a\r\nb", "\\", "\x01\u2028"]),
    "day": pa.array([datetime.date(2013, 1, 5), None, datetime.date(1969, 7, 20)]),
    "time": pa.array([datetime.datetime(2013, 1, 5, 6, 7), None, None], pa.timestamp("us")),
    "bag": pa.array([["x", "y"], [], None]),
    "x": pa.array([0.1, float("nan"), None]),
    "truth": pa.array([True, None, False]),
    "category": pa.array(["u", None, "u"]).dictionary_encode(),
    "nothing": pa.nulls(3),
}


@pytest.fixture
def kept_table() -> Any:
    kept = pa.RecordBatch.from_arrays(list(KEPT.values()), list(KEPT))
    return table_maker(MODELS["signs"], "labels")(ROWS[:3], kept)


def test_kept_columns_in_json_lines(kept_table: Any, tmp_path: Path) -> None:
    found = read_back(written(tmp_path / "out.jsonl", [kept_table]))
    assert found["prediction"] == MODELS["signs"].predict(ROWS[:3]).tolist()
    assert found["id"] == [1, None, 2**62]
    assert found['a "name", so'] == ['say "hi", you', None, ""]
    assert found["lines"] == ["a\r\nb", "\\", "\x01\u2028"]
    assert found["day"] == ["2013-01-05", None, "1969-07-20"]
    assert found["time"] == ["2013-01-05T06:07:00", None, None]
    assert found["bag"] == [["x", "y"], [], None]
    assert found["x"] == [0.1, None, None]
    assert found["truth"] == [True, None, False]
    assert found["category"] == ["u", None, "u"]
    assert found["nothing"] == [None] * 3


def test_kept_columns_in_csv(kept_table: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "out.csv", [kept_table, kept_table])
    found = read_back(path)
    assert [*found] == [*KEPT, "prediction"]
    assert found["id"] == ["1", "", str(2**62)] * 2
    assert found['a "name", so'] == ['say "hi", you', "", ""] * 2
    assert found["lines"] == ["a\r\nb", "\\", "\x01\u2028"] * 2
    assert found["day"] == ["2013-01-05", "", "1969-07-20"] * 2
    assert found["bag"] == ['["x", "y"]', "[]", ""] * 2
    assert found["category"] == ["u", "", "u"] * 2
    import pyarrow.csv

    again = pyarrow.csv.read_csv(  # which tells an empty string from none
        path,
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )
    assert again['a "name", so'].to_pylist() == ['say "hi", you', None, ""] * 2


def test_kept_columns_in_parquet(kept_table: Any, tmp_path: Path) -> None:
    found = parquet.read_table(written(tmp_path / "out.parquet", [kept_table]))
    for name, column in KEPT.items():
        assert str(found[name].to_pylist()) == str(column.to_pylist())
        plain = pa.string() if name == "category" else column.type
        assert found.schema.field(name).type == plain


def test_parquet_is_written_in_row_groups(tmp_path: Path) -> None:
    table, wide = table_maker(MODELS["signs"], "scores"), np.zeros((ROWS_A_GROUP // 2 + 1, 3))
    path = written(tmp_path / "out.parquet", [table(wide, None)] * 5)
    file = parquet.ParquetFile(path)
    assert [file.metadata.row_group(i).num_rows for i in range(3)] == [len(wide) * 2] * 2 + [
        len(wide)
    ]


def test_a_kept_column_with_our_name_is_refused() -> None:
    kept = pa.RecordBatch.from_arrays([pa.array([1, 2, 3])], ["prediction"])
    with pytest.raises(ValueError, match="'prediction' cannot be kept beside our own"):
        table_maker(MODELS["signs"], "labels")(ROWS[:3], kept)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_failure_leaves_what_was_there(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{suffix}"
    path.write_text("what was there")
    batch = table_maker(MODELS["signs"], "labels")(ROWS, None)
    with pytest.raises(RuntimeError), table_sink(str(path), suffix) as write:  # noqa: PT012
        write(batch)
        raise RuntimeError
    assert path.read_text() == "what was there"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_labels_are_no_formulas_where_a_spreadsheet_may_open_them(
    kind: str, tmp_path: Path
) -> None:
    labels = [" - 5", "+", "- 50000.", " =1+1", "=1+1", "@x"]
    learned = LinearModel(np.eye(6), np.zeros(6), "log_loss", np.array(labels))
    kept = pa.record_batch({"=name": ["=1+1"] * 6})
    table = table_maker(learned, "labels")(np.eye(6), kept)
    path = written(tmp_path / f"p.{kind}", [table])
    if kind == "jsonl":
        back = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        with path.open(newline="") as file:
            back = list(csv.DictReader(file, delimiter="," if kind == "csv" else "\t"))
        labels[3:] = ["' =1+1", "'=1+1", "'@x"]
    assert back == [{"=name": "=1+1", "prediction": label} for label in labels]

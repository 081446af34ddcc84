"""Frames of intervals, periods and objects of all sorts: these are words."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import pandas as pd
from tests.extras import polars as pl

from polyak import ASGDRegressor
from polyak.data.open import open_stream

N = 60
AGES = pd.Series(np.arange(N) % 50)
COLUMNS: dict[str, Any] = {
    "interval": pd.cut(AGES, [-1, 10, 20, 50]),
    "interval of its own": pd.arrays.IntervalArray.from_breaks(range(N + 1)),
    "period": pd.Series(pd.period_range("2020-01", periods=6, freq="M")).repeat(10).to_numpy(),
    "mixed": pd.Series([1, "a", 2.5, None, True, (1, 2)] * 10, dtype=object),
    "hexadecimal": ["0x1f", "0x20", "0x3"] * 20,
}


@pytest.mark.parametrize("name", COLUMNS)
def test_they_are_words(name: str) -> None:
    frame = pd.DataFrame({"x": COLUMNS[name], "n": np.arange(float(N))})
    words = frame.assign(x=[None if x is None else str(x) for x in COLUMNS[name]])
    y = np.arange(N) % 7
    model = ASGDRegressor(random_state=0).fit(frame, y)
    expected = ASGDRegressor(random_state=0).fit(words, y)
    assert model.to_model().features.schema.columns[0].kind == "category"
    np.testing.assert_array_equal(model.predict(frame), expected.predict(words))
    one = slice(0, 1)  # which alone might look like something else
    np.testing.assert_array_equal(model.predict(frame[one]), expected.predict(words[one]))


def test_objects_of_polars() -> None:
    values = [1, "a", 2.5] * 20
    frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Object)})
    y = np.arange(N) % 3
    model = ASGDRegressor(random_state=0).fit(frame, y)
    words = pd.DataFrame({"x": [str(value) for value in values]})
    assert model.score(frame, y) > 0.9
    np.testing.assert_array_equal(model.predict(frame), model.predict(words))


def test_intervals_in_a_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": pd.interval_range(0, N), "y": np.arange(N) % 7})
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", frame):
        with open_stream(source, target="y") as stream:
            assert [column.kind for column in stream.schema.columns] == ["category"]


def test_hexadecimal_numbers_in_text_are_words() -> None:
    text = io.BytesIO(b"x,y\n" + b"0x1A,1\n0x2b,2\n7,3\n" * 20)
    with open_stream(text, format="csv", target="y") as stream:
        assert [column.kind for column in stream.schema.columns] == ["category"]
        assert next(stream).rows.shape[0] == N


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_column_may_be_called_as_a_method_of_files(method: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"read": rng.choice(["yes", "no"], 200), "x": rng.normal(size=200)})
    y = (frame["read"] == "yes") + frame["x"]
    model = getattr(ASGDRegressor(random_state=0), method)(frame, y)
    assert model.score(frame, y) > 0.9


def test_a_series_is_not_a_table() -> None:
    y = np.arange(40.0)
    with pytest.raises(ValueError, match="Expected a 2-dimensional container but got"):
        ASGDRegressor().fit(pd.Series(y), y)
    model = ASGDRegressor(random_state=0).fit(np.arange(40.0)[:, None], y)
    with pytest.raises(ValueError, match="Expected a 2-dimensional container but got"):
        model.predict(pd.Series(y))

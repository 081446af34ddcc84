"""Tomorrow's frame has other columns: more are ignored, absent ones are read as missing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.extras import pandas as pd
from tests.extras import polars as pl
from tests.extras import pyarrow as pa

from polyak import ASGDRegressor

RANDOM = np.random.default_rng(0)
NUMBERS = pd.DataFrame(RANDOM.normal(size=(300, 3)), columns=["a", "b", "c"])
FRAMES = {"numbers": NUMBERS, "words": NUMBERS.assign(city=RANDOM.choice(["Rome", "Oslo"], 300))}
KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
    "stream": lambda frame: iter(pa.Table.from_pandas(frame).to_batches(max_chunksize=100)),
}


def predictions(model: ASGDRegressor, frame: Any) -> Any:
    found = model.predict(frame)
    return found if isinstance(found, np.ndarray) else np.concatenate(list(found))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", FRAMES)
def test_columns_of_tomorrow(columns: str, kind: str, recwarn: Any) -> None:
    frame, convert = FRAMES[columns], KINDS[kind]
    y = frame["a"] - 2 * frame["b"]
    model = ASGDRegressor(random_state=0).fit(frame, y)
    more = frame[frame.columns[::-1]].assign(new=["x", None] * 150)
    np.testing.assert_array_equal(predictions(model, convert(more)), model.predict(frame))
    assert not [w for w in recwarn if "read as missing" in str(w.message)]
    with pytest.warns(UserWarning, match="not have b, which the model was learned from: read as"):
        fewer = predictions(model, convert(more.drop(columns="b")))
    np.testing.assert_array_equal(fewer, model.predict(frame.assign(b=np.nan)))
    with pytest.raises(ValueError, match="has none of the columns that the model was learned from"):
        predictions(model, convert(more[["new"]]))


@pytest.mark.parametrize("empty", [None, np.nan, pd.NaT])
@pytest.mark.parametrize("later", ["x", pd.Timestamp("2020-01-01"), True, 1.5])
def test_a_column_that_was_all_missing(empty: Any, later: Any) -> None:
    frame = FRAMES["words"].assign(late=empty)
    model = ASGDRegressor(random_state=0).fit(frame, frame["a"])
    known = model.predict(frame)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = model.predict(frame.assign(late=later))
    np.testing.assert_allclose(found, known, atol=0.05)
    told = [str(one.message) for one in seen]
    fits = isinstance(later, pd.Timestamp if empty is pd.NaT else float | bool)
    assert ("the frame, row 1: " in "".join(told)) is not fits


@pytest.mark.parametrize("rows", [300, 1500])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", FRAMES)
def test_a_batch_of_other_columns_is_not_learned(columns: str, kind: str, rows: int) -> None:
    frame = pd.concat([FRAMES[columns].assign(y=NUMBERS["a"])] * 5, ignore_index=True)[:rows]
    learned = ASGDRegressor(random_state=0).partial_fit(KINDS[kind](frame), y="y")
    before = learned.coef_
    for other in (frame.rename(columns={"b": "d"}), frame.drop(columns="b"), frame.assign(d=1.0)):
        with pytest.raises(ValueError, match=r"columns of this batch are|eature names"):
            learned.partial_fit(KINDS[kind](other), y="y")
    np.testing.assert_array_equal(learned.coef_, before)
    assert learned.t_ == rows + 1


def test_a_column_that_is_dropped_may_be_absent_from_a_batch() -> None:
    frame = FRAMES["words"]
    model = ASGDRegressor(drop=["city"], random_state=0).fit(frame, frame["a"])
    assert model.partial_fit(frame.drop(columns="city"), frame["a"]).t_ == 601

"""Tomorrow's frame has other columns: more are ignored, absent ones are read as missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

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

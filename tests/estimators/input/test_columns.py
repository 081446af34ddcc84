"""Columns by name: exposures, categories, numbers and columns to drop, of frames and streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from tests.extras import pandas as pd
from tests.extras import pyarrow as pa

from polyak import ASGDClassifier, ASGDRegressor

ROWS = 3000
RANDOM = np.random.default_rng(0)
CODES = RANDOM.integers(0, 20, ROWS)
LEVELS = RANDOM.permutation(20).astype(float)
EXPOSURE = RANDOM.uniform(0.1, 2.0, ROWS)
X = RANDOM.normal(size=ROWS)
COUNTS = RANDOM.poisson(EXPOSURE * np.exp(0.5 * X))


def in_batches(frame: pd.DataFrame) -> Any:
    return iter(pa.Table.from_pandas(frame).to_batches(max_chunksize=700))


def test_an_exposure_is_a_column_or_an_array() -> None:
    frame = pd.DataFrame({"x": X, "time": EXPOSURE, "n": COUNTS})
    settings: dict[str, Any] = {"loss": "poisson", "shuffle": False, "max_iter": 1}
    expected = ASGDRegressor(**settings).fit(
        frame[["x"]], COUNTS / EXPOSURE, sample_weight=EXPOSURE
    )
    named = ASGDRegressor(**settings).fit(frame, y="n", exposure="time")
    given = ASGDRegressor(**settings).fit(frame[["x"]], COUNTS, exposure=EXPOSURE)
    stream = ASGDRegressor(**settings).fit(in_batches(frame), y="n", exposure="time")
    parts = ASGDRegressor(**settings).partial_fit(in_batches(frame), y="n", exposure="time")
    for model in (named, given, stream, parts):
        np.testing.assert_array_equal(model.coef_, expected.coef_)
    with pytest.raises(ValueError, match="exposure= is for poisson and gamma"):
        ASGDRegressor().fit(frame, y="n", exposure="time")
    wrong = np.where(np.arange(ROWS) == 7, 0.0, EXPOSURE)
    with pytest.raises(ValueError, match="row 7 has the exposure 0, which is not above zero"):
        ASGDRegressor(**settings).fit(frame[["x"]], COUNTS, exposure=wrong)


@pytest.mark.parametrize("is_stream", [False, True])
def test_numbers_that_are_categories(is_stream: bool) -> None:
    frame = pd.DataFrame({"code": CODES, "y": LEVELS[CODES]})
    model = clone(ASGDRegressor(categorical=("code",), random_state=0))
    model.fit(in_batches(frame) if is_stream else frame, y="y")
    assert model.score(frame[["code"]], frame["y"]) > 0.9


def test_columns_of_arrays_are_named_by_place() -> None:
    model = ASGDRegressor(categorical=["x0"], drop=["x1"], random_state=0)
    rows = np.column_stack([CODES, LEVELS[CODES]])
    model.fit(rows, LEVELS[CODES])
    assert [c.name for c in model.to_model().features.schema.columns] == ["x0"]
    assert model.score(rows, LEVELS[CODES]) > 0.9


def test_dropped_columns_need_not_be_there_later() -> None:
    frame = pd.DataFrame({"x": X, "word": ["a", "b", "c"] * 1000, "id": np.arange(ROWS)})
    model = ASGDRegressor(drop=["id"], random_state=0).fit(frame, X)
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame.drop(columns="id")))
    with pytest.raises(ValueError, match="has no column idd; did you mean id"):
        ASGDRegressor(drop=["idd"]).fit(frame, X)


def test_words_that_are_numbers() -> None:
    words = pd.Series([f"{x:.3f}" for x in X])
    words[5] = "unknown"
    frame = pd.DataFrame({"x": words, "other": ["a", "b", "c"] * 1000})
    with pytest.warns(UserWarning, match="'unknown' in column x, which was a number so far"):
        model = ASGDRegressor(numeric=["x"], random_state=0).fit(frame, X)
    assert model.to_model().features.schema.columns[0].kind == "number"
    assert model.score(frame.drop(5), np.delete(X, 5)) > 0.9


def test_learning_goes_on_after_a_stream() -> None:
    frame = pd.DataFrame({"x": X, "word": ["a", "b", "c"] * 1000, "y": 2 * X})
    settings: dict[str, Any] = {"shuffle": False, "max_iter": 1, "random_state": 0}
    expected = ASGDRegressor(**settings).partial_fit(frame[["x", "word"]], frame["y"])
    model = ASGDRegressor(**settings).fit(in_batches(frame[:2000]), y="y")
    model.partial_fit(frame[["x", "word"]][2000:], frame["y"][2000:])
    np.testing.assert_array_equal(model.coef_, expected.coef_)


def test_class_weights_count_in_streams() -> None:
    noisy = X + RANDOM.logistic(size=ROWS) > 1.5
    frame = pd.DataFrame({"x": X, "y": np.where(noisy, "yes", "no")})
    settings: dict[str, Any] = {"class_weight": {"yes": 5.0}, "shuffle": False, "max_iter": 1}
    model = ASGDClassifier(**settings).fit(in_batches(frame), y="y")
    expected = ASGDClassifier(**settings).fit(frame[["x"]], frame["y"])
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    model.partial_fit(frame[["x"]], frame["y"])
    assert model.t_ == 2 * ROWS + 1


def test_columns_are_named_beside_an_array_of_targets() -> None:
    frame = pd.DataFrame({"x": X, "time": EXPOSURE, "w": EXPOSURE[::-1]})
    settings: dict[str, Any] = {"loss": "poisson", "shuffle": False, "max_iter": 1}
    roles = {"exposure": EXPOSURE, "sample_weight": EXPOSURE[::-1]}
    expected = ASGDRegressor(**settings).fit(frame[["x"]], COUNTS, **roles)
    named = ASGDRegressor(**settings).fit(frame, COUNTS, exposure="time", sample_weight="w")
    np.testing.assert_array_equal(named.coef_, expected.coef_)
    np.testing.assert_array_equal(named.predict(frame), expected.predict(frame[["x"]]))
    classes = ASGDClassifier(max_iter=1).partial_fit(
        frame[["x", "w"]], COUNTS > 0, classes=[False, True], sample_weight="w"
    )
    assert list(classes.feature_names_in_) == ["x"]
    with pytest.raises(ValueError, match="the frame has no exposure column tim; did you mean time"):
        ASGDRegressor(**settings).fit(frame, COUNTS, exposure="tim")
    with pytest.raises(ValueError, match="'time' names a column: pass a frame or a stream"):
        ASGDRegressor(**settings).fit(X[:, None], COUNTS, exposure="time")
    with pytest.raises(ValueError, match="the iterator is read a batch at a time"):
        ASGDRegressor(**settings).fit(in_batches(frame), COUNTS, exposure="time")


def test_the_row_in_an_error_counts_rows_without_a_target() -> None:
    frame = pd.DataFrame({"x": X, "y": X, "w": np.where(np.arange(ROWS) == 9, -1.0, 1.0)})
    frame.loc[3, "y"] = None
    with pytest.raises(ValueError, match="the frame, row 10 has the weight -1, which is negative"):
        ASGDRegressor().fit(frame, y="y", sample_weight="w")


def test_a_frame_without_any_target() -> None:
    frame = pd.DataFrame({"x": X, "y": None})
    with pytest.raises(ValueError, match="the frame: y is missing in all 3,000 rows"):
        ASGDRegressor().fit(frame, y="y")

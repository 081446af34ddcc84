"""Arrays of float16 in fit and predict."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from tests.extras import pandas as pd

from polyak import ASGDClassifier, ASGDRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 8)).astype(np.float16)
SCORE = X.astype(np.float64) @ rng.normal(size=8)
Y = SCORE + rng.normal(size=3000)


@pytest.mark.parametrize("settings", [{}, {"curves": "all"}, {"intervals": True}, {"max_iter": 2}])
def test_the_model_is_that_of_float32(settings: dict[str, object]) -> None:
    half = ASGDRegressor(random_state=0, **settings).fit(X, Y)
    single = ASGDRegressor(random_state=0, **settings).fit(X.astype(np.float32), Y)
    assert np.array_equal(half.coef_, single.coef_)
    assert np.array_equal(half.predict(X), single.predict(X.astype(np.float32)))
    assert half.score(X, Y) > 0.8


def test_batches() -> None:
    half, single = ASGDClassifier(random_state=0), ASGDClassifier(random_state=0)
    for begin in range(0, 3000, 700):
        some = slice(begin, begin + 700)
        half.partial_fit(X[some], SCORE[some] > 0, classes=[False, True])
        single.partial_fit(X[some].astype(np.float32), SCORE[some] > 0, classes=[False, True])
    assert np.array_equal(half.coef_, single.coef_)


def test_sums_that_overflow() -> None:
    large = np.abs(X) * 1000  # a column sums to more than the largest float16
    model = ASGDRegressor(random_state=0).fit(large, Y)
    assert np.isfinite(model.predict(large)).all()


def test_missing_values() -> None:
    holes = X.copy()
    holes[::7, 2] = np.nan
    assert ASGDRegressor(random_state=0).fit(holes, Y).score(holes, Y) > 0.6


def test_a_frame_with_a_column_called_dtype() -> None:
    frame = pd.DataFrame(X[:, :2].astype(np.float32), columns=["dtype", "b"])
    assert len(ASGDRegressor(random_state=0).fit(frame, Y).predict(frame)) == len(frame)


def test_the_row_of_an_error() -> None:
    many, counts = np.tile(X, (11, 1)), np.ones(33_000)
    counts[20_000] = -1
    with pytest.raises(ValueError, match="row 20000 has the target -1"):
        ASGDRegressor(loss="poisson", random_state=0).fit(many, counts)


def test_no_copy_of_all_rows() -> None:
    wide = rng.normal(size=(60_000, 64)).astype(np.float16)
    y = wide[:, 0] > 0
    ASGDClassifier(random_state=0).fit(wide[:3000], y[:3000])  # what is imported later
    tracemalloc.start()
    model = ASGDClassifier(random_state=0, recipe="sgd").fit(wide, y)
    model.predict(wide)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2 * wide.nbytes  # a copy in 32 bits takes twice as much

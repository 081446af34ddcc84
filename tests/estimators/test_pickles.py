"""Pickles hold what was learned, not the slots of words that never occurred."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from estimator_problems import assert_same_bits
from tests.extras import pandas as pd

from polyak import ASGDClassifier, ASGDRegressor


@pytest.mark.parametrize("recipe", ["auto", "sgd"])
def test_a_small_frame_with_words_has_a_small_pickle(recipe: str) -> None:
    rng = np.random.default_rng(0)
    rows = 1470
    frame = pd.DataFrame(rng.normal(size=(rows, 12))).rename(columns="c{}".format)
    for place in range(8):
        frame[f"w{place}"] = rng.choice([f"v{value}" for value in range(6)], rows)
    y = frame["c0"] + (frame["w0"] == "v1") + rng.normal(size=rows) > 0
    model = ASGDClassifier(random_state=0, recipe=recipe).fit(frame, y)
    stored = pickle.dumps(model)
    # The weights of one model alone, one for each of 2^18 slots, would take 2 MB. Up to 4096 rows
    # that wait for a Newton step are stored as they are.
    assert len(stored) < 2_500_000
    again = pickle.loads(stored)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    for one in (model, again, copied := copy.deepcopy(again)):
        one.partial_fit(frame[::-1], y[::-1])
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(copied.predict_proba(frame), model.predict_proba(frame))


def test_negative_zeros_are_kept() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4))
    X[:, 2] = -0.0
    y = X[:, 0] + rng.normal(size=1200) > 0
    model = ASGDClassifier(random_state=0, recipe="sgd").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.last_coef_.tobytes() == model.last_coef_.tobytes()
    for one in (model, again):
        one.partial_fit(-X, y)
    assert_same_bits(model, again, X)


def words_and_numbers(rows: int, levels: list[str]) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a frame and targets that depend on a curve and on the level of a category."""
    rng = np.random.default_rng(len(levels))
    frame = pd.DataFrame({"x": rng.normal(size=rows), "city": rng.choice(levels, rows)})
    shift = frame["city"].map(ord) % 3
    return frame, np.asarray(np.sin(2 * frame["x"]) + shift + rng.normal(size=rows))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_of_curves_know_the_columns_of_levels(copied: Any) -> None:
    frame, y = words_and_numbers(3000, list("abcd"))
    model = ASGDRegressor(curves="all", random_state=0).fit(frame, y)
    again = copied(model)
    assert again.terms_ == model.terms_
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    # Levels that only the copy has seen are its own, those after that only the model has seen too.
    more, targets = words_and_numbers(2000, list("abcdefgh"))
    other, others = words_and_numbers(2000, list("stuvwxyz"))
    fresh = copied(model).partial_fit(more, targets)
    again.partial_fit(more, targets)
    model.partial_fit(other, others)
    np.testing.assert_array_equal(again.predict(more), fresh.predict(more))
    assert again.terms_ == fresh.terms_
    features = np.fromiter(again._hashed, np.int64)
    columns = again._run.learner.columns
    assert set(columns.column_numbers(features).tolist()) <= {0, 1}

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from polyak.calibration import ScoreHistogram
from polyak.learner import Learner
from polyak.recipes import Recipe


@pytest.mark.parametrize("sampled", [False, True])
def test_counts_do_not_depend_on_batches(sampled):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40_000, 2))
    positive = rng.random((40_000, 2)) < 0.5
    whole, parts = (ScoreHistogram(2, sampled=sampled) for _ in range(2))
    whole.add(scores, positive, np.ones(40_000))
    ends = [0, *np.sort(rng.integers(0, 40_000, 300)), 40_000]
    for begin, end in pairwise(ends):
        if parts.wants(end - begin):
            parts.add(scores[begin:end], positive[begin:end], np.ones(end - begin))
        else:
            parts.skip(end - begin)
    np.testing.assert_array_equal(whole.counts, parts.counts)
    assert (whole.rows, whole.mark) == (parts.rows, parts.mark)


@pytest.mark.parametrize("rows", [3000, 20_000, 500_000])
def test_a_sample_is_some_thousands_of_the_newest_rows(rows):
    histogram = ScoreHistogram(1, sampled=True)
    histogram.add(np.zeros((rows, 1)), np.ones((rows, 1), dtype=bool), np.ones(rows))
    assert 2000 <= histogram.total() <= 8000


def test_rows_that_are_wanted_cannot_be_skipped():
    with pytest.raises(ValueError, match="counted"):
        ScoreHistogram(1).skip(1)


@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge"])
@pytest.mark.parametrize("recipe", ["paper", "auto"])
def test_what_was_said_is_what_happened(loss, recipe):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30_000, 3))
    y = rng.random(30_000) < 1 / (1 + np.exp(-X @ [1.0, -0.5, 0.25]))
    learner = Learner(Recipe(loss=loss, recipe=recipe))
    for part in np.array_split(np.arange(30_000), 7):
        learner.learn(X[part], y[part])
    model = learner.model()
    said, positive, total = (
        np.array(model.about["calibration"][name]) for name in ("predicted", "positive", "total")
    )
    full = total > 200
    assert full.sum() > 5
    assert np.all(np.abs(said - positive / total)[full] < 0.12)
    assert (model.sigmoids is None) == (loss == "log_loss")


def test_a_regression_has_none():
    X = np.random.default_rng(2).normal(size=(2000, 2))
    learner = Learner(Recipe(loss="squared_error"))
    learner.learn(X, X[:, 0])
    assert learner.model().about["calibration"] is None

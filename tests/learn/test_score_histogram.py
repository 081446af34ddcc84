from __future__ import annotations

import numpy as np
import pytest

from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.learn.score_histogram import ScoreHistogram


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
        np.array(getattr(model.report.calibration, name))
        for name in ("predicted", "positive", "total")
    )
    full = total > 200
    assert full.sum() > 5
    assert np.all(np.abs(said - positive / total)[full] < 0.12)
    assert (model.sigmoids is None) == (loss == "log_loss")


def test_a_regression_has_none():
    X = np.random.default_rng(2).normal(size=(2000, 2))
    learner = Learner(Recipe(loss="squared_error", recipe="paper"))
    learner.learn(X, X[:, 0])
    assert learner.model().report.calibration is None


def test_the_core_counts_as_numpy_would():
    rng = np.random.default_rng(2)
    scores = np.concatenate([rng.normal(scale=5, size=(900, 3)), np.zeros((1, 3))])
    scores[:6, 0] = [1e300, -1e300, 1e-300, -1e-300, 1.0, -1.0]
    positive, weights = rng.random((901, 3)) < 0.4, rng.integers(1, 5, 901).astype(float)
    counted = ScoreHistogram(3)
    counted.add(scores, positive, weights)
    squeezed = scores / (1.0 + np.abs(scores))
    bins = np.minimum(((squeezed + 1.0) * 128).astype(np.int64), 255)
    cells = (np.arange(3) * 2 + positive) * 256 + bins
    expected = np.bincount(cells.ravel(), np.repeat(weights, 3), minlength=3 * 2 * 256)
    np.testing.assert_array_equal(counted.counts[0].ravel(), expected)


def test_counts_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match="do not fit"):
        ScoreHistogram(2).add(np.zeros((3, 1)), np.zeros((3, 1), dtype=bool))
    with pytest.raises(ValueError, match="3 rows but 2 weights"):
        ScoreHistogram(1).add(np.zeros((3, 1)), np.zeros((3, 1), dtype=bool), np.ones(2))

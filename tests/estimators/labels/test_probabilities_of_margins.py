"""Probabilities of margin losses with several classes: a softmax of scores, scaled as rows tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from polyak import ASGDClassifier, LinearModel
from polyak.learn import score_histogram
from polyak.learn.score_histogram import SCALES, SMALLEST_SCALE, ScoreHistogram
from polyak.losses.softmax import softmax

MARGINS = ("hinge", "squared_hinge", "modified_huber")


def classes(n: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    W = 1.5 * np.random.default_rng(3).normal(size=(6, 4))
    return X, (X @ W + rng.gumbel(size=(n, 4))).argmax(axis=1)


X, Y = classes(6000)
HELD, TRUE = classes(4000, seed=1)


@pytest.mark.parametrize("loss", MARGINS)
def test_they_are_near_those_of_a_multinomial_fit_and_well_scaled(loss: str) -> None:
    model = ASGDClassifier(loss=loss, random_state=0).fit(X, Y)
    best = LogisticRegression(C=10.0).fit(X, Y)
    chance = model.predict_proba(HELD)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    assert (model.classes_[chance.argmax(axis=1)] == model.predict(HELD)).all()
    assert log_loss(TRUE, chance) < 1.08 * log_loss(TRUE, best.predict_proba(HELD))
    scores = model.decision_function(HELD)
    scaled = (log_loss(TRUE, softmax(scale * scores)) for scale in np.geomspace(0.1, 20, 60))
    assert log_loss(TRUE, chance) < 1.01 * min(scaled)


def test_files_keep_the_scale(tmp_path: Path) -> None:
    model = ASGDClassifier(loss="hinge", random_state=0).fit(X, Y)
    model.to_model().save(tmp_path / "m")
    back = LinearModel.load(tmp_path / "m")
    assert back.softmax
    np.testing.assert_array_equal(back.predict_proba(HELD), model.predict_proba(HELD))


def test_the_core_adds_up_what_a_softmax_loses() -> None:
    rng = np.random.default_rng(0)
    scores, own, weights = rng.normal(size=(50, 8)), rng.integers(0, 4, 50), rng.random(50)
    positive = np.tile(own[:, None] == np.arange(4), (1, 2))
    histogram = ScoreHistogram(8, classes=4)
    histogram.add(scores, positive, weights)
    for group in range(2):
        for place in range(SCALES):
            scale = SMALLEST_SCALE * 2.0**place
            chance = softmax(scale * scores[:, 4 * group : 4 * group + 4])
            each = -np.log(chance)
            expected = weights @ each[np.arange(50), own], weights @ each.mean(axis=1)
            np.testing.assert_allclose(histogram.losses[0, group, :, place], expected, rtol=1e-8)


def test_of_many_classes_some_rows_tell_the_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of them does not depend on batches, and they tell what all rows would."""
    random = np.random.default_rng(0)
    scores = random.normal(size=(3000, 256))
    chances = softmax(3.0 * scores).cumsum(axis=1)
    own = (chances > random.random((3000, 1))).argmax(axis=1)[:, None] == np.arange(256)
    weights = random.integers(1, 3, 3000).astype(float)

    def counted(parts: int) -> ScoreHistogram:
        counts = ScoreHistogram(256, classes=256)
        for some in np.array_split(np.arange(3000), parts):
            counts.add(scores[some], own[some], weights[some])
        return counts

    some = counted(1)
    for parts in (7, 500):
        np.testing.assert_array_equal(counted(parts).losses, some.losses)
    monkeypatch.setattr(score_histogram, "MANY_CLASSES", 256)
    every = counted(1)
    assert every.losses[0, 0, 0, 0] == pytest.approx(some.losses[0, 0, 0, 0], rel=0.05)
    assert not np.array_equal(every.losses, some.losses)
    assert some.sigmoids()[0, 0] == pytest.approx(every.sigmoids()[0, 0], rel=0.03)

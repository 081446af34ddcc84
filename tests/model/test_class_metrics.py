"""Figures about classifiers, held against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from polyak.model.linear import LinearModel
from polyak.model.metrics import ClassMetrics, Ranking


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighed", [False, True])
def test_ranking_is_that_of_scikit_learn(ties: bool, weighed: bool) -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=3000)
    scores = scores.round(1) if ties else scores
    positive = random.random(3000) < 1 / (1 + np.exp(-scores - 1))
    weights = random.integers(0, 4, 3000).astype(float) if weighed else np.ones(3000)
    ranking = Ranking()
    for part in np.array_split(np.arange(3000), 7):
        ranking.add(scores[part], positive[part], weights[part])
    auc = metrics.roc_auc_score(positive, scores, sample_weight=weights)
    precision = metrics.average_precision_score(positive, scores, sample_weight=weights)
    assert ranking.roc_auc() == pytest.approx(auc, abs=1e-12)
    assert ranking.average_precision() == pytest.approx(precision, abs=1e-12)


def test_ranking_of_many_rows_is_counted() -> None:
    random = np.random.default_rng(1)
    scores = random.normal(size=60_000)
    positive = random.random(60_000) < 1 / (1 + np.exp(-2 * scores))
    exact, counted = Ranking(), Ranking(most_scores=20_000)
    for part in np.array_split(np.arange(60_000), 6):
        for ranking in (exact, counted):
            ranking.add(scores[part], positive[part], np.ones(len(part)))
    assert counted.roc_auc() == pytest.approx(exact.roc_auc(), abs=1e-5)
    assert counted.average_precision() == pytest.approx(exact.average_precision(), abs=1e-4)


def test_confusion_and_balanced_accuracy() -> None:
    random = np.random.default_rng(2)
    classes = np.array(["b", "a", "c"])  # in an order that someone asked for
    model = LinearModel(np.eye(3), np.zeros(3), "log_loss", classes)
    scores = random.normal(size=(500, 3))
    targets = classes[random.integers(0, 3, 500)]
    own = ClassMetrics(model)
    own.add(scores[:200], targets[:200], np.ones(200))
    own.add(scores[200:], targets[200:], np.ones(300))
    predicted = model.predict_from_scores(scores)
    balanced = metrics.balanced_accuracy_score(targets, predicted)
    assert own.figures() == {"balanced_accuracy": pytest.approx(balanced)}
    expected = metrics.confusion_matrix(targets, predicted, labels=classes).tolist()
    confusion = own.confusion()
    assert confusion is not None
    assert [list(row.values()) for row in confusion.values()] == expected


def test_calibration_of_true_chances() -> None:
    random = np.random.default_rng(3)
    model = LinearModel(np.ones((1, 1)), np.zeros(1), "log_loss", np.array([0, 1]))
    scores = random.normal(size=(50_000, 1)) * 2
    targets = (random.random(50_000) < 1 / (1 + np.exp(-scores[:, 0]))).astype(int)
    own = ClassMetrics(model)
    own.add(scores, targets, np.ones(50_000))
    rows = own.calibration()
    assert rows is not None
    assert len(rows) == 10
    assert sum(row["rows"] for row in rows) == 50_000
    assert all(abs(row["predicted"] - row["true"]) < 0.03 for row in rows)
    assert own.figures()["calibration_error"] < 0.01

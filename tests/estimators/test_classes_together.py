"""Several classes with log_loss: learned together where features are few."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from polyak import ASGDClassifier, LinearModel
from polyak.losses.softmax import softmax
from polyak.model.evaluation import Evaluation


def ordered(n: int, classes: int = 4, seed: int = 0) -> tuple[Any, Any]:
    """Make classes that lie one behind the other along a direction: no line tells a middle one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    along = X @ [2.0, 1.0, 1.0] + 0.7 * rng.normal(size=n)
    numbers = np.digitize(along, np.quantile(along, np.arange(1, classes) / classes))
    return X, np.array(["low", "lower middle", "upper middle", "high"])[numbers]


X, Y = ordered(3000)
HELD, TRUE = ordered(3000, seed=1)


@pytest.fixture(scope="module")
def fitted() -> ASGDClassifier:
    return ASGDClassifier(loss="log_loss", random_state=0).fit(X, Y)


def test_classes_in_order_are_told_as_well_as_by_a_multinomial_fit(fitted: ASGDClassifier) -> None:
    best = LogisticRegression(C=10.0, max_iter=1000).fit(X, Y)
    assert fitted.score(HELD, TRUE) > best.score(HELD, TRUE) - 0.005
    ours, theirs = (log_loss(TRUE, one.predict_proba(HELD)) for one in (fitted, best))
    assert ours < 1.01 * theirs


def test_losses_are_those_of_scikit_learns_log_loss(fitted: ASGDClassifier) -> None:
    frequency = [np.mean(label == Y) for label in fitted.classes_]
    entropy = -np.dot(frequency, np.log(frequency))
    assert fitted.constant_loss_ == pytest.approx(entropy, rel=0.01)
    evaluation = Evaluation(fitted.to_model())
    evaluation.add(HELD, TRUE)
    figures = evaluation.report()
    assert figures["loss"] == pytest.approx(log_loss(TRUE, fitted.predict_proba(HELD)), rel=1e-6)
    share = [np.mean(label == TRUE) for label in fitted.classes_]
    assert figures["constant_loss"] == pytest.approx(-np.dot(share, np.log(share)), rel=1e-6)
    assert fitted.recent_loss_ == pytest.approx(figures["loss"], rel=0.1)


def test_one_against_the_rest_is_evaluated_by_its_probabilities() -> None:
    apart = ASGDClassifier(loss="log_loss", multi_class="ovr", random_state=0).fit(X, Y)
    evaluation = Evaluation(apart.to_model())
    evaluation.add(HELD, TRUE)
    said = log_loss(TRUE, apart.predict_proba(HELD))
    assert evaluation.report()["loss"] == pytest.approx(said, rel=1e-6)


def test_probabilities_are_a_softmax_of_scores_in_files_too(
    fitted: ASGDClassifier, tmp_path: Path
) -> None:
    chance = softmax(fitted.decision_function(HELD))
    np.testing.assert_allclose(fitted.predict_proba(HELD), chance, rtol=1e-12)
    assert (fitted.classes_[chance.argmax(axis=1)] == fitted.predict(HELD)).all()
    fitted.to_model().save(tmp_path / "m")
    back = LinearModel.load(tmp_path / "m")
    assert back.softmax
    np.testing.assert_array_equal(back.predict_proba(HELD), fitted.predict_proba(HELD))
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copied.predict_proba(HELD), fitted.predict_proba(HELD))


def test_weights_count_rows_as_often(fitted: ASGDClassifier) -> None:
    some = np.arange(400)
    twice = np.where(some < 100, 2.0, 1.0)
    again = np.concatenate([some, some[:100]])
    one, other = (ASGDClassifier(loss="log_loss", random_state=0) for _ in range(2))
    one.fit(X[some], Y[some], sample_weight=twice)
    other.fit(X[again], Y[again])
    np.testing.assert_allclose(one.predict_proba(HELD), other.predict_proba(HELD), atol=0.05)


def test_one_against_the_rest_on_request() -> None:
    for how in ({"multi_class": "ovr"}, {"intervals": True}, {"recipe": "paper"}):
        model = ASGDClassifier(random_state=0, **how).fit(X, Y).to_model()
        assert not model.softmax
        chance = 1.0 / (1.0 + np.exp(-model.scores(HELD)))
        expected = chance / chance.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(HELD), expected, rtol=1e-9)


def test_many_classes_lose_no_more_than_by_logistic_regression() -> None:
    rng = np.random.default_rng(0)
    likely = 1.0 / np.arange(1, 101)
    y = rng.choice(100, 4500, p=likely / likely.sum())
    X = 1.5 * rng.normal(size=(100, 20))[y] + rng.normal(size=(4500, 20))
    new = 2500 + np.flatnonzero(np.isin(y[2500:], y[:2500]))
    models = ASGDClassifier(random_state=0), LogisticRegression(max_iter=200)
    ours, theirs = (
        log_loss(y[new], model.fit(X[:2500], y[:2500]).predict_proba(X[new]), labels=model.classes_)
        for model in models
    )
    assert ours < 1.01 * theirs


def between(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Make classes one behind the other along one of some features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).astype(np.float32)
    along = X[:, 0] + 0.3 * rng.normal(size=n)
    names = np.array(["low", "low middle", "middle", "high middle", "high"])
    return X, names[np.digitize(along, [-0.9, -0.3, 0.3, 0.9])]


def test_averaged_sgd_learns_them_together_too() -> None:
    (X, Y), (held, true) = between(6000), between(2000, seed=1)
    sgd = {"recipe": "sgd", "max_iter": 1, "random_state": 0}
    together, apart = ASGDClassifier(**sgd), ASGDClassifier(**sgd, multi_class="ovr")
    best = LogisticRegression(C=1.0, max_iter=1000)
    ours, rest, theirs = (
        log_loss(true, one.fit(X, Y).predict_proba(held)) for one in (together, apart, best)
    )
    assert ours < 1.02 * theirs
    assert rest > 1.1 * theirs
    assert together.to_model().softmax
    assert not apart.to_model().softmax


def test_rows_too_wide_for_a_matrix_are_learned_together_by_default() -> None:
    """Five classes of six hundred features, most of them zero."""
    X, Y = between(1500)
    rng = np.random.default_rng(0)
    wide = sparse.hstack([sparse.csr_matrix((1500, 594)), sparse.csr_matrix(X)]).tocsr()
    wide = wide + sparse.random(1500, 600, 0.01, "csr", np.float32, random_state=rng)
    model = ASGDClassifier(max_iter=1, random_state=0).fit(wide, Y)
    assert model.method_ == "averaged SGD"
    assert model.to_model().softmax

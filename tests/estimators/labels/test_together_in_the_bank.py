"""Several classes with log_loss where averaged SGD learns them: together too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from polyak import ASGDClassifier
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe


def between(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Make a class between two others along one of some features: no line tells it from both."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).astype(np.float32)
    along = X[:, 0] + 0.3 * rng.normal(size=n)
    names = np.array(["low", "low middle", "middle", "high middle", "high"])
    return X, names[np.digitize(along, [-0.9, -0.3, 0.3, 0.9])]


X, Y = between(6000)
HELD, TRUE = between(2000, seed=1)
BEST = LogisticRegression(C=1.0, max_iter=1000).fit(X, Y)
SGD = {"recipe": "sgd", "max_iter": 1, "random_state": 0}


@pytest.fixture(scope="module")
def fitted() -> ASGDClassifier:
    return ASGDClassifier(**SGD).fit(X, Y)


def test_a_class_between_others_is_told_as_well_as_by_a_multinomial_fit(
    fitted: ASGDClassifier,
) -> None:
    apart = ASGDClassifier(**SGD, multi_class="ovr").fit(X, Y)
    ours, theirs, rest = (log_loss(TRUE, m.predict_proba(HELD)) for m in (fitted, BEST, apart))
    assert ours < 1.02 * theirs
    assert rest > 1.1 * theirs
    assert fitted.to_model().softmax
    assert not apart.to_model().softmax


def test_rows_too_wide_for_a_matrix_have_it_by_default() -> None:
    """Five classes of six hundred features, most of them zero."""
    wide = sparse.hstack([sparse.csr_matrix((1500, 594)), sparse.csr_matrix(X[:1500])]).tocsr()
    rng = np.random.default_rng(0)
    wide = wide + sparse.random(1500, 600, 0.01, "csr", np.float32, random_state=rng)
    model = ASGDClassifier(max_iter=1, random_state=0).fit(wide, Y[:1500])
    assert model.method_ == "averaged SGD"
    assert model.to_model().softmax


def test_learners_of_parts_make_one_model() -> None:
    recipe = Recipe(loss="log_loss", recipe="sgd")
    parts = [Learner(recipe, classes=np.unique(Y)) for _ in "ab"]
    for learner, half in zip(parts, np.array_split(np.arange(len(Y)), 2), strict=True):
        learner.learn(X[half], Y[half])
    parts[0].merge(parts[1:])
    model = parts[0].model()
    ours = log_loss(TRUE, model.predict_proba(HELD), labels=model.classes)
    assert ours < 1.1 * log_loss(TRUE, BEST.predict_proba(HELD))


@pytest.mark.parametrize("late", ["middle", "high"])
@pytest.mark.filterwarnings("ignore:the class")
def test_a_class_that_comes_late_joins_the_others(late: str) -> None:
    """It is as good as had it been named, once there are enough rows to choose a candidate by."""
    X, Y = between(16_000)
    order = np.argsort((late == Y) & (np.arange(len(Y)) < 3000), kind="stable")
    some = order[(Y[order] != late) | (np.arange(len(Y)) >= 2000)]
    named = Learner(Recipe(loss="log_loss", recipe="sgd"), classes=np.unique(Y))
    found = Learner(Recipe(loss="log_loss", recipe="sgd"))
    for learner in (named, found):
        for part in np.array_split(some, 4):
            learner.learn(X[part], Y[part])
    models = [learner.model() for learner in (named, found)]
    assert all(model.softmax for model in models)
    losses = [log_loss(TRUE, one.predict_proba(HELD), labels=one.classes) for one in models]
    assert losses[1] < 1.005 * losses[0]


def test_from_two_classes_to_three() -> None:
    two = np.where(np.isin(Y, ["low", "low middle"]), "a", "b")
    three = np.where(np.arange(len(Y)) < 2000, two, np.where(Y == "high", "c", two))
    learner = Learner(Recipe(loss="log_loss", recipe="sgd"))
    learner.learn(X[:2000], three[:2000])
    with pytest.warns(UserWarning, match="the class c first comes up"):
        learner.learn(X[2000:], three[2000:])
    model = learner.model()
    assert model.softmax
    true = np.where(TRUE == "high", "c", np.where(np.isin(TRUE, ["low", "low middle"]), "a", "b"))
    best = LogisticRegression(C=1.0, max_iter=1000).fit(X[2000:], three[2000:])
    ours = log_loss(true, model.predict_proba(HELD), labels=model.classes)
    assert ours < 1.15 * log_loss(true, best.predict_proba(HELD))

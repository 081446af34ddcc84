"""Models to export: every loss, two and several classes, labels of every kind, real training."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from polyak import ASGDClassifier, ASGDRegressor, LinearModel

FEATURES = 12
CLASSIFIERS = ("squared_hinge", "hinge", "log_loss")

X = np.random.default_rng(1).normal(size=(400, FEATURES)).astype(np.float32)
X[X < -0.5] = 0.0
TRUTH = np.random.default_rng(2).normal(size=(FEATURES, 4))


def classifier(loss: str, labels: list[Any], alpha: Any = "auto") -> LinearModel:
    best = np.argmax(X @ TRUTH[:, : len(labels)], axis=1)
    learner = ASGDClassifier(loss=loss, alpha=alpha, random_state=0)
    return learner.fit(X, np.array(labels)[best]).to_model()


def regressor(outputs: int) -> LinearModel:
    values = X @ TRUTH[:, :outputs] + 3.0
    return ASGDRegressor(random_state=0).fit(X, values if outputs > 1 else values[:, 0]).to_model()


MODELS: dict[str, Callable[[], LinearModel]] = {
    f"{loss}, {len(labels)} {kind}": partial(classifier, loss, labels)
    for loss in CLASSIFIERS
    for kind, labels in {
        "signs": [-1.0, 1.0],
        "integers": [3, 1, 7],
        "words": ["no", "yes"],
        "words, comma, ü": ["a", 'b,"c"', "ü", "d d"],
        "truths": [False, True],
    }.items()
} | {
    "log_loss, 3 against the rest": partial(classifier, "log_loss", [3, 1, 7], alpha=1e-4),
    "squared_error, 1 output": partial(regressor, 1),
    "squared_error, 3 outputs": partial(regressor, 3),
    # A margin loss that was learned without probabilities, and labels that no integer can be.
    "hinge, no probabilities": partial(
        LinearModel, TRUTH[:, :3], np.ones(3), "hinge", np.array([0.5, 1.5, 2.5])
    ),
}


@cache
def model_of(name: str) -> LinearModel:
    """Return a model by its name, fitted when a test first asks for it."""
    return MODELS[name]()

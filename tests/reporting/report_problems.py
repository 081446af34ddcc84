"""Models to report on: one of each kind."""

from __future__ import annotations

import numpy as np

from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe

NAMES = {
    "classifier": {"loss": "squared_hinge", "recipe": "auto"},
    "logistic": {"loss": "log_loss", "recipe": "auto"},
    "paper": {"loss": "squared_hinge", "recipe": "paper"},
    "intervals": {"loss": "log_loss", "recipe": "auto", "intervals": True},
    "several classes": {"loss": "log_loss", "recipe": "auto"},
    "regressor": {"loss": "squared_error", "recipe": "auto"},
    "regressor with intervals": {"loss": "squared_error", "recipe": "auto", "intervals": True},
}
SEVERAL = np.array(["daisy", "<b>rose</b>", "a class of quite an unreasonable length & more"])


def model_of(name: str, rows: int = 6000):
    """Learn a model of this kind."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 25))
    scores = X[:, :3] @ rng.normal(size=(3, 3)) + rng.gumbel(size=(rows, 3))
    if "regressor" in name:
        targets = scores[:, 0]
    elif name == "several classes":
        targets = SEVERAL[scores.argmax(axis=1)]
    else:
        targets = np.where(scores[:, 0] > scores[:, 1], "yes", "no")
    learner = Learner(Recipe(**NAMES[name]))
    learner.learn(X, targets)
    learner.finish()
    return learner.model()

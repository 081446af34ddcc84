"""Small problems that the tests of the estimators share."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from tests.estimators.losses.simulated_losses import TARGETS, made
from tests.estimators.penalties.wide_rows import made as wide_rows

from polyak import ASGDClassifier, ASGDRegressor

# Most tests are of the one-candidate recipe, whose numbers a few lines of NumPy give; tests/learn
# is of the race.
PaperClassifier = partial(ASGDClassifier, recipe="paper")
PaperRegressor = partial(ASGDRegressor, recipe="paper")
CLASSIFIERS = [
    PaperClassifier(loss=loss, random_state=0) for loss in ("squared_hinge", "log_loss", "hinge")
]
ESTIMATORS = [*CLASSIFIERS, PaperRegressor(random_state=0)]
BY_DEFAULT = [
    ASGDClassifier(random_state=0),
    ASGDClassifier(loss="squared_hinge", random_state=0),
    ASGDClassifier(loss="hinge", random_state=0),
    ASGDRegressor(random_state=0),
]


def problem(estimator: Any, rows: int = 1500, seed: int = 0, classes: int = 2) -> tuple[Any, Any]:
    """Draw rows of five features, and targets of the kind the estimator learns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5))
    X[rng.random(X.shape) < 0.3] = 0.0
    z = X @ rng.normal(size=(5, classes)) + rng.logistic(size=(rows, classes))
    if isinstance(estimator, ASGDRegressor):
        return X, z[:, 0]
    return X, np.array(["no", "so", "yes", "zero"])[z.argmax(axis=1)]


def several_labels() -> tuple[Any, Any]:
    """Draw rows that may have none of three labels, or all."""
    X, _ = problem(None, ROWS)
    rng = np.random.default_rng(7)
    scores = X @ rng.normal(size=(5, 3)) + rng.logistic(size=(ROWS, 3))
    return X, (scores > [0.0, 1.0, 3.0]).astype(int)


def wide() -> tuple[Any, Any]:
    X, scores = wide_rows(ROWS, 3000)
    return X, np.where(scores > 0, "yes", "no")


ROWS = 2500


def classifier(**settings: Any) -> ASGDClassifier:
    return ASGDClassifier(random_state=0, **settings)


KINDS: dict[str, tuple[Any, Any]] = {
    **{str(one): (one, problem(one, ROWS, classes=3)) for one in (*ESTIMATORS, *BY_DEFAULT)},
    "two classes": (classifier(), problem(None, ROWS)),
    "balanced": (classifier(recipe="paper", class_weight="balanced"), problem(None, ROWS)),
    "preconditioned": (classifier(recipe="paper", precondition=0.5), problem(None, ROWS)),
    "averaged SGD": (classifier(recipe="sgd"), problem(None, ROWS, classes=4)),
    "L1": (classifier(penalty="l1", alpha=0.01), problem(None, ROWS)),
    "not negative": (classifier(penalty="elasticnet", positive=True), problem(None, ROWS)),
    "wide L1": (classifier(penalty="l1", alpha=0.003, max_iter=1), wide()),
    "wide elastic net": (classifier(penalty="elasticnet", max_iter=1), wide()),
    "several labels": (classifier(), several_labels()),
    "several labels, one pass": (classifier(recipe="paper"), several_labels()),
    **{loss: (ASGDRegressor(loss=loss, random_state=0), made(loss, ROWS)) for loss in TARGETS},
}
"""Estimators that learn in different ways, each with rows and targets."""


def classes_of(estimator: Any, y: Any) -> dict[str, Any]:
    """Return what the first call of `partial_fit` needs besides rows and targets."""
    return {"classes": np.unique(y)} if is_classifier(estimator) and np.ndim(y) == 1 else {}


def learned(estimator: Any, X: Any) -> dict[str, Any]:
    """Return everything that can be read from a fitted estimator."""
    names = ["coef_", "intercept_", "last_coef_", "t_", "average_start_"]
    names += ["progressive_loss_", "progressive_score_", "progressive_loss_std_err_"]
    found = {name: getattr(estimator, name) for name in names}
    for name in ("candidates_", "best_candidate_", "recent_", "method_"):
        found[name] = str(getattr(estimator, name))
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        if hasattr(estimator, method):
            found[method] = getattr(estimator, method)(X)
    return found


def assert_same_bits(one: Any, other: Any, X: Any) -> None:
    one, other = learned(one, X), learned(other, X)
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)

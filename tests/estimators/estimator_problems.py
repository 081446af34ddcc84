"""Small problems that the tests of the estimators share."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from polyak import ASGDClassifier, ASGDRegressor

# Most tests are of the one-candidate recipe, whose numbers a few lines of NumPy give; tests/learn
# is of the race.
PaperClassifier = partial(ASGDClassifier, recipe="paper")
PaperRegressor = partial(ASGDRegressor, recipe="paper")
CLASSIFIERS = [
    PaperClassifier(loss=loss, random_state=0) for loss in ("squared_hinge", "log_loss", "hinge")
]
ESTIMATORS = [*CLASSIFIERS, PaperRegressor(random_state=0)]


def problem(estimator: Any, rows: int = 1500, seed: int = 0, classes: int = 2) -> tuple[Any, Any]:
    """Draw rows of five features, and targets of the kind the estimator learns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 5))
    X[rng.random(X.shape) < 0.3] = 0.0
    z = X @ rng.normal(size=(5, classes)) + rng.logistic(size=(rows, classes))
    if isinstance(estimator, ASGDRegressor):
        return X, z[:, 0]
    return X, np.array(["no", "so", "yes", "zero"])[z.argmax(axis=1)]


def learned(estimator: Any, X: Any) -> dict[str, Any]:
    """Everything that can be read from a fitted estimator."""
    names = ["coef_", "intercept_", "last_coef_", "t_", "average_start_"]
    names += ["progressive_loss_", "progressive_score_"]
    found = {name: getattr(estimator, name) for name in names}
    found |= {f"learning_rate_.{name}": value for name, value in estimator.learning_rate_.items()}
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        if hasattr(estimator, method):
            found[method] = getattr(estimator, method)(X)
    return found


def assert_same_bits(one: Any, other: Any, X: Any) -> None:
    one, other = learned(one, X), learned(other, X)
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)

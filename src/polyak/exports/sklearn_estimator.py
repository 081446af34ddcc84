"""Models as plain scikit-learn estimators, on their own or in a ``.skops`` file.

The file is scikit-learn's own classes and arrays of numbers, so ``skops.io.load`` takes it without
a word about trust, and a program that uses it needs no polyak.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyak.exports.subject import Subject, subject_of
from polyak.extras import needed


def writer(format: str) -> Any:
    """Give the function that writes this format."""
    return write


def write(subject: Subject, path: str) -> list[str]:
    """Write the estimator to a file of skops."""
    if path == "-":
        raise ValueError("a skops file is not text for standard output; name a file")
    from polyak.container import write_bytes

    skops_io = needed("skops.io", "skops")
    write_bytes(path, skops_io.dumps(to_sklearn(subject.model)))
    model = subject.model
    if model.classes is not None and model.loss != "log_loss" and model.sigmoids is not None:
        return [
            f"scikit-learn's linear classifiers have no probabilities for the loss {model.loss}: "
            "the estimator predicts and scores; an ONNX file carries the probabilities too"
        ]
    return []


def to_sklearn(source: Any) -> Any:
    """Make a scikit-learn estimator that predicts and scores as a model does.

    Regression becomes a ``LinearRegression``. Classification becomes an ``SGDClassifier`` of the
    same loss, because it compares one model a class, and turns the scores of a logistic loss into
    probabilities, exactly as polyak does; ``LogisticRegression`` would not with several classes.

    Examples
    --------
    >>> from polyak import LinearModel
    >>> model = LinearModel(np.array([[1.0], [-1.0]]), np.zeros(1), "log_loss", np.array([0, 1]))
    >>> estimator = to_sklearn(model)
    >>> estimator.predict([[2.0, 1.0], [0.0, 3.0]])
    array([1, 0])
    >>> estimator.predict_proba([[2.0, 2.0]])
    array([[0.5, 0.5]])
    """
    from sklearn.linear_model import LinearRegression, SGDClassifier

    model = subject_of(source).model
    coefficients = np.ascontiguousarray(model.weights.T, dtype=np.float64)
    if model.classes is None:
        one = len(coefficients) == 1
        estimator = LinearRegression()
        estimator.coef_ = coefficients[0] if one else coefficients
        estimator.intercept_ = float(model.intercept[0]) if one else model.intercept.copy()
    else:
        alpha = model.about.get("alpha")
        estimator = SGDClassifier(loss=model.loss, average=True)
        if isinstance(alpha, float) and alpha > 0:
            estimator.set_params(alpha=alpha)
        estimator.classes_ = _words(model.classes)
        estimator.coef_, estimator.intercept_ = coefficients, model.intercept.copy()
    estimator.n_features_in_ = model.n_features
    return estimator


def _words(classes: Any) -> Any:
    """Spell labels that are Python objects as NumPy's own strings, which files hold."""
    return classes.astype(str) if classes.dtype.kind == "O" else classes.copy()

"""Models as plain scikit-learn estimators, on their own or in a ``.skops`` file.

The file is scikit-learn's own classes and arrays of numbers, so ``skops.io.load`` takes it without
a word about trust, and a program that uses it needs no polyak. Only the imputer before a model of
a table's columns keeps a type that skops does not trust unasked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from polyak.exports.export_input import ExportInput, export_input_of
from polyak.exports.units import in_units
from polyak.losses import Loss, get_loss
from polyak.optional_imports import needed

if TYPE_CHECKING:
    from polyak.model.linear import LinearModel

GLMS = {"poisson": "PoissonRegressor", "gamma": "GammaRegressor"}
LOADING = "skops.io.load(FILE, trusted=['numpy.dtype'])"


def write(given: ExportInput, path: str) -> list[str]:
    """Write the estimator to a file of skops."""
    if path == "-":
        raise ValueError("a skops file is not text for standard output; name a file")
    from polyak.storage.container import write_bytes

    skops_io = needed("skops.io", "skops")
    write_bytes(path, skops_io.dumps(_estimator(given)))
    model = given.model
    remarks = [f"load it with {LOADING}"] if given.columns else given.about_rows()
    if model.classes is not None and model.loss != "log_loss" and model.sigmoids is not None:
        remarks.append(
            f"scikit-learn's linear classifiers have no probabilities for the loss {model.loss}: "
            "the estimator predicts and scores; an ONNX file carries the probabilities too"
        )
    return remarks


def to_sklearn(source: Any) -> Any:
    """Make a scikit-learn estimator that predicts and scores as a model does.

    Regression becomes a ``LinearRegression``, or with a log link a ``PoissonRegressor`` or
    ``GammaRegressor``. Several classes that were learned together become a
    ``LogisticRegression``, whose probabilities are a softmax too. Other classification becomes an
    ``SGDClassifier`` of the same loss, because it compares one model a class, and turns the scores
    of a logistic loss into probabilities, exactly as polyak does.
    A model of a table whose columns are all numbers takes the columns themselves, behind an
    imputer that marks what is missing.

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
    return _estimator(export_input_of(source).in_use())


def _estimator(given: ExportInput) -> Any:
    if given.columns is None:
        return _linear(given.model)
    from sklearn.pipeline import make_pipeline

    model = in_units(given.model, given.columns)
    # First the columns, then whether each is missing, as the imputer gives them.
    order = np.concatenate([np.arange(0, model.n_features, 2), np.arange(1, model.n_features, 2)])
    imputer = _imputer([column.name for column in given.columns.columns])
    return make_pipeline(imputer, _linear(replace(model, weights=model.weights[order])))


def _imputer(names: list[str]) -> Any:
    """Make what turns missing values into zeros, with a column each that says so."""
    from sklearn.impute import SimpleImputer

    imputer = SimpleImputer(strategy="constant", fill_value=0.0, add_indicator=True)
    imputer.fit(np.stack([np.zeros(len(names)), np.full(len(names), np.nan)]))
    imputer.feature_names_in_ = np.array(names, dtype=object)
    return imputer


def _linear(model: LinearModel) -> Any:
    from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier

    loss = get_loss(model.loss)
    coefficients = np.ascontiguousarray(model.weights.T, dtype=np.float64)
    if model.classes is None:
        one = len(coefficients) == 1
        estimator = LinearRegression() if loss.name not in GLMS else _with_log_link(loss, one)
        if loss.outputs > 1:
            raise ValueError(
                "scikit-learn has no model of several quantiles that do not cross; an ONNX file "
                "holds one"
            )
        estimator.coef_ = coefficients[0] if one else coefficients
        estimator.intercept_ = float(model.intercept[0]) if one else model.intercept.copy()
    elif model.multilabel:
        raise ValueError(
            "scikit-learn has no linear model of several labels a row; an ONNX file holds one"
        )
    else:
        alpha = None if model.report is None else model.report.winner.alpha
        if model.softmax and loss.name == "log_loss":
            estimator = LogisticRegression()
        else:
            estimator = SGDClassifier(loss=model.loss, average=True)
            if alpha:
                asked = {} if model.report is None else model.report.recipe
                penalty = {name: asked[name] for name in ("penalty", "l1_ratio") if name in asked}
                estimator.set_params(alpha=alpha, **penalty)
        estimator.classes_ = _words(model.classes)
        estimator.coef_, estimator.intercept_ = coefficients, model.intercept.copy()
    estimator.n_features_in_ = model.n_features
    return estimator


def _with_log_link(loss: Loss, one: bool) -> Any:
    """Make an estimator of scikit-learn whose predictions are exponentials of scores."""
    from sklearn import linear_model

    if not one:
        raise ValueError(f"scikit-learn's {GLMS[loss.name]} predicts one number, not several")
    estimator = getattr(linear_model, GLMS[loss.name])()
    estimator._base_loss = estimator._get_loss()
    return estimator


def _words(classes: Any) -> Any:
    """Spell labels that are Python objects as NumPy's own strings, which files hold."""
    return classes.astype(str) if classes.dtype.kind == "O" else classes.copy()

"""Models as plain scikit-learn estimators, on their own or in a ``.skops`` file.

The file is scikit-learn's own classes and arrays of numbers, so ``skops.io.load`` takes it without
a word about trust, and a program that uses it needs no polyak. Only the imputer before a model of
a table's columns, and splines, keep types that skops does not trust unasked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyak.exports.export_input import ExportInput, export_input_of
from polyak.exports.units import in_units
from polyak.losses import Loss, get_loss
from polyak.optional_imports import needed

if TYPE_CHECKING:
    from polyak.model.linear import LinearModel

GLMS = {"poisson": "PoissonRegressor", "gamma": "GammaRegressor"}


def write(given: ExportInput, path: str) -> list[str]:
    """Write the estimator to a file of skops."""
    if path == "-":
        raise ValueError("a skops file is not text for standard output; name a file")
    from polyak.storage.container import write_bytes

    skops_io = needed("skops.io", "skops")
    written, model = skops_io.dumps(_estimator(given)), given.model
    write_bytes(path, written)
    types = skops_io.get_untrusted_types(data=written)
    remarks = [f"load it with skops.io.load(FILE, trusted={types})"] if types else []
    remarks += [] if given.columns else given.about_rows()
    if model.reach is not None:
        remarks.append(
            "scikit-learn's estimators do not limit predictions beyond those of rows learned; an "
            "ONNX file does"
        )
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
    imputer that marks what is missing. Curves are a ``SplineTransformer`` of degree 1 each.

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
    from sklearn.pipeline import make_pipeline

    columns, terms, width = given.columns, given.model.terms, given.n_inputs
    weights = given.model.weights[:width].copy()
    weights[[] if terms is None else list(terms.replaced)] = 0.0
    model = replace(given.model, weights=weights, terms=None, replicas=None, sandwich=None)
    steps: list[Any] = []
    if columns is not None:
        model = in_units(model, columns)
        steps.append(_imputer([column.name for column in columns.columns]))
    if terms is not None:
        spline, model = _splines(given, model)
        steps.append(spline)
    elif columns is not None:
        model = replace(model, weights=model.weights[_order(given)])
    return make_pipeline(*steps, _linear(model)) if steps else _linear(model)


def _order(given: ExportInput) -> NDArray[np.intp]:
    """Return the order of features: the imputer gives all columns, then whether each is missing."""
    features = np.arange(given.n_inputs)
    return features if given.columns is None else np.concatenate([features[::2], features[1::2]])


def _splines(given: ExportInput, model: LinearModel) -> tuple[Any, LinearModel]:
    """Make splines of the columns that have curves, and the linear model of what they give.

    ``model`` is without the terms, in the units of the columns.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import SplineTransformer

    terms, order = given.model.terms, _order(given)
    assert terms is not None
    if any(term.kind == "pair" for term in terms.terms):
        raise ValueError(
            "scikit-learn has no transformer for pairs of columns; an ONNX file holds them"
        )
    units = [(0.0, 1.0)] * len(order)
    if given.columns is not None:
        units[::2] = [(column.offset, column.scale) for column in given.columns.columns]
    weights, parts, made = model.weights.astype(np.float64), [], []
    for k, term in enumerate(terms.terms):
        (axis,), own = term.axes, given.model.weights[terms.features_of(k)]
        offset, scale = units[axis.features[0]]
        for missing in axis.features[1:]:  # a zero stands for what is missing
            weights[missing] -= (axis.at(np.array([-offset / scale])) @ own)[0]
        knots = np.array(axis.knots)[:, None] * scale + offset
        spline = SplineTransformer(degree=1, knots=knots, extrapolation="constant")
        made.append((f"curve {k}", spline, np.flatnonzero(order == axis.features[0]).tolist()))
        parts.append(axis.values @ own)
    rest = order[~np.isin(order, terms.replaced)]
    transformer = ColumnTransformer(made, remainder="passthrough").fit(np.zeros((2, len(order))))
    return transformer, replace(model, weights=np.concatenate([*parts, weights[rest]]))


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

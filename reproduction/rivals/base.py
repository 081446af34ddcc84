"""What all rivals share: scikit-learn's interface, and losses that decide what is learned."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import (
    _check_partial_fit_first_call,
    check_classification_targets,
    type_of_target,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from polyak import _core
from polyak.errors import DivergenceError
from polyak.estimators.base import _canonical as canonical
from polyak.losses import get_loss
from polyak.rows.sparse import Rows, as_rows, core_rows
from reproduction.rivals.stream import Engine, Stream

Floats = NDArray[np.float64]

CLASSIFICATION = ("squared_hinge", "hinge", "log_loss")
POSITIVE: list[Any] = [Interval(Real, 0, None, closed="neither")]
COUNT: list[Any] = [Interval(Integral, 1, None, closed="left")]


def _classifies(rival: Any) -> bool:
    return bool(get_loss(rival.loss).classifies)


class Rival(BaseEstimator):  # type: ignore[misc]
    """A linear model with two classes, or with one real target for ``loss="squared_error"``."""

    losses: ClassVar[tuple[str, ...]] = CLASSIFICATION
    """The losses this rival can learn with."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(CLASSIFICATION))],
        "alpha": POSITIVE,
        "fit_intercept": ["boolean"],
    }

    loss: str
    alpha: float
    fit_intercept: bool
    classes_: NDArray[Any]
    coef_: Floats
    intercept_: Floats

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        if self.loss == "squared_error":
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        else:
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """Score rows: above zero is the second class.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row, or its target.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        scores = self._scores(X)
        return self.classes_[(scores > 0).astype(int)] if _classifies(self) else scores

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy, or R² for ``loss="squared_error"``.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        float
        """
        measure = accuracy_score if _classifies(self) else r2_score
        return float(measure(y, self.predict(X)))

    # -- inside --------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = canonical(validate_data(self, X, reset=False, **_CHECKS))
        weights = np.ascontiguousarray(np.atleast_2d(self.coef_).T)
        scores: Floats = _core.score_rows(core_rows(X), weights)[:, 0]
        return scores + float(self.intercept_[0])

    def _rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        numeric = not _classifies(self)
        X, y = validate_data(self, X, y, reset=reset, y_numeric=numeric, **_CHECKS)
        if not numeric:
            check_classification_targets(y)
        return canonical(X), y

    def _signs(self, y: NDArray[Any]) -> Floats:
        """Turn labels into -1 and +1; leave real targets as they are."""
        if not _classifies(self):
            return np.ascontiguousarray(y, dtype=np.float64)
        known = np.isin(y, self.classes_)
        if not known.all():
            row = int(np.flatnonzero(~known)[0])
            raise ValueError(f"row {row} has the label {y[row]!r}, which is not among the classes")
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def _set_classes(self, y: NDArray[Any]) -> None:
        """Find the two classes among the labels of a fit."""
        if not _classifies(self):
            return
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"there must be two classes, but there is only 1 class: {classes[0]}")
        self.classes_ = classes

    def _shaped(self, weights: Floats) -> Floats:
        return weights[None, :] if _classifies(self) else weights


class StreamingRival(Rival):
    """A rival that learns row by row, or mini-batch by mini-batch, as rows come."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        "max_iter": COUNT,
    }

    max_iter: int
    _stream: Stream

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows as they stand, ``max_iter`` times over.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)

        Returns
        -------
        self
        """
        X, y = self._rows(X, y, reset=True)
        self._set_classes(y)
        rows, targets = as_rows(X), self._signs(y)
        self._stream = self._new_stream()
        for _ in range(self.max_iter):
            self._learn(rows, targets)
            self._stream.begin()  # later passes show no new rows to look at
        self.n_iter_ = self.max_iter
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on learning with more rows, once over. How rows are split changes no bit.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        classes : array of two labels
            Needed in the first call, where the loss is one for classification.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_stream")
        X, y = self._rows(X, y, reset=first)
        if _classifies(self) and _check_partial_fit_first_call(self, classes):
            self._set_classes(self.classes_)
        targets = self._signs(y)
        if first:
            self._stream = self._new_stream()
        self._learn(as_rows(X), targets)
        self.n_iter_ = 1
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_stream")

    @property
    def coef_(self) -> Floats:  # type: ignore[override]
        """The weights of the last iterate."""
        return self._shaped(self._engine().coef.copy())

    @property
    def intercept_(self) -> Floats:  # type: ignore[override]
        """The intercept of the last iterate."""
        return np.array([self._engine().intercept])

    # -- inside --------------------------------------------------------------------------------

    def _new_stream(self) -> Stream:
        raise NotImplementedError

    def _learn(self, rows: Rows, targets: Floats) -> None:
        try:
            self._stream.learn(rows, targets)
        except ArithmeticError as error:
            del self._stream  # what has overflowed is not to be predicted with
            raise DivergenceError(f"{type(self).__name__} diverged: {error}") from error

    def _engine(self) -> Engine:
        """Return the engine as it would be if the rows ended here."""
        check_is_fitted(self)
        return self._stream.settled()


_CHECKS: dict[str, Any] = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "order": "C",
    "dtype": [np.float64, np.float32],
}

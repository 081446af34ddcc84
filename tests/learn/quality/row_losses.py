"""Losses row by row, and what a constant loses: what models are judged by on fresh rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.losses import get_loss

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """A weighted mean, the standard deviation of one row, and the effective number of rows."""

    mean: float
    deviation: float
    rows: float

    @property
    def std_err(self) -> float:
        """The standard error of the mean."""
        return self.deviation / float(np.sqrt(self.rows))


def estimate(values: Floats, weights: Floats | None = None) -> Estimate:
    """Return the mean of rows and its error; weights are taken as independent of the values."""
    weights = np.ones(len(values)) if weights is None else weights
    mean = float(np.average(values, weights=weights))
    deviation = float(np.sqrt(np.average(np.square(values - mean), weights=weights)))
    return Estimate(mean, deviation, effective_rows(weights))


def effective_rows(weights: Floats) -> float:
    """Return Kish's effective sample size."""
    shares = weights / weights.max()
    return float(shares.sum() ** 2 / np.square(shares).sum())


def model_losses(fitted: Any, X: Any, y: NDArray[Any]) -> Floats:
    """Return the loss that ``recent_loss_`` is the mean of, for each row."""
    return _losses(fitted, fitted.to_model().softmax, fitted._scores(X, None)[1], y)


def constant_losses(
    fitted: Any, y_train: NDArray[Any], weights: Floats | None, y: NDArray[Any]
) -> Floats:
    """Return each row's loss under the best constant of the training rows."""
    model = fitted.to_model()
    loss = get_loss(model.loss)
    weights = np.ones(len(y_train)) if weights is None else weights
    if model.classes is None:
        scores = np.array([loss.constant_of(y_train.astype(float), weights)])
    else:
        # The scale of weights must not decide how much the half row of `best_constant` smooths.
        weights = weights * effective_rows(weights) / weights.sum()
        own = y_train[:, None] == (model.classes if len(model.classes) > 2 else model.classes[1:])
        positive = weights @ own
        scores = loss.best_constant(positive, weights.sum() - positive)
    return _losses(fitted, False, np.broadcast_to(scores, (len(y), len(scores))), y)


def _losses(fitted: Any, softmax: bool, scores: Floats, y: NDArray[Any]) -> Floats:
    model = fitted.to_model()
    loss = get_loss(model.loss)
    if model.classes is None:
        return np.asarray(loss.value(scores, y[:, None]).sum(axis=1))
    own = y[:, None] == (model.classes if len(model.classes) > 2 else model.classes[1:])
    together = any(one.get("softmax") or one.get("dense") for one in fitted.candidates_)
    if together and len(model.classes) > 2 and not model.multilabel:
        # Classes that race together are judged by the probability of the row's own.
        odds = scores if softmax else -np.logaddexp(0.0, -scores)
        return np.asarray(np.logaddexp.reduce(odds, axis=1) - odds[own])
    return np.asarray(loss.value(scores, 2.0 * own - 1.0).sum(axis=1))

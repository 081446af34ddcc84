"""Metrics of a multilabel model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.model.linear import LinearModel
from polyak.model.metrics.class_metrics import ClassMetrics
from polyak.model.metrics.mean_error import MeanError
from polyak.rows.label_sets import are_sets, truths

Floats = NDArray[np.float64]


def true_labels(model: LinearModel, targets: NDArray[Any]) -> NDArray[Any]:
    """Return multilabel targets as an indicator matrix, one column per label."""
    if are_sets(targets):
        assert model.classes is not None
        return truths(targets, model.classes)
    return targets


class LabelMetrics:
    """Running metrics over rows with known labels, with the interface of `ClassMetrics`.

    Examples
    --------
    >>> model = LinearModel(np.eye(2), np.zeros(2), "log_loss", np.array([1, 5]), multilabel=True)
    >>> metrics = LabelMetrics(model)
    >>> scores = np.array([[2.0, -1.0], [1.0, 1.0]])
    >>> metrics.add(scores, np.array([[1, 0], [0, 1]]), np.ones(2))
    >>> metrics.figures()
    {'hamming_loss': 0.25, 'f1_micro': 0.8, 'f1_macro': 0.83...}
    """

    def __init__(self, model: LinearModel) -> None:
        self._model = model
        self._counts = np.zeros((3, len(model.intercept)))  # true positives, predicted, true
        self._weight, self._wrong = 0.0, MeanError()

    def use(self, model: LinearModel) -> None:
        """Continue with the predictions of another model of the same labels."""
        self._model = model

    def add(self, scores: Floats, targets: NDArray[Any], weights: Floats) -> None:
        """Add rows; all labels must be among the model's."""
        true, predicted = true_labels(self._model, targets) > 0, scores > 0
        self._weight += float(weights.sum())
        self._counts += [weights @ (true & predicted), weights @ predicted, weights @ true]
        self._wrong.add((true != predicted).mean(axis=1), weights)

    def figures(self) -> dict[str, float]:
        """Return the Hamming loss, and F1 as micro and macro average."""
        right, predicted, true = self._counts
        total = predicted + true
        each = np.divide(2.0 * right, total, out=np.zeros_like(total), where=total > 0)
        wrong = (total - 2.0 * right).sum() / (self._weight * len(total))
        return {
            "hamming_loss": float(wrong),
            "f1_micro": float(2.0 * right.sum() / total.sum()) if total.any() else 0.0,
            "f1_macro": float(each.mean()),
        }

    def std_errors(self) -> dict[str, float]:
        """Return the standard error of the Hamming loss."""
        found = self._wrong.value()
        return {"hamming_loss_std_err": found} if found == found else {}

    def confusion(self) -> None:
        """Return None: several labels per row have no confusion matrix."""

    def calibration(self) -> None:
        """Return None: `polyak.model.checking.Check` bins all labels together."""


def metrics_of(model: LinearModel) -> ClassMetrics | LabelMetrics | None:
    """Return the metrics of a classifier; None for a regression."""
    if model.classes is None:
        return None
    return LabelMetrics(model) if model.multilabel else ClassMetrics(model)

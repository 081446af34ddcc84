"""How good a model of several labels a row is beside its loss: label by label."""

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
    """Give targets of a model of several labels as zeros and ones, a column a label."""
    if are_sets(targets):
        assert model.classes is not None
        return truths(targets, model.classes)
    return targets


class LabelMetrics:
    """Sums over rows whose labels are known; it answers what `ClassMetrics` does.

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
        self._counts = np.zeros((3, len(model.intercept)))  # right, predicted and true ones
        self._weight, self._wrong = 0.0, MeanError()

    def use(self, model: LinearModel) -> None:
        """Go on with what another model of the same labels predicts."""
        self._model = model

    def add(self, scores: Floats, targets: NDArray[Any], weights: Floats) -> None:
        """Take rows whose labels are all known."""
        true, said = true_labels(self._model, targets) > 0, scores > 0
        self._weight += float(weights.sum())
        self._counts += [weights @ (true & said), weights @ said, weights @ true]
        self._wrong.add((true != said).mean(axis=1), weights)

    def figures(self) -> dict[str, float]:
        """Give the share of labels that are wrong, and F1 of all together and label by label."""
        right, said, true = self._counts
        total = said + true
        each = np.divide(2.0 * right, total, out=np.zeros_like(total), where=total > 0)
        wrong = (total - 2.0 * right).sum() / (self._weight * len(total))
        return {
            "hamming_loss": float(wrong),
            "f1_micro": float(2.0 * right.sum() / total.sum()) if total.any() else 0.0,
            "f1_macro": float(each.mean()),
        }

    def std_errors(self) -> dict[str, float]:
        """Give the standard error of the share."""
        found = self._wrong.value()
        return {"hamming_loss_std_err": found} if found == found else {}

    def confusion(self) -> None:
        """Say that there is none: a row's labels have nothing to do with each other."""

    def calibration(self) -> None:
        """Leave it to whoever counts all labels."""


def metrics_of(model: LinearModel) -> ClassMetrics | LabelMetrics | None:
    """Give what measures a classifier; None for a model of numbers."""
    if model.classes is None:
        return None
    return LabelMetrics(model) if model.multilabel else ClassMetrics(model)

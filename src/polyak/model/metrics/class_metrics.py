"""Metrics of a classifier beside loss and error.

For classes: confusion matrix, ROC AUC and calibration; for several labels: Hamming loss and F1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.model.linear import LinearModel
from polyak.model.metrics.mean_error import MeanError
from polyak.model.metrics.ranking import Ranking
from polyak.rows.label_sets import are_sets, truths
from polyak.rows.label_text import label_text

Floats = NDArray[np.float64]

MOST_SHOWN = 20
"""The most classes of a confusion matrix."""
BINS = 10


class ClassMetrics:
    """Running metrics over rows with known classes.

    Examples
    --------
    >>> model = LinearModel(np.array([[1.0]]), np.zeros(1), "log_loss", np.array(["no", "yes"]))
    >>> metrics = ClassMetrics(model)
    >>> scores = np.array([[2.0], [-1.0], [1.0]])
    >>> metrics.add(scores, np.array(["yes", "no", "no"]), np.ones(3))
    >>> metrics.figures()["balanced_accuracy"], metrics.confusion()
    (0.75, {'no': {'no': 1, 'yes': 1}, 'yes': {'no': 0, 'yes': 1}})
    """

    def __init__(self, model: LinearModel) -> None:
        assert model.classes is not None
        self._model = model
        self._classes = np.asarray(model.classes)
        self._counts = np.zeros((len(self._classes), len(self._classes)))
        self._ranking = Ranking() if len(self._classes) == 2 else None
        self._calibration = np.zeros((3, BINS))  # weight, probabilities, positive rows

    def use(self, model: LinearModel) -> None:
        """Continue with the predictions of another model of the same classes."""
        self._model = model

    def add(self, scores: Floats, targets: NDArray[Any], weights: Floats) -> None:
        """Add rows; all targets must be among the model's classes."""
        order = np.argsort(self._classes)
        true = order[np.searchsorted(self._classes, targets, sorter=order)]
        n = len(self._classes)
        pairs = true * n + self._model.best(scores)
        self._counts += np.bincount(pairs, weights, n * n).reshape(n, n)
        if self._ranking is not None:
            self._ranking.add(scores[:, 0], true == 1, weights)
            self._calibrate(scores, true == 1, weights)

    def figures(self) -> dict[str, float]:
        """Return the scalar metrics."""
        of_class = self._counts.sum(axis=1)
        there = of_class > 0
        found: dict[str, float] = {
            "balanced_accuracy": float((np.diag(self._counts)[there] / of_class[there]).mean())
        }
        if self._ranking is not None:
            found["roc_auc"] = self._ranking.roc_auc()
            found["average_precision"] = self._ranking.average_precision()
            found["calibration_error"] = self._calibration_error()
        return found

    def std_errors(self) -> dict[str, float]:
        """Return standard errors, with weights treated as frequencies."""
        of_class = self._counts.sum(axis=1)
        there = of_class > 0
        right = np.diag(self._counts)[there] / of_class[there]
        spread = (right * (1.0 - right) / of_class[there]).sum()
        found = {"balanced_accuracy": math.sqrt(spread) / max(there.sum(), 1)}
        if self._ranking is not None:
            found["roc_auc"] = self._ranking.roc_auc_std_err()
        return {f"{name}_std_err": value for name, value in found.items() if value == value}

    def confusion(self) -> dict[str, dict[str, float]] | None:
        """Return the weight of each true and predicted class; None for too many classes."""
        if len(self._classes) > MOST_SHOWN:
            return None
        names = [label_text(label) for label in self._classes]
        rows = [[int(x) if x == int(x) else x for x in row] for row in self._counts.tolist()]
        each = zip(names, rows, strict=True)
        return {name: dict(zip(names, row, strict=True)) for name, row in each}

    def calibration(self) -> list[dict[str, float]] | None:
        """Return the mean probability and the frequency of the second class, in ten bins."""
        if self._ranking is None or not self._calibration.any():
            return None
        weight, predicted, positive = self._calibration
        return [
            {
                "rows": float(weight[i]),
                "predicted": float(predicted[i] / weight[i]),
                "true": float(positive[i] / weight[i]),
            }
            for i in range(BINS)
            if weight[i] > 0
        ]

    def _calibrate(self, scores: Floats, positive: NDArray[np.bool_], weights: Floats) -> None:
        try:
            chance = self._model.proba_from_scores(scores)[:, 1]
        except ValueError:  # learned without probabilities
            return
        place = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
        for row, what in enumerate((weights, weights * chance, weights * positive)):
            self._calibration[row] += np.bincount(place, what, BINS)

    def _calibration_error(self) -> float:
        weight, predicted, positive = self._calibration
        total = weight.sum()
        return float(np.abs(predicted - positive).sum() / total) if total > 0 else math.nan


def known_classes(model: LinearModel, targets: NDArray[Any]) -> NDArray[np.bool_]:
    """Return the mask of rows whose class the model knows; all rows of other models.

    Examples
    --------
    >>> model = LinearModel(np.array([[1.0]]), np.zeros(1), "log_loss", np.array(["no", "yes"]))
    >>> known_classes(model, np.array(["yes", "perhaps"]))
    array([ True, False])
    """
    if model.classes is None or model.multilabel:
        return np.ones(len(targets), dtype=bool)
    return np.isin(targets, model.classes)


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

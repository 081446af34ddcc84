"""Metrics of a classifier beside loss and error, accumulated in one pass over rows.

For classes: confusion matrix, ROC AUC and calibration; for several labels: Hamming loss and F1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.model.linear import LinearModel
from polyak.rows.label_sets import are_sets, truths
from polyak.rows.label_text import label_text

Floats = NDArray[np.float64]

MOST_SHOWN = 20
"""The most classes of a confusion matrix."""
BINS = 10
"""The number of bins of a calibration."""
MOST_SCORES = 1 << 20
"""The most scores kept exactly; beyond that they are counted in bins."""
SCORE_BINS = 1 << 16
"""The number of bins, whose edges are quantiles of the scores kept until then."""


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


class Ranking:
    """The scores of positive and negative rows, exact or in bins.

    Examples
    --------
    >>> ranking = Ranking()
    >>> ranking.add(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]) == 1, np.ones(4))
    >>> ranking.roc_auc(), round(ranking.average_precision(), 4)
    (0.75, 0.8333)
    """

    def __init__(self, most_scores: int = MOST_SCORES) -> None:
        self._most = most_scores
        self._kept: list[tuple[Floats, Floats, Floats]] = []
        self._n_kept = 0
        self._edges: Floats | None = None
        self._counts = np.zeros((2, 0))

    def add(self, scores: Floats, positive: NDArray[np.bool_], weights: Floats) -> None:
        """Add rows."""
        sides = np.where(positive, weights, 0.0), np.where(positive, 0.0, weights)
        if self._edges is not None:
            self._count(scores, *sides)
            return
        self._kept.append((scores, *sides))
        self._n_kept += len(scores)
        if self._n_kept > self._most:
            kept = [np.concatenate(part) for part in zip(*self._kept, strict=True)]
            self._edges = np.unique(np.quantile(kept[0], np.linspace(0.0, 1.0, SCORE_BINS)))
            self._counts = np.zeros((2, len(self._edges) + 1))
            self._kept = []
            self._count(*kept)

    def roc_auc(self) -> float:
        """Return the probability that a positive row scores above a negative one; ties are half."""
        positive, negative = self._levels()
        pairs = positive.sum() * negative.sum()
        if not pairs > 0:
            return math.nan
        below = np.cumsum(negative) - negative
        return float(positive @ (below + negative / 2.0) / pairs)

    def roc_auc_std_err(self) -> float:
        """Return the standard error of the AUC, by DeLong, DeLong and Clarke-Pearson (1988).

        It follows from two variances: of the share of negative rows below each positive row, and
        of the share of positive rows above each negative row.
        """
        positive, negative = self._levels()
        n, m = positive.sum(), negative.sum()
        if not (n > 1 and m > 1):
            return math.nan
        below = (np.cumsum(negative) - negative / 2.0) / m
        above = (n - np.cumsum(positive) + positive / 2.0) / n
        auc = positive @ below / n
        of_positive = positive @ np.square(below - auc) / (n - 1.0)
        of_negative = negative @ np.square(above - auc) / (m - 1.0)
        return float(math.sqrt(of_positive / n + of_negative / m))

    def average_precision(self) -> float:
        """Return the mean precision over the positive rows, from the highest score down."""
        positive, negative = (side[::-1] for side in self._levels())
        total = positive.sum()
        if not total > 0:
            return math.nan
        above = np.cumsum(positive), np.cumsum(positive + negative)
        precision = np.divide(*above, out=np.zeros(len(positive)), where=above[1] > 0)
        return float(positive @ precision / total)

    def _count(self, scores: Floats, positive: Floats, negative: Floats) -> None:
        assert self._edges is not None
        place = np.searchsorted(self._edges, scores, side="right")
        for side, weights in enumerate((positive, negative)):
            self._counts[side] += np.bincount(place, weights, len(self._edges) + 1)

    def _levels(self) -> tuple[Floats, Floats]:
        """Return the weights of positive and negative rows at each score, in increasing order."""
        if self._edges is not None:
            return self._counts[0], self._counts[1]
        if not self._kept:
            return np.zeros(0), np.zeros(0)
        scores, *sides = (np.concatenate(part) for part in zip(*self._kept, strict=True))
        levels, place = np.unique(scores, return_inverse=True)
        counts = [np.bincount(place, side, len(levels)).astype(np.float64) for side in sides]
        return counts[0], counts[1]


class MeanError:
    """The standard error of the weighted mean of the values added.

    Examples
    --------
    >>> error = MeanError()
    >>> error.add(np.array([1.0, 2.0, 4.0, 5.0]), np.ones(4))
    >>> round(error.value(), 4), round(float(np.std([1, 2, 4, 5], ddof=1) / 2), 4)
    (0.9129, 0.9129)
    """

    __slots__ = ("_first", "_rows", "_sums")

    def __init__(self) -> None:
        self._first = 0.0  # subtracted from each value to avoid cancellation
        self._rows = 0
        self._sums = np.zeros(5)  # w, w x, and w² times 1, x and x²

    def add(self, values: Floats, weights: Floats) -> None:
        """Add rows."""
        if not self._rows and len(values):
            self._first = float(values[0])
        x, squares = values - self._first, np.square(weights)
        self._rows += int(np.count_nonzero(weights))
        self._sums += [
            weights.sum(),
            weights @ x,
            squares.sum(),
            squares @ x,
            squares @ np.square(x),
        ]

    def value(self) -> float:
        """Return the standard error; NaN for fewer than two rows."""
        total, first, *squares = self._sums.tolist()
        if self._rows < 2:
            return math.nan
        mean = first / total
        away = squares[2] - 2.0 * mean * squares[1] + mean * mean * squares[0]
        return math.sqrt(max(away, 0.0) * self._rows / (self._rows - 1)) / total

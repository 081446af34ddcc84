"""Predictions compared with known targets: the figures, and points and bins for the charts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.model.evaluation import Evaluation
from polyak.model.linear import LinearModel
from polyak.model.metrics import BINS, known_classes, metrics_of, true_labels
from polyak.model.training_report import CheckReport, Reliability

MOST_POINTS = 300


class Check:
    """Running comparison of predictions with targets, for one model or successive ones.

    Examples
    --------
    >>> model = LinearModel(np.array([[1.0]]), np.zeros(1), "squared_error")
    >>> check = Check(model)
    >>> check.add(model.scores(np.array([[1.0], [2.0]])), np.array([1.5, 2.0]))
    >>> check.report().points
    ((1.0, 1.5), (2.0, 2.0))
    """

    def __init__(self, model: LinearModel) -> None:
        self._all = Evaluation(model)
        self._classes = metrics_of(model)
        self._points = np.empty((0, 3))  # a random key, the prediction, the true value
        self._rng = np.random.default_rng(0)
        self._bins = np.zeros((3, BINS))  # over all classes: weight, probabilities, true labels

    def use(self, model: LinearModel) -> None:
        """Continue with the predictions of another model of the same targets."""
        self._all.model = model
        if self._classes is not None:
            self._classes.use(model)

    def add(
        self, scores: NDArray[Any], targets: NDArray[Any], weights: NDArray[Any] | None = None
    ) -> None:
        """Add rows: the model's ``scores`` and their targets."""
        self._all.add_scores(scores, targets, weights)
        if self._classes is not None:
            own = np.ones(len(targets)) if weights is None else np.asarray(weights, float)
            known = known_classes(self._all.model, targets)
            if not known.all():
                scores, targets, own = scores[known], targets[known], own[known]
            self._classes.add(scores, targets, own)
            if scores.shape[1] > 1:
                self._calibrate(scores, targets, own)
        elif scores.shape[1] == 1:
            keys = self._rng.random(len(targets))
            new = np.column_stack([keys, scores[:, 0], np.asarray(targets, float).ravel()])
            if len(self._points) == MOST_POINTS:
                new = new[keys < self._points[-1, 0]]
            both = np.concatenate([self._points, new])
            self._points = both[np.argsort(both[:, 0], kind="stable")[:MOST_POINTS]]

    def figures(self) -> dict[str, float]:
        """Return the figures that are one number each, and their standard errors."""
        found = self._all.report() | self._all.std_errors()
        if self._classes is not None:
            found |= self._classes.figures() | self._classes.std_errors()
        return found

    def tables(self) -> dict[str, Any]:
        """Return the confusion matrix, and the calibration of the second of two classes."""
        own = self._classes
        found = (
            {} if own is None else {"confusion": own.confusion(), "calibration": own.calibration()}
        )
        return {name: table for name, table in found.items() if table is not None}

    def report(self) -> CheckReport:
        """Return the result, without standard errors."""
        figures = {k: v for k, v in self.figures().items() if not k.endswith("_std_err")}
        rows, tables = int(figures.pop("rows")), self.tables()
        confusion = tables.get("confusion", {}).values()
        points = self._points[np.isfinite(self._points).all(axis=1)][:, 1:]
        return CheckReport(
            rows=rows,
            figures={k: v if math.isfinite(v) else None for k, v in figures.items()},
            confusion=tuple(tuple(row.values()) for row in confusion),
            calibration=_reliability(tables.get("calibration") or self._of_each_class()),
            points=tuple((_short(x), _short(y)) for x, y in sorted(points.tolist())),
        )

    def _calibrate(
        self, scores: NDArray[Any], targets: NDArray[Any], weights: NDArray[Any]
    ) -> None:
        """Add rows to the reliability bins of all classes."""
        model = self._all.model
        try:
            chance = model.proba_from_scores(scores)
        except ValueError:  # learned without probabilities
            return
        if model.multilabel:
            true = true_labels(model, targets) > 0
        else:
            true = np.asarray(targets)[:, None] == model.classes
        place = np.minimum((chance * BINS).astype(np.int64), BINS - 1).ravel()
        each = np.broadcast_to(weights[:, None], chance.shape)
        for row, what in enumerate((each, each * chance, each * true)):
            self._bins[row] += np.bincount(place, what.ravel(), BINS)

    def _of_each_class(self) -> list[dict[str, float]]:
        weight, predicted, true = self._bins
        there = np.flatnonzero(weight).tolist()
        return [
            {"rows": weight[i], "predicted": predicted[i] / weight[i], "true": true[i] / weight[i]}
            for i in there
        ]


def _reliability(bins: list[dict[str, float]] | None) -> Reliability | None:
    if not bins:
        return None
    return Reliability(
        predicted=tuple(_short(one["predicted"]) for one in bins),
        positive=tuple(_short(one["true"] * one["rows"]) for one in bins),
        total=tuple(_short(one["rows"]) for one in bins),
    )


def _short(value: float) -> float:
    return float(f"{value:.6g}")

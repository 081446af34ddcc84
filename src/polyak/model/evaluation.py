"""Evaluation of a model on rows with known targets, in one pass."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DataError
from polyak.losses import Loss, get_loss
from polyak.losses.of_numbers import Quantile
from polyak.losses.softmax import normalised_odds, odds_of_softmax, own_class_losses
from polyak.losses.target_sample import TargetSample
from polyak.model.linear import LinearModel
from polyak.model.metrics import MeanError, known_classes, true_labels
from polyak.rows.sparse import Rows

Floats = NDArray[np.float64]

SAMPLE = 1 << 17
"""The most rows kept where running sums are not enough; more are thinned evenly."""


class ConstantLoss:
    """The running loss of the best constant of each output.

    For classes scored ``together`` it is minus the log-probability of the true class.

    Examples
    --------
    >>> from polyak.losses import get_loss
    >>> constant = ConstantLoss(get_loss("squared_error"), outputs=1)
    >>> constant.add(np.array([[1.0], [3.0]]), np.ones(2))
    >>> constant.mean()
    0.5
    """

    def __init__(self, loss: Loss, outputs: int, *, together: bool = False) -> None:
        self.loss, self.together = loss, together
        self.weight = 0.0
        # The weighted mean of the targets, and the sum of squared deviations from it.
        self.centre: Floats = np.zeros(outputs)
        self.spread: Floats = np.zeros(outputs)
        by_sums = loss.classifies or loss.name == "squared_error"
        self.sample = None if by_sums else TargetSample(outputs, SAMPLE)

    def add(self, targets: Floats, weights: Floats) -> None:
        """Add rows; their targets have one column per output: numbers, or -1 and +1."""
        added = float(weights.sum())
        if self.sample is not None:
            shape = (len(targets), len(self.centre))
            self.sample.add(np.broadcast_to(targets, shape), weights)
            self.weight += added
            return
        if not added > 0:
            return
        centre = weights @ targets / added
        total = self.weight + added
        # The sum of squares about the running mean (Chan et al.), which avoids cancellation.
        between = np.square(centre - self.centre) * (self.weight * added / total)
        self.spread += weights @ np.square(targets - centre) + between
        self.centre += (centre - self.centre) * (added / total)
        self.weight = total

    def mean(self) -> float:
        """Return the mean loss, summed over the outputs."""
        if self.sample is not None:
            return self.sample.mean_loss(self.loss)
        if not self.loss.classifies:
            return float(0.5 * self.spread.sum() / self.weight)
        positive = (1.0 + self.centre) / 2.0
        constant = self.loss.best_constant(positive * self.weight, (1.0 - positive) * self.weight)
        if self.together:
            return float(positive @ np.logaddexp(0.0, -normalised_odds(constant)))
        high, low = self.loss.value(constant, 1.0), self.loss.value(constant, -1.0)
        return float((positive * high + (1.0 - positive) * low).sum())


@dataclass(slots=True)
class Evaluation:
    """Running sums of a model's losses and errors.

    A row of a class that the model does not know counts as an error; it has no loss.

    Examples
    --------
    >>> model = LinearModel(np.array([[1.0]]), np.zeros(1), "log_loss", np.array([0, 1]))
    >>> evaluation = Evaluation(model)
    >>> evaluation.add(np.array([[2.0], [-1.0], [1.0]]), np.array([1, 0, 0]))
    >>> evaluation.report()["rows"], round(evaluation.report()["error"], 3)
    (3, 0.333)
    """

    model: LinearModel
    rows: int = 0
    weight: float = 0.0
    loss: float = 0.0
    wrong: float = 0.0
    unknown: int = 0  # rows of classes that the model does not know
    unknown_weight: float = 0.0
    absolute: float = 0.0
    squared: float = 0.0
    mean: float = 0.0
    spread: float = 0.0
    constant: ConstantLoss = field(init=False)
    below: NDArray[Any] = field(init=False)  # weight of targets at or below their quantile
    errors: dict[str, MeanError] = field(default_factory=lambda: defaultdict(MeanError))

    def __post_init__(self) -> None:
        outputs = self.model.weights.shape[1]
        together = self._scores_true_class
        self.constant = ConstantLoss(get_loss(self.model.loss), outputs, together=together)
        self.below = np.zeros(outputs)

    @property
    def _scores_true_class(self) -> bool:
        """Whether the loss is minus the log-probability of the true class, of three or more."""
        model = self.model
        of_classes = model.classes is not None and len(model.classes) > 2 and not model.multilabel
        return model.loss == "log_loss" and of_classes

    def add(
        self, rows: Rows, targets: NDArray[Any] | None, weights: NDArray[Any] | None = None
    ) -> None:
        """Add rows and their targets."""
        if targets is None:
            raise DataError("the source has no targets to compare with")
        self.add_scores(self.model.scores(rows), targets, weights)

    @np.errstate(over="ignore", invalid="ignore")  # squared errors may be infinite
    def add_scores(
        self, scores: NDArray[Any], targets: NDArray[Any], weights: NDArray[Any] | None = None
    ) -> None:
        """Add rows: the model's ``scores`` and their targets."""
        w = np.ones(len(targets)) if weights is None else np.asarray(weights, float)
        self.rows += len(targets)
        known = known_classes(self.model, targets)
        if not known.all():
            self.unknown += int(np.count_nonzero(~known))
            self.unknown_weight += float(w[~known].sum())
            self.errors["error"].add(np.ones(int(np.count_nonzero(~known))), w[~known])
            scores, targets, w = scores[known], targets[known], w[known]
        loss = get_loss(self.model.loss)
        if self.model.classes is None:
            scores = scores if loss.log_link else loss.predictions(scores)  # quantiles in order
            self._add_values(scores, np.asarray(targets, float), w)
            signs = np.asarray(targets, float).reshape(len(targets), -1)
        else:
            signs, wrong = self._signs(scores, np.asarray(targets))
            self.wrong += float(w @ wrong)
            self.errors["error"].add(wrong.astype(np.float64), w)
        self.constant.add(signs, w)
        self.weight += float(w.sum())
        if self._scores_true_class:
            odds = odds_of_softmax(scores) if self.model.softmax else normalised_odds(scores)
            losses = own_class_losses(odds, signs)
        else:
            losses = loss.value(scores, signs).sum(axis=1)
        self.loss += float(w @ losses)
        self.errors["loss"].add(losses, w)

    def report(self) -> dict[str, float]:
        """Return the figures: loss, error and accuracy of a classifier; else loss, RMSE, MAE, R².

        For quantiles also the share of targets at or below each. ``constant_loss`` is the loss of
        the best constant for these rows.
        """
        total = self.weight + self.unknown_weight
        if not total:
            raise DataError("there are no rows to compare with")
        figures = {"rows": self.rows, "loss": math.nan, "constant_loss": math.nan}
        if self.weight:
            figures |= {"loss": self.loss / self.weight, "constant_loss": self.constant.mean()}
        if self.model.classes is not None:
            error = (self.wrong + self.unknown_weight) / total
            unknown = {"rows_of_unknown_classes": self.unknown} if self.unknown else {}
            return figures | {"error": error, "accuracy": 1.0 - error} | unknown
        loss = get_loss(self.model.loss)
        if isinstance(loss, Quantile):
            shares = zip(loss.parameters, self.below / self.weight, strict=False)
            figures |= {f"share_below_{tau:g}": float(share) for tau, share in shares}
        return figures | {
            "rmse": math.sqrt(self.squared / self.weight),
            "mae": self.absolute / self.weight,
            "r2": 1.0 - self.squared / self.spread if self.spread > 0 else math.nan,
        }

    def std_errors(self) -> dict[str, float]:
        """Return the standard errors of the figures that are means, or roots of means."""
        found = {name: error.value() for name, error in self.errors.items()}
        if "error" in found:
            found["accuracy"] = found["error"]
        if "squared" in found:
            mean = self.squared / self.weight
            found["rmse"] = found.pop("squared") / (2.0 * math.sqrt(mean)) if mean > 0 else 0.0
        return {f"{name}_std_err": value for name, value in found.items() if value == value}

    def _add_values(self, scores: NDArray[Any], targets: NDArray[Any], w: NDArray[Any]) -> None:
        miss = get_loss(self.model.loss).predictions(scores) - targets.reshape(len(targets), -1)
        self.below += w @ (miss >= 0)
        absolute, squared = np.abs(miss).mean(axis=1), np.square(miss).mean(axis=1)
        self.absolute += float(w @ absolute)
        self.squared += float(w @ squared)
        self.errors["mae"].add(absolute, w)
        self.errors["squared"].add(squared, w)
        # The sum of squares about the running mean (Chan et al.), which avoids cancellation.
        flat = targets.reshape(len(targets), -1).mean(axis=1)
        added = float(w.sum())
        if added > 0:
            mean = float(w @ flat) / added
            total = self.weight + added
            away = mean - self.mean
            between = away * away * self.weight * added / total
            self.spread += float(w @ np.square(flat - mean)) + between
            self.mean += away * added / total

    def _signs(
        self, scores: NDArray[Any], targets: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the targets as -1 and +1, one column per output, and which predictions are wrong.

        A multilabel prediction is wrong unless all labels are right.
        """
        predicted = self.model.predict_from_scores(scores)
        if self.model.multilabel:
            targets = true_labels(self.model, targets)
            if targets.ndim != 2:
                raise DataError("the model has several labels per row, but these rows have one")
            return 2.0 * targets - 1.0, (predicted != targets).any(axis=1)
        own = targets[:, None] == self.model.classes
        return 2.0 * (own if scores.shape[1] > 1 else own[:, 1:]) - 1.0, predicted != targets

"""The loss of the best constant: the baseline that a model has to beat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak.losses import Loss
from polyak.losses.softmax import normalised_odds
from polyak.losses.target_sample import TargetSample

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

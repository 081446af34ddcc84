"""The losses a user can choose, as functions of scores and targets.

These are the NumPy versions, for the reference, for reports and for tests; the compiled core has
its own in ``core/learn/losses.hpp``, and the tests hold the two against each other.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Loss:
    """A loss ``L(score, target)``: its value, its slope in the score, and a curvature bound.

    ``implicit_slope(s, y, q)`` is the ``g`` that solves ``g = L'(s - q g, y)``: the slope at the
    score after a step of size ``q``, which cannot overshoot.

    Examples
    --------
    >>> hinge = get_loss("squared_hinge")
    >>> float(hinge.value(0.5, 1.0)), float(hinge.slope(0.5, 1.0))
    (0.125, -0.5)
    """

    name: ClassVar[str]
    curvature: ClassVar[float] = 1.0
    classifies: ClassVar[bool] = True
    power: ClassVar[float] = 3 / 4
    """The paper's best exponent of the learning rate for this loss."""

    def value(self, score: Any, target: Any) -> Floats:
        """Give the loss itself."""
        raise NotImplementedError

    def slope(self, score: Any, target: Any) -> Floats:
        """Give its derivative with respect to the score."""
        raise NotImplementedError

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:
        """Give its derivative at the score after the step."""
        raise NotImplementedError

    def best_constant(self, positive: Floats, negative: Floats) -> Floats:
        """Give the score with the lowest loss on so many rows of either side, for each output.

        Either side counts half a row more than there were, so that no probability is zero.
        """
        raise NotImplementedError


class SquaredError(Loss):
    """Half the squared distance: least squares."""

    name = "squared_error"
    classifies = False
    power = 2 / 3

    def value(self, score: Any, target: Any) -> Floats:  # noqa: D102
        return np.asarray(0.5 * np.square(np.subtract(score, target)))

    def slope(self, score: Any, target: Any) -> Floats:  # noqa: D102
        return np.asarray(np.subtract(score, target))

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:  # noqa: D102
        return np.asarray(self.slope(score, target) / (1.0 + q))


class SquaredHinge(Loss):
    """Half the squared distance from the margin: the L2 support vector machine."""

    name = "squared_hinge"

    def value(self, score: Any, target: Any) -> Floats:  # noqa: D102
        return 0.5 * np.square(_margin_left(score, target))

    def slope(self, score: Any, target: Any) -> Floats:  # noqa: D102
        return -np.asarray(target) * _margin_left(score, target)

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:  # noqa: D102
        return np.asarray(self.slope(score, target) / (1.0 + q))

    def best_constant(self, positive: Floats, negative: Floats) -> Floats:  # noqa: D102
        return _balance(positive, negative)


class Hinge(Loss):
    """The distance from the margin: the support vector machine."""

    name = "hinge"

    def value(self, score: Any, target: Any) -> Floats:  # noqa: D102
        return _margin_left(score, target)

    def slope(self, score: Any, target: Any) -> Floats:  # noqa: D102
        return np.where(_margin_left(score, target) > 0, -np.asarray(target, float), 0.0)

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:  # noqa: D102
        left = _margin_left(score, target)
        q = np.asarray(q, float)
        share = np.divide(left, q, out=np.ones(np.broadcast(left, q).shape), where=left < q)
        return np.asarray(self.slope(score, target) * share)

    def best_constant(self, positive: Floats, negative: Floats) -> Floats:  # noqa: D102
        # It is -1 for all but the most frequent of several classes; the more frequent is to win.
        balance = _balance(positive, negative)
        return np.asarray(np.sign(balance) + 1e-6 * balance)


class LogLoss(Loss):
    """The logistic loss: a score is the logarithm of the odds."""

    name = "log_loss"
    curvature = 0.25

    def value(self, score: Any, target: Any) -> Floats:  # noqa: D102
        return np.asarray(np.logaddexp(0.0, -np.multiply(target, score)))

    def slope(self, score: Any, target: Any) -> Floats:  # noqa: D102
        return -np.asarray(target) * _sigmoid(-np.multiply(target, score))

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:  # noqa: D102
        start = np.multiply(target, score)
        low, high = start, start + q
        for _ in range(200):  # plain bisection: slow, certain, and unlike what the core does
            middle = 0.5 * (low + high)
            above = middle - start - q * _sigmoid(-middle) > 0
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return -np.asarray(target) * _sigmoid(-0.5 * (low + high))

    def best_constant(self, positive: Floats, negative: Floats) -> Floats:  # noqa: D102
        return np.asarray(np.log((positive + 0.5) / (negative + 0.5)))


LOSSES: dict[str, Loss] = {
    loss.name: loss for loss in (SquaredError(), SquaredHinge(), Hinge(), LogLoss())
}


def get_loss(name: str) -> Loss:
    """Find a loss by its name."""
    if name not in LOSSES:
        raise ValueError(f"there is no loss called {name!r}; there are {', '.join(LOSSES)}")
    return LOSSES[name]


def _margin_left(score: Any, target: Any) -> Floats:
    return np.asarray(np.maximum(0.0, 1.0 - np.multiply(target, score)))


def _balance(positive: Floats, negative: Floats) -> Floats:
    return np.asarray((positive - negative) / (positive + negative + 1.0))


def _sigmoid(z: Any) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -np.asarray(z, float))))

"""Losses for classification: targets are -1 and +1."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyak.losses.base import Floats, Loss


class SquaredHinge(Loss):
    """Half the squared distance from the margin: the L2 support vector machine."""

    name, title = "squared_hinge", "squared hinge"

    def value(self, score: Any, target: Any) -> Floats:
        return 0.5 * np.square(_margin_left(score, target))

    def slope(self, score: Any, target: Any) -> Floats:
        return -np.asarray(target) * _margin_left(score, target)

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:
        return np.asarray(self.slope(score, target) / (1.0 + q))

    def value_and_slope(self, score: Floats, target: Floats) -> tuple[Floats, Floats]:
        left = np.maximum(1.0 - target * score, 0.0)
        return 0.5 * left * left, -target * left

    def curvature_at(self, score: Floats, target: Floats, *, safe: bool = False) -> Floats:
        return (target * score < 1.0).astype(np.float64)

    def best_constant(self, positive: Floats, negative: Floats) -> Floats:
        return _balance(positive, negative)


class Hinge(Loss):
    """The distance from the margin: the support vector machine."""

    name, title = "hinge", "hinge"
    has_curvature = is_smooth = False

    def value(self, score: Any, target: Any) -> Floats:
        return _margin_left(score, target)

    def slope(self, score: Any, target: Any) -> Floats:
        return np.where(_margin_left(score, target) > 0, -np.asarray(target, float), 0.0)

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:
        left = _margin_left(score, target)
        q = np.asarray(q, float)
        share = np.divide(left, q, out=np.ones(np.broadcast(left, q).shape), where=left < q)
        return np.asarray(self.slope(score, target) * share)

    def best_constant(self, positive: Floats, negative: Floats) -> Floats:
        # The optimum is -1 for all but a class with a majority; the second term breaks the ties,
        # so that the most frequent class wins.
        balance = _balance(positive, negative)
        return np.asarray(np.sign(balance) + 1e-6 * balance)


class ModifiedHuber(Loss):
    """The squared distance from the margin, linear beyond the margin on the wrong side."""

    name, title = "modified_huber", "modified Huber"
    is_flat_far_away = True
    curvature = 2.0

    def value(self, score: Any, target: Any) -> Floats:
        left = _margin_left(score, target)
        return np.where(left <= 2.0, np.square(left), 4.0 * (left - 1.0))

    def slope(self, score: Any, target: Any) -> Floats:
        return -2.0 * np.asarray(target) * np.minimum(_margin_left(score, target), 2.0)

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:
        left = _margin_left(score, target) / (1.0 + 2.0 * np.asarray(q))
        return -2.0 * np.asarray(target) * np.minimum(left, 2.0)

    def curvature_at(self, score: Floats, target: Floats, *, safe: bool = False) -> Floats:
        left = _margin_left(score, target)
        if safe:
            return np.asarray(4.0 / np.maximum(left, 2.0) * (left > 0.0))
        return np.where((left > 0.0) & (left <= 2.0), 2.0, 0.0)

    def best_constant(self, positive: Floats, negative: Floats) -> Floats:
        return _balance(positive, negative)


class LogLoss(Loss):
    """The logistic loss: a score is the log-odds."""

    name, title = "log_loss", "logistic"
    curvature = 0.25

    def value(self, score: Any, target: Any) -> Floats:
        margin = np.multiply(target, score)  # np.logaddexp takes three times as long
        return np.asarray(np.log1p(np.exp(-np.abs(margin))) - np.minimum(margin, 0.0))

    def slope(self, score: Any, target: Any) -> Floats:
        return -np.asarray(target) * _sigmoid(-np.multiply(target, score))

    def implicit_slope(self, score: Any, target: Any, q: Any) -> Floats:
        start = np.multiply(target, score)
        low, high = start, start + q
        for _ in range(200):  # plain bisection: an independent check of the core's method
            middle = 0.5 * (low + high)
            above = middle - start - q * _sigmoid(-middle) > 0
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return -np.asarray(target) * _sigmoid(-0.5 * (low + high))

    def value_and_slope(self, score: Floats, target: Floats) -> tuple[Floats, Floats]:
        margin = target * score
        small = np.exp(-np.abs(margin))
        value = np.log1p(small)
        value -= np.minimum(margin, 0.0)
        slope = np.where(margin > 0, small, 1.0)
        slope /= 1.0 + small
        slope *= -target
        return value, slope

    def curvature_at(self, score: Floats, target: Floats, *, safe: bool = False) -> Floats:
        """Return the second derivative, or with ``safe`` a bound.

        The second derivative is nearly zero for a large score of the wrong sign, and a Newton step
        would be far too long.
        """
        if safe:
            away = np.maximum(np.abs(score), 1e-4)
            return np.asarray(np.tanh(0.5 * away) / (2.0 * away))
        small = np.exp(-np.abs(score))
        return np.asarray(small / np.square(1.0 + small))

    def best_constant(self, positive: Floats, negative: Floats) -> Floats:
        return np.asarray(np.log((positive + 0.5) / (negative + 0.5)))


def _margin_left(score: Any, target: Any) -> Floats:
    return np.asarray(np.maximum(0.0, 1.0 - np.multiply(target, score)))


def _balance(positive: Floats, negative: Floats) -> Floats:
    return np.asarray((positive - negative) / (positive + negative + 1.0))


def _sigmoid(z: Any) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -np.asarray(z, float))))

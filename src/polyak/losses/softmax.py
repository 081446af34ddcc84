"""Softmax: probabilities of several classes from scores that were learned together.

One-against-rest models fail for a class that lies between two others, since no hyperplane separates
it from the rest. Scores that are learned together only need to be larger than the other classes'.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def softmax(scores: NDArray[Any], axis: int = -1) -> Floats:
    """Return the probability of each class, ``exp(score)`` over the sum of all classes'.

    Examples
    --------
    >>> softmax(np.log([[1.0, 1.0, 2.0]]))
    array([[0.25, 0.25, 0.5 ]])
    """
    chance = np.exp(scores - scores.max(axis=axis, keepdims=True))
    chance /= chance.sum(axis=axis, keepdims=True)
    return np.asarray(chance, dtype=np.float64)


def odds_of_softmax(scores: NDArray[Any]) -> Floats:
    """Return the log-odds of each class against all others; the classes are the last axis.

    This is the score of a one-against-rest model, so that both can be compared.

    Examples
    --------
    >>> np.exp(odds_of_softmax(np.log([[1.0, 1.0, 2.0]])))
    array([[0.33..., 0.33..., 1.  ]])
    """
    away = scores - scores.max(axis=-1, keepdims=True)
    small, highest = np.exp(away), away == 0.0
    others = small.sum(axis=-1, keepdims=True) - small
    # The sum without the highest score is computed separately, since rounding would lose it.
    lower = np.where(highest, 0.0, small).sum(axis=-1, keepdims=True)
    equal = highest.sum(axis=-1, keepdims=True) - 1.0
    rest = np.maximum(np.where(highest, lower + equal, others), 1e-300)
    return np.asarray(away - np.log(rest), dtype=np.float64)


def normalised_odds(scores: NDArray[Any]) -> Floats:
    """Return the log-odds of one-against-rest scores, normalised so that probabilities sum to one.

    Examples
    --------
    >>> np.exp(normalised_odds(np.array([[0.0, 0.0, 0.0]])))
    array([[0.5, 0.5, 0.5]])
    """
    return odds_of_softmax(-np.logaddexp(0.0, -scores))


def own_class_losses(odds: NDArray[Any], signs: NDArray[Any]) -> Floats:
    """Return minus the log-probability of each row's true class.

    The classes are the last axis of both; ``signs`` is positive at the true class.

    Examples
    --------
    >>> own_class_losses(odds_of_softmax(np.log([[1.0, 1.0, 2.0]])), np.array([[-1, -1, 1]]))
    array([0.693...])
    """
    lost = np.where(signs > 0, np.logaddexp(0.0, -odds), 0.0)
    return np.asarray(lost.sum(axis=-1), dtype=np.float64)

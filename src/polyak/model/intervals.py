"""How uncertain a model is: standard errors and confidence intervals from its replicas.

A replica is the same model learned from the same rows, each counted a random number of times. So
replicas lie around the model as the model lies around the truth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.model.linear import LinearModel
from polyak.rows.sparse import as_rows, core_arrays

Floats = NDArray[np.float64]

ROWS_AT_A_TIME = 4096
"""How many rows to score at a time, since every replica scores each of them."""


def standard_errors(model: LinearModel) -> tuple[Floats, Floats]:
    """Give the standard errors of the weights, a column an output, and of the intercepts.

    Examples
    --------
    >>> replicas = np.array([[[1.5], [0.1]], [[0.5], [-0.1]]])
    >>> standard_errors(LinearModel(np.ones((1, 1)), np.zeros(1), "log_loss", replicas=replicas))
    (array([[0.5]]), array([0.1]))
    """
    whole = np.concatenate([model.weights, model.intercept[None]], dtype=np.float64)
    errors = _spread(_replicas(model), whole)
    return errors[:-1], errors[-1]


def quantile(model: LinearModel, level: float) -> float:
    """Say how many standard errors to either side an interval of this confidence reaches.

    The standard errors themselves are uncertain, being those of a few replicas. So it is a
    quantile of Student's t.

    Examples
    --------
    >>> model = LinearModel(np.ones((1, 1)), np.zeros(1), "log_loss", replicas=np.ones((32, 2, 1)))
    >>> round(quantile(model, 0.95), 3)
    2.037
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"the level of an interval lies between 0 and 1, unlike {level}")
    from scipy.special import stdtrit

    return float(stdtrit(len(_replicas(model)), (1.0 + level) / 2.0))


def weight_interval(model: LinearModel, level: float = 0.95) -> tuple[Floats, Floats]:
    """Give the least and the greatest value of each weight."""
    errors, _ = standard_errors(model)
    return _around(np.asarray(model.weights, dtype=np.float64), quantile(model, level) * errors)


def score_interval(model: LinearModel, X: Any, level: float = 0.95) -> tuple[Floats, Floats]:
    """Give the least and the greatest score of each row, a column an output."""
    pairs = [(scores, _spread(others, scores)) for scores, others in _scores(model, X)]
    scores, errors = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return _around(scores, quantile(model, level) * errors)


def proba_interval(model: LinearModel, X: Any, level: float = 0.95) -> tuple[Floats, Floats]:
    """Give the least and the greatest probability of each row, a column a class.

    It is worked out for the logarithm of the odds, and so never leaves 0 to 1. Of a margin loss,
    the curve from scores to probabilities is taken as it is.
    """
    reach = quantile(model, level)
    low, high = [], []
    for scores, others in _scores(model, X):
        middle = _log_odds(model.proba_from_scores(scores))
        odds = np.stack([_log_odds(model.proba_from_scores(other)) for other in others])
        away = reach * _spread(odds, middle)
        low.append(_chances(middle - away))
        high.append(_chances(middle + away))
    return np.concatenate(low), np.concatenate(high)


def _replicas(model: LinearModel) -> NDArray[Any]:
    if model.replicas is None:
        raise ValueError("this model has no replicas; learn it with intervals")
    return model.replicas


def _spread(replicas: NDArray[Any], centre: Floats) -> Floats:
    away = np.zeros_like(centre)
    for replica in replicas:  # one at a time: all their distances would take as much again
        away += np.square(replica - centre)
    return np.asarray(np.sqrt(away / len(replicas)))


def _around(centre: Floats, reach: Floats) -> tuple[Floats, Floats]:
    return centre - reach, centre + reach


def _scores(model: LinearModel, X: Any) -> Any:
    """Score some rows at a time: by the model, and by every replica."""
    replicas = _replicas(model)
    outputs = model.weights.shape[1]
    side_by_side = np.ascontiguousarray(np.concatenate(list(replicas), axis=1))
    rows = as_rows(X)
    for begin in range(0, max(len(rows), 1), ROWS_AT_A_TIME):
        some = rows[begin : begin + ROWS_AT_A_TIME]
        raw = _core.score_rows(*core_arrays(some), np.ascontiguousarray(side_by_side[:-1]))
        others = np.asarray(raw + side_by_side[-1], dtype=np.float64)
        yield model.scores(some), others.reshape(-1, len(replicas), outputs).transpose(1, 0, 2)


def _log_odds(chances: Floats) -> Floats:
    inside = np.clip(chances, 1e-300, 1.0 - 1e-16)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _chances(log_odds: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -log_odds)))

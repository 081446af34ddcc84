"""Standard errors and confidence intervals of a model.

They come from a sandwich covariance of the weights, `polyak.storage.sandwich.Sandwich`, or else
from bootstrap replicas. A replica is the same model learned from the same rows with random
weights, so that replicas vary around the model as the model varies around the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.losses import get_loss
from polyak.losses.softmax import softmax
from polyak.rows.sparse import Rows, SparseRows, as_rows, core_rows
from polyak.storage.sandwich import Sandwich

if TYPE_CHECKING:
    from polyak.model.linear import LinearModel

Floats = NDArray[np.float64]

ROWS_AT_A_TIME = 4096
"""Rows are scored in blocks of this size, to bound the memory of all replicas' scores."""


def interval_kind(model: LinearModel) -> str | None:
    """Return the source of a model's standard errors: "sandwich", "replicas" or None.

    Examples
    --------
    >>> from polyak.model.linear import LinearModel
    >>> model = LinearModel(np.ones((1, 1)), np.zeros(1), "log_loss", replicas=np.ones((32, 2, 1)))
    >>> interval_kind(model)
    'replicas'
    """
    if model.sandwich is not None:
        return "sandwich"
    return None if model.replicas is None else "replicas"


def kind_words(model: LinearModel) -> str | None:
    """Return the source of a model's standard errors as text."""
    kinds = {"sandwich": "sandwich covariance", "replicas": "replicas of averaged SGD"}
    return kinds.get(interval_kind(model) or "")


def doubt(model: LinearModel) -> str | None:
    """Return why a model's intervals cannot be trusted; None if there is no reason."""
    known = None if model.report is None else model.report.intervals
    return None if known is None else known.doubt


def standard_errors(model: LinearModel) -> tuple[Floats, Floats]:
    """Return the standard errors of the weights, one column per output, and of the intercepts.

    Examples
    --------
    >>> from polyak.model.linear import LinearModel
    >>> replicas = np.array([[[1.5], [0.1]], [[0.5], [-0.1]]])
    >>> standard_errors(LinearModel(np.ones((1, 1)), np.zeros(1), "log_loss", replicas=replicas))
    (array([[0.5]]), array([0.1]))
    """
    if model.sandwich is not None:
        variances = np.diagonal(model.sandwich.covariance, axis1=1, axis2=2).T
        intercepts = _errors(model.sandwich, -model.sandwich.origin[None])[0]  # scores of zero
        return _whole(model, np.sqrt(np.maximum(variances, 0.0))), intercepts
    whole = np.concatenate([model.weights, model.intercept[None]], dtype=np.float64)
    errors = _spread(_replicas(model), whole)
    return errors[:-1], errors[-1]


def centres(model: LinearModel) -> tuple[Floats, Floats]:
    """Return the weights and intercepts at the centre of the intervals: the model's own.

    Those of a sandwich covariance are float64 even if the model's are float32.
    """
    sandwich = model.sandwich
    if sandwich is None:
        return np.asarray(model.weights, dtype=np.float64), model.intercept
    return _whole(model, sandwich.weights), sandwich.weights[0] - (
        sandwich.origin @ sandwich.weights[1:]
    )


def quantile(model: LinearModel, level: float) -> Floats:
    """Return the half-width of an interval in standard errors, one per output.

    The standard errors themselves are estimates, from a few replicas or a finite number of rows,
    so these are quantiles of Student's t.

    Examples
    --------
    >>> from polyak.model.linear import LinearModel
    >>> model = LinearModel(np.ones((1, 1)), np.zeros(1), "log_loss", replicas=np.ones((32, 2, 1)))
    >>> quantile(model, 0.95).round(3)
    array([2.037])
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"the level of an interval must be between 0 and 1, not {level}")
    from scipy.special import stdtrit

    return np.asarray(stdtrit(_degrees(model), (1.0 + level) / 2.0), dtype=np.float64)


def p_values(model: LinearModel, z: Floats) -> Floats:
    """Return two-sided p-values of ``z`` under Student's t.

    They are below 0.05 exactly where the 95% interval excludes zero.
    """
    from scipy.special import stdtr

    return np.asarray(2.0 * stdtr(_degrees(model), -np.abs(z)), dtype=np.float64)


def _degrees(model: LinearModel) -> Floats:
    if model.sandwich is not None:
        return model.sandwich.degrees
    return np.full(model.weights.shape[1], float(len(_replicas(model))))


def weight_interval(model: LinearModel, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the lower and upper limit of each weight."""
    reach = quantile(model, level) * standard_errors(model)[0]
    return _around(centres(model)[0], reach)


def score_interval(model: LinearModel, X: Any, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the lower and upper limit of each row's score, one column per output."""
    scores, errors = score_errors(model, X)
    return _around(scores, quantile(model, level) * errors)


def value_interval(model: LinearModel, X: Any, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the lower and upper limit of each row's prediction, through the inverse link."""
    rows, link = model.features.rows(X), get_loss(model.loss).predictions
    low, high = (model.within_reach(end, rows) for end in score_interval(model, rows, level))
    return link(low), link(high)


def score_errors(model: LinearModel, X: Any) -> tuple[Floats, Floats]:
    """Return each row's score and its standard error."""
    pairs = _scores_of(model, X) if model.sandwich else _scores_by_replicas(model, X)
    scores, errors = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    return scores, errors


def proba_interval(model: LinearModel, X: Any, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the lower and upper limit of each row's probabilities, one column per class.

    They are computed for the log-odds and therefore stay between 0 and 1. For a margin loss the
    calibration from scores to probabilities is treated as exact.
    """
    pairs = _odds_of(model, X) if model.sandwich else _odds_by_replicas(model, X)
    odds, errors = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    reach = quantile(model, level)  # of two classes with one output, the same for both
    low, high = _around(odds, reach * errors)
    return _chances(low), _chances(high)


def _around(centre: Floats, reach: Floats) -> tuple[Floats, Floats]:
    return centre - reach, centre + reach


def _log_odds(chances: Floats) -> Floats:
    inside = np.clip(chances, 1e-300, 1.0 - 1e-16)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _chances(log_odds: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -log_odds)))


def _some_at_a_time(model: LinearModel, X: Any) -> Iterator[Rows]:
    rows = as_rows(model.features.rows(X))
    for begin in range(0, max(len(rows), 1), ROWS_AT_A_TIME):
        some = rows[begin : begin + ROWS_AT_A_TIME]
        yield some if model.terms is None else model.terms.expand(some)


# -- from a covariance -------------------------------------------------------------------------


def _whole(model: LinearModel, columns: Floats) -> Floats:
    """Return a row for every feature, zeros for those that have never occurred."""
    assert model.sandwich is not None
    table = np.zeros((model.n_features, columns.shape[1]))
    table[model.sandwich.features] = columns[1:]
    return table


def _errors(sandwich: Sandwich, away: Floats) -> Floats:
    """Return the standard errors of the scores of rows at ``away`` from the origin."""
    away = np.hstack([np.ones((len(away), 1)), away])
    variances = [np.einsum("ij,ij->i", away @ matrix, away) for matrix in sandwich.covariance]
    return np.asarray(np.sqrt(np.maximum(np.stack(variances, axis=1), 0.0)))


def _scores_of(model: LinearModel, X: Any) -> Iterator[tuple[Floats, Floats]]:
    sandwich = model.sandwich
    assert sandwich is not None
    for rows in _some_at_a_time(model, X):
        away = _columns(rows, sandwich.features) - sandwich.origin
        yield sandwich.weights[0] + away @ sandwich.weights[1:], _errors(sandwich, away)


def _columns(rows: Rows, features: NDArray[np.int64]) -> Floats:
    """Return these features of rows as dense columns."""
    found = np.zeros((len(rows), len(features)))
    if not isinstance(rows, SparseRows):
        there = features < rows.shape[1]
        found[:, there] = rows[:, features[there]]
        return found
    indices, values = rows.entries()
    order = np.argsort(features)
    place = np.searchsorted(features, indices, sorter=order)
    place[place == len(features)] = 0
    column = order[place] if len(order) else place
    known = features[column] == indices if len(order) else np.zeros(len(place), bool)
    found[rows.entry_rows()[known], column[known]] = values[known]
    return found


def _odds_of(model: LinearModel, X: Any) -> Iterator[tuple[Floats, Floats]]:
    """Yield the log-odds of each class and their standard errors.

    The correlations between the scores of several classes are not known, so the errors are added,
    which is the worst case.
    """
    for scores, errors in _scores_of(model, X):
        middle = _log_odds(model.proba_from_scores(scores))
        own = scores
        if get_loss(model.loss).name != "log_loss" and model.sigmoids is not None:
            own = scores * model.sigmoids[:, 0] + model.sigmoids[:, 1]
            errors = errors * np.abs(model.sigmoids[:, 0])
        if scores.shape[1] == 1:
            yield middle, np.hstack([errors, errors])
            continue
        chance = softmax(own) if model.softmax else _chances(own)
        # Errors of the log-probability of a class; for softmax, of its log-odds against the rest.
        moves = errors if model.softmax else (1.0 - chance) * errors
        pulls = chance * moves
        rest = np.maximum(chance.sum(axis=1, keepdims=True) - chance, 1e-300)
        yield middle, moves + (pulls.sum(axis=1, keepdims=True) - pulls) / rest


# -- from replicas -----------------------------------------------------------------------------


def _replicas(model: LinearModel) -> NDArray[Any]:
    if model.replicas is None:
        raise ValueError("this model has no standard errors; train it with intervals")
    return model.replicas


def _spread(replicas: NDArray[Any], centre: Floats) -> Floats:
    away = np.zeros_like(centre)
    for replica in replicas:  # one at a time, to save memory
        away += np.square(replica - centre)
    return np.asarray(np.sqrt(away / len(replicas)))


def _scores_by_replicas(model: LinearModel, X: Any) -> Iterator[tuple[Floats, Floats]]:
    for scores, others in _all_scores(model, X):
        yield scores, _spread(others, scores)


def _odds_by_replicas(model: LinearModel, X: Any) -> Iterator[tuple[Floats, Floats]]:
    for scores, others in _all_scores(model, X):
        middle = _log_odds(model.proba_from_scores(scores))
        odds = np.stack([_log_odds(model.proba_from_scores(other)) for other in others])
        yield middle, _spread(odds, middle)


def _all_scores(model: LinearModel, X: Any) -> Iterator[tuple[Floats, Floats]]:
    """Yield the scores of the model and of every replica, block by block."""
    replicas = _replicas(model)
    outputs = model.weights.shape[1]
    side_by_side = np.ascontiguousarray(np.concatenate(list(replicas), axis=1))
    for some in _some_at_a_time(model, X):
        raw = _core.score_rows(core_rows(some), np.ascontiguousarray(side_by_side[:-1]))
        others = np.asarray(raw + side_by_side[-1], dtype=np.float64)
        yield model.scores(some), others.reshape(-1, len(replicas), outputs).transpose(1, 0, 2)

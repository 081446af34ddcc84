"""Calibration: what the first rows tell, before any of them is learned."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.learn.centring import NOTHING, Centre
from polyak.learn.loss_scales import best_constants, with_scales
from polyak.learn.newton.sparse.asking import is_sparse, sparsity_of
from polyak.learn.race import Race
from polyak.learn.race.lanes.protocol import Problem
from polyak.learn.recipes import Recipe
from polyak.learn.rows_needed import second_moments
from polyak.learn.schedules import unusual_rows
from polyak.learn.stored_state import StoredState
from polyak.learn.targets import encode
from polyak.losses import Loss, get_loss
from polyak.rows.sparse import Rows, SparseRows, row_widths, take_rows

Floats = NDArray[np.float64]

MOST_KEPT = 100
"""A model keeps the spreads of at most this many features."""


def new_race(
    sample: Rows,
    usual: Rows,
    recipe: Recipe,
    *,
    outputs: int,
    classes: NDArray[Any] | None,
    n_features: int | None,
    may_drift: bool = False,
    targets: NDArray[Any],
    weights: Floats | None,
) -> tuple[Race, Floats | None, Loss]:
    """Make the race of a recipe for the rows that a sample shows; ``usual`` calibrates it.

    Where rows ``may_drift``, some candidates do not rest. Where the loss wants it, learning begins
    with the best constant of the sample's targets. Gives the second moments of the rows too, as
    averaged SGD sees them, and the loss with what the sample has told of it.
    """
    loss, begin_at = get_loss(recipe.loss), None
    if not loss.classifies:
        goals = np.asarray(encode(targets, None, loss), float).reshape(len(targets), -1)
        loss = with_scales(loss, sample, goals)
        recipe = replace(recipe, loss=loss.text_with_scales)
        # Proximal steps go a way that is bounded, as far as numbers are from zero.
        if (loss.starts_at_constant or is_sparse(recipe)) and recipe.fit_intercept:
            begin_at = best_constants(loss, goals, weights)
    several = classes is not None and len(classes) > 2
    values = sample.values if isinstance(sample, SparseRows) else sample
    outputs = len(classes) if several and classes is not None else outputs
    problem = Problem(
        outputs=outputs,
        one_vs_rest=several,
        classifies=loss.classifies,
        n_features=n_features,
        width=int(row_widths(sample).max(initial=0)),
        dtype=values.dtype,
        centre=_centre(usual, values.dtype, recipe),
        begin_at=begin_at,
    )
    shifted = problem.centre.shifted(usual)
    if not several:  # labels have nothing to do with each other
        recipe = replace(recipe, multi_class="ovr")
    path = _path(recipe, loss, sample, targets, weights, classes)
    unit = _unit(loss, targets)
    entering = recipe.candidates(
        usual, outputs, n_features, shifted, may_drift=may_drift, path=path, unit=unit
    )
    race = Race(entering, recipe, problem)
    race.warm_up(usual)
    return race, second_moments(shifted, fit_intercept=recipe.fit_intercept), loss


def _centre(usual: Rows, dtype: Any, recipe: Recipe) -> Centre:
    """Give what features are shifted by: only an intercept can undo it."""
    shifts = recipe.fit_intercept and recipe.recipe != "paper"
    return Centre.of(usual, dtype) if shifts else NOTHING


def _path(
    recipe: Recipe,
    loss: Loss,
    sample: Rows,
    targets: NDArray[Any],
    weights: Floats | None,
    classes: NDArray[Any] | None,
) -> list[float]:
    """Say which penalties to try where weights are to be zero; none where that is known."""
    sparsity = sparsity_of(recipe)
    if sparsity is None or sparsity.in_rows or recipe.alpha != "auto":
        return []
    from polyak.learn.newton.sparse.path import penalties_to_try

    return penalties_to_try(
        loss,
        sample,
        encode(targets, classes, loss),
        weights,
        classes=None if classes is None else len(classes),
        l1_ratio=sparsity.l1_ratio,
        fit_intercept=recipe.fit_intercept,
    )


def _unit(loss: Loss, targets: NDArray[Any]) -> float:
    """Say what size scores are of: those of numbers are as far apart as the numbers."""
    if loss.classifies or loss.log_link:
        return 1.0
    return float(np.std(np.asarray(targets, np.float64), axis=0).max()) or 1.0


def usual_rows(rows: Rows, recipe: Recipe) -> Rows:
    """Leave rows out that would set every learning rate by their length alone."""
    if recipe.recipe == "paper":
        return rows
    far = unusual_rows(rows)
    if not len(far):
        return rows
    more = f", and so are {len(far) - 1} more of the first {len(rows)}" if len(far) > 1 else ""
    warnings.warn(
        f"row {far[0] + 1} is more than ten thousand times as long as the others{more}; "
        "the learning rate is found without it, but the model may still follow it",
        stacklevel=2,
    )
    return take_rows(rows, np.setdiff1d(np.arange(len(rows)), far))


class Spreads(NamedTuple):
    """The features of the first rows, and their standard deviations there."""

    features: NDArray[np.int64]
    values: Floats

    @classmethod
    def of(cls, rows: Rows) -> Spreads:
        """Measure rows; what a sparse row does not have is zero.

        Examples
        --------
        >>> Spreads.of(np.array([[1.0, 5.0], [3.0, 5.0]])).values
        array([1., 0.])
        """
        count = max(len(rows), 1)
        with np.errstate(over="ignore", invalid="ignore"):
            if not isinstance(rows, SparseRows):
                features = np.arange(rows.shape[1])
                return cls(features, np.asarray(rows, np.float64).std(axis=0))
            span = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
            place, values = rows.indices[span], rows.values[span].astype(np.float64)
            names = None
            if len(place) and int(place.max()) > 4 * len(place):  # else counting beats sorting
                names, place = np.unique(place, return_inverse=True)
            there = np.bincount(place)
            means = np.bincount(place, values) / count
            about = np.bincount(place, np.square(values - means[place]))
            spreads = np.sqrt((about + (count - there) * means**2) / count)
            known = np.flatnonzero(there)
            features = known if names is None else names[known].astype(np.int64)
            return cls(features, spreads[known])

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return them as an empty JSON-serialisable dict and a dict of arrays."""
        return {}, {"spreads.features": self.features, "spreads.values": self.values}

    @classmethod
    def from_state(cls, stored: StoredState) -> Spreads:
        """Return the spreads that `state` was of."""
        features = stored.array("features", (None,), "int64", least=0)
        return cls(features, stored.array("values", features.shape))

    @classmethod
    def none(cls) -> Spreads:
        """Return the spreads of no features."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0))

    def of_the_largest_effects(self, weights: NDArray[np.floating]) -> dict[int, float]:
        """Keep those of the features whose weight times spread is largest.

        ``weights`` have a row for each output.

        Examples
        --------
        >>> spreads = Spreads(np.array([0, 2]), np.array([0.5, 0.0]))
        >>> spreads.of_the_largest_effects(np.array([[2.0, 9.0, 9.0]]))
        {0: 0.5}
        """
        known = self.features < weights.shape[1]
        features, values = self.features[known], self.values[known]
        with np.errstate(over="ignore", invalid="ignore"):
            effects = np.abs(weights[:, features]).max(axis=0, initial=0.0) * values
        effects[~np.isfinite(effects)] = 0.0
        among = np.arange(len(effects))
        if len(effects) > MOST_KEPT:  # sorting all takes longer
            among = np.flatnonzero(effects >= np.partition(effects, -MOST_KEPT)[-MOST_KEPT])
        largest = among[np.argsort(-effects[among], kind="stable")[:MOST_KEPT]]
        return {
            int(features[i]): float(f"{values[i]:.6g}") for i in largest.tolist() if effects[i] > 0
        }

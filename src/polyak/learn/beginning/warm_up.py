"""Warming up: from the first rows to a race that is ready to begin."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.centring import NOTHING, Centre, Floats
from polyak.learn.loss_scales import best_constants, with_scales
from polyak.learn.newton.sparse.asking import is_sparse, sparsity_of
from polyak.learn.race import Race
from polyak.learn.race.lanes.protocol import Problem
from polyak.learn.recipes import Recipe
from polyak.learn.rows_needed import second_moments
from polyak.learn.schedules import unusual_rows
from polyak.learn.targets import encode
from polyak.losses import Loss, get_loss
from polyak.rows.sparse import Rows, SparseRows, row_widths, take_rows


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

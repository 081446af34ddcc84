"""From a race to its model: the leader's weights, and what else there is to keep."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.beginning.spreads import Spreads
from polyak.learn.race import Race
from polyak.learn.recipes import Recipe
from polyak.learn.report import better_predictions, doubt_of_replicas, training_report
from polyak.losses import get_loss
from polyak.model.linear import LinearModel
from polyak.model.training_report import IntervalReport

Floats = NDArray[np.float64]


def model_of(
    race: Race,
    recipe: Recipe,
    classes: NDArray[Any] | None,
    moments: Floats | None,
    spreads: Spreads,
) -> LinearModel:
    """Return the model of the candidate that leads now; the race may go on afterwards."""
    leader = race.leader()
    sigmoids = leader.sigmoids()
    coef, intercept = leader.weights()
    sandwich, doubt = leader.lane.sandwich() or (None, None)
    replicas = leader.replicas() if sandwich is None else None
    report = training_report(race, recipe, leader, sigmoids, moments)
    report = replace(report, spreads=spreads.of_the_largest_effects(coef))
    if sandwich is not None:
        doubt = "; ".join(filter(None, (doubt, better_predictions(race, leader)))) or None
        report = replace(report, intervals=IntervalReport("sandwich", doubt))
    elif replicas is not None:
        doubt = doubt_of_replicas(race, recipe, leader, report.rows_needed)
        report = replace(report, intervals=IntervalReport("replicas", doubt))
    return LinearModel(
        weights=np.ascontiguousarray(coef.T),
        intercept=intercept,
        loss=get_loss(recipe.loss).text,
        classes=classes,
        sigmoids=sigmoids,
        softmax=leader.has_softmax,
        multilabel=race.problem.has_labels,
        replicas=replicas,
        sandwich=sandwich,
        report=report,
    )

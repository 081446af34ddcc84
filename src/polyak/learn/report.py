"""From a race to its model and the report of it."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.calibration import Calibration
from polyak.learn.race import Leader, Race
from polyak.learn.race.history import measure
from polyak.learn.recipes import AnyCandidate, Candidate, Recipe
from polyak.learn.rows_needed import rows_needed_by, rows_to_asymptotics
from polyak.learn.score_histogram import ScoreHistogram
from polyak.losses import get_loss
from polyak.model.linear import LinearModel
from polyak.model.training_report import (
    CandidateReport,
    IntervalReport,
    Measure,
    Reliability,
    Theory,
    TrainingReport,
)
from polyak.storage.sandwich import Sandwich

Floats = NDArray[np.float64]

CLEARLY = 2.0
"""Another candidate is clearly better by this many standard errors of the model's own loss."""
FAR_APART = 6.0
"""This many standard errors between halves of the rows are not chance."""
ROWS_A_FEATURE = 5
"""With fewer, the replicas of averaged SGD are as biased as it is."""


def training_report(
    race: Race,
    recipe: Recipe,
    leader: Leader,
    moments: Floats | None,
) -> TrainingReport:
    """Return the report of a race whose leader is the model."""
    sums = race.progressive(leader.number)
    count, loss, _, errors = sums[:4]
    std_err = measure(sums, race.scored, race.losses_per_row)["loss_std_err"]
    lately, counts = recent(race, leader.number, recipe), leader.lane.histogram(leader.place)
    lately["roc_auc"] = counts.roc_auc()
    bins, starts = counts.reliability(), leader.lane.average_start(leader.place)
    return TrainingReport(
        rows=race.clock,
        distinct_rows=race.scored,
        recipe=asdict(recipe),
        average_start=tuple(None if np.isnan(t0) else int(t0) for t0 in starts),
        progressive_loss=_finite(float(loss / count)) if count > 0 else None,
        progressive_loss_std_err=_finite(std_err),
        progressive_error=_finite(float(errors / count)) if count > 0 else None,
        recent=Measure(
            **{name: _finite(value) for name, value in lately.items()},
            left_out=bool(race.left_out),
        ),
        calibration=None
        if bins is None
        else Reliability(**{name: tuple(values) for name, values in bins.items()}),
        best_candidate=leader.number,
        candidates=_candidates(race, recipe),
        rows_needed=_rows_needed(leader.candidate, recipe, moments),
        terms=leader.lane.term_reports(),
    )


def recent(race: Race, number: int, recipe: Recipe) -> dict[str, float]:
    """Return a candidate's losses since half of the rows, and the constant's.

    For squared error R² is the share of the constant's loss that it does without.
    """
    measured = race.recent(number)
    if race.constant is not None:
        measured["constant_loss"] = race.recent(race.constant, like=number)["loss"]
        if recipe.loss == "squared_error":
            varies = measured["constant_loss"] > 0
            measured["r2"] = (
                1.0 - measured["loss"] / measured["constant_loss"] if varies else math.nan
            )
    return measured


def mean(total: float, count: float) -> float:
    """Return a mean; NaN where nothing was counted."""
    return float(total / count) if count > 0 else math.nan


def doubt_of_replicas(
    race: Race, recipe: Recipe, leader: Leader, needed: Theory | None
) -> str | None:
    """Return why the spread of the leader's replicas cannot be trusted, if there is a reason."""
    if not isinstance(leader.candidate, Candidate):
        return None
    features = int(np.count_nonzero(leader.weights()[0].any(axis=0)))
    bend = least_bend(recipe.loss, leader.lane.histogram(leader.place))
    return replicas_doubt(race.clock, features, leader.candidate, needed, bend)


def better_predictions(race: Race, leader: Leader) -> str | None:
    """Return a sentence where another candidate predicted clearly better than the leader."""
    best = race.best_by_loss()
    own, other = race.recent(leader.number), race.recent(best)
    if not own["loss"] - other["loss"] > CLEARLY * own["loss_std_err"]:
        return None
    (method,) = (one.method for one in _candidates(race, race.recipe) if one.number == best)
    return (
        f"another candidate ({method}) predicted better, with a loss of {other['loss']:.4g} "
        f"instead of {own['loss']:.4g} on the later half of the rows; with intervals the model is "
        "the fit that they belong to, so learn without them to predict"
    )


def _rows_needed(candidate: AnyCandidate, recipe: Recipe, moments: Floats | None) -> Theory | None:
    """Return the number of rows after which averaging pays off with these settings."""
    if moments is None or not isinstance(candidate, Candidate):
        return None
    if candidate.adagrad is not None or candidate.step == "proximal":
        return None
    return rows_needed_by(
        moments,
        recipe.loss,
        candidate.alpha,
        candidate.schedule.gamma0,
        precondition=candidate.precondition,
        implicit=candidate.step == "implicit",
        fit_intercept=recipe.fit_intercept,
    )


def _candidates(race: Race, recipe: Recipe) -> tuple[CandidateReport, ...]:
    running, problem = set(race.running), race.problem
    together = problem.one_vs_rest and recipe.takes_softmax
    curves = race.history.curves(race.sums(), race.scored)
    leader = race.leader()
    found = {leader.number: leader.lane.found(leader.place)}
    return tuple(
        CandidateReport(
            **candidate.settings(softmax=together) | found.get(number, {}),
            number=number,
            running=number in running,
            rows=one["rows"],
            progressive_loss=_finite(one["progressive_loss"]),
            curve=tuple((row, _finite(loss)) for row, loss in one["curve"]),
        )
        for number, (candidate, one) in enumerate(zip(race.candidates, curves, strict=True))
    )


def _finite(value: float | None) -> Any:
    return value if value is not None and math.isfinite(value) else None


def model_of(
    race: Race,
    recipe: Recipe,
    classes: NDArray[Any] | None,
    calibration: Calibration,
    *,
    report: bool = True,
) -> LinearModel:
    """Return the model of the candidate that leads now; the race may go on afterwards.

    Its report takes longer than the model, where candidates are many.
    """
    leader = race.leader()
    counts = leader.lane.histogram(leader.place)
    coef, intercept = _open_to_absent_classes(race, leader, *leader.weights())
    sandwich, drift = leader.lane.sandwich() or (None, None)
    replicas = leader.lane.replicas(leader.place) if sandwich is None else None
    found = None
    if report:
        found = training_report(race, recipe, leader, calibration.moments)
        spreads = calibration.spreads.of_the_largest_effects(coef)
        intervals = None
        if sandwich is not None:
            doubts = (sandwich_doubt(sandwich, drift), better_predictions(race, leader))
            intervals = IntervalReport("sandwich", "; ".join(filter(None, doubts)) or None)
        elif replicas is not None:
            doubt = doubt_of_replicas(race, recipe, leader, found.rows_needed)
            intervals = IntervalReport("replicas", doubt)
        found = replace(found, spreads=spreads, intervals=intervals)
    if leader.offset is not None:
        sandwich = None if sandwich is None else sandwich.with_weight_of_one(leader.offset)
        if replicas is not None:
            replicas[:, leader.offset] = 1.0
    return LinearModel(
        weights=np.ascontiguousarray(coef.T),
        intercept=intercept,
        loss=get_loss(recipe.loss).text,
        classes=classes,
        sigmoids=counts.sigmoids(),
        softmax=leader.lane.softmax or counts.losses.size > 0,
        multilabel=race.problem.has_labels,
        replicas=replicas,
        sandwich=sandwich,
        offset=leader.offset,
        reach=leader.lane.reach(leader.place),
        terms=leader.lane.terms,
        report=found,
    )


def _open_to_absent_classes(
    race: Race, leader: Leader, coef: NDArray[Any], intercept: Floats
) -> tuple[NDArray[Any], Floats]:
    """Return weights by which classes that no row has had so far share the chance of one row.

    That is their chance in a row at the centre of the features, if all other weights stay as they
    are. Without it nothing holds their intercepts: of 2,010 rows of two classes and 6,000 test rows
    of three the loss was 7.7, of which the third class's rows had 21 each.
    """
    baseline: Any = next(iter(race.baselines), None)
    if baseline is None or not (race.scores_true_class and race.recipe.fit_intercept):
        return coef, intercept
    absent, rows = baseline.seen == 0, baseline.seen.sum()
    if not absent.any() or rows == 0 or leader.lane.is_baseline:
        return coef, intercept
    centre, odds = race.problem.centre, -np.log(rows * np.count_nonzero(absent))
    intercept = centre.undone(-coef, intercept)  # of rows about the centre
    coef, together = coef.copy(), leader.lane.softmax
    coef[absent] = coef[~absent].mean(axis=0) if together else 0.0
    intercept[absent] = odds + (np.logaddexp.reduce(intercept[~absent]) if together else 0.0)
    return coef, centre.undone(coef, intercept)


# -- whether intervals can be trusted; where they cannot, why, in one sentence ---------------------


def sandwich_doubt(sandwich: Sandwich, drift: tuple[int, float] | None) -> str | None:
    """Doubt a covariance.

    ``drift`` is a number of rows, and how far weights have moved since, in standard errors.

    Examples
    --------
    >>> one = Sandwich(np.array([4]), np.ones(1), np.ones((2, 1)), np.eye(2)[None], np.ones(1))
    >>> sandwich_doubt(one, None)
    'the intervals may be wrong: there are too few rows, or too few of a class, for 2 weights'
    >>> sandwich_doubt(one._replace(degrees=np.full(1, 20.0)), (1024, 2.5)) is None
    True
    """
    columns = len(sandwich.weights)
    if (sandwich.degrees < columns).any():
        return (
            "the intervals may be wrong: there are too few rows, or too few of a class, for "
            f"{columns} weights"
        )
    if drift is not None and drift[1] > FAR_APART:
        return (
            "the intervals may be too narrow: weights have moved by up to "
            f"{drift[1]:.0f} standard errors since row {drift[0]:,}, as if the rows were sorted or "
            "changed with time"
        )
    return None


def replicas_doubt(
    rows: int, features: int, candidate: Candidate, needed: Theory | None, bend: float
) -> str | None:
    """Doubt the replicas of averaged SGD: their spread does not show the bias they share.

    ``needed`` is what `polyak.learn.rows_needed.rows_needed_by` told, ``bend`` the share of the
    curvature it reckoned with that is there.

    Examples
    --------
    >>> from polyak.learn.recipes.plan import Recipe, Sample, plan_race
    >>> candidate = plan_race(Recipe(recipe="sgd", intervals=True), Sample(np.eye(3), np.eye(3)))[0]
    >>> replicas_doubt(1000, 500, candidate, None, 1.0)
    'the intervals may be too narrow: there are 1,000 rows for 500 features'
    """
    if rows < ROWS_A_FEATURE * features:
        return f"the intervals may be too narrow: there are {rows:,} rows for {features:,} features"
    if needed is None:
        return None
    # A direction in which rows do not vary has nothing to be learned.
    flattest = needed.flattest if needed.flattest > 2 * candidate.alpha else needed.lambda0
    if flattest == 0:  # nor has any
        return None
    rate = candidate.schedule
    # Twice the decay is on the safe side: as the corollary's proof has it.
    most = rows_to_asymptotics(max(bend * flattest, 1e-300), needed.gamma0, 2 * rate.a, rate.c)
    if rows < most:
        return (
            "the intervals may be too narrow: features are so correlated, or so far from zero, or "
            f"a class so rare that averaging needs about {most:.2g} rows, of which there are "
            f"{rows:,}"
        )
    return None


def least_bend(loss: str, counts: ScoreHistogram) -> float:
    """Return the share of the logistic loss's largest curvature, 1/4, that the rarest class has."""
    if loss != "log_loss":
        return 1.0
    negative, positive = counts.counts.sum(axis=(0, 3)).T
    share = positive / np.maximum(negative + positive, 1.0)
    return float(np.min(4.0 * share * (1.0 - share)))

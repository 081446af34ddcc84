"""Whether intervals can be trusted; where they cannot, why, in one sentence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak.learn.recipes import Candidate
from polyak.learn.rows_needed import rows_to_asymptotics
from polyak.learn.score_histogram import ScoreHistogram
from polyak.model.training_report import Theory
from polyak.storage.sandwich import Sandwich

Floats = NDArray[np.float64]

FAR_APART = 6.0
"""This many standard errors between halves of the rows are not chance."""
ROWS_A_FEATURE = 5
"""With fewer, the replicas of averaged SGD are as biased as it is."""


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

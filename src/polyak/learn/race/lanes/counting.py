"""What lanes do with their scores of rows not yet learned: sums of losses, and histograms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak.learn.race.lanes.protocol import Problem
from polyak.learn.score_histogram import ScoreHistogram
from polyak.learn.training_rows import TrainingRows

Floats = NDArray[np.float64]


def candidate_sums(notes: Floats, *, one_vs_rest: bool) -> Floats:
    """Return the sums of candidates, as `polyak.learn.race.history` lists them.

    ``notes`` are those of their models, as `polyak.learn.bank.merging.SUMS` lists them, of shape
    (intervals, sums, candidates, outputs).
    """
    weight, losses, squares, errors, confusion, rated, capped = notes.swapaxes(0, 1)
    error = confusion[..., 0] if one_vs_rest else errors.mean(axis=-1)
    added = [part.sum(axis=-1) for part in (losses, squares, rated, capped)]
    return np.stack([weight[..., 0], *added[:2], error, *added[2:]], axis=-1)


def histogram_for(loss: str, problem: Problem, candidates: int) -> ScoreHistogram | None:
    """Return a histogram for the scores of a lane's candidates, where there are classes.

    The scores of log_loss are log-odds as they stand: a sample shows how well calibrated.
    """
    if not problem.classifies:
        return None
    sampled, models = loss == "log_loss", candidates * problem.outputs
    apart = not problem.one_vs_rest
    classes = 1 if apart or sampled else problem.outputs
    return ScoreHistogram(models, sampled=sampled, classes=classes, apart=apart)


def room_for_scores(counts: ScoreHistogram | None, rows: int, models: int) -> Floats | None:
    """Return an array for the scores of the next rows, if any of them is to be counted."""
    return np.empty((rows, models)) if counts is not None and counts.wants(rows) else None


def count_scores(
    counts: ScoreHistogram | None,
    scores: Floats | None,
    given: TrainingRows,
    classes: int | None,
) -> None:
    """Count scores, which have a column for every output of every candidate, or skip the rows.

    With ``classes``, targets are class numbers.
    """
    if counts is None:
        return
    if scores is None:
        counts.skip(given.total)
        return
    chosen = slice(None) if given.order is None else given.order
    own = given.targets[chosen].reshape(given.total, -1)
    positive = own > 0 if classes is None else own == np.arange(classes)
    every = np.tile(positive, (1, scores.shape[1] // positive.shape[1]))
    counts.add(scores, every, None if given.weights is None else given.weights[chosen])

"""Probabilities from the scores of a margin loss, learned in the same pass.

While a model learns, its score of each row *before* it is learned is counted into a histogram,
one for either side. In the end a logistic curve through the counts (Platt's) turns a score into a
probability. Counts add up in any order, so batches, checkpoints and merging leave no trace.

Several classes have a softmax of their scores, all multiplied by one number. What that would lose
for several such numbers is added up over a sample of the rows, and the best is in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.stored_state import Arrays, Page, StoredState
from polyak.learn.training_rows import TrainingRows

Floats = NDArray[np.float64]

BINS = 256
FIRST_MARK = 1000
"""The older half is forgotten at this many rows, at twice that, and so on."""

CHUNK, EVERY_CHUNK_UNTIL = 2000, 8000
"""A sample takes rows by the chunk: all up to the second number, and ever fewer beyond."""
SHOWN_BINS = 20

SMALLEST_SLOPE = 1e-3
SMALLEST_SCALE, SCALES = 2.0**-8, 16
"""What scores are multiplied by for a softmax: each scale is twice the one before."""
MANY_CLASSES = 64
"""With twice this many classes every second row is enough, and so on: it is one number."""


class ScoreHistogram:
    """Weighted counts of scores, for each model and either sign of its target.

    Each time the number of rows doubles, the older half of what it knows is forgotten: early
    scores were those of another model. Where the counts are only to be looked at, ``sampled``
    counts some thousands of rows in every doubling, chosen by their number, and `wants` tells when
    there is nothing to count: then it costs next to nothing.

    With ``classes``, that many models are those of one classifier, and what a softmax of their
    scores would lose is kept too. Models that are ``apart`` are of labels that have nothing to do
    with each other. Without models nothing is counted: targets are numbers.

    Examples
    --------
    >>> counts = ScoreHistogram(models=1)
    >>> counts.add(np.array([[2.0], [-2.0]]), np.array([[True], [False]]), np.ones(2))
    >>> counts.total()
    2.0
    """

    def __init__(
        self, models: int, *, sampled: bool = False, classes: int = 1, apart: bool = False
    ) -> None:
        self.sampled, self.classes, self.apart = sampled, classes, apart
        self.counts: Floats = np.zeros((2, models, 2, BINS))  # the newer half, then the older
        groups = models // classes if classes > 1 else 0
        self.losses: Floats = np.zeros((2, groups, 2, SCALES))  # in the same two halves
        self.rows = 0
        self.mark = FIRST_MARK

    @property
    def models(self) -> int:
        """The number of models whose scores are counted."""
        return int(self.counts.shape[1])

    def count(self, scores: Floats | None, given: TrainingRows, classes: int | None) -> None:
        """Count scores, which have a column a model, of rows with these targets, or skip the rows.

        With ``classes``, targets are class numbers.
        """
        if scores is None:
            self.skip(given.total)
            return
        chosen = slice(None) if given.order is None else given.order
        own = given.targets[chosen].reshape(given.total, -1)
        positive = own > 0 if classes is None else own == np.arange(classes)
        every = np.tile(positive, (1, self.models // positive.shape[1]))
        self.add(scores, every, None if given.weights is None else given.weights[chosen])

    def add(
        self, scores: Floats, positive: NDArray[np.bool_], weights: Floats | None = None
    ) -> None:
        """Count rows: scores and signs have a column a model. Without weights each counts one."""
        for some in self._advance(len(scores)):
            weighing = None if weights is None else weights[some]
            _core.count_scores(scores[some], positive[some], weighing, self.counts[0])
            if self.losses.size and (self.rows < FIRST_MARK or _in_sample(self.rows, self.mark)):
                self._add_losses(scores[some], positive[some], weighing)

    def _add_losses(
        self, scores: Floats, positive: NDArray[np.bool_], weights: Floats | None
    ) -> None:
        """Add up what a softmax would lose; of many classes, some rows count for the others."""
        every = max(self.classes // MANY_CLASSES, 1)
        if every > 1:
            chosen = slice(-self.rows % every, None, every)  # whatever the batches
            own = np.ones(len(scores)) if weights is None else weights
            scores, positive, weights = scores[chosen], positive[chosen], every * own[chosen]
        _core.add_softmax_losses(scores, positive, weights, SMALLEST_SCALE, self.losses[0])

    def skip(self, rows: int) -> None:
        """Let rows go by that it does not want."""
        for _ in self._advance(rows):
            raise ValueError("these rows should have been counted")

    def wants(self, rows: int) -> bool:
        """Whether any of the next rows is to be counted."""
        place, mark = self.rows, self.mark
        while place < self.rows + rows:
            if self._is_wanted(place, mark):
                return True
            place = min(_next_chunk(place), mark)
            mark = 2 * mark if place == mark else mark
        return False

    def _advance(self, rows: int) -> Iterator[slice]:
        """Move on, giving the rows to count; forget the older half where it is time."""
        begin = 0
        while begin < rows:
            step = min(rows - begin, self.mark - self.rows)
            if self.sampled or self.losses.size:
                step = min(step, _next_chunk(self.rows) - self.rows)
            if self._is_wanted(self.rows, self.mark):
                yield slice(begin, begin + step)
            self.rows += step
            begin += step
            if self.rows == self.mark:
                for halves in (self.counts, self.losses):
                    halves[1] = halves[0]
                    halves[0] = 0.0
                self.mark *= 2

    def _is_wanted(self, row: int, mark: int) -> bool:
        return self.models > 0 and (not self.sampled or _in_sample(row, mark))

    def merge(self, others: list[ScoreHistogram], base: ScoreHistogram | None = None) -> None:
        """Add what others counted; what they all began with, ``base``, counts once."""
        rows_then = 0 if base is None else base.rows
        parts = [
            {name: (getattr(one, name), one._since(base, name)) for name in ("counts", "losses")}
            for one in (self, *others)
        ]
        self.rows = rows_then + sum(one.rows - rows_then for one in (self, *others))
        while self.mark <= self.rows:
            self.mark *= 2
        for name in ("counts", "losses"):
            new = sum(one[name][1] for one in parts)
            older = sum(one[name][0][1] for one in parts)
            setattr(self, name, self._halves(name, base, new, older))

    def _halves(self, name: str, base: ScoreHistogram | None, new: Any, older: Any) -> Floats:
        """Return the newer half and the older, of what was counted since the base and before."""
        if base is None:
            return np.stack([new - older, older])
        then: Floats = getattr(base, name)
        if self.mark == base.mark:
            return np.stack([then[0] + new, then[1]])
        forgotten = self.mark > 2 * base.mark  # else the rows have doubled since
        return np.stack([new, np.zeros_like(then[0]) if forgotten else then[0]])

    def _since(self, base: ScoreHistogram | None, name: str) -> Floats:
        """Return what was counted since the base, as far as it is not forgotten."""
        halves: Floats = getattr(self, name)
        if base is None or self.mark > 2 * base.mark:
            return np.asarray(halves.sum(axis=0))
        then: Floats = getattr(base, name)[0]
        if self.mark == base.mark:
            return np.asarray(halves[0] - then)
        return np.asarray(halves.sum(axis=0) - then)  # what was new then is the older half now

    def select(self, places: Sequence[int], each: int) -> ScoreHistogram:
        """Return a histogram of only these candidates, of which each has ``each`` models."""
        models = np.concatenate([place * each + np.arange(each) for place in places])
        models = models[: self.models]  # none, where nothing is counted
        chosen = ScoreHistogram(
            len(models), sampled=self.sampled, classes=self.classes, apart=self.apart
        )
        chosen.counts = self.counts[:, models].copy()
        if self.losses.size:
            chosen.losses = self.losses[:, models[:: self.classes] // self.classes].copy()
        chosen.rows, chosen.mark = self.rows, self.mark
        return chosen

    def add_output(self, fewer: ScoreHistogram, place: int, score: float, *, mirrors: bool) -> None:
        """Take the counts of models with one output less, and count all their rows for the new one.

        They are negative rows with this score. With ``mirrors``, the one model of two classes first
        becomes two, the first class's being the mirror image of the second's.
        """
        counts = fewer.counts
        if mirrors:
            pairs = counts[:, :, None]
            counts = np.concatenate([pairs[..., ::-1, ::-1], pairs], axis=2)
            counts = counts.reshape(2, -1, 2, BINS)
        groups = self.counts.shape[1] - counts.shape[1]
        counts = counts.reshape(2, groups, -1, 2, BINS)
        one_row = np.zeros((1, 2, BINS))
        _core.count_scores(np.full((1, 1), score), np.zeros((1, 1), bool), np.ones(1), one_row)
        total = counts[:, :, 0].sum(axis=(2, 3))[..., None, None]
        self.counts = np.insert(counts, place, total * one_row, axis=2).reshape(self.counts.shape)
        if fewer.losses.size:
            self.losses = fewer.losses.copy()
        self.rows, self.mark = fewer.rows, fewer.mark

    def state(self) -> tuple[Page, Arrays]:
        """Return the counts as a JSON-serialisable dict and a dict of arrays."""
        page = {"scored": self.rows, "mark": self.mark}
        return page, {"histogram": self.counts.copy(), "softmax": self.losses.copy()}

    def set_state(self, stored: StoredState) -> None:
        """Go on from what `state` returned."""
        rows = stored.whole("scored")
        self.rows, self.mark = rows, stored.whole("mark", least=rows + 1)
        self.counts = stored.array("histogram", self.counts.shape, least=0.0)
        self.losses = stored.array("softmax", self.losses.shape)

    def total(self) -> float:
        """Return the total weight counted, per model."""
        return float(self.counts[:, 0].sum())

    def sigmoids(self) -> Floats | None:
        """Fit the curves: slope and offset, a row a model; None where scores are log-odds.

        The most probable class must be the predicted one. So one model's curve goes through one
        half where its score is zero, and the models of several classes share one curve, which
        their probabilities then follow in the order of their scores; or one slope, where they
        have a softmax.
        """
        models = self.models
        if self.sampled or not models:
            return None
        if self.losses.size:
            return np.tile([self._best_scale(), 0.0], (models, 1))
        if self.apart:
            each = (_fit_sigmoid(*sides, with_offset=False) for sides in self.counts.sum(axis=0))
            return np.array(list(each))
        negative, positive = self.counts.sum(axis=(0, 1))
        return np.tile(_fit_sigmoid(negative, positive, with_offset=models > 1), (models, 1))

    def _best_scale(self) -> float:
        """Return the best factor of scores before a softmax, all groups together.

        As with Platt's prior, one row of every class counts as any class alike.
        """
        own, every = self.losses.sum(axis=(0, 1))
        rows = own[0] / math.log(self.classes)  # at so small a scale each loses about as much
        if not rows > 0:
            return 1.0
        lost = own + self.classes / rows * every
        place = int(np.argmin(lost))
        middle = min(max(place, 1), SCALES - 2)
        low, best, high = lost[middle - 1 : middle + 2]
        bend = low - 2.0 * best + high
        away = 0.5 * (low - high) / bend if bend > 0 else 0.0
        power = middle + float(np.clip(away, -1.0, 1.0)) if place == middle else float(place)
        return float(SMALLEST_SCALE * 2.0**power)

    def reliability(self) -> dict[str, list[float]] | None:
        """Compare probabilities with what happened, in twenty bins, all models together.

        Returns the mean predicted probability, the positive rows and all rows of each bin that has
        any; None where probabilities do not follow from one curve of one score.

        Examples
        --------
        >>> counts = ScoreHistogram(models=1)
        >>> counts.add(np.zeros((4, 1)), np.array([[True], [True], [True], [False]]), np.ones(4))
        >>> counts.reliability()
        {'predicted': [0.67...], 'positive': [3.0], 'total': [4.0]}
        """
        if (
            not self.models
            or self.losses.size
            or (self.apart and self.models > 1 and not self.sampled)
        ):
            return None
        negative, positive = self.counts.sum(axis=(0, 1))
        sigmoids = self.sigmoids()
        slope, offset = (1.0, 0.0) if sigmoids is None else sigmoids[0]
        chance = np.exp(-np.logaddexp(0.0, -(slope * bin_centres() + offset)))
        bins = np.minimum((chance * SHOWN_BINS).astype(np.int64), SHOWN_BINS - 1)
        total, hits, said = (
            np.bincount(bins, counted, minlength=SHOWN_BINS)
            for counted in (negative + positive, positive, (negative + positive) * chance)
        )
        there = total > 0
        return {
            "predicted": (said[there] / total[there]).round(6).tolist(),
            "positive": hits[there].tolist(),
            "total": total[there].tolist(),
        }

    def roc_auc(self) -> float:
        """Return the chance that a positive row scores higher than a negative one; ties are half.

        It is not a number where there are several models, or nothing of either sign.

        Examples
        --------
        >>> counts = ScoreHistogram(models=1)
        >>> counts.add(np.array([[2.0], [-2.0]]), np.array([[True], [False]]), np.ones(2))
        >>> counts.roc_auc()
        1.0
        """
        negative, positive = self.counts.sum(axis=(0, 1))
        pairs = negative.sum() * positive.sum()
        if self.models > 1 or not pairs > 0:
            return math.nan
        return float(positive @ (np.cumsum(negative) - negative / 2.0) / pairs)


def _in_sample(row: int, mark: int) -> bool:
    # The first rows are soon forgotten, and count for all the candidates there are then.
    return row >= FIRST_MARK and row // CHUNK % max(mark // EVERY_CHUNK_UNTIL, 1) == 0


def _next_chunk(row: int) -> int:
    """Return the row that the next chunk begins with; the first rows are a chunk of their own."""
    return FIRST_MARK if row < FIRST_MARK else (row // CHUNK + 1) * CHUNK


def bin_centres() -> Floats:
    """Return the scores that the middles of the bins stand for."""
    middle = (np.arange(BINS) + 0.5) / (BINS / 2) - 1.0
    return np.asarray(middle / (1.0 - np.abs(middle)))


def _fit_sigmoid(
    negative: Floats, positive: Floats, *, with_offset: bool = True
) -> tuple[float, float]:
    """Fit P(+1 | s) = 1 / (1 + exp(-(slope s + offset))) by Newton's method.

    Platt's prior keeps it finite where the sides are separable: each side's targets are drawn
    towards one half by one row's worth.
    """
    n_negative, n_positive = negative.sum(), positive.sum()
    if n_negative + n_positive == 0:
        return 1.0, 0.0
    weight = negative + positive
    high = (n_positive + 1.0) / (n_positive + 2.0)
    low = 1.0 / (n_negative + 2.0)
    goal = positive * high + negative * low
    beta = np.array([1.0, np.log((n_positive + 1.0) / (n_negative + 1.0))])
    design = np.stack([bin_centres(), np.ones(BINS)])
    ridge = np.diag([1e-6, 1e-12])
    if not with_offset:
        beta, design, ridge = beta[:1], design[:1], ridge[:1, :1]

    def cost(b: Any) -> float:
        z = b @ design
        penalty = 0.5 * float(b @ ridge @ b)
        return float(np.sum(weight * np.logaddexp(0.0, z) - goal * z)) + penalty

    for _ in range(100):
        p = 1.0 / (1.0 + np.exp(-np.clip(beta @ design, -500, 500)))
        gradient = design @ (weight * p - goal) + ridge @ beta
        hessian = (design * (weight * p * (1.0 - p))) @ design.T + ridge
        move = np.linalg.solve(hessian, gradient)
        scale = 1.0
        while cost(beta - scale * move) > cost(beta) and scale > 1e-10:
            scale /= 2.0
        beta = beta - scale * move
        if np.abs(scale * move).max() < 1e-10:
            break
    # Scores that say nothing, or the opposite, must not turn the order of the classes round.
    return max(float(beta[0]), SMALLEST_SLOPE), float(beta[1]) if with_offset else 0.0

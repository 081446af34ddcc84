"""The lane of averaged SGD: a bank, whose candidates differ in rate, decay and penalty alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polyak._core import CheckedRows, model_fields
from polyak.learn.bank import Bank
from polyak.learn.calibration import ScoreHistogram
from polyak.learn.centring import Centre
from polyak.learn.newton.progressive import SUMS as MODEL_SUMS
from polyak.learn.newton.sparse.asking import sparsity_of
from polyak.learn.race.history import SUMS
from polyak.learn.race.lanes.counting import (
    candidate_sums,
    count_scores,
    histogram_for,
    room_for_scores,
    set_histogram,
    with_histogram,
)
from polyak.learn.race.lanes.lane import Lane, Problem
from polyak.learn.recipes import Candidate, Recipe
from polyak.learn.training_rows import TrainingRows
from polyak.rows.sparse import Rows

Floats = NDArray[np.float64]

MOST_SCORES = 1 << 22
"""How many progressive scores to hold at a time, so that memory stays bounded."""
BANK_ARRAYS = ("lines", "squares", "models")


class SgdLane(Lane):
    """A bank with a model for every output of every candidate, and for each of its replicas.

    It learns rows that somebody has shifted by ``centre``, and gives weights for rows as they come.
    """

    def __init__(
        self,
        numbers: list[int],
        bank: Bank,
        outputs: int,
        histogram: ScoreHistogram | None,
        centre: Centre,
        begin_at: Floats | None = None,
    ) -> None:
        self.numbers = numbers
        self.bank = bank
        self.centre = centre
        self.outputs = outputs
        self.counts = histogram
        self.begin_at = begin_at

    @classmethod
    def of(
        cls,
        numbers: list[int],
        candidates: Mapping[int, Candidate],
        recipe: Recipe,
        problem: Problem,
    ) -> Self:
        """Make a lane of candidates that can share a bank."""
        bank = _bank_of(
            [candidates[number] for number in numbers],
            recipe,
            outputs=problem.outputs,
            one_vs_rest=problem.one_vs_rest,
            n_features=problem.n_features,
            width=problem.width,
            dtype=problem.dtype,
        )
        counts = histogram_for(recipe.loss, problem, len(numbers))
        return cls(numbers, bank, problem.outputs, counts, problem.centre, problem.begin_at)

    @property
    def clock(self) -> int:
        """How many rows were learned."""
        return self.bank.clock

    @property
    def models_each(self) -> int:
        """How many models a candidate has, its replicas included."""
        return len(self.bank) // len(self.numbers)

    @property
    def nbytes(self) -> int:
        """How much memory its weights take."""
        return int(2 * len(self.bank) * self.bank.n_features * self.bank.dtype.itemsize)

    @property
    def n_features(self) -> int:
        """How many features its models have."""
        return self.bank.n_features

    @property
    def softmax(self) -> bool:
        """Whether classes are learned together."""
        return self.bank.softmax

    def warm_up(self, rows: Rows) -> None:
        """See the rows that calibration looks at, about the centre, before any is learned."""
        self.bank.warm_up(rows)
        if self.begin_at is not None:
            constants = self.begin_at[self.bank.outputs]
            self.bank.move_intercepts(lambda _: constants)

    def check(self, rows: Any, targets: NDArray[Any], weights: Floats | None) -> CheckedRows:
        """Refuse what cannot be learned from, and make room for the rest."""
        return self.bank.check(rows, targets, weights)

    def most_rows(self) -> int:
        """Say how many rows can be learned at once in bounded memory."""
        return sys.maxsize if self.counts is None else max(1024, MOST_SCORES // len(self.bank))

    # -- learning ------------------------------------------------------------------------------

    def learn(self, given: TrainingRows, *, again: bool, stops: NDArray[np.int64]) -> Floats:
        """Learn rows and return the sums of each interval that ends at one of the stops."""
        n = given.total
        counts = None if again else self.counts
        scores = room_for_scores(counts, n, len(self.bank))
        notes = self.bank.learn(
            *given[:3],
            order=given.order,
            scores=scores,
            limits=given.limits,
            again=again,
            stops=stops,
        )
        assert notes is not None
        if counts is not None:
            if scores is not None:  # without the replicas'
                each = scores.reshape(n, len(self.numbers), -1)
                scores = each[:, :, : self.outputs].reshape(n, -1)
            classes = self.outputs if self.bank.one_vs_rest else None
            count_scores(counts, scores, given, classes)
        return self._summed(notes) if len(notes) else np.empty((0, len(self.numbers), SUMS))

    def sums(self) -> Floats:
        """Return the sums since the last milestone."""
        sums: Floats = self._summed(self.bank.fields()[None])[0]
        return sums

    def start_interval(self) -> None:
        """Begin a new interval of the race: its sums are zero."""
        self.bank.reset_progressive_sums()

    def _summed(self, notes: Floats) -> Floats:
        """Return each candidate's sums, from the fields of its models; replicas do not count."""
        sums = np.take(notes, [model_fields.index(name) for name in MODEL_SUMS], axis=1)
        sums = sums.reshape(*sums.shape[:2], len(self.numbers), self.models_each)
        return candidate_sums(sums[..., : self.outputs], one_vs_rest=self.bank.one_vs_rest)

    # -- dropping out, and learning in parts ---------------------------------------------------

    def select(self, places: Sequence[int]) -> SgdLane:
        """Give a lane of only these candidates, each as it stands."""
        if len(places) == len(self.numbers):
            return self
        bank = self.bank.select(_columns(places, self.models_each))
        counts = None if self.counts is None else self.counts.select(_columns(places, self.outputs))
        numbers = [self.numbers[place] for place in places]
        return SgdLane(numbers, bank, self.outputs, counts, self.centre)

    def merge(self, others: Sequence[SgdLane], base: SgdLane | None) -> None:
        """Become what this lane and others learned together, each from rows of its own."""
        for other in others:
            other._move_to(self.centre)
        self.bank.merge([other.bank for other in others], None if base is None else base.bank)
        if self.counts is not None:
            theirs = [other.counts for other in others if other.counts is not None]
            self.counts.merge(theirs, None if base is None else base.counts)

    def _move_to(self, centre: Centre) -> None:
        """Go over to another centre: the same models, their intercepts moved."""
        if not centre.is_as(self.centre):
            self.bank.move_intercepts(lambda coef: centre.moved_from(self.centre, coef))
            self.centre = centre

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Read out what learning changes: what JSON holds, and arrays."""
        state = self.bank.state()
        arrays = {name: state[name] for name in BANK_ARRAYS}
        return with_histogram(self.counts, {"looked": state["looked"]}, arrays)

    def set_state(self, page: dict[str, Any], arrays: dict[str, NDArray[Any]], clock: int) -> None:
        """Go on from what ``state`` gave."""
        state = {name: arrays[name] for name in BANK_ARRAYS}
        self.bank.set_state(state | {"clock": clock, "looked": page["looked"]})
        set_histogram(self.counts, page, arrays)

    # -- what came out -------------------------------------------------------------------------

    def weights(self, place: int, *, last: bool = False) -> tuple[NDArray[Any], Floats]:
        """Give a candidate's weights, a row an output, and its intercepts."""
        models, bank = self._models(place), self.bank
        coef = bank.coef_of(models, last=last)
        intercept = (bank.last_intercept if last else bank.intercept)[models]
        return coef, self.centre.undone(coef, intercept)

    def replicas(self, place: int) -> NDArray[Any] | None:
        """Give its replicas as (replicas, features + 1, outputs), the intercept last."""
        if self.models_each == self.outputs:
            return None
        first = place * self.models_each
        models = slice(first + self.outputs, first + self.models_each)
        coef = self.bank.coef_of(models)
        intercept = self.centre.undone(coef, self.bank.intercept[models])
        whole = np.hstack([coef, intercept[:, None].astype(coef.dtype)])
        whole = whole.reshape(-1, self.outputs, whole.shape[1])
        return np.ascontiguousarray(whole.transpose(0, 2, 1))

    def average_start(self, place: int) -> Floats:
        """Say at which row its averages began."""
        return self.bank.average_start[self._models(place)]

    def histogram(self, place: int) -> ScoreHistogram | None:
        """Give the counts of its scores, if they were counted."""
        return None if self.counts is None else self.counts.select(_columns([place], self.outputs))

    def _models(self, place: int) -> slice:
        first = place * self.models_each
        return slice(first, first + self.outputs)


def _columns(places: Sequence[int], each: int) -> NDArray[np.int64]:
    return np.concatenate([place * each + np.arange(each) for place in places])


def _bank_of(
    candidates: list[Candidate],
    recipe: Recipe,
    *,
    outputs: int,
    one_vs_rest: bool,
    n_features: int | None,
    width: int | None,
    dtype: Any,
) -> Bank:
    """Make a bank of candidates that can share one.

    Each has a model an output and, for intervals, as many again for every replica.
    """
    first, sparsity = candidates[0], sparsity_of(recipe)
    each = outputs * (1 + recipe.replicas)
    return Bank(
        loss=recipe.loss,
        alpha=np.repeat([c.alpha for c in candidates], each),
        schedule=[c.schedule for c in candidates for _ in range(each)],
        averaging=first.averaging,
        step=first.step,
        precondition=first.precondition,
        adagrad=first.adagrad,
        capped=first.capped,
        fit_intercept=recipe.fit_intercept,
        n_features=n_features,
        width=width,
        dtype=dtype,
        one_vs_rest=one_vs_rest,
        outputs=np.tile(np.arange(outputs), len(candidates) * (1 + recipe.replicas)),
        replicas=np.tile(np.repeat(np.arange(-1, recipe.replicas), outputs), len(candidates)),
        group=outputs,
        softmax=one_vs_rest and recipe.takes_softmax,
        seed=recipe.seed,
        l1_ratio=1.0 if sparsity is None else sparsity.l1_ratio,
        positive=recipe.positive,
    )

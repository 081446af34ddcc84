"""The lane of averaged SGD: a bank, whose candidates differ in rate, decay and penalty alone."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polyak._core import CheckedRows, model_fields
from polyak.learn.averaging import Averaging
from polyak.learn.bank import Bank
from polyak.learn.bank.merging import merge_banks
from polyak.learn.bank.settings import SUMS as MODEL_SUMS
from polyak.learn.centring import Centre, rows_at_a_time
from polyak.learn.race.lanes.protocol import (
    Lane,
    NewOutput,
    Problem,
    candidate_sums,
    histogram_for,
    mirrored,
)
from polyak.learn.recipes import AnyCandidate, Candidate, Recipe
from polyak.learn.score_histogram import ScoreHistogram
from polyak.learn.stored_state import Arrays, Page, StoredState
from polyak.learn.sums import SUMS
from polyak.learn.training_rows import SharedRows, TrainingRows
from polyak.rows.sparse import Rows

Floats = NDArray[np.float64]

MANY_MODELS = 8
"""Candidates of this many models gain little by sharing a bank with more than a few others."""
MOST_SCORES = 1 << 22
"""The number of progressive scores held at a time, so that memory stays bounded."""
BANK_ARRAYS = ("lines", "squares", "models")


class SgdLane(Lane):
    """A bank with a model for every output of every candidate, and for each of its replicas.

    It learns rows shifted by the centre of the problem; its weights are for rows as they come.
    """

    kinds = (Candidate,)

    def __init__(
        self,
        numbers: list[int],
        candidates: list[Candidate],
        recipe: Recipe,
        problem: Problem,
    ) -> None:
        self.numbers, self.candidates, self.problem = numbers, candidates, problem
        self.centre, self.outputs = problem.centre, problem.outputs
        self.bank = _bank_of(candidates, recipe, problem)
        self.counts = histogram_for(recipe.loss, problem, len(numbers))

    @classmethod
    def takes(cls, candidate: AnyCandidate) -> bool:
        """Whether it is averaged SGD, by explicit or implicit steps."""
        return isinstance(candidate, Candidate) and candidate.step != "proximal"

    @classmethod
    def split(cls, numbers: list[int], recipe: Recipe, problem: Problem) -> list[list[int]]:
        """Divide candidates of many models between two banks, for two threads in the end."""
        if problem.outputs * (1 + recipe.replicas) < MANY_MODELS or len(numbers) < 2:
            return [numbers]
        return [numbers[::2], numbers[1::2]]

    @property
    def clock(self) -> int:
        return self.bank.clock

    @property
    def models_each(self) -> int:
        """The number of models of a candidate, its replicas included."""
        return len(self.bank) // len(self.numbers)

    @property
    def nbytes(self) -> int:
        return int(2 * len(self.bank) * self.bank.n_features * self.bank.dtype.itemsize)

    @property
    def n_features(self) -> int:
        return self.bank.n_features

    @property
    def softmax(self) -> bool:
        """Whether classes are learned together."""
        return self.bank.softmax

    @property
    def checks_while_learning(self) -> bool:
        """Whether the core validates the rows that are learned: not those that are shifted."""
        return not self.centre

    def warm_up(self, rows: Rows) -> None:
        self.bank.warm_up(self.centre.shifted(rows))
        if self.problem.begin_at is not None:
            constants = self.problem.begin_at[self.bank.outputs]
            self.bank.move_intercepts(constants, constants)

    def check(self, rows: Any, targets: NDArray[Any], weights: Floats | None) -> CheckedRows:
        return self.bank.check(rows, targets, weights)

    def most_rows(self, rows: Rows, *, again: bool) -> int:
        most = rows_at_a_time(rows) if self.centre else sys.maxsize
        counts = self.counts.models > 0 and not again
        return min(most, max(1024, MOST_SCORES // len(self.bank))) if counts else most

    def rows_for(self, shared: SharedRows) -> TrainingRows:
        """Return rows about the centre, or as the core validated them."""
        return shared.shifted(self.centre) if self.centre else shared.checked

    # -- learning ------------------------------------------------------------------------------

    def learn(
        self, given: TrainingRows, *, again: bool, stops: NDArray[np.int64], threads: int
    ) -> Floats:
        n = given.total
        wanted = not again and self.counts.wants(n)
        scores = np.empty((n, len(self.bank))) if wanted else None
        notes = self.bank.learn(
            *given[:3],
            order=given.order,
            scores=scores,
            limits=given.limits,
            again=again,
            stops=stops,
            offsets=given.offsets,
        )
        assert notes is not None
        if scores is not None:  # without the replicas'
            each = scores.reshape(n, len(self.numbers), -1)
            scores = each[:, :, : self.outputs].reshape(n, -1)
        if not again:
            self.counts.count(scores, given, self.outputs if self.bank.one_vs_rest else None)
        return self._summed(notes) if len(notes) else np.empty((0, len(self.numbers), SUMS))

    def sums(self) -> Floats:
        sums: Floats = self._summed(self.bank.fields()[None])[0]
        return sums

    def start_interval(self) -> None:
        self.bank.reset_progressive_sums()

    def _summed(self, notes: Floats) -> Floats:
        """Return each candidate's sums, from the fields of its models; replicas do not count."""
        sums = np.take(notes, [model_fields.index(name) for name in MODEL_SUMS], axis=1)
        sums = sums.reshape(*sums.shape[:2], len(self.numbers), self.models_each)
        return candidate_sums(sums[..., : self.outputs], one_vs_rest=self.bank.one_vs_rest)

    # -- dropping out, and learning in parts ---------------------------------------------------

    def select(self, places: Sequence[int]) -> Self:
        if len(places) == len(self.numbers):
            return self
        chosen = copy.copy(self)
        chosen.numbers = [self.numbers[place] for place in places]
        chosen.candidates = [self.candidates[place] for place in places]
        models = np.arange(len(self.bank)).reshape(-1, self.models_each)[list(places)]
        chosen.bank = self.bank.select(models.ravel())
        chosen.counts = self.counts.select(places, self.outputs)
        return chosen

    def merge(self, others: Sequence[SgdLane], base: SgdLane | None) -> None:
        for other in others:
            other._move_to(self.centre)
        banks = [other.bank for other in others]
        merge_banks(self.bank, banks, None if base is None else base.bank)
        theirs = [other.counts for other in others]
        self.counts.merge(theirs, None if base is None else base.counts)

    def _move_to(self, centre: Centre) -> None:
        """Go over to another centre: the same models, their intercepts moved."""
        if not centre.is_as(self.centre):
            both = self.bank.last_coef, self.bank.coef
            self.bank.move_intercepts(*(centre.moved_from(self.centre, coef) for coef in both))
            self.centre = centre

    def add_output(self, new: NewOutput) -> Self:
        """Return the lane with a model more for every candidate and each of its replicas."""
        grown = type(self)(self.numbers, self.candidates, new.recipe, new.problem)
        state = self.bank.state()
        if new.mirrors:
            state["lines"], state["models"] = self._mirrored(state["lines"], state["models"], new)
        models = state["models"]
        one = _new_model(models[:, :: new.before], new.constant, self.bank.averaging)
        if grown.bank.softmax and new.recipe.fit_intercept:
            _set_level(one, models.reshape(len(models), -1, new.before), new.rows)
        grown.bank.set_state(
            state | {"lines": new.inserted(state["lines"]), "models": new.inserted(models, one)}
        )
        grown.counts.add_output(self.counts, new.place, new.constant, mirrors=new.mirrors)
        return grown

    def _mirrored(
        self, lines: NDArray[Any], models: Floats, new: NewOutput
    ) -> tuple[NDArray[Any], Floats]:
        """Return the weights and fields of two models for each: its mirror image and itself."""
        models = np.repeat(models, 2, axis=1)
        models[[_field("bias"), _field("bias_sum")], ::2] *= -1.0
        scaled = ("bias", "bias_sum", "loss", "loss_squared", "rated")
        models[[_field(name) for name in scaled]] *= new.share
        models[_field("confusion")] = models[_field("error")]
        return mirrored(lines) * lines.dtype.type(new.share), models

    def state(self) -> tuple[Page, Arrays]:
        state = self.bank.state()
        page, arrays = self.counts.state()
        arrays |= {name: state[name] for name in BANK_ARRAYS}
        return page | {"looked": state["looked"]}, arrays

    def set_state(self, stored: StoredState, clock: int) -> None:
        models, weights = len(self.bank), self.bank.dtype.name
        lines = stored.array("lines", (None, 2 * models), weights)
        squares = stored.array("squares", (len(lines) if self.bank.has_squares else 0,))
        fields = stored.array("models", (len(model_fields), models))
        state = {"lines": lines, "squares": squares, "models": fields}
        self.bank.set_state(state | {"clock": clock, "looked": stored.whole("looked")})
        self.counts.set_state(stored)

    # -- what came out -------------------------------------------------------------------------

    def weights(self, place: int, *, last: bool = False) -> tuple[NDArray[Any], Floats]:
        models, bank = self._models(place), self.bank
        coef = bank.coef_of(models, last=last)
        intercept = (bank.last_intercept if last else bank.intercept)[models]
        return coef, self.centre.undone(coef, intercept)

    def replicas(self, place: int) -> NDArray[Any] | None:
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
        """Return the row at which its averages began."""
        return self.bank.average_start[self._models(place)]

    def histogram(self, place: int) -> ScoreHistogram:
        return self.counts.select([place], self.outputs)

    def _models(self, place: int) -> slice:
        first = place * self.models_each
        return slice(first, first + self.outputs)


def _bank_of(candidates: list[Candidate], recipe: Recipe, problem: Problem) -> Bank:
    """Make a bank: each candidate has a model per output and, for intervals, per replica."""
    first, sparsity, outputs = candidates[0], recipe.sparsity(), problem.outputs
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
        n_features=problem.n_features,
        width=problem.width,
        dtype=problem.dtype,
        one_vs_rest=problem.one_vs_rest,
        outputs=np.tile(np.arange(outputs), len(candidates) * (1 + recipe.replicas)),
        replicas=np.tile(np.repeat(np.arange(-1, recipe.replicas), outputs), len(candidates)),
        group=outputs,
        softmax=problem.one_vs_rest and recipe.takes_softmax,
        seed=recipe.seed,
        l1_ratio=1.0 if sparsity is None else sparsity.l1_ratio,
        positive=recipe.positive is True,
    )


def _field(name: str) -> int:
    return model_fields.index(name)


def _new_model(sibling: Floats, constant: float, averaging: Averaging) -> Floats:
    """Return the fields of a model that has stood at a constant as long as its sibling ran.

    Its losses so far count as zero: they were small, and the same for all candidates.
    """
    new = sibling.copy()
    sums = ("loss", "loss_squared", "error", "rated", "capped")
    none = ("tau", *sums, "running_iterate", "running_average")
    new[[_field(name) for name in none]] = 0.0
    new[_field("scale")], new[_field("bias")] = 1.0, constant
    if averaging.start == "auto":  # negative rows alone would not have let averaging begin
        new[_field("start")], new[_field("total")], new[_field("unit")] = -1.0, 1.0, 1.0
    new[_field("bias_sum")] = constant * new[_field("total")]
    return new


def _set_level(new: Floats, models: Floats, rows: float) -> None:
    """Make the odds of a new model those against all classes it is learned together with.

    Steps on other classes' rows push the odds of a class down by its probability, so that they end
    at one over the sum of the rates: had the class been there, they would be no lower.
    """
    total, rate = new[_field("total")], new[_field("gamma0")]
    slowed = new[_field("decay")] * rate * rows
    rates = rate * rows * (1.0 + 0.5 * slowed) ** -0.5  # near enough for a logarithm
    odds = np.maximum(new[_field("bias")], -np.log1p(rates))
    averaged = models[_field("bias_sum")] / np.maximum(total, 1e-300)[:, None]
    new[_field("bias")] = odds + np.logaddexp.reduce(models[_field("bias")], axis=1)
    new[_field("bias_sum")] = total * (odds + np.logaddexp.reduce(averaged, axis=1))

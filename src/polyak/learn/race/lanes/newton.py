"""The lane of block Newton steps: candidates that differ in their penalty alone."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from polyak._core import CheckedRows, score_rows
from polyak.errors import DataError, DivergenceError
from polyak.learn.bank import Bank
from polyak.learn.newton.block.curvature import with_offsets
from polyak.learn.race.elimination import fewest_after
from polyak.learn.race.lanes.protocol import (
    Lane,
    NewOutput,
    Problem,
    candidate_sums,
    histogram_for,
)
from polyak.learn.recipes import AlphaCandidate, NewtonCandidate, Recipe
from polyak.learn.schedules import CALIBRATION_ROWS, Polynomial
from polyak.learn.score_histogram import ScoreHistogram
from polyak.learn.stored_state import Arrays, Page, StoredState
from polyak.learn.sums import SUMS
from polyak.learn.training_rows import TrainingRows
from polyak.losses.softmax import normalised_odds, odds_of_softmax
from polyak.model.terms import ExpandedRows
from polyak.rows.sparse import Rows, core_rows, take_rows
from polyak.rows.taken import spread_evenly
from polyak.storage.sandwich import Sandwich

if TYPE_CHECKING:
    from polyak.learn.newton.learned import LeftOutScores
    from polyak.learn.newton.objective import Objective
    from polyak.learn.newton.solver import NewtonSolver

Floats = NDArray[np.float64]

MOST_SCORES = 1 << 20
"""The number of progressive scores held at a time, so that memory stays bounded."""


class NewtonRacer(Lane):
    """A `polyak.learn.newton.solver.NewtonSolver` as the race knows lanes.

    Rows that were learned before it does not learn again: once each, they have led it to its
    optimum.
    """

    kinds: ClassVar[tuple[type[Any], ...]] = (NewtonCandidate, AlphaCandidate)

    def __init__(
        self,
        numbers: list[int],
        candidates: list[NewtonCandidate],
        recipe: Recipe,
        problem: Problem,
    ) -> None:
        self.numbers, self.candidates = numbers, candidates
        self.recipe, self.problem = recipe, problem
        self.newton = self._solver(np.empty((0, 0)), candidates)
        self.counts = histogram_for(recipe.loss, problem, len(numbers))
        self._not_learned = 0  # rows of the clock that were only let pass
        self._gate: Bank | None = None  # refuses what cannot be learned, with the core's message

    def _objective(self, candidates: list[NewtonCandidate]) -> Objective:
        # Only where there is such a lane.
        from polyak.learn.newton.objective import Objective

        recipe, problem = self.recipe, self.problem
        return Objective(
            recipe.loss,
            np.array([one.penalty for one in candidates]),
            outputs=problem.outputs,
            one_vs_rest=problem.one_vs_rest,
            fit_intercept=recipe.fit_intercept,
            intervals=recipe.intervals,
            at_hand=problem.at_hand,
            softmax=candidates[0].softmax,
            together=problem.one_vs_rest and recipe.takes_softmax,
            sparsity=recipe.sparsity(),
            sign_of=recipe.sign_of(problem.columns),
            has_offsets=problem.offset is not None,
        )

    def _solver(
        self, first_rows: Rows, candidates: list[NewtonCandidate], *, closes: bool = True
    ) -> NewtonSolver:
        """Return a solver with the penalties of candidates that has learned nothing."""
        from polyak.learn.newton.solver import NewtonSolver

        solver = NewtonSolver(self._objective(candidates), first_rows, closes=closes)
        if self.problem.begin_at is not None:
            solver.begin_at(self.problem.begin_at)
        return solver

    def _own_rows(self, rows: Rows) -> Rows:
        """Return rows as the solver takes them."""
        return rows

    @property
    def clock(self) -> int:
        """The number of rows learned, or only let pass."""
        return self.newton.clock + self._not_learned

    @property
    def nbytes(self) -> int:
        """The memory that its weights take, and the rows it holds."""
        return self.newton.nbytes

    @property
    def left(self) -> Exception | None:
        """Why it cannot go on: there are too many features, or numbers too large."""
        if self.newton.left is None:
            return None
        from polyak.learn.newton.limits import TOO_MANY

        if self.newton.left == TOO_MANY:
            return DataError(
                f"{self.recipe.sparse_setting} is for up to {self.newton.widest:,} features here, "
                "and there are more"
            )
        return DivergenceError("the weights overflowed")

    @property
    def is_optimum(self) -> bool:
        """Whether ``alpha`` or the kind of penalty is given, and so what is to be minimised.

        These weights are at its optimum, and others on their way to it; not where features that
        have no column are left out, nor where additive models are wanted.
        """
        given = self.newton.objective.sparsity is not None and not self.recipe.is_additive
        return given and not self.newton.closed

    @property
    def may_leave(self) -> bool:
        """Whether rows might come that have too many features for it."""
        most = self.problem.features
        return most is None or most > self.newton.widest

    @property
    def most_features(self) -> int | None:
        """The number of features there can be, if that is known."""
        return self.problem.n_features

    @property
    def n_features(self) -> int:
        """The number of features there are."""
        known = self.most_features
        return self.newton.n_features if known is None else known

    @property
    def softmax(self) -> bool:
        """Whether classes are learned together."""
        return self.newton.objective.softmax

    @property
    def fewest(self) -> int:
        """The number of its best candidates that stay, since others may be ahead by chance."""
        from polyak.learn.newton.block.leave_one_out import FEW_ROWS

        if self.clock <= FEW_ROWS:  # in the end they may be compared by leaving one row out
            return len(self.numbers)
        return fewest_after(self.clock)

    @property
    def stays(self) -> list[int]:
        """Candidates that are never eliminated: the model, where its weights are asked for."""
        own = self.newton.objective
        asked_for = own.for_inference and self.recipe.for_inference
        return [self.numbers[own.smallest]] if asked_for else []

    @property
    def converges(self) -> bool:
        """Whether it has curves, or a ridge penalty that was asked for.

        Where the weights themselves are asked for the race makes them exact before it compares.
        """
        given = self.recipe.alpha != "auto" and not self.stays
        return self.terms is not None or (given and self.newton.objective.is_ridge)

    def warm_up(self, rows: Rows) -> None:
        """Take centres and spreads from the rows that calibration looks at."""
        self.newton = self._solver(self._own_rows(rows[:CALIBRATION_ROWS]), self.candidates)

    def check(self, rows: Any, targets: NDArray[Any], weights: Floats | None) -> CheckedRows:
        """Refuse what cannot be learned from, unless another lane has done so."""
        if isinstance(rows, CheckedRows):
            return rows
        if self._gate is None:
            self._gate = Bank(
                loss=self.recipe.loss,
                alpha=0.0,
                schedule=Polynomial(1.0, 0.0, 0.0),
                n_features=self.problem.n_features,
                width=0,
                dtype=self.problem.dtype,
                one_vs_rest=self.problem.one_vs_rest,
                outputs=np.arange(self.problem.outputs),
                group=self.problem.outputs,
            )
        return self._gate.check(rows, targets, weights)

    def most_rows(self, rows: Rows, *, again: bool) -> int:
        counts = self.counts.models > 0 and not again
        return max(1024, MOST_SCORES // len(self.newton)) if counts else sys.maxsize

    def can_leave_out(self, rows: int) -> bool:
        """Whether leaving each of this many rows out in turn takes little time."""
        return self.problem.solved or self.newton.can_leave_out(rows)

    def leaving_out(self, given: TrainingRows, times: float = 1.0) -> LeftOutScores:
        """Return a function of places: the scores of rows by weights found without them.

        Each of the rows stands for ``times`` as many.
        """
        own = (given.targets, given.weights, given.offsets, times)
        return self.newton.leaving_out(self._own_rows(given.rows), *own)

    def converge(self, given: TrainingRows) -> bool:
        rows = given.rows if self.terms is None else ExpandedRows(self.terms, given.rows)
        own = (given.targets, given.weights, given.offsets)
        with np.errstate(all="ignore"):
            self.newton, has_optimum = self.newton.converged(rows, *own)
        return has_optimum

    # -- learning ------------------------------------------------------------------------------

    def learn(
        self, given: TrainingRows, *, again: bool, stops: NDArray[np.int64], threads: int
    ) -> Floats:
        """Learn rows and return the sums of each interval that ends at one of the stops.

        They are NaN after the row at which the lane left.
        """
        if again:
            self._not_learned += given.total
            return np.empty((0, len(self.numbers), SUMS))
        self.newton.threads = threads
        wanted = self.counts.wants(given.total)
        scores = np.empty((given.total, len(self.newton))) if wanted else None
        before = self.newton.clock
        with np.errstate(all="ignore"):  # it leaves where numbers are too large
            notes = self.newton.learn(
                *given[:3],
                order=given.order,
                scores=scores,
                limits=given.limits,
                stops=stops,
                offsets=given.offsets,
            )
            assert notes is not None
            sums = self._summed(notes)
        if self.newton.left is not None:
            sums[stops > self.newton.clock - before] = np.nan
        else:
            classes = self.problem.outputs if self.problem.one_vs_rest else None
            self.counts.count(scores, given, classes)
        return sums

    def fit(self, given: TrainingRows, threads: int) -> bool:
        rows = self._own_rows(given.rows)
        some = take_rows(rows, spread_evenly(len(rows), CALIBRATION_ROWS))
        self.newton = self._solver(some, self.candidates, closes=False)
        self.newton.threads = threads
        with np.errstate(all="ignore"):  # it leaves where numbers are too large
            self.newton.fit(rows, given.targets, given.weights, given.offsets)
        return self.newton.left is None

    def sums(self) -> Floats:
        with np.errstate(all="ignore"):
            sums: Floats = self._summed(self.newton.sums()[None])[0]
        return sums

    def start_interval(self) -> None:
        with np.errstate(all="ignore"):
            self.newton.start_interval()

    def fold_scores(self, given: TrainingRows, places: Sequence[int], folds: int) -> Floats:
        """Return the scores of all rows at some places, by weights refitted without their fold.

        Every fold has its share of each class. Scores have the shape (rows, places, outputs).
        """
        given = given._replace(rows=self._own_rows(given.rows))
        rows, near = given.rows, self.newton.select(places).begun_again()
        scores = np.full((len(rows), len(places), self.problem.outputs), np.nan)
        stratify = self.problem.classifies and not self.problem.has_labels
        order = np.argsort(given.targets, kind="stable") if stratify else np.arange(len(rows))
        fold_of = np.empty(len(rows), dtype=np.int64)
        fold_of[order] = np.arange(len(rows)) % folds
        for fold in range(folds):
            held, rest = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
            some = given._replace(order=rest).taken()
            solver = near.begun_again()
            solver.fit(*some[:3], some.offsets)
            if solver.left is None:
                coef, intercept = solver.weights(rows.shape[1])
                matrix = np.ascontiguousarray(coef.T)
                raw = score_rows(core_rows(take_rows(rows, held)), matrix) + intercept
                raw = raw.reshape(len(held), *scores.shape[1:])
                raw = solver.learned().known.within_reach(raw, None)
                scores[held] = odds_of_softmax(raw) if self.softmax else raw
        scores = with_offsets(scores, given.offsets)
        together = self.newton.objective.together and not self.softmax
        return normalised_odds(scores) if together else scores

    def sums_of(
        self, scores: Floats, targets: NDArray[Any], weights: Floats | None, limits: Floats
    ) -> Floats:
        """Return the sums of candidates that gave rows these scores: (rows, places, outputs)."""
        sums = self.newton.sums_of(scores, targets, weights, limits)
        sums = sums.reshape(1, len(sums), scores.shape[1], self.problem.outputs)
        return np.asarray(candidate_sums(sums, one_vs_rest=self.problem.one_vs_rest)[0])

    def count(self, scores: dict[int, Floats], best: int, given: TrainingRows) -> None:
        """Count the scores of rows left out, by their places, if none was counted before."""
        if self.problem.solved and self.counts.models:
            every = [scores.get(place, scores[best]) for place in range(len(self.numbers))]
            classes = self.problem.outputs if self.problem.one_vs_rest else None
            self.counts.count(np.concatenate(every, axis=1), given, classes)

    def _summed(self, notes: Floats) -> Floats:
        """Return each candidate's sums, from those of its models, one per output."""
        notes = notes.reshape(*notes.shape[:2], len(self.numbers), self.problem.outputs)
        return candidate_sums(notes, one_vs_rest=self.problem.one_vs_rest)

    # -- dropping out, and learning in parts ---------------------------------------------------

    def select(self, places: Sequence[int]) -> Self:
        if len(places) == len(self.numbers):
            return self
        chosen = copy.copy(self)
        chosen.numbers = [self.numbers[place] for place in places]
        chosen.candidates = [self.candidates[place] for place in places]
        chosen.newton = self.newton.select(places)
        chosen.counts = self.counts.select(places, self.problem.outputs)
        return chosen

    def merge(self, others: Sequence[NewtonRacer], base: NewtonRacer | None) -> None:
        parts = [self, *others]
        then = (0, 0) if base is None else (base.newton.clock, base._not_learned)
        busy = [one.newton for one in parts if one.newton.clock > then[0]]
        if base is not None and len(busy) < 2:  # one alone knows all there is to know
            self.newton = copy.deepcopy((busy or [self.newton])[0])
        else:
            with np.errstate(all="ignore"):
                self.newton.merge(
                    [other.newton for other in others], None if base is None else base.newton
                )
        self._not_learned = then[1] + sum(one._not_learned - then[1] for one in parts)
        theirs = [other.counts for other in others]
        self.counts.merge(theirs, None if base is None else base.counts)

    def add_output(self, new: NewOutput) -> Self:
        """Return the lane with a class more; two classes go on together where a matrix has room."""
        from polyak.learn.race.lanes.newton_output import mirrored_arrays, with_output

        page, arrays = self.newton.state()
        candidates, together = self.candidates, self.softmax
        if new.mirrors:
            seen = len(arrays["weights"]) - int(new.recipe.fit_intercept)
            outputs, features = new.problem.outputs, new.problem.features
            together = new.recipe.learns_together(seen, outputs, features)
            candidates = [replace(one, softmax=together) for one in candidates]
            arrays = mirrored_arrays(arrays, new.share, together=together)
        arrays = with_output(arrays, page["clock"], new, together=together)
        grown = type(self)(self.numbers, candidates, new.recipe, new.problem)
        grown.newton.set_state(StoredState(page, arrays))
        grown._not_learned = self._not_learned
        grown.counts.add_output(self.counts, new.place, new.constant, mirrors=new.mirrors)
        return grown

    def state(self) -> tuple[Page, Arrays]:
        page, arrays = self.newton.state()
        counted, histograms = self.counts.state()
        return page | counted, arrays | histograms

    def set_state(self, stored: StoredState, clock: int) -> None:
        stored.whole("clock", most=clock)
        self.newton.set_state(stored, self.most_features)
        self._not_learned = clock - self.newton.clock
        self.counts.set_state(stored)

    # -- what came out -------------------------------------------------------------------------

    def weights(self, place: int, *, last: bool = False) -> tuple[NDArray[Any], Floats]:
        with np.errstate(all="ignore"):
            return self.newton.weights(self.n_features, place=place, dtype=self.problem.dtype)

    def found(self, place: int) -> dict[str, Any]:
        return {"frequent": True} if self.newton.closed else {}

    def reach(self, place: int) -> Floats | None:
        known = self.newton.learned().known
        return known.reach[:, place] if known.reach.size else None

    def sandwich(self) -> tuple[Sandwich, tuple[int, float] | None] | None:
        """Return the weights at the smallest penalty and their covariance, for intervals."""
        with np.errstate(all="ignore"):
            found = self.newton.sandwich()
        return None if found is None else (found, self.newton.drift(found))

    def average_start(self, place: int) -> Floats:
        """Return NaN: nothing is averaged."""
        return np.full(self.problem.outputs, np.nan)

    def histogram(self, place: int) -> ScoreHistogram:
        return self.counts.select([place], self.problem.outputs)

"""The lane of wide dense rows: candidates that differ in their penalty, by matrix products."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from polyak._core import fill_standard
from polyak.errors import DataError, RowError
from polyak.learn.newton.block.one_thread import one_blas_thread
from polyak.learn.newton.frequent import feature_counts
from polyak.learn.race.lanes.protocol import Lane, NewOutput, Problem, histogram_for
from polyak.learn.race.row_limits import limits_of_all
from polyak.learn.recipes import DenseCandidate, Recipe
from polyak.learn.score_histogram import ScoreHistogram
from polyak.learn.stored_state import INTEGERS, Arrays, Page, StoredState
from polyak.learn.sums import SUMS
from polyak.learn.training_rows import TrainingRows
from polyak.losses.softmax import odds_of_softmax
from polyak.rows.huge_values import WIDE, huge_value
from polyak.rows.sparse import Rows, check_rows, core_rows
from polyak.rows.tensors import on_host

if TYPE_CHECKING:
    from polyak.learn.dense.optimum import Block
    from polyak.learn.dense.solver import DenseSolver

Floats = NDArray[np.float64]


MOST_COUNTED = 64
"""Scores of more outputs than this are not counted: it would take longer than learning."""


class DenseLane(Lane):
    """A `polyak.learn.dense.solver.DenseSolver` as the race knows lanes."""

    kinds: ClassVar[tuple[type[Any], ...]] = (DenseCandidate,)

    def __init__(
        self, numbers: list[int], candidates: list[DenseCandidate], recipe: Recipe, problem: Problem
    ) -> None:
        from polyak.learn.dense.solver import DenseSolver  # only where there is such a lane

        self.numbers, self.candidates = numbers, candidates
        self.recipe, self.problem = recipe, problem
        self.solver: DenseSolver = DenseSolver(
            "softmax" if problem.one_vs_rest else recipe.loss,
            np.array([one.penalty for one in candidates]),
            problem.outputs,
            fit_intercept=recipe.fit_intercept,
            limits_of=limits_of_all,
            of_mean=candidates[0].of_mean,
        )
        # Of the scores of the best penalty.
        counted = 1 if problem.outputs <= MOST_COUNTED else 0
        self.counts = histogram_for(recipe.loss, problem, counted)
        self._not_learned = 0
        self.columns: NDArray[np.int64] | None = None  # the features of sparse rows

    @property
    def clock(self) -> int:
        """The number of rows learned, or only let pass."""
        return self.solver.clock + self._not_learned

    @property
    def nbytes(self) -> int:
        """The memory that its weights take, and the rows it holds."""
        return self.solver.nbytes

    @property
    def n_features(self) -> int:
        if self.columns is None:
            return len(self.solver.shift)
        return self.problem.n_features or int(self.columns[-1]) + 1

    @property
    def softmax(self) -> bool:
        return self.problem.one_vs_rest

    @property
    def counts_from(self) -> int:
        """Rows before were scored by weights of fewer rows, at penalties that were dropped."""
        return self.solver.tells_from

    @property
    def fewest(self) -> int:
        """All stay: those that are far from the best cost nothing."""
        return len(self.numbers)

    @property
    def takes_tensors(self) -> bool:
        return True

    def warm_up(self, rows: Rows) -> None:
        self.solver.begin(rows)

    def check(self, rows: Any, targets: NDArray[Any], weights: Floats | None) -> Any:
        """Refuse values that are not finite or too large, and rows of another width."""
        if self.columns is not None:
            check_rows(rows, self.problem.n_features)
            return rows
        if rows.shape[1] != self.n_features:
            raise DataError(f"rows have {rows.shape[1]} features, those before {self.n_features}")
        check_rows(rows, self.n_features)
        if self.n_features < WIDE and (huge := huge_value(rows, None, in_32_bits=True)):
            raise RowError(huge[0], f": {huge[1]}")
        return rows

    def learn(
        self, given: TrainingRows, *, again: bool, stops: NDArray[np.int64], threads: int
    ) -> Floats:
        """Learn rows and return the sums of each interval that ends at one of the stops."""
        if again:
            self._not_learned += given.total
            return np.empty((0, len(self.numbers), SUMS))
        with np.errstate(all="ignore"), self._same_bits():
            return self.solver.learn(
                self._dense(given.rows),
                given.targets,
                given.weights,
                given.limits,
                given.order,
                stops,
                self._count,
                threads,
            )

    def fit(self, given: TrainingRows, threads: int) -> bool:
        """Learn sparse rows as dense ones; rows to come have no other features than these."""
        self.columns = feature_counts(given.rows)[0]
        rows = self._dense(given.rows)
        if not len(self.columns) or huge_value(rows, None, in_32_bits=True):
            return False
        self.solver.begin(rows)
        self.solver.hold(rows, given.targets, given.weights)
        return True

    def _dense(self, rows: Any) -> Any:
        """Return the columns of rows as an array; rows as they are, if those of a fit were."""
        if self.columns is None:
            return rows
        dense, zeros = np.empty((len(rows), len(self.columns))), np.zeros(len(self.columns))
        fill_standard(core_rows(rows), None, self.columns, zeros, zeros + 1.0, dense)
        return dense

    def _count(self, scores: Any, block: Block) -> None:
        """Count the scores of rows by the best penalty."""
        found = None
        if self.counts.wants(len(scores)):
            found = np.asarray(on_host(scores), dtype=np.float64)
            found = odds_of_softmax(found) if self.softmax else found
        own = None if block.weights is None else on_host(block.weights).astype(np.float64)
        given = TrainingRows(block.rows, on_host(block.targets), own)
        self.counts.count(found, given, self.problem.outputs if self.softmax else None)

    def _same_bits(self) -> Any:
        return one_blas_thread() if self.solver.on_host else nullcontext()

    def sums(self) -> Floats:
        return self.solver.sums()

    def start_interval(self) -> None:
        self.solver.start_interval()

    def can_leave_out(self, rows: int) -> bool:
        """Whether rows are few, and all that were learned are held."""
        return self.solver.can_leave_out() and self.clock == rows

    def sums_left_out(self, constant: int) -> dict[int, Floats]:
        """Return the sums of folds by what the other folds tell, of the constant too."""
        with np.errstate(all="ignore"), self._same_bits():
            sums = self.solver.left_out()
        return {self.numbers[n] if n >= 0 else constant: own for n, own in sums.items()}

    # -- state -----------------------------------------------------------------------------------

    def select(self, places: Sequence[int]) -> Self:
        """Return the lane itself: none of its candidates is eliminated alone."""
        return self

    def merge(self, others: Sequence[Self], base: Self | None) -> None:
        before = 0 if base is None else base._not_learned
        with np.errstate(all="ignore"), self._same_bits():
            self.solver.score_waiting(self._count)
            theirs = [other.solver for other in others]
            self.solver.merge(theirs, None if base is None else base.solver, lambda *_: None)
        self._not_learned += sum(other._not_learned - before for other in others)
        self.counts.merge([other.counts for other in others], None if base is None else base.counts)

    def add_output(self, new: NewOutput) -> Self:
        """Return the lane with a class more, which no row has had so far."""
        with np.errstate(all="ignore"), self._same_bits():
            self.solver.score_waiting(self._count)
        grown = type(self)(self.numbers, self.candidates, new.recipe, new.problem)
        grown.solver = self.solver.with_output(new.place, new.constant, mirrors=new.mirrors)
        grown._not_learned, grown.columns = self._not_learned, self.columns
        grown.counts.add_output(self.counts, new.place, new.constant, mirrors=new.mirrors)
        return grown

    def state(self) -> tuple[Page, Arrays]:
        page, arrays = self.solver.state()
        counted, histograms = self.counts.state()
        if self.columns is not None:
            arrays["columns"] = self.columns
        return page | counted, arrays | histograms

    def set_state(self, stored: StoredState, clock: int) -> None:
        self.solver.set_state(stored)
        self._not_learned = clock - self.solver.clock
        self.counts.set_state(stored)
        if "columns" in stored.arrays:
            self.columns = stored.array("columns", (len(self.solver.shift),), INTEGERS, least=0)

    # -- results ---------------------------------------------------------------------------------

    def weights(self, place: int, *, last: bool = False) -> tuple[NDArray[Any], Floats]:
        with np.errstate(all="ignore"), self._same_bits():
            coef, intercept = self.solver.weights(place)
        if self.columns is None:
            return coef, intercept
        wide = np.zeros((len(coef), self.n_features))
        wide[:, self.columns] = coef
        return wide, intercept

    def found(self, place: int) -> dict[str, Any]:
        if self.solver.of_mean:
            return {}
        return {"penalty": float(f"{self.solver.penalty(place):.3g}")}

    def average_start(self, place: int) -> Floats:
        """Return NaN: nothing is averaged."""
        return np.full(self.problem.outputs, np.nan)

    def histogram(self, place: int) -> ScoreHistogram:
        return copy.deepcopy(self.counts)

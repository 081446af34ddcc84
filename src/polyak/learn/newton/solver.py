"""Block Newton steps: one pass to the batch optimum, where features are few.

Averaged SGD needs a number of rows that grows with how badly conditioned they are. Where a matrix
of features by features fits, a block of rows can instead be learned by Newton's step, with all rows
before it summed up by a quadratic: see `polyak.learn.newton.block.step`. For squared error that is
exact.

Rows are held until their block is full (`HeldRows`) and scored meanwhile (`Scorer`); `Cadence` says
when weights are refitted, `Fit` refits them, and `Learned` is what remains of the rows.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyak.learn.newton.block.leave_one_out import MOST_WORK, is_cheap
from polyak.learn.newton.block.one_thread import one_blas_thread
from polyak.learn.newton.block.step import TOLERANCE
from polyak.learn.newton.cadence import (
    BLOCK,
    FEATURES_PER_ROW,
    GROWTH,
    GROWTH_OF_SPARSE,
    LONG_BLOCK,
    Cadence,
)
from polyak.learn.newton.converging import AllRows, converged, has_no_optimum, terms_converged
from polyak.learn.newton.fitting import Fit, exact_weights
from polyak.learn.newton.frequent import FeatureLimit, frequent_places
from polyak.learn.newton.held_rows import HeldRows, usual_weights
from polyak.learn.newton.information import Information
from polyak.learn.newton.learned import Learned, LeftOutScores
from polyak.learn.newton.limits import TOO_MANY, WIDEST, most_features
from polyak.learn.newton.objective import Objective
from polyak.learn.newton.sandwich import drift, remembered, sandwich_of
from polyak.learn.newton.scoring import Scorer, progressive_sums
from polyak.learn.newton.smoothing import FEWEST, Smoothing
from polyak.learn.stored_state import Arrays, Page, StoredState
from polyak.losses import get_loss
from polyak.losses.softmax import normalised_odds
from polyak.model.terms import ExpandedRows
from polyak.rows.sparse import Rows, as_rows, in_core_types
from polyak.rows.taken import SomeRows, TakenRows, bits_of, spread_evenly, taken
from polyak.storage.sandwich import Sandwich

Floats = NDArray[np.float64]

MANY_ROWS, SMALLER = 2048, 8
"""Rows at hand from which on an eighth of them is fitted first: that is the start of the others."""
AT_HAND = 1e-7
"""The promised decrease, as a share of the mean loss, at which steps on rows at hand end."""
NOT_CONVERGED = (
    "the steps to the optimum ended before they converged, so weights and standard errors may be "
    "off: look for extreme values in the features and targets, or set a larger penalty"
)


class _Part(NamedTuple):
    """Rows to learn together."""

    rows: SomeRows
    targets: NDArray[Any]
    weights: Floats | None
    limits: Floats | None
    offsets: Floats | None
    scores: Floats | None

    def cut(self, some: slice) -> _Part:
        """Return some of the rows."""
        parts: list[Any] = [None if one is None else one[some] for one in self]
        return _Part(*parts)

    def taken(self, order: NDArray[np.int64]) -> _Part:
        """Return the rows in this order."""
        assert not isinstance(self.rows, TakenRows)
        parts: list[Any] = [None if one is None else one[order] for one in self[1:]]
        return _Part(taken(self.rows, order), *parts)


class NewtonSolver:
    """Linear models of several penalties, learned block by block from the same rows.

    Up to the first full block all rows are kept, and the model is the batch optimum of them all.
    Whatever the batches were, blocks are counted from the first row, products are of the same
    shapes and in one thread: the result is the same to the last bit.

    Parameters
    ----------
    objective : Objective
        The loss and the penalties.
    first_rows : array or SparseRows
        The rows that centres and spreads are taken from; they are not learned here.
    widest : int
        The most features there may be.
    closes : bool
        Whether rare features may be left out where there are too many.

    Attributes
    ----------
    clock : int
        The number of rows taken.
    left : str or None
        Why it has left the race, if it has: it has learned nothing since.
    threads : int
        The threads that may share a product; they leave no trace in the result.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(1000.0, 1.0, size=(5000, 2))
    >>> y = X @ [1.0, 2.0] + 5.0
    >>> solver = NewtonSolver(Objective("squared_error"), X[:1000])
    >>> solver.learn(X, y)
    >>> coef, intercept = solver.weights()
    >>> coef[0].round(3), float(intercept[0].round(1))
    (array([1., 2.]), 5.0)
    """

    def __init__(
        self,
        objective: Objective,
        first_rows: Rows,
        widest: int = WIDEST,
        *,
        closes: bool = True,
    ) -> None:
        self.clock: int = 0
        self.threads: int = 1
        self.left: str | None = None
        self._earlier: list[tuple[int, Floats]] = []  # rows and weights then, for intervals
        self._done: tuple[Learned, int, Learned] | None = None  # of `learned`, and what it was for
        ridge, intervals, together = objective.is_ridge, objective.intervals, objective.softmax
        first_block = BLOCK if objective.exact or ridge else LONG_BLOCK
        often = ridge and objective.term_of is None
        per_row = 1 if objective.is_unpenalised else FEATURES_PER_ROW
        self._cadence = Cadence(GROWTH if often else GROWTH_OF_SPARSE, first_block, per_row)
        self._scorer = Scorer(objective)
        own = (objective.loss, objective.outputs)
        most = most_features(*own, intervals=intervals, together=together)
        closes = closes and ridge and not objective.for_inference
        self._limit = FeatureLimit(min(widest, most), closes, objective.first_of_terms)
        self._held: HeldRows
        self._learned: Learned
        self._forget_everything(objective)
        if not self._limit.choose(self._learned.standard, first_rows):
            self._leave(TOO_MANY)
            return
        standard = self._learned.standard
        standard.calibrate(first_rows)
        if len(first_rows) and not self._learned.columns:  # without an intercept
            standard.add(np.zeros(1, dtype=np.int64))  # there are no products with no column
        self._learned.known = self._learned.padded()
        self._allocate()

    def _forget_everything(self, objective: Objective) -> None:
        self._scorer.begin_block()
        self._held = HeldRows(objective, self._cadence.first_block)
        self._learned = Learned.none(objective)

    def begun_again(self) -> NewtonSolver:
        """Return a solver that has learned nothing, in the same units, with the leading weights.

        It has not far to go where its rows are most of these.
        """
        learned, new = self.learned(), self._copy(to_change=False)
        new.clock, new._done = 0, None
        new._forget_everything(learned.objective)
        new._learned.standard = learned.standard.without_rows()
        new._learned.known = new._learned.padded()
        new._learned.known.W[:] = learned.known.W[:, [self.lead]]
        return new

    def begin_at(self, constants: Floats) -> None:
        """Begin with these intercepts, one per output, instead of zero."""
        if self.objective.fit_intercept and self.left is None:
            self._learned.known.W[0] = constants

    def fit(
        self,
        X: Rows,
        y: ArrayLike,
        sample_weight: Floats | None = None,
        offsets: Floats | None = None,
    ) -> None:
        """Fit the weights to rows as a single block, as a rule of all: none is scored meanwhile."""
        own = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        whole = _Part(in_core_types(as_rows(X)), np.asarray(y), own, None, offsets, None)
        usual, self._cadence = self._cadence, Cadence(math.inf, len(X))
        self._held = HeldRows(self.objective, len(X))
        with one_blas_thread():
            if len(X) > MANY_ROWS and not (self.objective.exact or self.clock):
                # A start that is nearly the optimum takes a quarter of the steps away.
                some = spread_evenly(len(X), len(X) // SMALLER)
                self._fit_all(whole.taken(some), provisional=True)
                self._held.forget()
                self.clock = 0
            if self.left is None:
                self._fit_all(whole, provisional=False)
        self._cadence, usual.fitted = usual, self.clock
        if self.left is None:
            self._held = HeldRows(self.objective, usual.first_block)
            self._allocate()

    def _fit_all(self, part: _Part, *, provisional: bool) -> None:
        """Hold rows, of which there were none before, and fit the weights to them."""
        if self._take(part) < len(part.rows):
            self._leave(TOO_MANY)
            return
        self._scorer.counted = self._held.count
        tolerance = TOLERANCE if provisional else AT_HAND
        self._fit(provisional=provisional, tolerance=tolerance, alone=provisional)

    def __len__(self) -> int:
        return len(self.objective.penalties) * self.objective.outputs

    @property
    def objective(self) -> Objective:
        """The loss, and the penalties that are left."""
        return self._learned.objective

    @property
    def lead(self) -> int:
        """The penalty whose curvature all share: the best of late; for intervals the smallest."""
        objective = self.objective
        return objective.smallest if objective.intervals else self._scorer.best

    @property
    def widest(self) -> int:
        """The most features there may be."""
        return self._limit.widest

    @property
    def closed(self) -> bool:
        """Whether features that are no columns yet are left out from now on."""
        return self._limit.closed

    @property
    def n_features(self) -> int:
        """One more than the largest feature seen."""
        return self._learned.standard.n_features

    @property
    def nbytes(self) -> int:
        """The memory that the matrices and the held rows take."""
        known = self._learned.known
        arrays = (known.W, known.P, *known.G, *known.M)
        return sum(array.nbytes for array in arrays) + self._held.nbytes

    @property
    def _before(self) -> int:
        """The number of rows before the block."""
        return self.clock - self._held.count

    # -- learning ------------------------------------------------------------------------------

    def learn(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        order: NDArray[np.int64] | None = None,
        scores: Floats | None = None,
        limits: Floats | None = None,
        stops: Sequence[int] | NDArray[np.int64] | None = None,
        offsets: Floats | None = None,
    ) -> Floats | None:
        """Learn from rows, as `polyak.learn.bank.Bank.learn` does, with models in the same order.

        Parameters
        ----------
        X : array or SparseRows, finite
        y : numbers, -1 and +1, or class numbers, of shape (rows,) or (rows, outputs)
        sample_weight : array of shape (rows,), optional
            All weights must be positive.
        order : array of int, optional
            Which rows to learn, in which order.
        scores : float64 array of shape (rows to learn, models), optional
            Receives the scores of each row by the weights before its block.
        limits : float64 array of shape (rows to learn, 2), optional
            Each row's cap and share where candidates are compared.
        stops : array of int, optional
            After how many of the rows an interval of the race ends. The sums of each interval are
            returned, of shape (stops, sums, models).
        offsets : float64 array of shape (rows,), optional
            What is added to all scores of each row, if the objective has offsets.
        """
        rows, targets = in_core_types(as_rows(X)), np.asarray(y)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        total = len(rows) if order is None else len(order)
        if weights is not None and not weights[slice(None) if order is None else order].all():
            raise ValueError("rows of weight zero must be left out beforehand")
        notes: list[Floats] = []
        ends = [] if stops is None else [int(stop) for stop in stops]
        with one_blas_thread():
            done = 0
            for end in [*ends, total]:
                while done < end and self.left is None:
                    take = min(end - done, self._segment_end() - self._held.count)
                    here = slice(done, done + take)
                    some: Any = here if order is None else order[here]
                    part = _Part(
                        rows[here] if order is None else taken(rows, some),
                        targets[some],
                        None if weights is None else weights[some],
                        None if limits is None else limits[here],
                        None if offsets is None else offsets[some],
                        None if scores is None else scores[here],
                    )
                    self._learn_part(part)
                    done += take
                if len(notes) < len(ends):
                    notes.append(self.sums())
                    self.start_interval()
        return None if stops is None else np.array(notes).reshape(-1, *self._scorer.totals.shape)

    def _segment_end(self) -> int:
        """Return the next number of held rows at which they are scored, or learned."""
        return min(self._scorer.segment_end, self._block_end())

    def _block_end(self) -> int:
        """Return the number of held rows at which weights are refitted, or their block is full."""
        features = len(self._learned.standard)
        return self._cadence.rows_until_fit(self._before, self._held.block, features)

    def _learn_part(self, part: _Part) -> None:
        """Learn rows that do not go beyond the end of a segment."""
        took = self._take(part)
        begin, own = self._held.count - took, None
        if part.scores is not None:
            own = part.scores[:took] = self._scores(begin)
        if took == len(part.rows):
            self._advance(own if begin == self._scorer.counted else None)
        elif self._limit.close(self._held.features(), self._learned.standard.features):
            self._learn_part(part.cut(slice(took, None)))
        else:
            self._leave(TOO_MANY)

    def _take(self, part: _Part) -> int:
        """Hold rows until their block is full; return how many there were columns for."""
        left_out = self._hold(part)
        if left_out and not self.closed:  # there are new features
            self._held.take_back(len(part.rows))
            standard = self._learned.standard
            take = self._limit.admit(standard, part.rows)
            if take < len(part.rows):
                part = part.cut(slice(take))
                self._limit.admit(standard, part.rows)
            left_out = self._hold(part)
        self._limit.left_out += left_out
        self.clock += len(part.rows)
        return len(part.rows)

    def _hold(self, part: _Part) -> int:
        """Hold rows; return the number of values that have no column."""
        self._allocate(bits_of(part.rows))
        targets = self.objective.signs(part.targets)
        own = (targets, part.weights, part.limits, part.offsets, self._learned.standard)
        return self._held.add(part.rows, *own, threads=self.threads)

    def _allocate(self, bits: int | None = None) -> None:
        """Allocate space for another row, and if none is held, for a block."""
        own = (len(self._learned.standard), self.widest, self._before, self._cadence)
        self._held.allocate(*own, bits)

    def _scores(self, begin: int) -> Floats:
        return self._scorer.scores(self._learned.known, self._held, begin, self.threads)

    def _count(self, scores: Floats | None = None) -> None:
        """Add the held rows' losses to the sums."""
        if self._held.count > self._scorer.counted:
            own = (self._learned.known, self._held, self._before, self.threads)
            self._scorer.count(*own, scores)

    def _advance(self, scores: Floats | None) -> None:
        """Score the held rows at the end of a segment; refit the weights at the end of a block."""
        held = self._held.count
        if held < self._segment_end():
            return
        self._count(scores)
        if held < self._block_end():
            return
        # The sums of squared error need no rows, unless intervals need their slopes.
        needs_rows = bool(self._learned.known.M) or not self.objective.exact
        provisional = needs_rows and held < self._held.block
        counts, others = None, self._limit.left_out
        most = self._limit.most_kept(self._learned.standard.features)
        if self.closed and not provisional and len(self._learned.standard) > most:
            counts = np.count_nonzero(self._held.features(), axis=0)
        self._fit(provisional=provisional)
        if counts is not None and self.left is None:
            self._keep_frequent(counts[: len(self._learned.standard)], held, others, most)

    def _keep_frequent(self, counts: NDArray[np.int64], rows: int, others: int, most: int) -> None:
        """Keep the features that were in most rows of a block, now that there are too many."""
        places = frequent_places(counts, rows, most, others)
        if places is None:
            self._leave(TOO_MANY)
        else:
            self._learned = self._learned.kept(places)
            self._allocate()

    # -- the fit -------------------------------------------------------------------------------

    def _fit(self, *, provisional: bool, tolerance: float = TOLERANCE, alone: bool = False) -> None:
        """Refit the weights to all rows so far; unless it is provisional, forget the held rows.

        The held rows of a provisional fit are fitted again with the next ones, so that the weights
        of the first block are the batch optimum of all its rows.
        """
        learned, features = self._learned, self._held.features()[:, : len(self._learned.standard)]
        learned.standard.find_spreads(features, self.threads)
        if not self._before and self.objective.fit_intercept:
            mean = features.mean(axis=0, dtype=np.float64)
            squares = np.einsum("ij,ij->j", features, features) / len(features)
            shift = learned.move_centres(mean, squares - mean * mean)
            if shift.any():
                features -= shift
        counted = replace(
            learned,
            standard=learned.standard.with_rows(features, self.threads),
            weight=learned.weight + self._held.total_weight(),
        )
        due, start = self._cadence.is_due(self.clock, len(learned.standard)), None
        due = due or learned.smoothing is not None
        if self._before and not (self.objective.softmax or self.objective.exact):
            start = self._scores(0).reshape(self._held.count, -1, self.objective.outputs)
        fit = Fit(
            objective=self.objective,
            held=self._held,
            before=learned.padded(),
            penalty=counted.penalty(),
            lead=self.lead,
            rows=self.clock,
            threads=self.threads,
            start=start,
            due=due,
            provisional=provisional and learned.smoothing is None,
            tolerance=tolerance,
            alone=alone and learned.smoothing is None,
        )
        known = fit.information()
        if known.is_finite() and learned.smoothing is not None:
            if not provisional or self.clock >= FEWEST:
                counted.smoothing, known = self._smoothed(counted, known)
            if provisional:
                assert counted.smoothing is not None
                penalties = counted.smoothing.penalties
                learned.smoothing = replace(learned.smoothing, penalties=penalties)
                known = learned.padded().moved_to(known.W)
        if not known.is_finite():
            self._leave("its numbers are too large")
            return
        if get_loss(self.objective.loss).log_link:
            known = self._scorer.reaching(known, self._held, self.threads)
        learned.known = counted.known = known
        if due or not self.objective.exact:
            self._cadence.fitted = self.clock
        if self.objective.intervals:
            own = known.W[:, self.objective.smallest]
            self._earlier = remembered(self._earlier, self.clock, own, self._learned.standard)
        if not provisional:
            self._learned = counted
            self._begin_block()
            if self.objective.fit_intercept:
                counted.centre()

    def _smoothed(self, learned: Learned, known: Information) -> tuple[Smoothing, Information]:
        """Return better penalties of terms, the held rows counted in the dispersion."""
        smoothing, held = learned.smoothing, self._held
        assert smoothing is not None
        freedom = smoothing.freedom(known, learned.standard).sum() / self.objective.outputs
        scores = self._scorer.products(known, held, 0, self.threads)
        kept = max(1.0 - freedom / max(self.clock, 1), 0.1)
        loss = self.objective.smooth_loss(self.clock, len(known))
        own = (scores, held.targets(), held.weights(), kept)
        return smoothing.counted(loss, *own).refitted(known, learned.standard, learned.weight)

    def _begin_block(self) -> None:
        self._held.forget()
        self._scorer.begin_block()
        self._limit.left_out = 0
        self._allocate()

    def _leave(self, why: str) -> None:
        """Leave the race, keeping nothing but the sums."""
        if self._held.count > self._scorer.counted:
            self._scorer.totals = self.sums()
        self.left = why
        self._forget_everything(self.objective)

    # -- the scores of rows ----------------------------------------------------------------------

    def sums(self) -> Floats:
        """Return each model's sums since the last milestone, as `bank.settings.SUMS` lists them."""
        with one_blas_thread():
            return self._scorer.sums(self._learned.known, self._held, self.threads)

    def continue_sums(self, sums: Floats) -> None:
        """Take over the sums of another solver that has learned the same rows."""
        with one_blas_thread():
            self._count()
        self._scorer.totals = sums

    @property
    def dispersion(self) -> float:
        """The dispersion of the rows so far, where terms have penalties of their own."""
        smoothing = self._learned.smoothing
        return 1.0 if smoothing is None else smoothing.dispersion

    @property
    def freedom(self) -> Floats:
        """The effective degrees of freedom of each term, the mean of all outputs."""
        learned = self._learned
        assert learned.smoothing is not None
        return learned.smoothing.freedom(learned.known, learned.standard) / self.objective.outputs

    def start_interval(self) -> None:
        """Begin a new interval of the race: its sums are zero."""
        if self.left is None:
            with one_blas_thread():
                self._count()
        self._scorer.restart()

    @property
    def rows_a_weight(self) -> float:
        """The number of rows for each weight that is found together with others."""
        learned = self._learned
        return self.clock / max(learned.columns * learned.known.outputs_each, 1)

    def can_leave_out(self, rows: int, most: float = MOST_WORK) -> bool:
        """Whether `leaving_out` is worth its cost, at most this many multiplications."""
        columns = len(self._learned.standard)
        if self.objective.softmax:
            size = (self.objective.outputs - 1) * columns
            return is_cheap(rows, size, len(self.objective.penalties), most)
        return is_cheap(rows, min(rows, columns), len(self), most)

    def leaving_out(
        self,
        X: Rows,
        y: ArrayLike,
        sample_weight: Floats | None,
        offsets: Floats | None = None,
        times: float = 1.0,
    ) -> LeftOutScores:
        """Return a function of places of penalties: the scores of rows by weights without them.

        The rows are all that were learned, or a sample of them in which each stands for ``times``
        as many.
        """
        learned, targets = self._finished()._learned, self.objective.signs(np.asarray(y))
        scores = learned.leaving_out(X, targets, sample_weight, offsets, times)
        if self.objective.counts_own_class and not self.objective.softmax:
            return lambda places: normalised_odds(scores(places))
        return lambda places: learned.known.within_reach(scores(places), offsets, places)

    def losses_of(self, scores: Floats, y: ArrayLike) -> Floats:
        """Return the loss of rows that have these scores, summed over the outputs."""
        signs = self.objective.signs(np.asarray(y))
        with np.errstate(over="ignore"):
            losses = get_loss(self.objective.loss).value(scores, signs)
        if self.objective.counts_own_class:
            losses = np.where(signs > 0, losses, 0.0)
        return np.asarray(losses.sum(1))

    def sums_of(
        self, scores: Floats, y: ArrayLike, sample_weight: Floats | None, limits: Floats
    ) -> Floats:
        """Return the sums of rows that have these scores, as `bank.settings.SUMS` lists them.

        Scores have the shape (rows, places, outputs), the sums a column per place and output.
        """
        weights = np.ones(len(scores)) if sample_weight is None else sample_weight
        signs = self.objective.signs(np.asarray(y))
        return progressive_sums(self.objective, scores, signs, weights, limits)

    # -- what was learned ----------------------------------------------------------------------

    def weights(
        self, n_features: int | None = None, *, place: int | None = None, dtype: Any = np.float64
    ) -> tuple[NDArray[Any], Floats]:
        """Return each model's weights, a row per model, and intercepts, all rows learned.

        With a place, only those of its penalty.
        """
        return self.learned().weights(n_features, place, dtype)

    def converged(
        self,
        X: Rows | ExpandedRows,
        y: ArrayLike,
        sample_weight: Floats | None,
        offsets: Floats | None = None,
    ) -> tuple[NewtonSolver, bool]:
        """Return a solver at the optimum of the smallest penalty, and whether that is finite.

        The rows are all that were learned, each once: see `polyak.learn.newton.converging`.
        """
        done = self._finished()
        if done.left is not None:
            return self, True
        learned, own = done._learned, self.objective
        shrink = learned.penalty().shrink[:, own.smallest]
        weights = np.ones(len(X)) if sample_weight is None else sample_weight
        rows = AllRows(X, learned, own.signs(np.asarray(y)), None, offsets, self.threads)
        # Basis functions are never absurd, so there is no need to expand rows for their norms.
        plain = replace(rows, X=X.rows) if isinstance(X, ExpandedRows) else rows
        rows = replace(rows, weights=usual_weights(plain.norms(), weights))
        loss = own.smooth_loss(len(X), learned.columns)
        with one_blas_thread():
            if learned.smoothing is not None:
                done._learned = terms_converged(loss, learned, rows)
                return done, True
            how = (rows, shrink, own.smallest)
            found, is_optimum = converged(loss, learned.padded(), *how, intervals=own.intervals)
            if not found.is_finite():
                if own.intervals and not learned.known.M:
                    done._leave("its numbers are too large")
                    return done, True
                return self, True
            done._learned = replace(learned, known=found)
            has_optimum = not has_no_optimum(found, rows, shrink)
            if has_optimum and not is_optimum:
                warnings.warn(NOT_CONVERGED, stacklevel=2)
            return done, has_optimum

    def sandwich(self) -> Sandwich | None:
        """Return the weights at the smallest penalty and their covariance, in the rows' units.

        It is None without intervals, and until rows that are at hand are all learned.
        """
        if not self._learned.known.M:
            return None
        done = self.learned()
        known, place = done.known, self.objective.smallest
        shrink = done.penalty().shrink[:, place]
        own = (known.W[:, place], known.G, known.M, shrink, self.clock)
        with one_blas_thread():
            return sandwich_of(done.standard, *own)

    def learned(self) -> Learned:
        """Return what is known once all rows are learned, those that are held too."""
        if self._done is None or self._done[0] is not self._learned or self._done[1] != self.clock:
            self._done = (self._learned, self.clock, self._finished()._learned)
        return self._done[2]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_done": None}  # it can be fitted again

    def drift(self, sandwich: Sandwich) -> tuple[int, float] | None:
        """Return since how many rows weights have moved, and how far in standard errors."""
        return drift(self._earlier, self.clock, sandwich)

    def _finished(self) -> NewtonSolver:
        """Return a solver that has learned the held rows, too: itself, or a copy."""
        if self.left is not None:
            raise ValueError(f"this solver has left the race: {self.left}")
        if not (self._held.count or self.objective.exact):
            return self
        done = self._copy(to_change=not self._before or not self._learned.standard.spread.all())
        with one_blas_thread():
            done._count()
            if done._held.count:
                done._fit(provisional=False)
            if self.objective.exact and done.left is None:
                own = (done._learned.padded(), done._learned.penalty())
                done._learned.known = exact_weights(*own)
        return done

    def _copy(self, *, to_change: bool) -> NewtonSolver:
        """Return a copy; unless the held rows are ``to_change``, they are shared."""
        other = copy.copy(self)
        other._learned, other._cadence = self._learned.copy(), copy.copy(self._cadence)
        other._scorer, other._limit = copy.copy(self._scorer), copy.copy(self._limit)
        other._held = self._held.copy(to_change=to_change)
        return other

    # -- stopping, going on, dropping out, and learning in parts -------------------------------

    def state(self) -> tuple[Page, Arrays]:
        """Return all that learning changes as a JSON-serialisable dict and a dict of arrays."""
        page: Page = {
            "clock": self.clock,
            "counted": self._scorer.counted,
            "block": self._held.block,
            "fitted": self._cadence.fitted,
            "closed": self.closed,
            "left_out": self._limit.left_out,
            "weight": self._learned.weight,
            "earlier": [rows for rows, _ in self._earlier],
        }
        smoothing = self._learned.smoothing
        if smoothing is not None:
            page["dispersion"] = [smoothing.squares, smoothing.curvature]
        arrays = {"totals": self._scorer.totals.copy(), "lately": self._scorer.recent.copy()}
        columns = self._learned.standard.state().items()
        arrays |= {f"earlier.{k}": slopes for k, (_, slopes) in enumerate(self._earlier)}
        arrays |= {f"column.{name}": array for name, array in columns}
        arrays |= self._learned.known.state()
        if smoothing is not None:
            arrays["smoothing"] = smoothing.penalties.copy()
        return page, arrays | self._held.state(self._learned.columns)

    def set_state(self, stored: StoredState, n_features: int | None = None) -> None:
        """Restore what ``state`` returned, to the last bit as if there had been no stop.

        Features are below ``n_features``, if that is known. ValueError if the state is corrupt.
        """
        self.left, self.clock = None, stored.whole("clock")
        self._cadence.fitted = stored.whole("fitted", most=self.clock)
        self._limit.closed = stored.flag("closed")
        self._limit.left_out = stored.whole("left_out")
        scorer, learned, first = self._scorer, self._learned, int(self.objective.fit_intercept)
        scorer.totals = stored.array("totals", scorer.totals.shape, least=-np.inf)
        scorer.recent = stored.array("lately", scorer.recent.shape, least=-np.inf)
        learned.weight = stored.number("weight")
        learned.standard.set_state(stored.part("column"), n_features)
        learned.known = learned.known.from_state(stored)
        if learned.smoothing is not None:
            penalties = stored.array("smoothing", (None,), least=0.0)
            sums = [float(one) for one in stored.field("dispersion")]
            learned.smoothing = replace(
                learned.smoothing, penalties=penalties, squares=sums[0], curvature=sums[1]
            )
        most, known = learned.columns, len(learned.known)
        stored.require(first <= known <= most, "weights", f"cannot have {known} rows")
        block = stored.whole("block", least=BLOCK, most=LONG_BLOCK)
        self._held.set_state(stored.part("held"), most, block)
        stored.require(self._before >= 0, "clock", f"is below the {self._held.count} rows held")
        scorer.counted = stored.whole("counted", most=self._held.count)
        self._earlier = []
        for number, then in enumerate(stored.field("earlier")):
            stored.require(0 < then <= self.clock, "earlier", f"cannot be of row {then}")
            shape = (None, self.objective.outputs)
            slopes = stored.array(f"earlier.{number}", shape, least=-np.inf)
            self._earlier.append((then, slopes))
        if len(self._learned.standard) > self.widest:  # there are more classes than there were
            self._leave(TOO_MANY)

    def select(self, penalties: Sequence[int] | NDArray[np.int64]) -> NewtonSolver:
        """Return a solver of only these penalties, by their places, each as it stands.

        Intervals are at the smallest of those that are left, so keep it where they are wanted.
        """
        keep = [int(place) for place in penalties]
        chosen = self._copy(to_change=True)
        chosen._scorer, chosen._learned = self._scorer.select(keep), self._learned.select(keep)
        return chosen

    def merge(self, others: Sequence[NewtonSolver], base: NewtonSolver | None = None) -> None:
        """Become what this solver and others learned together, each from rows of its own.

        Information adds up, see `Information.added`. Where all went on from the same solver,
        ``base``, what it knew counts once. For squared error the result is that of one solver which
        learned all rows.
        """
        everyone = [self, *others, *([] if base is None else [base])]
        penalties = [one.objective.penalties.tolist() for one in everyone]
        if any(own != penalties[0] for own in penalties):
            raise ValueError("only solvers of the same penalties can be merged")
        for one in everyone:
            if one.left is not None:
                self._leave(one.left)
                return
        signs = [1.0] * (1 + len(others)) + ([] if base is None else [-float(len(others))])
        solvers = [one._finished() for one in everyone]
        parts = [one._learned for one in solvers]
        if any(one.closed for one in solvers):
            parts = _with_common_features(parts)
            self._limit.closed = True
        with one_blas_thread():
            merged = Learned.merged(parts, signs)
        if len(merged.standard) > self.widest:
            self._leave(TOO_MANY)
            return

        def total(values: Sequence[Any]) -> Any:
            signed = [sign * value for sign, value in zip(signs, values, strict=True)]
            return sum(signed[1:], start=signed[0])

        self._learned = merged
        self.clock = int(total([one.clock for one in solvers]))
        self._scorer.recent = total([one._scorer.recent for one in solvers])
        self._cadence.fitted = self.clock
        self._scorer.restart()
        self._earlier = []
        self._begin_block()


def _with_common_features(parts: Sequence[Learned]) -> list[Learned]:
    """Return what each has learned of the features that all of them know."""
    known = [set(one.standard.features.tolist()) for one in parts]
    common = np.array(sorted(set.intersection(*known)), dtype=np.int64)
    return [one.kept(one.standard.places(common)) for one in parts]

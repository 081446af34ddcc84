"""How the lane learns: rows are held until their block is full, scored meanwhile, then fitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyak.learn.newton.block.one_thread import one_blas_thread
from polyak.learn.newton.block.penalty import Ridge, Sparsity, check_penalties
from polyak.learn.newton.cadence import GROWTH, GROWTH_OF_SPARSE, Cadence
from polyak.learn.newton.fitting import (
    INTERCEPT,
    fit_curved,
    fit_exactly,
    newton_steps,
    shrink_of,
    weights_of,
    weights_of_few,
)
from polyak.learn.newton.frequent import (
    MOST,
    ROWS_THAT_SHOW,
    are_frequent,
    frequent_features,
    frequent_places,
    too_many_to_come,
    without_others,
)
from polyak.learn.newton.held_rows import BLOCK, LONG_BLOCK, HeldRows
from polyak.learn.newton.information import Information
from polyak.learn.newton.limits import PENALTIES, WIDEST, most_features
from polyak.learn.newton.progressive import SUMS
from polyak.learn.newton.sandwich import remembered
from polyak.learn.newton.scoring import NOT_SCORED, BlockScoring
from polyak.learn.newton.softmax import learn_classes
from polyak.learn.newton.standardize import Standard
from polyak.losses import Loss, get_loss
from polyak.rows.sparse import Rows, SparseRows, as_rows
from polyak.rows.taken import SomeRows, bits_of, taken

Floats = NDArray[np.float64]

NOTHING = "the first rows have no feature, and there is no intercept"
TOO_MANY = "there are too many features"
"""Why the lane leaves, as a rule."""
FAR = 100.0
"""A centre is moved where the mean is so many spreads and standard deviations from it."""


class BlockLearning(BlockScoring):
    """What `polyak.learn.newton.solver.NewtonSolver` does as long as rows come."""

    def __init__(
        self,
        loss: str,
        first_rows: Rows,
        *,
        penalties: Sequence[float] = PENALTIES,
        outputs: int = 1,
        one_vs_rest: bool = False,
        fit_intercept: bool = True,
        intervals: bool = False,
        softmax: bool = False,
        together: bool = False,
        sparsity: Sparsity | None = None,
        widest: int = WIDEST,
    ) -> None:
        if not get_loss(loss).has_curvature:
            raise ValueError(f"Newton's step needs a curvature, which {loss!r} does not have")
        check_penalties(penalties, sparsity)
        self.loss, self.exact = loss, loss == "squared_error"
        self.penalties: Floats = np.array(penalties, dtype=np.float64)
        self.outputs, self.one_vs_rest, self.sparsity = outputs, one_vs_rest, sparsity
        self.fit_intercept, self.intervals, self.softmax = fit_intercept, intervals, softmax
        self.together = together or softmax
        self._is_ridge = sparsity is None or sparsity.is_ridge
        most = most_features(loss, outputs, intervals=intervals, together=softmax)
        self.widest = min(widest, most)
        self._weight = 0.0  # of all rows that were learned and forgotten
        self.left: str | None = None
        self.closed = False  # features that are no columns yet are left out from now on
        self._left_out = 0  # how often, since the block began
        self.clock, self.threads = 0, 1
        self._learned_again = 0  # rows of the clock that were not scored: they had been seen before
        self._first_block = True
        self._cadence = Cadence(GROWTH if self._is_ridge else GROWTH_OF_SPARSE)
        self._counted = 0  # held rows that are in the sums
        self._bits = 64  # of the values of the last rows
        self._totals: Floats = np.zeros((len(SUMS), len(self)))
        self._lately: Floats = np.zeros(len(self.penalties))
        self._earlier: list[tuple[int, Floats]] = []  # rows and weights then, for intervals
        self.standard: Standard
        self._held: HeldRows
        self._known: Information
        self._forget_everything()
        if not self._chose_features(first_rows):
            self._leave(TOO_MANY)
            return
        self.standard.calibrate(first_rows)
        self._known = self._known.padded(self._columns)
        if len(first_rows) and not self._columns:
            self._leave(NOTHING)
            return
        self._make_room()

    def _chose_features(self, first_rows: Rows) -> bool:
        """Make columns of the features of the first rows, or of some; not if they are too many."""
        too_many = self._has_room(first_rows) < len(first_rows)
        more = too_many or too_many_to_come(first_rows, self.widest)
        chosen = frequent_features(first_rows, self.widest) if more and self._may_close() else None
        if chosen is not None:
            self.standard, self.closed = Standard(fit_intercept=self.fit_intercept), True
            self.standard.add(chosen)
        return self.closed or not too_many

    def __len__(self) -> int:
        return len(self.penalties) * self.outputs

    @property
    def nbytes(self) -> int:
        """How much memory the matrices and the held rows take."""
        known = self._known
        arrays = (known.W, known.P, *known.G, *known.M)
        return sum(array.nbytes for array in arrays) + self._held.nbytes

    @property
    def _columns(self) -> int:
        return int(self.fit_intercept) + len(self.standard)

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
        again: bool = False,
        stops: Sequence[int] | NDArray[np.int64] | None = None,
    ) -> Floats | None:
        """Learn from rows, as `polyak.learn.bank.Bank.learn` does, with models in the same order.

        Parameters
        ----------
        X : array or SparseRows, finite
        y : numbers, -1 and +1, or class numbers, of shape (rows,) or (rows, outputs)
        sample_weight : array of shape (rows,), optional
            A row of weight zero is not there.
        order : array of int, optional
            Which rows to learn, in which order.
        scores : float64 array of shape (rows to learn, models), optional
            Receives the scores of each row by the weights before its block.
        limits : float64 array of shape (rows to learn, 2), optional
            Each row's cap and share where candidates are compared.
        again : bool
            The rows were learned before, so they are not scored.
        stops : array of int, optional
            After how many of the rows an interval of the race ends. The sums of each interval are
            returned, of shape (stops, sums, models).
        """
        rows, targets = as_rows(X), np.asarray(y)
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
                    part: Any = slice(done, done + take)
                    out = None if scores is None else scores[part]
                    part = part if order is None else order[part]
                    some = rows[part] if order is None else taken(rows, part)
                    own = None if weights is None else weights[part]
                    most = None if limits is None else limits[done : done + take]
                    self._learn_part(some, targets[part], own, most, out, again=again)
                    done += take
                if len(notes) < len(ends):
                    notes.append(self.sums())
                    self.start_interval()
        return None if stops is None else np.array(notes).reshape(-1, *self._totals.shape)

    def _learn_part(
        self,
        rows: SomeRows,
        targets: NDArray[Any],
        weights: Floats | None,
        limits: Floats | None,
        scores: Floats | None,
        *,
        again: bool,
    ) -> None:
        """Learn rows that do not go beyond the end of a segment."""
        took = self._take(rows, targets, weights, limits, again=again)
        begin, own = self._held.count - took, None
        if scores is not None:
            own = scores[:took] = self._scores(begin)
        if took == len(rows):
            self._advance(own if begin == self._counted else None)
        elif self._may_close():
            self.closed = True
            rest = slice(took, None)
            own = None if weights is None else weights[rest]
            most = None if limits is None else limits[rest]
            out = None if scores is None else scores[rest]
            self._learn_part(rows[rest], targets[rest], own, most, out, again=again)
        else:
            self._leave(TOO_MANY)

    def _may_close(self) -> bool:
        """Whether to go on with the features there are; the held rows show what they cover.

        Where the weights themselves are asked for, all of them are, and which are to be exactly
        zero is not known beforehand.
        """
        if self.for_inference or not self._is_ridge:
            return False
        few = self._held.count < ROWS_THAT_SHOW
        return few or are_frequent(self._held.features(), self.widest)

    def _has_room(self, rows: SomeRows) -> int:
        """Make columns of new features; say how many rows come before there are too many."""
        same = not isinstance(rows, SparseRows) and rows.shape[1] == len(self.standard)
        if self.closed or same:
            return len(rows)
        new, row = self.standard.appearing(rows)
        room = self.widest - len(self.standard)
        if len(new) > room:
            return int(row[room])
        if len(new):
            self.standard.add(new)
        return len(rows)

    def _take(
        self,
        rows: SomeRows,
        targets: NDArray[Any],
        weights: Floats | None,
        limits: Floats | None,
        *,
        again: bool,
    ) -> int:
        """Hold rows until their block is full; return for how many there was room."""
        take = self._has_room(rows)
        if take < len(rows):
            rows, targets = rows[:take], targets[:take]
            weights = None if weights is None else weights[:take]
            limits = None if limits is None else limits[:take]
            self._has_room(rows)
        self._bits = bits_of(rows)
        self._make_room()
        own, fresh = (rows, self._signs(targets), weights, limits), not again
        self._left_out += self._held.add(*own, self.standard, fresh=fresh, threads=self.threads)
        self.clock += take
        self._learned_again += take if again else 0
        return take

    def _advance(self, scores: Floats | None) -> None:
        held = self._held.count
        if held == self._segment_end():
            if held > self._counted:
                self._count_segment(scores)
            if held == self._block_end():
                # The sums of squared error need no rows, unless intervals need their slopes.
                needs_rows = self.intervals or not self.exact
                provisional = needs_rows and held < self._held.block
                thins = self.closed and not provisional and len(self.standard) > MOST
                counts = np.count_nonzero(self._held.features(), axis=0) if thins else None
                others = self._left_out
                self._fit(provisional=provisional)
                if counts is not None and self.left is None:
                    self._keep_frequent(counts[: len(self.standard)], held, others)

    def _keep_frequent(self, counts: NDArray[np.int64], rows: int, others: int) -> None:
        """Keep the features that were in most rows of a block, now that there are too many."""
        places = frequent_places(counts, rows, self.widest, others)
        if places is None:
            self._leave(TOO_MANY)
        else:
            self._only(places)

    def _only(self, places: NDArray[np.int64]) -> None:
        """Give up all columns but these, no row being held."""
        first = np.arange(int(self.fit_intercept))
        columns = np.concatenate([first, len(first) + places])
        self._known = without_others(self._known.padded(self._columns), columns)
        self.standard = self.standard.kept(places)
        self._known = Information.added([self._known], [1.0], self._penalty(self.standard))
        self._make_room()

    # -- the fit -------------------------------------------------------------------------------

    def _fit(self, *, provisional: bool) -> None:
        """Refit the weights to all rows so far; unless it is provisional, forget the held rows.

        The held rows of a provisional fit are fitted again with the next ones, so that the weights
        of the first block are the batch optimum of all its rows.
        """
        features = self._held.features()[:, : len(self.standard)]
        self.standard.find_spreads(features, self.threads)
        if self._first_block and self.fit_intercept:
            wide = np.float64
            features -= self._move_centres(features.mean(axis=0, dtype=wide), features.var(axis=0))
        counted = self.standard.with_rows(features, self.threads)
        before = self._known.padded(self._columns)
        weight = self._weight + self._held.total_weight()
        known = self._found(before, self._penalty(counted, weight), provisional=provisional)
        if not known.is_finite():
            self._leave("its numbers are too large")
            return
        self._known = known
        if not self.exact or self._is_due():
            self._cadence.fitted = self.clock
        if self.intervals:
            own = known.W[:, self.smallest]
            self._earlier = remembered(self._earlier, self.clock, own, self.standard)
        if not provisional:
            self.standard, self._weight = counted, weight
            self._begin_block()
            if self.fit_intercept:
                G = known.summed_hessian()
                mean, square = (part[1:] / max(G[0, 0], 1e-300) for part in (G[0], np.diagonal(G)))
                self._move_centres(mean, square - mean * mean)

    def _is_due(self) -> bool:
        return self.clock >= self._cadence.next_fit(len(self.standard))

    def _found(self, before: Information, penalty: Ridge, *, provisional: bool) -> Information:
        """Give what is known of all rows; with a provisional fit nothing but weights is new."""
        held, lead, shrink = self._held, self.lead, penalty.shrink
        rows = held.count if self._first_block else self.clock
        if self.exact:
            due = self.intervals or self._is_due()
            known = fit_exactly(held, before, penalty, lead, self.threads, due=due)
            return before.with_weights(known.W) if provisional else known
        dense, few = self._is_ridge, self._first_block and held.count < len(before)
        if provisional and few and dense and not self.softmax:
            own = (self._newton_loss(held.count), held, before.W)
            return before.with_weights(weights_of_few(*own, shrink, self.penalties, lead))
        if self.softmax:
            sizes = self.penalties, lead, rows, self.threads
            return learn_classes(held, before, shrink, *sizes, provisional=provisional)
        start = self._block_scores()
        if self.sparsity is not None and self.sparsity.positive:
            before, start = before.moved_to(self._not_negative(before.W)), None
        how = (self._newton_loss(rows), held, before, penalty)
        keep = not (provisional or self.intervals)  # else nobody asks for the steps' matrix
        steps = newton_steps(*how, start, lead, rows, self.threads, keep, thin=dense)
        return before.moved_to(weights_of(steps)) if provisional else fit_curved(*how, steps)

    def _newton_loss(self, rows: float) -> Loss:  # the loss, or one without corners
        return get_loss(self.loss).for_newton(rows, self._columns)

    def _shrink(self, standard: Standard) -> Floats:
        return shrink_of(standard, self.penalties, exact=self.exact)

    def _penalty(self, standard: Standard, weight: float | None = None) -> Ridge:
        """Give the penalty of all losses, of so much weight; by default of those forgotten."""
        shrink = self._shrink(standard)
        if self.sparsity is None:
            return Ridge(shrink)
        rows, least = self._weight if weight is None else weight, 0.0 if self.exact else INTERCEPT
        return self.sparsity.penalty(shrink, self.penalties, rows, standard, least)

    def _not_negative(self, W: Floats) -> Floats:
        first = int(self.fit_intercept)
        return np.concatenate([W[:first], np.maximum(W[first:], 0.0)])

    def _begin_block(self) -> None:
        self._held.forget()
        self._scored = NOT_SCORED
        self._counted = 0
        self._first_block = False
        self._left_out = 0
        self._make_room()

    def _move_centres(self, mean: Floats, variance: Floats) -> Floats:
        """Move the centres that rows have left behind, where cancellation would eat their digits.

        Gives how far each was moved, in standard units.
        """
        reach = FAR * np.sqrt(np.maximum(variance, 1.0))
        shift = np.where(np.abs(mean) > reach, mean, 0.0)
        if shift.any():
            moved = self.standard.moved(shift)
            self._known = self._known.padded(self._columns).in_units(self.standard, moved)
            self.standard = moved
        return shift

    # -- leaving ---------------------------------------------------------------------------------

    def _leave(self, why: str) -> None:
        """Leave the race, keeping nothing but the sums."""
        if self._held.count > self._counted:
            self._totals = self.sums()
        self.left = why
        self._counted = 0
        self._forget_everything()

    def _forget_everything(self) -> None:
        self._scored = NOT_SCORED
        self.standard = Standard(fit_intercept=self.fit_intercept)
        longest = BLOCK if self.exact or self._is_ridge else LONG_BLOCK
        coarse = self.loss == "log_loss" and not (self.softmax or self.sparsity)
        coarse = coarse and not self.for_inference
        self._held = HeldRows(self.outputs, self.fit_intercept, self.exact, longest, coarse)
        self._known = Information.none(
            int(self.fit_intercept),
            len(self.penalties),
            self.outputs - int(self.softmax),
            exact=self.exact,
            intervals=self.intervals,
            together=self.softmax,
        )

"""A lane of block Newton steps: one pass to the batch optimum, where features are few.

Averaged SGD needs a number of rows that grows with how badly conditioned they are. Where a matrix
of features by features fits, a block of rows can instead be learned by Newton's step, with all rows
before it summed up by a quadratic: see `polyak.learn.newton.step`. Squared error is then exact.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyak.learn.newton.held_rows import HeldRows
from polyak.learn.newton.information import Information
from polyak.learn.newton.progressive import SUMS, progressive_sums
from polyak.learn.newton.sandwich import drift, gram_at, remembered, sandwich_of, slope_spread
from polyak.learn.newton.standardize import Standard
from polyak.learn.newton.step import (
    Block,
    Past,
    definite,
    gram,
    learn_block,
    one_blas_thread,
    solve,
)
from polyak.rows.sparse import Rows, SparseRows, as_rows, take_rows
from polyak.storage.sandwich import Sandwich

Floats = NDArray[np.float64]

LOSSES = ("squared_error", "log_loss", "squared_hinge")
"""Those that have a curvature."""
PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""Precisions of the weights beforehand, in rows: features vary by about one where they vary.

Where the scores' variance is v, that of the weights of d features is about v/d, so the best penalty
is near d/v. Large ones are for features that say little; small ones for a few that say all.
"""
WIDEST = 512
"""How many features there may be, if there is one matrix: its products cost a row their square.

With 100 features a race of it and averaged SGD takes twice the time of averaged SGD alone, with 300
almost four times.
"""
FIRST_FIT = 64
"""Weights are first found after so many rows, then at every doubling until a block is full.

Up to then all rows are held, so that each time it is the batch optimum of them all.
"""
SEGMENT = 1024
"""So many rows are scored at a time, counted from the last change of weights."""
INTERCEPT = 1e-8
"""The intercept's share of the penalty, where a loss might not hold it otherwise."""
FAR = 100.0
"""A centre is moved where the mean is so many spreads and standard deviations from it."""


def most_features(loss: str, outputs: int, *, intervals: bool = False) -> int:
    """Say how many features there may be: the squares of them take memory and time.

    Examples
    --------
    >>> most_features("squared_error", 10), most_features("log_loss", 100)
    (512, 51)
    """
    matrices = (1 if loss == "squared_error" else outputs) + (outputs if intervals else 0)
    return math.isqrt(WIDEST * WIDEST // matrices)


class NewtonLane:
    """Linear models of several penalties, learned block by block from the same rows.

    Up to the first full block all rows are kept, and the model is the batch optimum of them all.
    Whatever the batches were, blocks are counted from the first row, products are of the same
    shapes and in one thread: the result is the same to the last bit.

    Parameters
    ----------
    loss : "squared_error", "log_loss" or "squared_hinge"
    first_rows : array or SparseRows
        The rows that centres and spreads are taken from; they are not learned here.
    penalties : sequence of float
        In rows: a penalty of 10 weighs as much as ten rows that say that a weight is zero.
    outputs : int
        The columns of the targets, or the classes.
    one_vs_rest : bool
        Targets are class numbers.
    fit_intercept : bool
    intervals : bool
        Keep what standard errors at the smallest penalty need: another matrix.
    widest : int
        How many features there may be.

    Attributes
    ----------
    clock : int
        How many rows it has taken.
    left : str or None
        Why it has left the race, if it has: it has learned nothing since.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(1000.0, 1.0, size=(5000, 2))
    >>> y = X @ [1.0, 2.0] + 5.0
    >>> lane = NewtonLane("squared_error", X[:1000])
    >>> lane.learn(X, y)
    >>> coef, intercept = lane.weights()
    >>> coef[0].round(3), float(intercept[0].round(1))
    (array([1., 2.]), 5.0)
    """

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
        widest: int = WIDEST,
    ) -> None:
        if loss not in LOSSES:
            raise ValueError(f"Newton's step needs a curvature, which {loss!r} does not have")
        if not len(penalties) or not all(0 < tau < math.inf for tau in penalties):
            raise ValueError(f"penalties must be positive and finite, unlike {list(penalties)}")
        self.loss, self.exact = loss, loss == "squared_error"
        self.penalties: Floats = np.array(penalties, dtype=np.float64)
        self.outputs, self.one_vs_rest = outputs, one_vs_rest
        self.fit_intercept, self.intervals = fit_intercept, intervals
        self.widest = min(widest, most_features(loss, outputs, intervals=intervals))
        self.left: str | None = None
        self.clock = 0
        self._learned_again = 0  # rows of the clock that were not scored: they had been seen before
        self._first_block = True
        self._solved = 0  # rows of the first block at the last fit
        self._counted = 0  # held rows that are in the sums
        self._totals: Floats = np.zeros((len(SUMS), len(self)))
        self._lately: Floats = np.zeros(len(self.penalties))
        self._earlier: list[tuple[int, Floats]] = []  # rows and weights then, for intervals
        self.standard: Standard
        self._held: HeldRows
        self._known: Information
        self._forget_everything()
        if self._has_room(first_rows) < len(first_rows):
            self._leave("there are too many features")
            return
        self.standard.calibrate(first_rows)
        self._known = self._known.padded(self._columns)
        self._held.make_room(len(self.standard), self.widest)

    def __len__(self) -> int:
        return len(self.penalties) * self.outputs

    @property
    def nbytes(self) -> int:
        """How much memory the matrices and the held rows take."""
        known = self._known
        arrays = (known.W, known.P, *known.G, *known.M)
        return sum(array.nbytes for array in arrays) + self._held.nbytes

    @property
    def smallest(self) -> int:
        """The place of the smallest penalty, which intervals are taken at."""
        return int(np.argmin(self.penalties))

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
        again: bool = False,
        stops: Sequence[int] | NDArray[np.int64] | None = None,
    ) -> Floats | None:
        """Learn from rows, as `polyak.learn.bank.Bank.learn` does, with models in the same order.

        Parameters
        ----------
        X : array or SparseRows, finite
        y : array of shape (rows,) or (rows, outputs)
            Numbers, -1 and +1, or class numbers.
        sample_weight : array of shape (rows,), optional
            A row of weight zero is not there.
        order : array of int, optional
            Which rows to learn, in which order.
        scores : float64 array of shape (rows to learn, models), optional
            Receives the scores of each row by the weights before its block.
        again : bool
            The rows were learned before, so they are not scored.
        stops : array of int, optional
            After how many of the rows to note the sums.

        Returns
        -------
        notes : array of shape (stops, sums, models), or None without stops
        """
        rows, targets = as_rows(X), np.asarray(y)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        total = len(rows) if order is None else len(order)
        wanted = np.arange(total) if order is None else order
        if weights is not None and not weights[wanted].all():
            raise ValueError("rows of weight zero must be left out beforehand")
        notes = []
        ends = [] if stops is None else [int(stop) for stop in stops]
        done = 0
        while done < total or ends:
            if ends and ends[0] == done:
                notes.append(self.sums())
                ends.pop(0)
                continue
            take = min([total - done, *([ends[0] - done] if ends else [])])
            if self.left is not None:
                done += take
                continue
            take = min(take, self._segment_end() - self._held.count)
            part: Any = slice(done, done + take) if order is None else order[done : done + take]
            some = rows[part] if order is None else take_rows(rows, part)
            own = None if weights is None else weights[part]
            taken = self._take(some, targets[part], own, again=again)
            if scores is not None:
                self._give_scores(scores[done : done + taken], taken)
            if taken < take:
                self._leave("there are too many features")
            else:
                self._advance()
            done += take
        return None if stops is None else np.array(notes).reshape(-1, *self._totals.shape)

    def _segment_end(self) -> int:
        """Give the next number of held rows at which they are scored, or learned."""
        return min(self._counted + SEGMENT, self._block_end())

    def _block_end(self) -> int:
        if self._first_block:
            return min(max(2 * self._solved, FIRST_FIT), self._held.block)
        return self._held.block

    def _has_room(self, rows: Rows) -> int:
        """Make columns of new features; say how many rows come before there are too many."""
        if not isinstance(rows, SparseRows) and rows.shape[1] == len(self.standard):
            return len(rows)
        new, row = self.standard.appearing(rows)
        room = self.widest - len(self.standard)
        if len(new) > room:
            return int(row[room])
        if len(new):
            self.standard.add(new)
        return len(rows)

    def _take(
        self, rows: Rows, targets: NDArray[Any], weights: Floats | None, *, again: bool
    ) -> int:
        """Hold rows until their block is full; say how many there was room for."""
        take = self._has_room(rows)
        if take < len(rows):
            rows, targets = rows[:take], targets[:take]
            weights = None if weights is None else weights[:take]
            self._has_room(rows)
        self._held.make_room(len(self.standard), self.widest)
        self._held.add(rows, self._signs(targets), weights, self.standard, fresh=not again)
        self.clock += take
        self._learned_again += take if again else 0
        return take

    def _signs(self, targets: NDArray[Any]) -> Floats:
        if self.one_vs_rest:
            return np.where(targets[:, None] == np.arange(self.outputs), 1.0, -1.0)
        return np.asarray(targets, dtype=np.float64).reshape(len(targets), self.outputs)

    def _advance(self) -> None:
        held = self._held.count
        if held == self._segment_end():
            with one_blas_thread():
                if held > self._counted:
                    self._count_segment()
                if held == self._block_end():
                    self._fit(provisional=self._first_block and held < self._held.block)

    # -- progressive scores --------------------------------------------------------------------

    def _segment_scores(self) -> Floats:
        """Score the rows that are not yet in the sums, always in a product of the same shape.

        The weights are those of the columns there were at the last fit: others have none.
        """
        columns = len(self._known)
        segment = self._held.part(self._counted, self._segment_end(), columns)
        scores: Floats = segment @ self._known.W.reshape(columns, -1)
        return scores

    def _give_scores(self, out: Floats, taken: int) -> None:
        with one_blas_thread():
            end = self._held.count - self._counted
            out[:] = self._segment_scores()[end - taken : end]

    def _segment_sums(self) -> tuple[Floats, Floats]:
        """Add up what the held rows that are not in the sums would add to them."""
        shape = (-1, len(self.penalties), self.outputs)
        return progressive_sums(
            self.loss,
            self._segment_scores().reshape(shape)[: self._held.count - self._counted],
            self._held.targets(self._counted),
            self._held.scoring_weights(self._counted),
            one_vs_rest=self.one_vs_rest,
        )

    def _count_segment(self) -> None:
        sums, lately = self._segment_sums()
        self._totals += sums
        # A row counts as often as there are rows before it: later weights are more to the point.
        self._lately += (self.clock - self._held.count + self._counted) * lately
        self._counted = self._held.count

    def sums(self) -> Floats:
        """Add up each model's rows, losses and so on, as `progressive.SUMS` lists them."""
        if self._held.count == self._counted:
            return self._totals.copy()
        with one_blas_thread():
            return self._totals + self._segment_sums()[0]

    @property
    def lead(self) -> int:
        """The penalty whose curvature all share: the best of late; for intervals the smallest."""
        if self.intervals:
            return self.smallest
        return int(np.argmin(self._lately)) if self._lately.any() else len(self.penalties) // 2

    # -- the fit -------------------------------------------------------------------------------

    def _fit(self, *, provisional: bool) -> None:
        """Find weights for all rows so far; unless it is provisional, forget the rows then."""
        features = self._held.features()[:, : len(self.standard)]
        self.standard.find_spreads(features)
        if self._first_block and self.fit_intercept:
            features -= self._move_centres(features.mean(axis=0), features.var(axis=0))
        sizes = self.standard.sizes(features)
        before = self._known.padded(self._columns)
        Z = self._held.part(0, self._held.count, self._columns)
        shrink = self._shrink(*sizes)
        known = (self._exactly if self.exact else self._curved)(Z, before, shrink)
        if not known.is_finite():
            self._leave("its numbers are too large")
            return
        self._solved = self._held.count
        if self.intervals:
            self._earlier = remembered(
                self._earlier, self.clock, known.W[:, self.smallest], self.standard
            )
        if provisional:  # the rows are all still there: nothing but the weights is new
            self._known = Information(self.exact, known.W, before.P, before.G, before.M)
            return
        self._known = known
        self.standard.squares, self.standard.varied = sizes
        self._begin_block()
        if self.fit_intercept:
            G: Floats = np.sum(known.G, axis=0)
            mean, square = (part[1:] / max(G[0, 0], 1e-300) for part in (G[0], np.diagonal(G)))
            self._move_centres(mean, square - mean * mean)

    def _begin_block(self) -> None:
        self._held.forget()
        self._counted = self._solved = 0
        self._first_block = False
        self._held.make_room(len(self.standard), self.widest)

    def _shrink(self, squares: Floats, varied: Floats) -> Floats:
        """Give each column's penalty, a column a penalty, for columns of these sizes."""
        first = np.full(int(self.fit_intercept), 0.0 if self.exact else INTERCEPT)
        sizes = np.where(varied > 0, squares / np.maximum(varied, 1.0), 1.0)
        return np.concatenate([first, sizes])[:, None] * self.penalties

    def _exactly(self, Z: Floats, before: Information, shrink: Floats) -> Information:
        weights, targets = self._held.weights(), self._held.targets()
        weighted = targets if weights is None else targets * weights[:, None]
        G = before.G[0] + gram(Z, weights)
        b = before.P[:, 0] + Z.T @ weighted
        W = np.stack([solve(G, diagonal, b) for diagonal in shrink.T], axis=1)
        M = self._with_spread(before.M, Z, W, [G], shrink)
        return Information(True, W, b[:, None], [G], M)

    def _curved(self, Z: Floats, before: Information, shrink: Floats) -> Information:
        P, W, G = np.empty_like(before.P), np.empty_like(before.W), []
        weights, lead = self._held.weights(), self.lead
        for k in range(self.outputs):
            block = Block(Z, np.ascontiguousarray(self._held.targets()[:, k]), weights)
            past = Past(before.G[k], before.P[:, :, k], before.W[:, :, k])
            after, _ = learn_block(self.loss, block, past, shrink, lead, self.clock)
            P[:, :, k], W[:, :, k] = after.P, after.W
            own = W[:, self.smallest, k]
            G.append(before.G[k] + gram_at(self.loss, block, own) if self.intervals else after.G)
        return Information(False, W, P, G, self._with_spread(before.M, Z, W, G, shrink))

    def _with_spread(
        self, M: list[Floats], Z: Floats, W: Floats, G: list[Floats], shrink: Floats
    ) -> list[Floats]:
        """Add what the slopes of the held rows spread, for intervals, to what was spread before."""
        place, weights, targets = self.smallest, self._held.weights(), self._held.targets()
        found = []
        for k, before in enumerate(M):
            whole = definite(G[k % len(G)], shrink[:, place])
            own = W[:, place, k]
            more = slope_spread(self.loss, Z, targets[:, k], weights, own, whole)
            found.append(before + more)
        return found

    def _move_centres(self, mean: Floats, variance: Floats) -> Floats:
        """Move the centres that rows have left behind, where cancellation would eat their digits.

        Gives how far each was moved, in standard units.
        """
        reach = FAR * np.sqrt(np.maximum(variance, 1.0))
        shift = np.where(np.abs(mean) > reach, mean, 0.0)
        if shift.any():
            moved = copy.deepcopy(self.standard)
            moved.centre += shift * self.standard.units
            self._known = self._known.padded(self._columns).in_units(self.standard, moved)
            self.standard = moved
        return shift

    # -- what was learned ----------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """One more than the largest feature seen."""
        return int(self.standard.features.max(initial=-1)) + 1

    def weights(
        self, n_features: int | None = None, *, place: int | None = None, dtype: Any = np.float64
    ) -> tuple[NDArray[Any], Floats]:
        """Give each model's weights, a row a model, and intercepts, all rows learned.

        With a place, only those of its penalty.
        """
        done = self._finished()
        W = done._known.W if place is None else done._known.W[:, place]
        flat = np.ascontiguousarray(W).reshape(len(W), -1)
        width = done.n_features if n_features is None else n_features
        return done.standard.read_out(flat, width, dtype)

    def ridge(self) -> Floats:
        """Give what a penalty of one is for each column, the constant's first, all rows learned."""
        standard = self._finished().standard
        return np.asarray(self._shrink(standard.squares, standard.varied)[:, 0] / self.penalties[0])

    def sandwich(self) -> Sandwich:
        """Give the weights at the smallest penalty and their covariance, for rows as they come."""
        if not self.intervals:
            raise ValueError("a lane without intervals keeps no covariance")
        done = self._finished()
        standard, known, rows = done.standard, done._known, done.clock - done._learned_again
        shrink = done._shrink(standard.squares, standard.varied)[:, done.smallest]
        W, times = known.W[:, done.smallest], done.clock / max(rows, 1)
        with one_blas_thread():
            return sandwich_of(standard, W, known.G, known.M, shrink, rows, times)

    def drift(self, sandwich: Sandwich) -> tuple[int, float] | None:
        """Say how far weights have moved, in standard errors, and since how many rows."""
        return drift(self._earlier, self.clock, sandwich)

    def _finished(self) -> NewtonLane:
        """Give a lane that has learned the held rows too: itself, or a copy."""
        if self.left is not None:
            raise ValueError(f"this lane has left the race: {self.left}")
        if not self._held.count:
            return self
        done = copy.deepcopy(self)
        with one_blas_thread():
            if done._held.count > done._counted:
                done._count_segment()
            done._fit(provisional=False)
        return done

    # -- stopping, going on, dropping out, and learning in parts -------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Read out everything that learning changes: what JSON holds, and arrays."""
        page = {name: getattr(self, name) for name in _NUMBERS} | {"block": self._held.block}
        page["earlier"] = [rows for rows, _ in self._earlier]
        arrays: dict[str, NDArray[Any]] = {
            "penalties": self.penalties.copy(),
            "totals": self._totals.copy(),
            "lately": self._lately.copy(),
        }
        columns = {f"column.{name}": array for name, array in self.standard.state().items()}
        arrays |= {f"earlier.{k}": slopes for k, (_, slopes) in enumerate(self._earlier)}
        return page, arrays | columns | self._known.state() | self._held.state(self._columns)

    def set_state(self, page: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what ``state`` gave, to the last bit as if there had been no stop."""
        for name in _NUMBERS:
            setattr(self, name, page[name])
        for name in ("penalties", "totals", "lately"):
            setattr(self, name if name == "penalties" else f"_{name}", arrays[name].copy())
        rows = page.get("earlier", [])
        self._earlier = [(then, arrays[f"earlier.{k}"].copy()) for k, then in enumerate(rows)]
        columns = {name.removeprefix("column."): array for name, array in arrays.items()}
        self.standard.set_state(columns)
        self._known = Information.from_state(arrays, exact=self.exact)
        self._held.set_state(arrays, page["block"])

    def select(self, penalties: Sequence[int] | NDArray[np.int64]) -> NewtonLane:
        """Give a lane of only these penalties, by their places, each as it stands.

        Intervals are at the smallest of those that are left, so keep it where they are wanted.
        """
        keep = [int(place) for place in penalties]
        chosen = copy.deepcopy(self)
        chosen.penalties, chosen._lately = self.penalties[keep], self._lately[keep]
        totals = self._totals.reshape(len(SUMS), len(self.penalties), self.outputs)
        chosen._totals = totals[:, keep].reshape(len(SUMS), -1)
        chosen._known = chosen._known.select(keep)
        return chosen

    def merge(self, others: Sequence[NewtonLane], base: NewtonLane | None = None) -> None:
        """Become what this lane and others learned together, each from rows of its own.

        Information adds up, see `Information.added`. Where all went on from the same lane,
        ``base``, what it knew counts once. For squared error the result is that of one lane which
        learned all rows.
        """
        everyone = [self, *others, *([] if base is None else [base])]
        if any(lane.penalties.tolist() != self.penalties.tolist() for lane in everyone):
            raise ValueError("only lanes of the same penalties can be merged")
        for lane in everyone:
            if lane.left is not None:
                self._leave(lane.left)
                return
        signs = [1.0] * (1 + len(others)) + ([] if base is None else [-float(len(others))])
        lanes = [lane._finished() for lane in everyone]
        standard = copy.deepcopy(lanes[0].standard)
        for lane in lanes[1:]:
            standard.take_in(lane.standard)
        if len(standard) > self.widest:
            self._leave("there are too many features")
            return
        with one_blas_thread():
            parts = [
                lane._known.padded(lane._columns).in_units(lane.standard, standard)
                for lane in lanes
            ]
            shrink = self._shrink(standard.squares, standard.varied)
            self._known = Information.added(parts, signs, shrink)
        for name in ("_totals", "_lately", "clock", "_learned_again"):
            values = [sign * getattr(lane, name) for sign, lane in zip(signs, lanes, strict=True)]
            setattr(self, name, sum(values[1:], start=values[0]))
        self.clock, self._learned_again = int(self.clock), int(self._learned_again)
        self.standard = standard
        self._earlier = []
        self._begin_block()

    # -- inside --------------------------------------------------------------------------------

    def _leave(self, why: str) -> None:
        """Leave the race, keeping nothing but the sums."""
        if self._held.count > self._counted:
            self._totals = self.sums()
        self.left = why
        self._counted = 0
        self._forget_everything()

    def _forget_everything(self) -> None:
        self.standard = Standard(fit_intercept=self.fit_intercept)
        self._held = HeldRows(self.outputs, fit_intercept=self.fit_intercept)
        self._known = Information.none(
            int(self.fit_intercept),
            len(self.penalties),
            self.outputs,
            exact=self.exact,
            intervals=self.intervals,
        )


_NUMBERS = ("clock", "left", "_learned_again", "_first_block", "_solved", "_counted")

"""A lane of block Newton steps: one pass to the batch optimum, where features are few.

Averaged SGD needs a number of rows that grows with how badly conditioned they are. Where a matrix
of features by features fits, a block of rows can instead be learned by Newton's step, with all rows
before it summed up by a quadratic: see `polyak.learn.newton.block.step`. For squared error that is
exact.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyak.learn.newton.block.algebra import gram
from polyak.learn.newton.block.fewer_rows import FewerRows
from polyak.learn.newton.block.leave_one_out import MOST_WORK, is_cheap, scores_left_out
from polyak.learn.newton.block.one_thread import one_blas_thread
from polyak.learn.newton.cadence import Cadence
from polyak.learn.newton.converging import MOST_VALUES, converged, has_no_optimum
from polyak.learn.newton.fitting import INTERCEPT, exact_weights
from polyak.learn.newton.held_rows import usual_weights
from polyak.learn.newton.information import Information
from polyak.learn.newton.learning import BlockLearning
from polyak.learn.newton.progressive import SUMS, progressive_sums
from polyak.learn.newton.sandwich import drift, sandwich_of
from polyak.learn.newton.softmax import scores_left_out as classes_left_out
from polyak.losses import get_loss
from polyak.losses.softmax import normalised_odds
from polyak.rows.sparse import Rows
from polyak.storage.sandwich import Sandwich

Floats = NDArray[np.float64]


class NewtonSolver(BlockLearning):
    """Linear models of several penalties, learned block by block from the same rows.

    Up to the first full block all rows are kept, and the model is the batch optimum of them all.
    Whatever the batches were, blocks are counted from the first row, products are of the same
    shapes and in one thread: the result is the same to the last bit.

    Parameters
    ----------
    loss : str
        One that has a curvature, or a rounded one, see `polyak.losses`.
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
    softmax : bool
        Learn all classes together, see `polyak.learn.newton.softmax`. Scores are then those of the
        odds of each class against the rest, which a softmax of the models' own gives.
    together : bool
        Count what rows lose by the probability of their own class, as ``softmax`` implies.
    sparsity : Sparsity, optional
        Weights are to be exactly zero or not negative, see `polyak.learn.newton.block.penalty`.
    widest : int
        How many features there may be.

    Attributes
    ----------
    clock : int
        How many rows it has taken.
    left : str or None
        Why it has left the race, if it has: it has learned nothing since.
    threads : int
        How many may work out a product, half of it each; they leave no trace.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(1000.0, 1.0, size=(5000, 2))
    >>> y = X @ [1.0, 2.0] + 5.0
    >>> lane = NewtonSolver("squared_error", X[:1000])
    >>> lane.learn(X, y)
    >>> coef, intercept = lane.weights()
    >>> coef[0].round(3), float(intercept[0].round(1))
    (array([1., 2.]), 5.0)
    """

    def begin_at(self, constants: Floats) -> None:
        """Begin with these intercepts, an output each, instead of none."""
        if self.fit_intercept and self.left is None:
            self._known.W[0] = constants

    def fit_once(self) -> None:
        """Fit weights to full blocks and in the end only: no row is to be scored meanwhile."""
        self._cadence = Cadence(math.inf)

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
        W = done._class_weights(done._known.W)
        W = W if place is None else W[:, place]
        flat = np.ascontiguousarray(W).reshape(len(W), math.prod(W.shape[1:]))
        width = done.n_features if n_features is None else n_features
        return done.standard.read_out(flat, width, dtype)

    def ridge(self) -> Floats:
        """Give what a penalty of one is for each column, the constant's first, all rows learned."""
        return np.asarray(self._shrink(self._finished().standard)[:, 0] / self.penalties[0])

    def can_leave_out(self, rows: int, most: float = MOST_WORK) -> bool:
        """Tell whether to ask for `leaving_out`, were there so many rows, or if it is so cheap."""
        if self.softmax:
            columns = (self.outputs - 1) * len(self.standard)
            return is_cheap(rows, columns, len(self.penalties), most)
        return is_cheap(rows, min(rows, len(self.standard)), len(self), most)

    def leaving_out(
        self, X: Rows, y: ArrayLike, sample_weight: Floats | None
    ) -> Callable[[int], Floats]:
        """Return a function of a penalty's place: the scores of rows by weights found without them.

        The rows are all that were learned; the scores have a column an output.
        """
        done = self._finished()
        Z, shrink = done._standard_rows(X), done._penalty(done.standard).shrink
        given = (self._signs(np.asarray(y)), sample_weight)
        if self.softmax:
            return partial(classes_left_out, Z, *given, done._known.W, shrink)
        if self.sparsity is not None:
            return partial(done._sparse_left_out, Z, *given)
        W = [done._known.W[:, :, k] for k in range(self.outputs)]
        if len(Z) < Z.shape[1]:  # less work, and the same
            few = FewerRows(Z, np.maximum(shrink[:, 0] / self.penalties[0], INTERCEPT))
            W = [few.inward(own) for own in W]
            Z, shrink = few.rows, np.repeat(self.penalties[None], len(Z), axis=0)
        matrix = gram(Z, sample_weight) if self.exact else None
        return partial(done._outputs_left_out, Z, *given, W, shrink, matrix)

    def _standard_rows(self, X: Rows) -> Floats:
        """Return rows in standard units, the constant first."""
        Z = np.ones((len(X), self._columns))
        self.standard.fill(X, Z[:, int(self.fit_intercept) :])
        return Z

    def converge(self, X: Rows, y: ArrayLike, sample_weight: Floats | None) -> bool:
        """Find the optimum of the smallest penalty for all rows, each of which was learned once.

        Returns whether it is finite without a penalty. Rows too many for memory are not gone over
        again: see `polyak.learn.newton.converging`.
        """
        done = self._finished()
        if done.left is not None or len(X) * done._columns > MOST_VALUES:
            return True
        Z, known = done._standard_rows(X), done._known.padded(done._columns)
        shrink = done._penalty(done.standard).shrink[:, done.smallest]
        weights = np.ones(len(Z)) if sample_weight is None else sample_weight
        with one_blas_thread():
            own = usual_weights(Z, weights, self.threads)
            given = (self._signs(np.asarray(y)), own, shrink, done.smallest, self.threads)
            found = converged(self._newton_loss(len(X)), known, Z, *given)
            if not found.is_finite():
                return True
            done._known = found
            self.__dict__.update(done.__dict__)
            return not has_no_optimum(found, Z, own, shrink)

    def _outputs_left_out(
        self,
        Z: Floats,
        targets: Floats,
        weights: Floats | None,
        W: list[Floats],
        shrink: Floats,
        matrix: Floats | None,
        place: int,
    ) -> Floats:
        found = np.empty((len(Z), len(W)))
        for k, own in enumerate(W):
            loss = self._newton_loss(len(Z)).of_output(k)
            given = (loss, Z, targets[:, k], weights, own[:, [place]], shrink[:, [place]])
            found[:, k] = scores_left_out(*given, matrix)[:, 0]
        return normalised_odds(found) if self.together else found

    def _sparse_left_out(
        self, Z: Floats, targets: Floats, weights: Floats | None, place: int
    ) -> Floats:
        """Return leave-one-out scores, taking the set of non-zero weights as fixed."""
        found = np.zeros((len(Z), self.outputs))
        shrink = np.maximum(self._penalty(self.standard).shrink, INTERCEPT)
        for k in range(self._known.W.shape[2]):
            W = self._known.W[:, [place], k]
            there = np.flatnonzero(W)
            loss = self._newton_loss(len(Z)).of_output(k)
            rows = Z.take(there, axis=1)  # in C order, which Z[:, there] is not
            own = (rows, targets[:, k], weights, W[there], shrink[there][:, [place]])
            found[:, k] = scores_left_out(loss, *own)[:, 0]
        return normalised_odds(found) if self.together else found

    def losses_of(self, scores: Floats, y: ArrayLike) -> Floats:
        """Return the loss of rows that have these scores, summed over the outputs."""
        signs = self._signs(np.asarray(y))
        with np.errstate(over="ignore"):
            losses = get_loss(self.loss).value(scores, signs)
        return np.asarray((np.where(signs > 0, losses, 0.0) if self.together else losses).sum(1))

    def sums_of(
        self, scores: Floats, y: ArrayLike, sample_weight: Floats | None, limits: Floats
    ) -> Floats:
        """Return the sums of some rows' scores, one an output, as `progressive.SUMS` lists them."""
        weights = np.ones(len(scores)) if sample_weight is None else sample_weight
        how = {"one_vs_rest": self.one_vs_rest, "together": self.together}
        signs = self._signs(np.asarray(y))
        return progressive_sums(self.loss, scores[:, None], signs, weights, limits, **how)

    def sandwich(self) -> Sandwich:
        """Give the weights at the smallest penalty and their covariance, for rows as they come."""
        if not self.intervals:
            raise ValueError("a lane without intervals keeps no covariance")
        done = self._finished()
        standard, known, rows = done.standard, done._known, done.clock - done._learned_again
        shrink = done._penalty(standard).shrink[:, done.smallest]
        W, times = known.W[:, done.smallest], done.clock / max(rows, 1)
        with one_blas_thread():
            return sandwich_of(standard, W, known.G, known.M, shrink, rows, times)

    def drift(self, sandwich: Sandwich) -> tuple[int, float] | None:
        """Say how far weights have moved, in standard errors, and since how many rows."""
        return drift(self._earlier, self.clock, sandwich)

    def _finished(self) -> NewtonSolver:
        """Give a lane that has learned the held rows too: itself, or a copy."""
        if self.left is not None:
            raise ValueError(f"this lane has left the race: {self.left}")
        if not (self._held.count or self.exact):
            return self
        done = copy.copy(self)
        done.standard, done._cadence = copy.deepcopy((self.standard, self._cadence))
        changing = self._first_block or not self.standard.spread.all()
        done._held = self._held.copy(to_change=changing)
        with one_blas_thread():
            if done._held.count > done._counted:
                done._count_segment()
            if done._held.count:
                done._fit(provisional=False)
            if self.exact and done.left is None:
                done._known = exact_weights(
                    done._known.padded(done._columns), done._penalty(done.standard)
                )
        return done

    # -- stopping, going on, dropping out, and learning in parts -------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Read out everything that learning changes: what JSON holds, and arrays."""
        page = {name: getattr(self, name) for name in _NUMBERS} | {"block": self._held.block}
        page["fitted"] = self._cadence.fitted
        if self.closed:
            page |= {"closed": True, "_left_out": self._left_out}
        if self.sparsity is not None:
            page["_weight"] = self._weight
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
        self._cadence.fitted = page["fitted"]
        self.closed, self._left_out = page.get("closed", False), page.get("_left_out", 0)
        self._weight = page.get("_weight", 0.0)
        for name in ("penalties", "totals", "lately"):
            setattr(self, name if name == "penalties" else f"_{name}", arrays[name].copy())
        rows = page.get("earlier", [])
        self._earlier = [(then, arrays[f"earlier.{k}"].copy()) for k, then in enumerate(rows)]
        columns = {name.removeprefix("column."): array for name, array in arrays.items()}
        self.standard.set_state(columns)
        self._known = Information.from_state(arrays, exact=self.exact, together=self.softmax)
        self._held.set_state(arrays, page["block"])
        if len(self.standard) > self.widest:  # there are more classes than there were
            self._leave("there are too many features")

    def select(self, penalties: Sequence[int] | NDArray[np.int64]) -> NewtonSolver:
        """Give a lane of only these penalties, by their places, each as it stands.

        Intervals are at the smallest of those that are left, so keep it where they are wanted.
        """
        keep = [int(place) for place in penalties]
        chosen = copy.copy(self)
        chosen.standard, chosen._cadence = copy.deepcopy((self.standard, self._cadence))
        chosen._held = self._held.copy(to_change=True)
        chosen.penalties, chosen._lately = self.penalties[keep], self._lately[keep]
        totals = self._totals.reshape(len(SUMS), len(self.penalties), self.outputs)
        chosen._totals = totals[:, keep].reshape(len(SUMS), -1)
        chosen._known = chosen._known.select(keep)
        return chosen

    def merge(self, others: Sequence[NewtonSolver], base: NewtonSolver | None = None) -> None:
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
        if any(lane.closed for lane in lanes):
            lanes = _with_common_features(lanes)
            self.closed = True
        standard = copy.deepcopy(lanes[0].standard)
        for lane, sign in zip(lanes[1:], signs[1:], strict=True):
            standard.take_in(lane.standard, sign)
        if len(standard) > self.widest:
            self._leave("there are too many features")
            return
        with one_blas_thread():
            parts = [
                lane._known.padded(lane._columns).in_units(lane.standard, standard)
                for lane in lanes
            ]
        for name in ("_lately", "_weight", "clock", "_learned_again"):
            values = [sign * getattr(lane, name) for sign, lane in zip(signs, lanes, strict=True)]
            setattr(self, name, sum(values[1:], start=values[0]))
        with one_blas_thread():
            self._known = Information.added(parts, signs, self._penalty(standard))
        self.clock, self._learned_again = int(self.clock), int(self._learned_again)
        self._cadence.fitted = self.clock
        self._totals = np.zeros_like(self._totals)
        self.standard = standard
        self._earlier = []
        self._begin_block()


_NUMBERS = ("clock", "left", "_learned_again", "_first_block", "_counted")


def _with_common_features(lanes: Sequence[NewtonSolver]) -> list[NewtonSolver]:
    """Give copies that have learned nothing but the features that all of them know."""
    known = [set(lane.standard.features.tolist()) for lane in lanes]
    common = np.array(sorted(set.intersection(*known)), dtype=np.int64)
    copies = [copy.copy(lane) for lane in lanes]
    for lane in copies:
        lane._held = lane._held.copy(to_change=False)
        lane._only(lane.standard.places(common))
    return copies

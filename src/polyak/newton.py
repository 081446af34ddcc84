"""A lane of block Newton steps: one pass to the batch optimum, where features are few.

Averaged SGD needs a number of rows that grows with how badly conditioned they are. Where a matrix
of features by features fits, a block of rows can instead be learned by Newton's step, with all rows
before it summed up by a quadratic: see `polyak.newton_step`. Squared error is then exact.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyak.newton_step import (
    Block,
    Past,
    curvature,
    gram,
    learn_block,
    one_blas_thread,
    solve,
    value_and_slope,
)
from polyak.rows import Rows, SparseRows, as_rows, take_rows
from polyak.standardize import Standard

Floats = NDArray[np.float64]

LOSSES = ("squared_error", "log_loss", "squared_hinge")
"""Those that have a curvature."""
PENALTIES = (1e-3, 1.0, 10.0, 100.0, 1000.0)
"""Each weight's prior precision, in rows: a feature varies by about one.

With so much signal that the scores' variance is v, weights of d features have a variance of v/d each,
so the best penalty is near d/v: of use are 1 to 1000. The smallest is for intervals.
"""
WIDEST = 1000
MOST_BYTES = 1 << 26
"""How much memory the matrices of a lane may take."""
FIRST_FIT = 64
"""Weights are first found after so many rows, then each time they have doubled ..."""
BLOCK, WIDE_BLOCK, WIDE = 4096, 2048, 512
"""... and once a first block is full, after each block; a lane wider than WIDE has shorter ones."""
SEGMENT = 1024
"""So many rows are scored at a time, counted from the last change of weights."""
INTERCEPT = 1e-8
"""The intercept's share of the penalty, where a loss might not hold it otherwise."""
FAR = 100.0
"""A centre is moved where the mean is so many standard deviations from it."""
LARGEST_LOSS = 20.0
"""What a row may say against a penalty, at most."""
SUMS = ("weight", "loss", "loss_squared", "error", "confusion")


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
    >>> coef[0].round(4), intercept[0].round(2)
    (array([1., 2.]), np.float64(5.0))
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
        self.loss = loss
        self.penalties: Floats = np.array(penalties, dtype=np.float64)
        self.outputs, self.one_vs_rest = outputs, one_vs_rest
        self.fit_intercept, self.intervals = fit_intercept, intervals
        matrices = (1 if self.exact else outputs) + (outputs if intervals else 0)
        self.widest = min(widest, math.isqrt(MOST_BYTES // (8 * matrices)) - 1)
        self.left: str | None = None
        self.clock = 0
        self._learned_again = 0  # rows of the clock that were not scored: they had been seen before
        self._first_block = True
        self._solved = 0  # rows of the first block at the last fit
        self._held = 0  # rows kept until their block is full
        self._counted = 0  # those of them that are in the sums
        self._totals: Floats = np.zeros((len(SUMS), len(self.penalties) * outputs))
        self._lately: Floats = np.zeros(len(self.penalties))
        self.standard = Standard(fit_intercept=fit_intercept)
        self._start_matrices()
        self._Z: Floats = np.zeros((0, 0))
        if self._has_room(first_rows) < len(first_rows):
            self._leave("there are too many features")
            return
        self.standard.calibrate(first_rows)
        self._pad()
        self._make_room()

    @property
    def exact(self) -> bool:
        """Whether the loss is a square, so that the quadratic is no approximation."""
        return self.loss == "squared_error"

    def __len__(self) -> int:
        return len(self.penalties) * self.outputs

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
        """Learn from rows, as `polyak.bank.Bank.learn` does, with models in the same order.

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
            take = min(take, self._segment_end() - self._held)
            if order is None:
                some, which = rows[done : done + take], slice(done, done + take)
            else:
                which = order[done : done + take]
                some = take_rows(rows, which)
            taken = self._take(some, targets[which], None if weights is None else weights[which])
            self._learned_again += taken if again else 0
            self._fresh[self._held - taken : self._held] = not again
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
            return min(max(2 * self._solved, FIRST_FIT), self._block)
        return self._block

    def _has_room(self, rows: Rows) -> int:
        """Make columns of new features; say how many rows can be taken before there are too many."""
        width = rows.shape[1]
        if not isinstance(rows, SparseRows) and width == len(self.standard):
            return len(rows)
        new, row = self.standard.appearing(rows)
        room = self.widest - len(self.standard)
        if len(new) > room:
            return int(row[room])
        if len(new):
            self.standard.add(new)
        return len(rows)

    def _take(self, rows: Rows, targets: NDArray[Any], weights: Floats | None) -> int:
        """Hold rows until their block is full, in standard units."""
        take = self._has_room(rows)
        if take < len(rows):
            rows, targets = rows[:take], targets[:take]
            weights = None if weights is None else weights[:take]
            self._has_room(rows)
        self._make_room()
        place = slice(self._held, self._held + take)
        first = int(self.fit_intercept)
        self._Z[place, :first] = 1.0
        self.standard.fill(rows, self._Z[place, first : first + len(self.standard)])
        self._targets[place] = self._signs(targets)
        self._weights[place] = 1.0 if weights is None else weights
        self._held += take
        self.clock += take
        return take

    def _signs(self, targets: NDArray[Any]) -> Floats:
        if self.one_vs_rest:
            return np.where(targets[:, None] == np.arange(self.outputs), 1.0, -1.0)
        return np.asarray(targets, dtype=np.float64).reshape(len(targets), self.outputs)

    def _advance(self) -> None:
        if self._held == self._segment_end():
            with one_blas_thread():
                if self._held > self._counted:
                    self._count_segment()
                if self._held == self._block_end():
                    self._fit(provisional=self._first_block and self._held < self._block)

    # -- progressive scores --------------------------------------------------------------------

    def _segment_scores(self) -> Floats:
        """Score the rows that are not yet in the sums, always in a product of the same shape.

        The weights are those of the columns there were at the last fit: others have none.
        """
        width = len(self._W)
        segment = self._Z[self._counted : self._segment_end(), :width]
        scores: Floats = segment @ self._W.reshape(width, -1)
        return scores

    def _give_scores(self, out: Floats, taken: int) -> None:
        with one_blas_thread():
            begin = self._held - self._counted - taken
            out[:] = self._segment_scores()[begin : begin + taken]

    def _segment_sums(self) -> tuple[Floats, Floats]:
        """Add up what the held rows that are not in the sums would add to them."""
        count = self._held - self._counted
        place = slice(self._counted, self._held)
        shape = (-1, len(self.penalties), self.outputs)
        scores = self._segment_scores().reshape(shape)[:count]
        targets = self._targets[place, None, :]
        values, slopes = value_and_slope(self.loss, scores, targets)
        weights = self._weights[place] * self._fresh[place]
        error = np.abs(slopes) if self.exact else (targets * scores <= 0).astype(np.float64)
        sums = np.zeros((len(SUMS), len(self)))
        flat = values.reshape(count, -1)
        sums[0] = weights.sum()
        sums[1] = weights @ flat
        sums[2] = weights @ np.square(flat)
        sums[3] = weights @ error.reshape(count, -1)
        if self.one_vs_rest:
            own = self._targets[place].argmax(axis=1)
            sums[4, :: self.outputs] = weights @ (scores.argmax(axis=2) != own[:, None])
        return sums, weights @ np.minimum(values, LARGEST_LOSS).sum(axis=2)

    def _count_segment(self) -> None:
        sums, lately = self._segment_sums()
        self._totals += sums
        # A row counts as many times as there are rows before it: later weights are more to the point.
        self._lately += (self.clock - self._held + self._counted) * lately
        self._counted = self._held

    def sums(self) -> Floats:
        """Add up each model's rows, losses, squares of them, errors and confusions: see `SUMS`."""
        if self._held == self._counted:
            return self._totals.copy()
        with one_blas_thread():
            return self._totals + self._segment_sums()[0]

    @property
    def lead(self) -> int:
        """The penalty whose curvature all share: of late the best, or for intervals the smallest."""
        if self.intervals:
            return int(np.argmin(self.penalties))
        if not self._lately.any():
            return len(self.penalties) // 2
        return int(np.argmin(self._lately))

    # -- the fit -------------------------------------------------------------------------------

    def _fit(self, *, provisional: bool) -> None:
        """Find weights for all rows so far; unless it is provisional, forget the rows then."""
        first = int(self.fit_intercept)
        width = len(self.standard)
        Z = self._Z[: self._held, : first + width]
        self.standard.find_spreads(Z[:, first:])
        self._pad()
        if self.exact:
            past = self._fit_exactly(Z)
        else:
            past = self._fit_curved(Z)
        G, P, W, M = past
        if not (np.isfinite(W).all() and all(np.isfinite(matrix).all() for matrix in G)):
            self._leave("its numbers are too large")
            return
        self._W = W
        self._solved = self._held
        if provisional:
            return
        self._G, self._P, self._M = G, P, M
        self._held = self._counted = self._solved = 0
        self._first_block = False
        self._move_centres()
        self._make_room()

    def _ridge(self) -> Floats:
        ridge = np.ones(len(self._W))
        if self.fit_intercept:
            ridge[0] = 0.0 if self.exact else INTERCEPT
        return ridge

    def _row_weights(self) -> Floats | None:
        weights = self._weights[: self._held]
        return None if (weights == 1.0).all() else weights

    def _fit_exactly(self, Z: Floats) -> Any:
        weights, targets = self._row_weights(), self._targets[: self._held]
        weighted = targets if weights is None else targets * weights[:, None]
        G = self._G[0] + gram(Z, weights)
        b = self._P[:, 0] + Z.T @ weighted
        W = self._solve_all(G, b)
        M = self._M
        if self.intervals:
            smallest = int(np.argmin(self.penalties))
            slopes = Z @ W[:, smallest] - targets
            M = self._with_spread(Z, slopes, weights)
        return [G], b[:, None], W, M

    def _solve_all(self, G: Floats, b: Floats) -> Floats:
        ridge = self._ridge()
        return np.stack([solve(G, tau * ridge, b) for tau in self.penalties], axis=1)

    def _fit_curved(self, Z: Floats) -> Any:
        G, M = [], []
        P, W = np.empty_like(self._P), np.empty_like(self._W)
        weights, lead = self._row_weights(), self.lead
        smallest = int(np.argmin(self.penalties))
        for k in range(self.outputs):
            block = Block(Z, np.ascontiguousarray(self._targets[: self._held, k]), weights)
            before = Past(self._G[k], self._P[:, :, k], self._W[:, :, k])
            after, slopes = learn_block(
                self.loss, block, before, self.penalties, self._ridge(), lead
            )
            G.append(after.G)
            P[:, :, k], W[:, :, k] = after.P, after.W
            M.append(slopes[:, smallest])
        spread = self._with_spread(Z, np.stack(M, axis=1), None) if self.intervals else self._M
        return G, P, W, spread

    def _with_spread(self, Z: Floats, slopes: Floats, weights: Floats | None) -> list[Floats]:
        slopes = slopes if weights is None else slopes * weights[:, None]
        return [M + gram(Z, np.square(slopes[:, k])) for k, M in enumerate(self._M)]

    def _move_centres(self) -> None:
        """Move the centres that the rows have left behind: cancellation would eat their digits."""
        if not self.fit_intercept:
            return
        G: Floats = np.sum(self._G, axis=0)
        mean = G[0] / max(G[0, 0], 1e-300)
        variance = np.maximum(np.diagonal(G) / max(G[0, 0], 1e-300) - mean * mean, 0.0)
        far = (np.abs(mean) > FAR) & (mean * mean > FAR * FAR * variance)
        far[0] = False
        if not far.any():
            return
        moved = copy.deepcopy(self.standard)
        moved.centre += np.where(far, mean, 0.0)[1:] * self.standard.units
        self._change_units(moved)

    def _change_units(self, standard: Standard) -> None:
        """Write everything that was learned in other units, or for other columns."""
        A = standard.map_from(self.standard)
        self._G = [A @ G @ A.T for G in self._G]
        self._M = [A @ M @ A.T for M in self._M]
        self._P = np.tensordot(A, self._P, axes=1)
        back = self.standard.map_from(standard)  # w z = w' z' with z = back z'
        self._W = np.tensordot(back.T, self._W, axes=1)
        self.standard = standard

    # -- what was learned ----------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """One more than the largest feature seen."""
        return int(self.standard.features.max(initial=-1)) + 1

    def weights(self, n_features: int | None = None) -> tuple[Floats, Floats]:
        """Give each model's weights, a row a model, and intercepts, all rows learned."""
        done = self._finished()
        flat = done._W.reshape(len(done._W), -1)
        return done.standard.read_out(flat, done.n_features if n_features is None else n_features)

    def decision_function(self, X: Any) -> Floats:
        """Score rows: a column a model, by the weights of the last block."""
        rows = as_rows(X)
        first, width = int(self.fit_intercept), len(self.standard)
        Z = np.zeros((len(rows), first + width))
        Z[:, :first] = 1.0
        self.standard.fill(rows, Z[:, first:])
        scores: Floats = Z[:, : len(self._W)] @ self._W.reshape(len(self._W), -1)
        return scores

    def covariance(self) -> Floats:
        """Give the covariance of the weights at the smallest penalty, a matrix an output.

        It is for rows as they come: features in the order of ``standard.features``, the intercept,
        where there is one, first. It is the sandwich of White and Huber, which holds whatever the
        spread of the noise, with his correction for weights that were fitted.
        """
        if not self.intervals:
            raise ValueError("a lane without intervals keeps no covariance")
        done = self._finished()
        out, ridge = done.standard.out_map(), done.penalties.min() * done._ridge()
        rows = max(done.clock - done._learned_again, 1)
        factor = done.clock / rows * rows / max(rows - len(ridge), 1)
        matrices = []
        for k, M in enumerate(done._M):
            half = solve(done._G[0 if done.exact else k], ridge, M)
            inside = solve(done._G[0 if done.exact else k], ridge, half.T)
            matrices.append(factor * out @ inside @ out.T)
        return np.stack(matrices)

    def _finished(self) -> NewtonLane:
        """Give a lane that has learned the held rows too: itself, or a copy."""
        if self.left is not None:
            raise ValueError(f"this lane has left the race: {self.left}")
        if not self._held:
            return self
        done = copy.deepcopy(self)
        with one_blas_thread():
            if done._held > done._counted:
                done._count_segment()
            done._fit(provisional=False)
        return done

    # -- stopping, going on, dropping out, and learning in parts -------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Read out everything that learning changes: what JSON holds, and arrays."""
        page = {name: getattr(self, name) for name in _NUMBERS}
        width = int(self.fit_intercept) + len(self.standard)
        held = slice(self._held)
        arrays: dict[str, NDArray[Any]] = {
            "penalties": self.penalties,
            "totals": self._totals,
            "lately": self._lately,
            "weights": self._W,
            "gradient": self._P,
            "hessian": np.stack(self._G),
            "squares": np.stack(self._M) if self._M else np.zeros((0, 0, 0)),
            "held.rows": self._Z[held, :width],
            "held.targets": self._targets[held],
            "held.weights": self._weights[held],
            "held.fresh": self._fresh[held],
        }
        arrays |= self.standard.state()
        return page, {name: np.array(array) for name, array in arrays.items()}

    def set_state(self, page: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what ``state`` gave, to the last bit as if there had been no stop."""
        for name in _NUMBERS:
            setattr(self, name, page[name])
        self.penalties = arrays["penalties"].copy()
        self._totals, self._lately = arrays["totals"].copy(), arrays["lately"].copy()
        self._W, self._P = arrays["weights"].copy(), arrays["gradient"].copy()
        self._G, self._M = list(arrays["hessian"].copy()), list(arrays["squares"].copy())
        self.standard.set_state(arrays)
        if self.left is not None:
            return
        held, self._held = self._held, 0
        self._make_room()
        self._held = held
        self._Z[:held, : arrays["held.rows"].shape[1]] = arrays["held.rows"]
        self._targets[:held] = arrays["held.targets"]
        self._weights[:held] = arrays["held.weights"]
        self._fresh[:held] = arrays["held.fresh"]

    def select(self, penalties: Sequence[int] | NDArray[np.int64]) -> NewtonLane:
        """Give a lane of only these penalties, by their places, each as it stands.

        Intervals are at the smallest of those that are left, so keep it where they are wanted.
        """
        keep = list(penalties)
        chosen = copy.deepcopy(self)
        chosen.penalties, chosen._lately = self.penalties[keep], self._lately[keep]
        totals = self._totals.reshape(len(SUMS), len(self.penalties), self.outputs)
        chosen._totals = totals[:, keep].reshape(len(SUMS), -1)
        chosen._W = np.ascontiguousarray(self._W[:, keep])
        chosen._P = self._P.copy() if self.exact else np.ascontiguousarray(self._P[:, keep])
        return chosen

    def merge(self, others: Sequence[NewtonLane], base: NewtonLane | None = None) -> None:
        """Become what this lane and others learned together, each from rows of its own.

        Information adds up: matrices, and the gradients ``p + G (w - w_k)`` as functions of w. Where
        all went on from the same lane, ``base``, what it knew counts once. For squared error the
        result is that of one lane which learned all rows.
        """
        everyone = [self, *others, *([] if base is None else [base])]
        if any(lane.penalties.tolist() != self.penalties.tolist() for lane in everyone):
            raise ValueError("only lanes of the same penalties can be merged")
        if any(lane.left is not None for lane in everyone):
            self._leave(next(lane.left for lane in everyone if lane.left is not None))
            return
        signs = [1.0] * (1 + len(others)) + ([] if base is None else [-float(len(others))])
        lanes = [copy.deepcopy(lane._finished()) for lane in everyone]
        standard = copy.deepcopy(lanes[0].standard)
        for lane in lanes[1:]:
            standard.take_in(lane.standard)
        if len(standard) > self.widest:
            self._leave("there are too many features")
            return
        with one_blas_thread():
            for lane in lanes:
                lane._change_units(standard)
            self._add_up(lanes, signs)

    def _add_up(self, lanes: list[NewtonLane], signs: list[float]) -> None:
        def total(name: str) -> Any:
            parts = [getattr(lane, name) for lane in lanes]
            return sum(sign * np.asarray(part) for sign, part in zip(signs, parts, strict=True))

        self.standard = lanes[0].standard
        self._G, self._M = list(total("_G")), list(total("_M")) if self.intervals else []
        self._totals, self._lately = total("_totals"), total("_lately")
        self.clock = int(total("clock"))
        self._learned_again = int(total("_learned_again"))
        if self.exact:
            self._P = total("_P")
            self._W = self._solve_all(self._G[0], self._P[:, 0])
        else:
            b = sum(
                sign * (_products(lane._G, lane._W) - lane._P)
                for sign, lane in zip(signs, lanes, strict=True)
            )
            self._W = np.zeros_like(lanes[0]._W)
            ridge = self._ridge()
            for t, tau in enumerate(self.penalties):
                for k, G in enumerate(self._G):
                    self._W[:, t, k] = solve(G, tau * ridge, b[:, t, k])
            self._P = _products(self._G, self._W) - b
        self._held = self._counted = self._solved = 0
        self._first_block = False
        self._make_room()

    # -- inside --------------------------------------------------------------------------------

    def _start_matrices(self) -> None:
        size = int(self.fit_intercept)
        matrices = 1 if self.exact else self.outputs
        self._G: list[Floats] = [np.zeros((size, size)) for _ in range(matrices)]
        self._M: list[Floats] = [
            np.zeros((size, size)) for _ in range(self.outputs if self.intervals else 0)
        ]
        # The gradient of the rows before at W; for squared error the sum of z y, whatever W is.
        penalties = 1 if self.exact else len(self.penalties)
        self._P: Floats = np.zeros((size, penalties, self.outputs))
        self._W: Floats = np.zeros((size, len(self.penalties), self.outputs))

    def _pad(self) -> None:
        """Give weights to columns that have come since the last fit: zero, and no information."""
        more = int(self.fit_intercept) + len(self.standard) - len(self._W)
        if more:
            self._G = [np.pad(G, (0, more)) for G in self._G]
            self._M = [np.pad(M, (0, more)) for M in self._M]
            self._P = np.pad(self._P, ((0, more), (0, 0), (0, 0)))
            self._W = np.pad(self._W, ((0, more), (0, 0), (0, 0)))

    def _make_room(self) -> None:
        """Have room for a block of rows as wide as they are now."""
        width = int(self.fit_intercept) + len(self.standard)
        if not self._held:  # only between blocks, so that a block's length is its first row's
            self._block = WIDE_BLOCK if width > WIDE else BLOCK
        rows, columns = self._Z.shape
        if rows >= self._block and columns >= width:
            return
        if columns < width and columns:  # some to spare: features come one by one
            width = min(width + width // 8, int(self.fit_intercept) + self.widest)
        Z = np.zeros((self._block, max(width, columns)))
        Z[: self._held, :columns] = self._Z[: self._held]
        self._Z = Z
        if rows < self._block:
            targets, weights, fresh = np.zeros((self._block, self.outputs)), *np.ones((2, self._block))
            if self._held:
                targets[: self._held] = self._targets[: self._held]
                weights[: self._held] = self._weights[: self._held]
                fresh[: self._held] = self._fresh[: self._held]
            self._targets, self._weights, self._fresh = targets, weights, fresh

    def _leave(self, why: str | None) -> None:
        """Leave the race, keeping nothing but the sums."""
        if self.left is None and self._held > self._counted:
            self._totals = self.sums()
        self.left = why
        self._held = self._counted = 0
        self._Z = np.zeros((0, 0))
        self._start_matrices()
        self.standard = Standard(fit_intercept=self.fit_intercept)


_NUMBERS = (
    "clock",
    "left",
    "_learned_again",
    "_first_block",
    "_solved",
    "_held",
    "_counted",
    "_block",
)


def _products(G: list[Floats], W: Floats) -> Floats:
    return np.stack([matrix @ W[:, :, k] for k, matrix in enumerate(G)], axis=2)

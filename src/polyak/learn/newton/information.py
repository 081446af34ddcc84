"""What remains of rows that were learned and forgotten: a quadratic for every penalty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.curvature import with_offsets
from polyak.learn.newton.block.penalty import Ridge
from polyak.learn.newton.block.step import QuadraticSummary
from polyak.learn.newton.standardize import Standard
from polyak.learn.stored_state import StoredState

Floats = NDArray[np.float64]

BEYOND = math.log(2.0)
"""How far scores of new rows may be beyond those of rows learned, where scores are logarithms: a
trend may go on until means have doubled. Of 500 random problems with a log link, 300 to 5,000 rows
and mostly columns with long tails, 73 end above 1.02 of the constant's loss without a limit, 28
with ten times the largest mean, 22 with five times, 13 with twice, 10 with the largest itself; of
problems with 10 to 300 rows twice is best."""


@dataclass
class Information:
    """The sum of all rows' losses around the weights, and the spread of their slopes.

    Attributes
    ----------
    exact : bool
        Whether the loss is a square, and ``P`` the sum of ``z y``, the same for every penalty.
    W : array of shape (columns, penalties, outputs)
        The weights.
    P : array of the same shape, or (columns, 1, outputs)
        The gradient of the losses at W.
    G : list of arrays
        The Hessian, one for all outputs of squared error and one for each otherwise; where classes
        are learned together, a single one of all weights of all outputs, one output's after the
        other's.
    M : list of arrays
        The sum of ``slope^2 z z'`` at the smallest penalty, for each output, with intervals.
    together : bool
        Whether outputs are learned together.
    reach : array of shape (2, penalties, outputs)
        The lowest and the highest score that rows can have, without offsets, where scores are
        logarithms; empty otherwise, and before the first fit.
    """

    exact: bool
    W: Floats
    P: Floats
    G: list[Floats]
    M: list[Floats]
    together: bool = False
    reach: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))

    @classmethod
    def none(
        cls,
        columns: int,
        penalties: int,
        outputs: int,
        *,
        exact: bool,
        intervals: bool,
        together: bool = False,
    ) -> Information:
        """Return the information of no rows: the weights are zero."""
        matrices, width = (1, outputs * columns) if together else (outputs, columns)
        return cls(
            exact,
            np.zeros((columns, penalties, outputs)),
            np.zeros((columns, 1 if exact else penalties, outputs)),
            [np.zeros((width, width)) for _ in range(1 if exact else matrices)],
            [np.zeros((columns, columns)) for _ in range(outputs if intervals else 0)],
            together,
        )

    def __len__(self) -> int:
        return len(self.W)

    def is_finite(self) -> bool:
        """Whether nothing has overflowed."""
        return all(np.isfinite(array).all() for array in (self.W, self.P, *self.G, *self.M))

    def moved_to(self, W: Floats) -> Information:
        """Return the same quadratic around other weights, with the gradient there."""
        if self.exact:
            return replace(self, W=W)
        return replace(self, W=W, P=self.P + self._products_with(W - self.W))

    def reaching(self, scores: Floats) -> Information:
        """Return the same with a reach that has these scores of rows, without offsets, within."""
        of_rows = scores.reshape(-1, *self.W.shape[1:])
        ends = np.stack([of_rows.min(axis=0) - BEYOND, of_rows.max(axis=0) + BEYOND])
        return replace(self, reach=_joint([self.reach, ends]))

    def within_reach(
        self, scores: Floats, offsets: Floats | None, places: Sequence[int] | None = None
    ) -> Floats:
        """Return scores of shape (rows, penalties, outputs), all or those at places, in reach."""
        if not self.reach.size:
            return scores
        ends = self.reach if places is None else self.reach[:, list(places)]
        return np.clip(scores, *(with_offsets(end[None], offsets) for end in ends))

    @property
    def outputs_each(self) -> int:
        """The number of outputs whose weights share a Hessian."""
        return self.W.shape[2] if self.together else 1

    def summaries(self, *, with_rows: bool = True) -> list[QuadraticSummary]:
        """Return a summary for each Hessian; unless ``with_rows``, of weights alone."""
        if self.together:
            return [QuadraticSummary(self.G[0] if with_rows else None, flat(self.P), flat(self.W))]
        return [
            QuadraticSummary(G if with_rows else None, self.P[:, :, k], self.W[:, :, k])
            for k, G in enumerate(self.G)
        ]

    def stacked(self, each: Sequence[Floats]) -> Floats:
        """Return weights, or gradients, of the shape of W from those of each summary."""
        if self.together:
            return unflat(each[0], self.W.shape[2])
        return np.stack(each, axis=2)

    def summed_hessian(self) -> Floats:
        """Return the sum of the Hessians of all outputs, as if their weights were the same."""
        each, columns = self.outputs_each, len(self)
        blocks = [G.reshape(each, columns, each, columns) for G in self.G]
        own = [G[k, :, k] for G in blocks for k in range(each)]
        return own[0] if len(own) == 1 else np.asarray(np.sum(own, axis=0))

    def padded(self, columns: int) -> Information:
        """Return the same with columns that were zero in all rows so far."""
        if columns == len(self):
            return self
        each, before = self.outputs_each, len(self)
        own, wide = (each, before, each, before), (each, columns, each, columns)
        blocks = [_widened(G.reshape(own), wide) for G in self.G]
        return replace(
            self,
            W=_widened(self.W, (columns, *self.W.shape[1:])),
            P=_widened(self.P, (columns, *self.P.shape[1:])),
            G=[G.reshape(each * columns, each * columns) for G in blocks],
            M=[_widened(M, (columns, columns)) for M in self.M],
        )

    def in_units(self, mine: Standard, others: Standard) -> Information:
        """Return the same in other units: for rows ``A z``, where these are for rows ``z``."""
        A = others.map_from(mine)
        back = mine.map_from(others)  # w z = w' z' for the same row, with z = back z'
        each = np.kron(np.eye(self.outputs_each), A)
        return replace(
            self,
            W=np.tensordot(back.T, self.W, axes=1),
            P=np.tensordot(A, self.P, axes=1),
            G=[each @ G @ each.T for G in self.G],
            M=[A @ M @ A.T for M in self.M],
        )

    def select(self, penalties: Sequence[int]) -> Information:
        """Return the same for only these penalties, by their places."""
        keep = list(penalties)
        P = self.P if self.exact else np.ascontiguousarray(self.P[:, keep])
        reach = self.reach[:, keep] if self.reach.size else self.reach
        return replace(self, W=np.ascontiguousarray(self.W[:, keep]), P=P, reach=reach)

    @classmethod
    def added(
        cls, parts: Sequence[Information], signs: Sequence[float], penalty: Ridge
    ) -> Information:
        """Return the sum of several, in the same units, each times its sign.

        The gradient of part k at any w is ``P_k + G_k (w - W_k)``. The weights are where the sum
        of those and of the penalty's is zero.
        """

        def total(arrays: Sequence[Floats]) -> Floats:
            added: Floats = np.sum([s * a for s, a in zip(signs, arrays, strict=True)], axis=0)
            return added

        first = parts[0]
        G = [total([part.G[k] for part in parts]) for k in range(len(first.G))]
        M = [total([part.M[k] for part in parts]) for k in range(len(first.M))]
        right = total([part._right() for part in parts])
        W, each = np.empty_like(first.W), first.outputs_each
        tiled = penalty.tiled(each)
        for t in range(W.shape[1]):
            for k in range(0, W.shape[2], each):
                own = flat(right[:, [0 if first.exact else t], k : k + each])[:, 0]
                start = flat(first.W[:, [t], k : k + each])[:, 0]
                found = tiled.exactly(G[0 if first.exact else k // each], own, t, start)
                W[:, [t], k : k + each] = unflat(found[:, None], each)
        reach = _joint([part.reach for part in parts])
        new = replace(first, W=W, P=right, G=G, M=M, reach=reach)
        return new if first.exact else replace(new, P=new._products_with(W) - right)

    def minimised(self, factors: Sequence[Floats]) -> Information:
        """Return the same quadratic at the weights of least loss with a penalty.

        ``factors`` are the inverse Cholesky factors of the Hessians with the penalty.
        """
        right, each, W = self._right(), self.outputs_each, np.empty_like(self.W)
        for k in range(0, W.shape[2], each):
            factor = factors[0 if self.exact else k // each]
            own = flat(np.broadcast_to(right, W.shape)[:, :, k : k + each])
            W[:, :, k : k + each] = unflat(factor.T @ (factor @ own), each)
        return self.moved_to(W)

    def gradient(self) -> Floats:
        """Return the gradient of the losses at W."""
        return self._products_with(self.W) - self.P if self.exact else self.P

    def _right(self) -> Floats:
        """Return the right-hand side of the equations that W solves, without the penalty."""
        return self.P if self.exact else self._products_with(self.W) - self.P

    def _products_with(self, W: Floats) -> Floats:
        each = self.outputs_each
        parts = [W[:, :, k * each : (k + 1) * each] for k in range(len(self.G))]
        products = [unflat(G @ flat(own), each) for G, own in zip(self.G, parts, strict=True)]
        return np.concatenate(products, axis=2)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays."""
        columns = len(self)
        none = np.zeros((0, columns, columns))
        return {
            "weights": self.W.copy(),
            "gradients": self.P.copy(),
            "hessians": np.stack(self.G),
            "spreads": np.stack(self.M) if self.M else none,
            "reach": self.reach.copy(),
        }

    def from_state(self, stored: StoredState) -> Information:
        """Return what ``state`` returned, for the same penalties and outputs as these."""
        weights = stored.array("weights", (None, *self.W.shape[1:]))
        none = Information.none(
            *weights.shape, exact=self.exact, intervals=bool(self.M), together=self.together
        )
        shapes = {name: array.shape for name, array in none.state().items()}
        if stored.arrays.get("reach", none.reach).size:
            shapes["reach"] = (2, *weights.shape[1:])
        W, P, G, M, reach = (
            stored.array(name, shape, least=-np.inf) for name, shape in shapes.items()
        )
        return replace(self, W=W, P=P, G=list(G), M=list(M), reach=reach)


def flat(W: Floats) -> Floats:
    """Return weights of shape (columns, penalties, outputs) as (outputs * columns, penalties)."""
    return np.ascontiguousarray(W.transpose(2, 0, 1)).reshape(-1, W.shape[1])


def unflat(W: Floats, outputs: int) -> Floats:
    """Return the inverse of `flat`."""
    return W.reshape(outputs, len(W) // outputs, W.shape[1]).transpose(1, 2, 0)


def _joint(reaches: Sequence[Floats]) -> Floats:
    """Return the reach of all rows from those of some."""
    ends = [reach for reach in reaches if reach.size]
    if not ends:
        return reaches[0]
    lows, highs = zip(*ends, strict=True)
    return np.stack([np.min(lows, axis=0), np.max(highs, axis=0)])


def _widened(array: Floats, shape: tuple[int, ...]) -> Floats:
    """Return an array with zeros behind its own entries: `numpy.pad` takes ten times as long."""
    wide = np.zeros(shape)
    wide[tuple(map(slice, array.shape))] = array
    return wide

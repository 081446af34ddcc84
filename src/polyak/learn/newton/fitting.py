"""From a block of held rows, and what is known of those before it, to what is known of all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import (
    FewerRows,
    definite,
    gram,
    inverse_of,
    times_transposed,
)
from polyak.learn.newton.block.curvature import Block
from polyak.learn.newton.block.penalty import Ridge
from polyak.learn.newton.block.step import CONVERGED, TOLERANCE, QuadraticSummary, learn_block
from polyak.learn.newton.block.thinning import rarity
from polyak.learn.newton.held_rows import HeldRows
from polyak.learn.newton.information import Information
from polyak.learn.newton.objective import Objective
from polyak.learn.newton.sandwich import slope_spread
from polyak.learn.newton.softmax import blocks_of
from polyak.losses import Loss

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit of a block of held rows, what is known of those before it being given.

    Attributes
    ----------
    objective : Objective
    held : HeldRows
        The rows of the block.
    before : Information
        What is known of the rows before the block.
    penalty : Ridge
        The penalty of the losses of all rows.
    lead : int
        The place of the penalty whose Hessian all share.
    rows : int
        The number of rows, the block's and those before it.
    threads : int
        The threads that may share a product.
    start : array, optional
        The held rows' scores by the weights before the block, if there were any.
    due : bool
        Whether the weights of squared error are to be solved for.
    provisional : bool
        Whether the rows will be fitted again, with more of them.
    tolerance : float
        The share of the mean loss below which a promised decrease ends the steps.
    alone : bool
        Whether all penalties are to have the weights of the leading one.
    """

    objective: Objective
    held: HeldRows
    before: Information
    penalty: Ridge
    lead: int
    rows: int
    threads: int
    start: Floats | None
    due: bool
    provisional: bool
    tolerance: float = TOLERANCE
    alone: bool = False

    def information(self) -> Information:
        """Return what is known of all rows; after a provisional fit nothing but weights is new."""
        held, before, objective = self.held, self.before, self.objective
        if objective.exact:
            known = self._add_squares()
            return before.moved_to(known.W) if self.provisional else known
        few = self.rows == held.count < len(before)
        if self.provisional and objective.is_ridge and few:
            return before.moved_to(self._weights_of_few())
        allowed, fit = self.penalty.allowed(before.W), self
        if allowed is not before.W:
            before = before.moved_to(allowed)
            fit = replace(self, before=before, start=None)
        steps = fit._steps()
        W = before.stacked([after.W for _, after in steps])
        if self.provisional:
            return before.moved_to(W)
        if before.M:
            G = [
                before.G[k] + block.hessian_at(self._loss(k), W[:, self.objective.smallest, k])
                for k, (block, _) in enumerate(steps)
            ]
        else:
            G = [after.G for _, after in steps if after.G is not None]
        P = before.stacked([after.P for _, after in steps])
        return replace(before, W=W, P=P, G=G, M=self._spreads(W, G))

    def _loss(self, output: int) -> Loss:
        return self.objective.smooth_loss(self.rows, len(self.before)).of_output(output)

    def _add_squares(self) -> Information:
        """Add the rows to the sums that squared error needs; if due, solve for weights.

        Nothing but scores, and intervals, depends on those weights, so they are not solved for to
        the last digit.
        """
        held, before = self.held, self.before
        Z, weights, offsets = held.rows(len(before)), held.weights(), held.offsets()
        targets = held.targets() if offsets is None else held.targets() - offsets[:, None]
        weighted = targets if weights is None else targets * weights[:, None]
        G = before.G[0] + gram(Z, weights, self.threads)
        b, W = before.P[:, 0] + times_transposed(Z, weighted, self.threads), before.W
        if self.due or before.M:
            W = self.penalty.nearly(G, b, W, self.lead, self.threads)
        return replace(before, W=W, P=b[:, None], G=[G], M=self._spreads(W, [G]))

    def _steps(self) -> list[tuple[Block, QuadraticSummary]]:
        """Take Newton's steps, one Hessian after the other.

        A Hessian may be thinned as long as there is one of rows before. With intervals the Hessian
        is that of the weights they are about, so the steps' own need not be kept.
        """
        held, before = self.held, self.before
        Z, penalty, found = held.rows(len(before)), self.penalty.tiled(before.outputs_each), []
        given = (held.targets(), held.weights(), held.offsets(), self.threads)
        blocks = blocks_of(Z, *given, together=self.objective.softmax)
        summaries = before.summaries(with_rows=len(Z) < self.rows)
        keep, intercept = not (self.provisional or before.M), self.objective.fit_intercept
        # As `fit` ends at the optimum of all rows, so do streams of one block.
        is_all = not self.provisional and len(Z) == self.rows and self.objective.for_inference
        tolerance = min(CONVERGED if is_all else TOLERANCE, self.tolerance)
        fit = partial(learn_block, keep=keep, tolerance=tolerance, intercept=intercept)
        for k, (block, past) in enumerate(zip(blocks, summaries, strict=True)):
            if past.G is not None and self.objective.is_ridge:
                block = replace(block, rarity=rarity(past.G, penalty.shrink[:, self.lead]))
            scores = None if self.start is None else self.start[..., k]
            how = (self._loss(k), block, past, penalty, self.lead, self.rows)
            found.append((block, fit(*how, scores=scores, alone=self.alone)))
        return found

    def _weights_of_few(self) -> Floats:
        """Return the optimum of the held rows alone, which are fewer than their columns."""
        held, before, objective = self.held, self.before, self.objective
        few = FewerRows(held.rows(len(before)), self.penalty.shrink[:, 0] / objective.penalties[0])
        penalty = Ridge(np.repeat(objective.penalties[None], len(few.rows), axis=0))
        given = (held.targets(), held.weights(), held.offsets(), 1)
        blocks = blocks_of(few.rows, *given, together=objective.softmax)
        start = few.inward(before.W.reshape(len(before), -1)).reshape(-1, *before.W.shape[1:])
        inward, optima = replace(before, W=start), []
        for k, (block, past) in enumerate(
            zip(blocks, inward.summaries(with_rows=False), strict=True)
        ):
            past.P = np.zeros_like(past.W)
            how = (self._loss(k), block, past, penalty.tiled(before.outputs_each), self.lead)
            optima.append(learn_block(*how, len(few.rows), keep=False).W)
        V = np.ascontiguousarray(inward.stacked(optima))
        return few.outward(V.reshape(len(V), -1)).reshape(before.W.shape)

    def _spreads(self, W: Floats, G: list[Floats]) -> list[Floats]:
        """Return the sums of squared slopes that intervals need, the held rows' added."""
        held, place, found = self.held, self.objective.smallest, []
        own = (held.targets(), held.weights(), held.offsets(), self.threads)
        blocks = blocks_of(held.rows(len(W)), *own, together=False)
        for k, so_far in enumerate(self.before.M):
            whole = definite(G[k % len(G)], self.penalty.shrink[:, place])
            inverse = inverse_of(whole, len(W))
            found.append(so_far + slope_spread(blocks[k], self._loss(k), W[:, place, k], inverse))
        return found


def exact_weights(known: Information, penalty: Ridge) -> Information:
    """Minimise squared error for every penalty by its own factor, or by coordinate descent."""
    W = [
        penalty.exactly(known.G[0], known.P[:, 0], place, known.W[:, place])
        for place in range(known.W.shape[1])
    ]
    return replace(known, W=np.stack(W, axis=1))

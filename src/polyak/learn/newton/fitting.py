"""From a block of held rows, and what is known of those before it, to what is known of all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import FewerRows, definite, gram, times_transposed
from polyak.learn.newton.block.curvature import Block
from polyak.learn.newton.block.penalty import Ridge, Sparsity
from polyak.learn.newton.block.step import QuadraticSummary, learn_block
from polyak.learn.newton.block.thinning import rarity
from polyak.learn.newton.held_rows import HeldRows
from polyak.learn.newton.information import Information
from polyak.learn.newton.limits import UNPENALISED
from polyak.learn.newton.sandwich import slope_spread
from polyak.learn.newton.softmax import blocks_of, fit_first_classes, weights_of_first_classes
from polyak.learn.newton.standardize import Standard
from polyak.losses import Loss, get_loss

Floats = NDArray[np.float64]

INTERCEPT = 1e-8
"""The intercept's share of the penalty, where a loss might not hold it otherwise."""


@dataclass(frozen=True, eq=False)
class Fit:
    """The inputs of a fit.

    Attributes
    ----------
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
    """

    held: HeldRows
    before: Information
    penalty: Ridge
    lead: int
    rows: int
    threads: int
    start: Floats | None
    due: bool
    provisional: bool


@dataclass(frozen=True, eq=False)
class BlockSolver:
    """Newton's steps on a block of rows, for one loss and several penalties.

    The attributes are those of `polyak.learn.newton.solver.NewtonSolver`.
    """

    loss: str
    penalties: Floats
    intervals: bool
    softmax: bool
    sparsity: Sparsity | None

    @property
    def exact(self) -> bool:
        """Whether the loss is a square, so that sums of the rows are all that is needed."""
        return self.loss == "squared_error"

    @property
    def is_ridge(self) -> bool:
        """Whether the penalty has squares alone, and weights of any sign."""
        return self.sparsity is None or self.sparsity.is_ridge

    @property
    def smallest(self) -> int:
        """The place of the smallest penalty, at which intervals are computed."""
        return int(np.argmin(self.penalties))

    @property
    def for_inference(self) -> bool:
        """Whether the weights themselves are asked for: with intervals, or without a penalty."""
        return self.intervals or (self.sparsity is None and self.penalties.min() <= UNPENALISED)

    def smooth_loss(self, rows: float, columns: int) -> Loss:
        """Return the loss, or one whose corners are rounded for this many rows and columns."""
        return get_loss(self.loss).for_newton(rows, columns)

    def shrink(self, standard: Standard) -> Floats:
        """Return each column's ridge penalty, by the mean square of the column."""
        first = np.full(int(standard.fit_intercept), 0.0 if self.exact else INTERCEPT)
        return np.concatenate([first, standard.mean_squares])[:, None] * self.penalties

    def penalty(self, standard: Standard, weight: float) -> Ridge:
        """Return the penalty of a sum of losses of rows with this total weight."""
        shrink = self.shrink(standard)
        if self.sparsity is None:
            return Ridge(shrink)
        least = 0.0 if self.exact else INTERCEPT
        return self.sparsity.penalty(shrink, self.penalties, weight, standard, least)

    def fit(self, fit: Fit) -> Information:
        """Return what is known of all rows; after a provisional fit nothing but weights is new."""
        held, before, shrink = fit.held, fit.before, fit.penalty.shrink
        if self.exact:
            known = self._add_squares(fit)
            return before.moved_to(known.W) if fit.provisional else known
        first = fit.rows == held.count
        if self.softmax and first:
            if not fit.provisional:
                return fit_first_classes(held, before, shrink, fit.lead, fit.threads)
            own = (before.W, shrink, self.penalties, fit.threads)
            return before.moved_to(weights_of_first_classes(held, *own))
        if fit.provisional and self.is_ridge and first and held.count < len(before):
            return before.moved_to(self._weights_of_few(fit))
        if self.sparsity is not None and self.sparsity.positive:
            before = before.moved_to(_not_negative(before.W, held.first))
            fit = replace(fit, before=before, start=None)
        steps = self._steps(fit)
        W = before.stacked([after.W for _, after in steps])
        if fit.provisional:
            return before.moved_to(W)
        if self.intervals:
            G = [
                before.G[k] + block.hessian_at(self._loss(fit, k), W[:, self.smallest, k])
                for k, (block, _) in enumerate(steps)
            ]
        else:
            G = [after.G for _, after in steps if after.G is not None]
        P = before.stacked([after.P for _, after in steps])
        return replace(before, W=W, P=P, G=G, M=self._spreads(fit, W, G))

    def _loss(self, fit: Fit, output: int) -> Loss:
        return self.smooth_loss(fit.rows, len(fit.before)).of_output(output)

    def _add_squares(self, fit: Fit) -> Information:
        """Add the rows to the sums that squared error needs; if due, solve for weights.

        Nothing but scores, and intervals, depends on those weights, so they are not solved for to
        the last digit.
        """
        held, before = fit.held, fit.before
        Z, weights, targets = held.rows(len(before)), held.weights(), held.targets()
        weighted = targets if weights is None else targets * weights[:, None]
        G = before.G[0] + gram(Z, weights, fit.threads)
        b, W = before.P[:, 0] + times_transposed(Z, weighted, fit.threads), before.W
        if fit.due or self.intervals:
            W = fit.penalty.nearly(G, b, W, fit.lead, fit.threads)
        return replace(before, W=W, P=b[:, None], G=[G], M=self._spreads(fit, W, [G]))

    def _steps(self, fit: Fit) -> list[tuple[Block, QuadraticSummary]]:
        """Take Newton's steps, one Hessian after the other.

        A Hessian may be thinned as long as there is one of rows before. With intervals the Hessian
        is that of the weights they are about, so the steps' own need not be kept.
        """
        held, before = fit.held, fit.before
        Z, penalty, found = held.rows(len(before)), fit.penalty.tiled(before.outputs_each), []
        blocks = blocks_of(Z, held.targets(), held.weights(), fit.threads, together=self.softmax)
        summaries = before.summaries(with_rows=len(Z) < fit.rows)
        keep = not (fit.provisional or self.intervals)
        for k, (block, past) in enumerate(zip(blocks, summaries, strict=True)):
            if past.G is not None and self.is_ridge:
                block = replace(block, rarity=rarity(past.G, penalty.shrink[:, fit.lead]))
            scores = None if fit.start is None else fit.start[..., k]
            how = (self._loss(fit, k), block, past, penalty, fit.lead, fit.rows)
            found.append((block, learn_block(*how, scores=scores, keep=keep)))
        return found

    def _weights_of_few(self, fit: Fit) -> Floats:
        """Return the optimum of the held rows alone, which are fewer than their columns."""
        held, W = fit.held, fit.before.W
        few = FewerRows(held.rows(len(W)), fit.penalty.shrink[:, 0] / self.penalties[0])
        penalty = Ridge(np.repeat(self.penalties[None], len(few.rows), axis=0))
        blocks = blocks_of(few.rows, held.targets(), held.weights(), 1, together=False)
        found = np.empty_like(W)
        for k, block in enumerate(blocks):
            start = few.inward(W[:, :, k])
            past = QuadraticSummary(None, np.zeros_like(start), start)
            how = (self._loss(fit, k), block, past, penalty, fit.lead, len(few.rows))
            found[:, :, k] = few.outward(learn_block(*how, keep=False).W)
        return found

    def _spreads(self, fit: Fit, W: Floats, G: list[Floats]) -> list[Floats]:
        """Return the sums of squared slopes that intervals need, the held rows' added."""
        held, place = fit.held, self.smallest
        Z, targets, found = held.rows(len(W)), held.targets(), []
        for k, so_far in enumerate(fit.before.M):
            whole = definite(G[k % len(G)], fit.penalty.shrink[:, place])
            own = (targets[:, k], held.weights(), W[:, place, k], whole)
            found.append(so_far + slope_spread(self._loss(fit, k), Z, *own))
        return found

    def exact_weights(self, known: Information, penalty: Ridge) -> Information:
        """Minimise squared error for every penalty by its own factor, or by coordinate descent."""
        W = [
            penalty.exactly(known.G[0], known.P[:, 0], place, known.W[:, place])
            for place in range(known.W.shape[1])
        ]
        return replace(known, W=np.stack(W, axis=1))


def _not_negative(W: Floats, first: int) -> Floats:
    """Return the weights with those from column ``first`` on raised to zero."""
    return np.concatenate([W[:first], np.maximum(W[first:], 0.0)])

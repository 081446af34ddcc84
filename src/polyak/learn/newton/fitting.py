"""From a block of held rows, and what is known of those before it, to what is known of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import FewerRows, definite, gram, times_transposed
from polyak.learn.newton.block.curvature import Block
from polyak.learn.newton.block.leave_one_out import scores_left_out
from polyak.learn.newton.block.penalty import Ridge, Sparsity
from polyak.learn.newton.block.step import QuadraticSummary, learn_block
from polyak.learn.newton.block.thinning import rarity
from polyak.learn.newton.held_rows import HeldRows
from polyak.learn.newton.information import Information
from polyak.learn.newton.limits import UNPENALISED
from polyak.learn.newton.sandwich import slope_spread
from polyak.learn.newton.softmax import blocks_of, fit_first_classes, weights_of_first_classes
from polyak.learn.newton.softmax import scores_left_out as classes_left_out
from polyak.learn.newton.standardize import Standard
from polyak.losses import Loss, get_loss

Floats = NDArray[np.float64]

INTERCEPT = 1e-8
"""The intercept's share of the penalty, where a loss might not hold it otherwise."""


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

    def fit(
        self,
        held: HeldRows,
        before: Information,
        penalty: Ridge,
        lead: int,
        rows: int,
        threads: int,
        *,
        start: Floats | None,
        due: bool,
        provisional: bool,
    ) -> Information:
        """Return what is known of all rows; after a provisional fit nothing but weights is new.

        ``rows`` is the number of rows with those before the block. ``start`` are the held rows'
        scores by the weights before the block, if there were any. Weights of squared error are
        solved for only if it is ``due``.
        """
        loss = self.smooth_loss(rows, len(before))
        if self.exact:
            due = due or self.intervals
            known = self._add_squares(loss, held, before, penalty, lead, threads, due=due)
            return before.with_weights(known.W) if provisional else known
        first = rows == held.count
        if self.softmax and first:
            if not provisional:
                return fit_first_classes(held, before, penalty.shrink, lead, threads)
            own = (before.W, penalty.shrink, self.penalties, threads)
            return before.with_weights(weights_of_first_classes(held, *own))
        if provisional and self.is_ridge and first and rows < len(before):
            W = self._weights_of_few(loss, held, before.W, penalty.shrink, lead)
            return before.with_weights(W)
        if self.sparsity is not None and self.sparsity.positive:
            before, start = before.moved_to(_not_negative(before.W, held.first)), None
        # With intervals the Hessian is that of the weights they are about, not of the steps.
        keep = not (provisional or self.intervals)
        steps = self._steps(loss, held, before, penalty, start, lead, rows, threads, keep=keep)
        W = before.stacked([after.W for _, after in steps])
        if provisional:
            return before.moved_to(W)
        if self.intervals:
            G = [
                before.G[k] + block.hessian_at(loss.of_output(k), W[:, self.smallest, k])
                for k, (block, _) in enumerate(steps)
            ]
        else:
            G = [after.G for _, after in steps if after.G is not None]
        P = before.stacked([after.P for _, after in steps])
        M = self._spreads(loss, held, before, W, G, penalty)
        return replace(before, W=W, P=P, G=G, M=M)

    def _add_squares(
        self,
        loss: Loss,
        held: HeldRows,
        before: Information,
        penalty: Ridge,
        lead: int,
        threads: int,
        *,
        due: bool,
    ) -> Information:
        """Add the rows to the sums that squared error needs; if due, solve for weights.

        Nothing but scores depends on those weights, so they are not solved for to the last digit.
        """
        Z, weights, targets = held.rows(len(before)), held.weights(), held.targets()
        weighted = targets if weights is None else targets * weights[:, None]
        G = before.G[0] + gram(Z, weights, threads)
        b = before.P[:, 0] + times_transposed(Z, weighted, threads)
        W = penalty.nearly(G, b, before.W, lead, threads) if due else before.W
        M = self._spreads(loss, held, before, W, [G], penalty)
        return Information(True, W, b[:, None], [G], M)

    def _steps(
        self,
        loss: Loss,
        held: HeldRows,
        before: Information,
        penalty: Ridge,
        start: Floats | None,
        lead: int,
        rows: int,
        threads: int,
        *,
        keep: bool,
    ) -> list[tuple[Block, QuadraticSummary]]:
        """Take Newton's steps, one Hessian after the other.

        A Hessian may be thinned as long as there is one of rows before.
        """
        Z, penalty, found = held.rows(len(before)), penalty.tiled(before.outputs_each), []
        blocks = blocks_of(Z, held.targets(), held.weights(), threads, together=self.softmax)
        summaries = before.summaries(with_rows=len(Z) < rows)
        for k, (block, past) in enumerate(zip(blocks, summaries, strict=True)):
            if past.G is not None and self.is_ridge:
                block = replace(block, rarity=rarity(past.G, penalty.shrink[:, lead]))
            scores = None if start is None else start[..., k]
            how = (loss.of_output(k), block, past, penalty, lead, rows)
            found.append((block, learn_block(*how, scores=scores, keep=keep)))
        return found

    def _weights_of_few(
        self, loss: Loss, held: HeldRows, W: Floats, shrink: Floats, lead: int
    ) -> Floats:
        """Return the optimum of the held rows alone, which are fewer than their columns."""
        few = FewerRows(held.rows(len(W)), shrink[:, 0] / self.penalties[0])
        penalty = Ridge(np.repeat(self.penalties[None], len(few.rows), axis=0))
        blocks = blocks_of(few.rows, held.targets(), held.weights(), 1, together=False)
        found = np.empty_like(W)
        for k, block in enumerate(blocks):
            start = few.inward(W[:, :, k])
            past = QuadraticSummary(None, np.zeros_like(start), start)
            how = (loss.of_output(k), block, past, penalty, lead, len(few.rows))
            found[:, :, k] = few.outward(learn_block(*how, keep=False).W)
        return found

    def _spreads(
        self,
        loss: Loss,
        held: HeldRows,
        before: Information,
        W: Floats,
        G: list[Floats],
        penalty: Ridge,
    ) -> list[Floats]:
        """Return the sums of squared slopes that intervals need, the held rows' added."""
        Z, weights, targets = held.rows(len(before)), held.weights(), held.targets()
        found = []
        for k, so_far in enumerate(before.M):
            whole = definite(G[k % len(G)], penalty.shrink[:, self.smallest])
            w = W[:, self.smallest, k]
            found.append(
                so_far + slope_spread(loss.of_output(k), Z, targets[:, k], weights, w, whole)
            )
        return found

    def exact_weights(self, known: Information, penalty: Ridge) -> Information:
        """Minimise squared error for every penalty by its own factor, or by coordinate descent."""
        W = [
            penalty.exactly(known.G[0], known.P[:, 0], place, known.W[:, place])
            for place in range(known.W.shape[1])
        ]
        return replace(known, W=np.stack(W, axis=1))

    def leaving_out(
        self,
        known: Information,
        penalty: Ridge,
        Z: Floats,
        targets: Floats,
        weights: Floats | None,
    ) -> Callable[[int], Floats]:
        """Return a function of a penalty's place: the scores of rows by weights found without them.

        ``known`` is the optimum of all rows. Where weights are sparse, the set of those that are
        not zero is taken as fixed.
        """
        shrink, matrix, loss = penalty.shrink, None, self.smooth_loss(len(Z), Z.shape[1])
        if self.softmax:
            return partial(classes_left_out, Z, targets, weights, known.W, shrink)
        W = [known.W[:, :, k] for k in range(known.W.shape[2])]
        if self.sparsity is not None:
            shrink = np.maximum(shrink, INTERCEPT)
        elif len(Z) < Z.shape[1]:  # less work, and the same
            few = FewerRows(Z, np.maximum(shrink[:, 0] / self.penalties[0], INTERCEPT))
            W = [few.inward(own) for own in W]
            Z, shrink = few.rows, np.repeat(self.penalties[None], len(Z), axis=0)
        if self.sparsity is None and self.exact:
            matrix = gram(Z, weights)

        def scores(place: int) -> Floats:
            found = np.empty((len(Z), len(W)))
            for k, own in enumerate(W):
                rows, w, own_shrink = Z, own[:, [place]], shrink[:, [place]]
                if self.sparsity is not None:
                    there = np.flatnonzero(w)
                    rows = Z.take(there, axis=1)  # in C order, which Z[:, there] is not
                    w, own_shrink = w[there], own_shrink[there]
                given = (rows, targets[:, k], weights, w, own_shrink, matrix)
                found[:, k] = scores_left_out(loss.of_output(k), *given)[:, 0]
            return found

        return scores


def _not_negative(W: Floats, first: int) -> Floats:
    """Return the weights with those from column ``first`` on raised to zero."""
    return np.concatenate([W[:first], np.maximum(W[first:], 0.0)])

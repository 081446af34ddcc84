"""From held rows, and what is known of those before them, to what is known of all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import definite, gram, times_transposed
from polyak.learn.newton.block.fewer_rows import FewerRows
from polyak.learn.newton.block.penalty import Ridge
from polyak.learn.newton.block.step import Block, Past, learn_block
from polyak.learn.newton.block.thinning import rarity
from polyak.learn.newton.held_rows import HeldRows
from polyak.learn.newton.information import Information
from polyak.learn.newton.sandwich import gram_at, slope_spread
from polyak.learn.newton.standardize import Standard
from polyak.losses import Loss, get_loss

Floats = NDArray[np.float64]

INTERCEPT = 1e-8
"""The intercept's share of the penalty, where a loss might not hold it otherwise."""


def shrink_of(standard: Standard, penalties: Floats, *, exact: bool) -> Floats:
    """Give each column's penalty, a column a penalty, by the sizes that columns have."""
    first = np.full(int(standard.fit_intercept), 0.0 if exact else INTERCEPT)
    return np.concatenate([first, standard.mean_squares])[:, None] * penalties


def fit_exactly(
    held: HeldRows, before: Information, penalty: Ridge, lead: int, threads: int, *, due: bool
) -> Information:
    """Add the rows to the sums that squared error needs; if due, solve for weights to score by.

    Nothing but scores depends on those weights, so they are not solved for to the last digit.
    """
    Z, weights, targets = held.rows(len(before)), held.weights(), held.targets()
    weighted = targets if weights is None else targets * weights[:, None]
    G = before.G[0] + gram(Z, weights, threads)
    b = before.P[:, 0] + times_transposed(Z, weighted, threads)
    W = penalty.nearly(G, b, before.W, lead, threads) if due else before.W
    M = _with_spread(get_loss("squared_error"), held, before, W, [G], penalty.shrink)
    return Information(True, W, b[:, None], [G], M)


def exact_weights(known: Information, penalty: Ridge) -> Information:
    """Minimise squared error for every penalty by its own factor, or by coordinate descent."""
    W = [
        penalty.exactly(known.G[0], known.P[:, 0], place, known.W[:, place])
        for place in range(known.W.shape[1])
    ]
    return Information(True, np.stack(W, axis=1), known.P, known.G, known.M)


def newton_steps(
    loss: Loss,
    held: HeldRows,
    before: Information,
    penalty: Ridge,
    start: Floats | None,
    lead: int,
    rows: int,
    threads: int,
    keep: bool,
    thin: bool,
) -> list[tuple[Block, Past]]:
    """Take Newton's steps, one output after the other; ``rows`` are there with those before.

    ``start`` are the held rows' scores by the weights before, where they are known already. A
    matrix may be ``thin``, as long as there is one before.
    """
    Z, weights, found = held.rows(len(before)), held.weights(), []
    for k in range(before.W.shape[2]):
        own = None if len(Z) == rows else before.G[k]
        rare = rarity(own, penalty.shrink[:, lead]) if thin and own is not None else None
        targets = np.ascontiguousarray(held.targets()[:, k])
        block = Block(Z, targets, weights, threads, rarity=rare)
        past = Past(own, before.P[:, :, k], before.W[:, :, k])
        scores = None if start is None else start[..., k]
        how = (loss.of_output(k), block, past, penalty, lead, rows)
        found.append((block, learn_block(*how, scores=scores, keep=keep)))
    return found


def weights_of(steps: list[tuple[Block, Past]]) -> Floats:
    """Give the weights that steps led to."""
    return np.stack([after.W for _, after in steps], axis=2)


def fit_curved(
    loss: Loss,
    held: HeldRows,
    before: Information,
    penalty: Ridge,
    steps: list[tuple[Block, Past]],
) -> Information:
    """Add what the steps found to what is known of the rows before."""
    W, G = weights_of(steps), []
    smallest = int(np.argmin(penalty.shrink[-1]))
    for k, (block, after) in enumerate(steps):
        if before.M:  # the matrix is to be that of the weights that intervals are about
            G.append(before.G[k] + gram_at(loss.of_output(k), block, W[:, smallest, k]))
        else:
            assert after.G is not None
            G.append(after.G)
    P = np.stack([after.P for _, after in steps], axis=2)
    return Information(False, W, P, G, _with_spread(loss, held, before, W, G, penalty.shrink))


def weights_of_few(
    loss: Loss, held: HeldRows, W: Floats, shrink: Floats, penalties: Floats, lead: int
) -> Floats:
    """Find the optimum of the held rows alone, which are fewer than their columns."""
    few = FewerRows(held.rows(len(W)), shrink[:, 0] / penalties[0])
    penalty = Ridge(np.repeat(penalties[None], len(few.rows), axis=0))
    found = np.empty_like(W)
    for k in range(W.shape[2]):
        block = Block(few.rows, np.ascontiguousarray(held.targets()[:, k]), held.weights())
        start = few.inward(W[:, :, k])
        past = Past(None, np.zeros_like(start), start)
        after = learn_block(
            loss.of_output(k), block, past, penalty, lead, len(few.rows), keep=False
        )
        found[:, :, k] = few.outward(after.W)
    return found


def _with_spread(
    loss: Loss,
    held: HeldRows,
    before: Information,
    W: Floats,
    G: list[Floats],
    shrink: Floats,
) -> list[Floats]:
    """Add what the slopes of the held rows spread, for intervals, to what was spread before."""
    place, Z = int(np.argmin(shrink[-1])), held.rows(len(before))
    weights, targets = held.weights(), held.targets()
    found = []
    for k, so_far in enumerate(before.M):
        whole = definite(G[k % len(G)], shrink[:, place])
        more = slope_spread(loss.of_output(k), Z, targets[:, k], weights, W[:, place, k], whole)
        found.append(so_far + more)
    return found

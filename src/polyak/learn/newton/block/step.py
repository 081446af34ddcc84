"""Newton's step on a block of rows, what came before being summed up by a quadratic.

Of all rows before the block there are left the weights ``w0``, the matrix ``G``, the sum of their
Hessians, and ``p``, the gradient of their losses at ``w0``. With the block's rows Z, what is to be
minimised is

    sum of L(Z w, y) + (w - w0) G (w - w0) / 2 + p (w - w0) + tau w R w / 2

for several penalties tau side by side, a column of W each. They share the curvature of one of them,
the leading one: it is the matrix product that costs, and a line search makes up for the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.newton.block.algebra import WIDE, gram, inner, times, times_transposed
from polyak.learn.newton.block.curvature import curvature, is_logistic, value_and_slope
from polyak.learn.newton.block.penalty import Ridge
from polyak.learn.newton.block.thinning import taken_of
from polyak.losses import Loss

Floats = NDArray[np.float64]

ENOUGH = 1e-3
"""A step that promised to lower the mean loss of all rows by no more than this share was the last.

What it leaves undone is less by far, and the next block makes up for it.
"""
BY_AN_OLD_MATRIX = 0.1
"""The share of that for a step by a matrix of other weights, after which more is left undone."""
MOST_STEPS = 25
SHORT = 0.25
"""Where less than this of a step was good, the next is a safe one."""
MUCH_LESS = 0.25
"""A step that promised more than this of what the one before did leaves the next a new matrix."""
MOVED, MOVED_AT_FIRST = 0.1, 0.01
"""After a step that promised more than this share of all loss, curvature is no longer what it was:
the block is remembered by a matrix of where its weights ended. For a later block that matters less:
if its matrix is a tenth too large, the block counts for a tenth more, and that costs a hundredth of
what it adds."""
LOST = 10.0
"""How many times the leading penalty's loss of a block is too much, if no weights were better."""


@dataclass
class QuadraticSummary:
    """What is left of the rows before: their matrix, their gradient at W, and W, a column each.

    Without a matrix there were none.
    """

    G: Floats | None
    P: Floats
    W: Floats

    def and_of(self, hessian: Floats) -> Floats:
        """Give the matrix of these rows and of a block."""
        return hessian if self.G is None else hessian + self.G


class Look(NamedTuple):
    """What rows say of weights: scores, each penalty's loss of the block, and its gradient."""

    scores: Floats
    values: Floats
    gradient: Floats


@dataclass(frozen=True)
class Block:
    """Rows to learn, with targets and weights that have a row each."""

    Z: NDArray[Any]
    targets: Floats
    weights: Floats | None
    threads: int = 1
    rarity: Floats | None = None  # by which `polyak.learn.newton.block.thinning` samples rows

    def weighted(self, numbers: Floats) -> Floats:
        """Count each row as often as its weight says."""
        if self.weights is None:
            return numbers
        return numbers * self.weights.reshape(-1, *[1] * (numbers.ndim - 1))

    def scores(self, W: Floats) -> Floats:
        """Give the rows' scores by each penalty's weights, the penalties last."""
        return times(self.Z, W, self.threads)

    def gradient(self, slopes: Floats) -> Floats:
        """Give the gradient of the block's loss where scores have these slopes."""
        return times_transposed(self.Z, slopes, self.threads)

    def losses(self, loss: str | Loss, scores: Floats) -> tuple[Floats, Floats]:
        """Give each penalty's loss of the block, and the slopes of all rows."""
        values, slopes = value_and_slope(loss, scores, self.targets[:, None])
        return self.weighted(values).sum(axis=0), self.weighted(slopes)

    def look(self, loss: str | Loss, scores: Floats, move: Floats | None) -> Look:
        """Look at weights by which rows have these scores, or at those that far below them.

        At most blocks it is the logistic loss, for which the core does all of it in one go.
        """
        if self.targets.ndim == 1 and is_logistic(loss):
            step = None if move is None else np.ascontiguousarray(move.T)
            own = (self.targets, self.weights, np.ascontiguousarray(scores), step, self.threads)
            found, values, gradient = _core.logistic_look(self.Z, *own)
            return Look(found, values, gradient.T)
        if move is not None:
            scores = scores - self.scores(move)
        values, slopes = self.losses(loss, scores)
        return Look(scores, values, self.gradient(slopes))

    def hessian(self, loss: str | Loss, scores: Floats, *, safe: bool) -> Floats:
        """Return the block's Hessian where rows have these scores."""
        h = self.weighted(curvature(loss, scores, self.targets, safe=safe))
        taken, chances = self.sampled(h[:, None])
        return gram(self.Z[taken], h[taken] / chances, self.threads)

    def sampled(self, curvatures: Floats) -> tuple[slice | NDArray[np.intp], Floats | float]:
        """Return the rows that the Hessian is computed from, and the probability of each.

        ``curvatures`` are those of the rows, a column for each output of the Hessian.
        """
        if self.rarity is None:
            return slice(None), 1.0
        chances = np.zeros(len(self.Z))
        outputs = curvatures.shape[1]
        for h, rarity in zip(curvatures.T, self.rarity.reshape(outputs, -1), strict=True):
            squares = _core.block_squares(self.Z, np.ascontiguousarray(rarity), self.threads)
            # The squares of an absurd row, which weighs nothing, may be beyond its precision.
            chances += np.multiply(h, squares, out=np.zeros_like(h), where=h > 0)
        chances = np.minimum(chances, 1.0)
        taken = taken_of(chances)
        return taken, chances[taken]


def learn_block(
    loss: str | Loss,
    block: Block,
    past: QuadraticSummary,
    penalty: Ridge,
    lead: int,
    rows: int,
    *,
    scores: Floats | None = None,
    keep: bool = True,
    tolerance: float = ENOUGH,
) -> QuadraticSummary:
    """Minimise for every penalty; give what is left then, with a good matrix if it is to be kept.

    ``penalty`` is that of ``tau R``, or another; ``rows`` is how many there are now, those of the
    past and the block's; ``scores`` are those by the past's weights, if they are known. The last
    step is one that promised to lower the mean loss by less than the share ``tolerance``.
    """
    G, W, GD = past.G, past.W, np.zeros_like(past.W)  # the last is G (w - w0)
    S, values, gradient = block.look(loss, block.scores(W) if scores is None else scores, None)
    safe = G is None and not isinstance(loss, str) and loss.is_flat_far_away
    moved = MOVED_AT_FIRST if G is None else MOVED
    near = slice(max(lead - 1, 0), lead + 2) if len(W) > WIDE else slice(None)
    promised, good = np.full(W.shape[1], np.inf), False
    for _ in range(MOST_STEPS):
        if not good:
            matrix = past.and_of(block.hessian(loss, S[..., lead], safe=safe))
            step, far = penalty.steps(matrix, lead, block.threads), safe
        pull = GD + past.P + penalty.shrink * W
        D = step(gradient + pull, W)
        D[:, ~np.isfinite(D).all(axis=0)] = 0.0
        GD_step = np.zeros_like(D) if G is None else G @ D
        line = _Line(penalty, W, D, pull, GD_step, inner(gradient + pull, D))
        length, (S, values, gradient) = _search(loss, block, S, D, values, line)
        W = W - length * D
        GD = GD - length * GD_step
        whole = values * rows / len(block.Z)  # about what all rows lose
        enough = tolerance * (BY_AN_OLD_MATRIX if good else 1.0)
        if line.promised[lead] <= 2.0 * enough * whole[lead] and not safe:
            break
        safe = not safe and length[lead] < SHORT
        far = far or bool(line.promised[lead] > moved * whole[lead])
        # A matrix serves as long as steps are short and each leaves little for the next; one of
        # many columns costs more than penalties are worth that are far from the leading one.
        short = line.promised <= np.minimum(whole, MUCH_LESS * promised)
        good = not safe and bool((short & (length == 1.0))[near].all())
        promised = line.promised
    P = past.P + GD + gradient
    _bring_back_the_lost(loss, block, values, lead, (W, P))
    if far and keep:
        matrix = past.and_of(block.hessian(loss, S[..., lead], safe=False))
    return QuadraticSummary(matrix, P, W)


def _bring_back_the_lost(
    loss: str | Loss, block: Block, values: Floats, lead: int, arrays: tuple[Floats, ...]
) -> None:
    """Let penalties that another's curvature led astray go on from where the leading one is.

    P is a gradient at W whatever the penalty, so they can. Where rows are few, the leading one may
    have next to no loss; nobody is lost who is better than no weights at all.
    """
    most = LOST * values[lead]
    if (values <= most).all():
        return
    nothing = block.losses(loss, block.scores(np.zeros((len(arrays[0]), 1))))[0][0]
    lost = ~(values <= max(most, nothing))
    for array in arrays:
        array[:, lost] = array[:, [lead]]


class _Line:
    """Along the step, how all but the block's loss falls."""

    def __init__(
        self, penalty: Ridge, W: Floats, D: Floats, pull: Floats, GD: Floats, promised: Floats
    ) -> None:
        self.penalty, self.W, self.D = penalty, W, D
        self.linear, self.square = inner(pull, D), inner(D, GD + penalty.shrink * D)
        self.promised = promised + (penalty.rest(W) - penalty.rest(W - D))

    def fallen(self, length: Floats) -> Floats:
        """Say how much it has fallen so far along the step."""
        squares = length * self.linear - 0.5 * length**2 * self.square
        there = self.W - length * self.D
        return squares + (self.penalty.rest(self.W) - self.penalty.rest(there))


def _search(
    loss: str | Loss, block: Block, S: Floats, D: Floats, values: Floats, line: _Line
) -> tuple[Floats, Look]:
    """Go the whole step, or half of it, or a quarter ..., until what is minimised has fallen."""
    length, slack = np.ones(len(line.linear)), 1e-12 * np.abs(values)
    at = block.look(loss, S, D)
    for _ in range(40):
        fallen = values - at.values + line.fallen(length)
        fails = ~(fallen >= 1e-4 * length * line.promised - slack) & (length > 0)
        if not fails.any():
            return length, at
        length = np.where(fails, 0.5 * length, length)
        at = block.look(loss, S, length * D)
    length = np.where(fails, 0.0, length)
    return length, block.look(loss, S, length * D)

"""Newton's step on a block of rows, what came before being summed up by a quadratic.

What remains of all rows before the block are the weights ``w0``, the sum ``G`` of their Hessians,
and the gradient ``p`` of their losses at ``w0``. With the block's rows Z, the objective is

    sum of L(Z w, y) + (w - w0) G (w - w0) / 2 + p (w - w0) + tau w R w / 2

for several penalties tau side by side, a column of W each. They share the Hessian of one of them,
the leading one: computing it is what costs, and a line search makes up for the difference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import WIDE, inner
from polyak.learn.newton.block.curvature import Look
from polyak.learn.newton.block.penalty import Ridge, Steps
from polyak.losses import Loss

Floats = NDArray[np.float64]

TOLERANCE = 1e-3
"""The promised decrease, as a share of the mean loss, below which a step is the last one: it leaves
far less undone, and the next block makes up for that."""
CONVERGED = 1e-10
"""The same where the weights themselves are asked for. Newton's steps converge by squares: the last
one leaves far less undone."""
BY_OLD_HESSIAN = 0.1
"""The factor of the tolerance for a step by the Hessian of other weights: it leaves more undone."""
NEIGHBOURS, STEPS_OF_OTHERS = 1e-5, 6
"""The tolerance for the neighbours of a penalty that go on from its optimum, and for heavier ones,
which next to a constant may not lose more than that; and the steps by its Hessian that they take
together."""
MOST_LARGER = 1e6
"""How many times larger a Hessian may seem: of a step that changes nothing rounding tells more."""
MOST_STEPS, MOST_HALVINGS = 25, 40
SHORT = 0.25
"""The length of a step, as a share of the whole one, below which the next uses a majorizer."""
MUCH_LESS = 0.25
"""The promised decrease, as a share of the step before's, above which the Hessian is stale."""
FAR, FAR_AT_FIRST = 0.1, 0.01
"""The promised decrease, as a share of all loss, above which a step changes the curvature. For a
later block that matters less: if its Hessian is a tenth too large, the block counts for a tenth
more, and that costs a hundredth of what it adds."""
LOST = 10.0
"""How many times the leading penalty's loss of a block is too much, if zero weights do better."""
SUFFICIENT, ROUNDING = 1e-4, 1e-12
"""The share of the promised decrease that a step must achieve, and the rounding of losses, relative
or, where rows fit exactly, per row."""


class RowsToLearn(Protocol):
    """What a step has to know of rows: see `polyak.learn.newton.block.curvature.Block`."""

    @property
    def threads(self) -> int:
        """The threads that may share a product."""

    @property
    def targets(self) -> Floats:
        """The targets."""

    @property
    def weights(self) -> Floats | None:
        """The weights of the rows; None if all are one."""

    @property
    def offsets(self) -> Floats | None:
        """What is added to the scores of each penalty's weights, if anything."""

    def __len__(self) -> int: ...

    def look_at(self, loss: Loss, W: Floats) -> Look:
        """Return the loss and gradient at each penalty's weights."""

    def look(self, loss: Loss, scores: Floats, step: Floats | None) -> Look:
        """Return the loss and gradient at the weights of these scores, or a step below them."""

    def hessian(self, loss: Loss, scores: Floats, *, safe: bool) -> Floats:
        """Return the Hessian where rows have these scores, or that of a majorizer."""


@dataclass
class QuadraticSummary:
    """What remains of rows: their Hessian, their gradient at W, and W, a column per penalty.

    Without a Hessian there were no rows. ``is_optimum`` is whether the last steps converged to W.
    """

    G: Floats | None
    P: Floats
    W: Floats
    is_optimum: bool = True

    def have_same_weights(self) -> bool:
        """Whether there are several penalties, and weights do not depend on them yet."""
        return self.W.shape[1] > 1 and bool((self.W[:, :1] == self.W).all())

    def of_penalty(self, place: int) -> QuadraticSummary:
        """Return the summary of a single penalty."""
        return replace(self, P=self.P[:, [place]], W=self.W[:, [place]])

    def hessian_with(self, hessian: Floats) -> Floats:
        """Return the Hessian of these rows and of a block."""
        return hessian if self.G is None else hessian + self.G


# -- the policies of Newton's steps; ``promised`` is the decrease that a quadratic promises --------


def converged(promised: float, loss: float, tolerance: float, *, reused: bool) -> bool:
    """Whether the step was the last: it promised next to nothing of the loss of all rows."""
    return bool(promised <= 2.0 * tolerance * (BY_OLD_HESSIAN if reused else 1.0) * loss)


def needs_majorizer(length: float) -> bool:
    """Whether so little of the step was good that the next goes by a parabola above the loss."""
    return bool(length < SHORT)


def hessian_is_stale(promised: Floats, before: Floats, loss: Floats, length: Floats) -> bool:
    """Whether steps have become too long, or decrease too slowly, to go by the same Hessian."""
    short = promised <= np.minimum(loss, MUCH_LESS * before)
    return not bool((short & (length == 1.0)).all())


def curvature_changes(promised: float, loss: float, *, first: bool) -> bool:
    """Whether a step was so long that the block is remembered by a Hessian of where it ended."""
    return bool(promised > (FAR_AT_FIRST if first else FAR) * loss)


def learn_block(
    loss: Loss,
    block: RowsToLearn,
    past: QuadraticSummary,
    penalty: Ridge,
    lead: int,
    rows: int,
    *,
    scores: Floats | None = None,
    keep: bool = True,
    tolerance: float = TOLERANCE,
    first: Floats | None = None,
    intercept: bool | None = None,
    alone: bool = False,
) -> QuadraticSummary:
    """Minimise for every penalty; return the summary of all rows.

    Where no rows came before, and all penalties have the same weights, the leading one goes alone,
    and the others begin where it ended: steps of one cost a part of those of all.

    Parameters
    ----------
    past : QuadraticSummary
        That of the rows before the block.
    lead : int
        The place of the penalty whose Hessian all share.
    rows : int
        The number of rows, the past's and the block's.
    scores : array, optional
        The block's scores by the past's weights, if they are known.
    keep : bool
        Whether the Hessian is needed afterwards, and should be that of the last weights.
    tolerance : float
        The share of the mean loss below which a promised decrease ends the steps.
    first : array, optional
        A Hessian for the first step, near enough to that of all rows. Every later step then has a
        Hessian of its own, which converges faster in the end.
    intercept : bool, optional
        Whether the first column is an intercept. If it is known, steps for a loss with a log link
        start from the best constant where the past's weights have a higher loss: a step lowers a
        score that is far too high by one, and does not come back from a loss of 1e133.
    alone : bool
        Whether the others are to have its weights, since these rows are the start of more.
    """
    if alone or (past.G is None and past.have_same_weights()):
        own = (past.of_penalty(lead), penalty.of_penalties([lead]), 0, rows)
        some = None if scores is None else scores[:, [lead]]
        how: Any = {"tolerance": tolerance, "first": first, "intercept": intercept}
        found = learn_block(loss, block, *own, scores=some, keep=not alone, **how)
        if alone:
            return replace(past, W=np.repeat(found.W, past.W.shape[1], axis=1))
        return _learn_others(loss, block, found, penalty, lead, rows, max(tolerance, NEIGHBOURS))
    G, W, GD = past.G, past.W, np.zeros_like(past.W)  # the last is G (w - w0)
    S, values, gradient = (
        block.look_at(loss, W) if scores is None else block.look(loss, scores, None)
    )
    if loss.log_link and intercept is not None:
        best, value = _best_constant(loss, block, fit_intercept=intercept)
        exploded = ~(values <= value)
        if exploded.any():
            W = np.where(exploded, 0.0, W)
            W[: int(intercept), exploded] = best
            GD = GD if G is None else G @ (W - past.W)
            S, values, gradient = block.look_at(loss, W)
    majorize = G is None and first is None and loss.is_flat_far_away
    # A Hessian of many columns costs more than penalties far from the leading one are worth.
    near = slice(max(lead - 1, 0), lead + 2) if len(W) > WIDE else slice(None)
    promised, stale, changed, is_optimum = np.full(W.shape[1], np.inf), True, False, True
    step: Steps
    for number in range(MOST_STEPS):
        if stale:
            if number or first is None:
                hessian = past.hessian_with(block.hessian(loss, S[..., lead], safe=majorize))
            else:
                hessian = first
            step, changed = penalty.steps(hessian, lead, block.threads), majorize
        pull = GD + past.P + penalty.shrink * W
        D = step(gradient + pull, W)
        D[:, ~np.isfinite(D).all(axis=0)] = 0.0
        GD_step = np.zeros_like(D) if G is None else G @ D
        line = _Line(penalty, W, D, pull, GD_step, inner(gradient + pull, D))
        length, (S, values, gradient) = _search(loss, block, S, D, values, line)
        W = W - length * D
        GD = GD - length * GD_step
        # About the loss of all rows; where they fit exactly, rounding makes it zero or negative.
        whole = np.maximum(values / len(block), ROUNDING) * rows
        at_lead = (float(line.promised[lead]), float(whole[lead]))
        by_first = first is not None and not number
        if converged(*at_lead, tolerance, reused=not stale) and not (majorize or by_first):
            break
        majorize = not majorize and needs_majorizer(length[lead])
        changed = changed or curvature_changes(*at_lead, first=G is None)
        decreases = (line.promised[near], promised[near], whole[near])
        stale = first is not None or majorize or hessian_is_stale(*decreases, length[near])
        promised = line.promised
    else:
        is_optimum = False
    P = past.P + GD + gradient
    _recover_diverged(loss, block, values, lead, (W, P))
    if changed and keep:
        hessian = past.hessian_with(block.hessian(loss, S[..., lead], safe=False))
    return QuadraticSummary(hessian, P, W, is_optimum)


def _learn_others(
    loss: Loss,
    block: RowsToLearn,
    alone: QuadraticSummary,
    penalty: Ridge,
    lead: int,
    rows: int,
    tolerance: float,
) -> QuadraticSummary:
    """Minimise for the other penalties from the leading one's optimum on; no rows came before.

    A few steps by its Hessian bring those that are not there yet to theirs. Those of heavier ones
    are mostly larger by a factor, which the step before tells. Lighter ones are where classes are
    all but separated: on tables of a few hundred rows a few steps predict better than the end.
    """
    models, near = penalty.shrink.shape[1], slice(max(lead - 1, 0), lead + 2)
    W = np.repeat(alone.W, models, axis=1)
    look = (np.repeat(one, models, axis=-1) for one in block.look_at(loss, alone.W))
    (S, values, P), is_heavier = look, penalty.sizes > penalty.sizes[lead]
    enough = np.where(is_heavier, tolerance, max(tolerance, TOLERANCE))
    enough[near] = tolerance
    assert alone.G is not None
    step, times_larger = penalty.steps(alone.G, lead, block.threads), np.ones(models)
    for _ in range(STEPS_OF_OTHERS):
        D = step(P + penalty.shrink * W, W, times_larger)
        D[:, ~np.isfinite(D).all(axis=0)] = 0.0
        promised = _line(penalty, W, D, P).promised
        whole = np.maximum(values / len(block), ROUNDING) * rows
        left = np.flatnonzero(promised > 2.0 * enough * whole)
        if not len(left):
            break
        D = D[:, left]
        line = _line(penalty.of_penalties(left), W[:, left], D, P[:, left])
        length, found = _search(loss, block, S[..., left], D, values[left], line)
        D *= length
        bent, expected = inner(D, P[:, left] - found.gradient), inner(D, alone.G @ D)
        measured = np.divide(bent, expected, out=np.ones_like(bent), where=expected > 0)
        times_larger[left] = np.where(is_heavier[left], np.clip(measured, 1.0, MOST_LARGER), 1.0)
        W[:, left] -= D
        S[..., left], values[left], P[:, left] = found
    _recover_diverged(loss, block, values, lead, (W, P))
    return QuadraticSummary(alone.G, P, W, alone.is_optimum)


def _best_constant(loss: Loss, rows: RowsToLearn, *, fit_intercept: bool) -> tuple[float, float]:
    """Return the best constant of rows of one output, and the sum of their losses there."""
    targets = rows.targets.reshape(len(rows))
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    offsets = np.zeros(len(rows)) if rows.offsets is None else rows.offsets
    best = loss.best_intercept(targets, weights, offsets) if fit_intercept else 0.0
    return best, float(weights @ loss.value(offsets + best, targets))


def _recover_diverged(
    loss: Loss, block: RowsToLearn, values: Floats, lead: int, arrays: tuple[Floats, ...]
) -> None:
    """Restart penalties that another's Hessian led astray from the weights of the leading one.

    P is a gradient at W whatever the penalty, so they can. Where rows are few, the leading one may
    have next to no loss: weights that do better than zero weights have not diverged.
    """
    most = LOST * values[lead]
    if (values <= most).all():
        return
    nothing = block.look_at(loss, np.zeros((len(arrays[0]), 1))).values[0]
    lost = ~(values <= max(most, nothing))
    for array in arrays:
        array[:, lost] = array[:, [lead]]


class _Line:
    """The decrease, along a step, of the objective without the block's loss."""

    def __init__(
        self, penalty: Ridge, W: Floats, D: Floats, pull: Floats, GD: Floats, promised: Floats
    ) -> None:
        self.penalty, self.W, self.D = penalty, W, D
        self.linear, self.square = inner(pull, D), inner(D, GD + penalty.shrink * D)
        self.promised = promised + (penalty.rest(W) - penalty.rest(W - D))

    def decrease(self, length: Floats) -> Floats:
        """Return the decrease after this length of the step."""
        squares = length * self.linear - 0.5 * length**2 * self.square
        there = self.W - length * self.D
        return squares + (self.penalty.rest(self.W) - self.penalty.rest(there))


def _line(penalty: Ridge, W: Floats, D: Floats, gradient: Floats) -> _Line:
    """Return the line along a step where no rows came before."""
    pull = penalty.shrink * W
    return _Line(penalty, W, D, pull, np.zeros_like(D), inner(gradient + pull, D))


def _search(
    loss: Loss, block: RowsToLearn, S: Floats, D: Floats, values: Floats, line: _Line
) -> tuple[Floats, Look]:
    """Take the whole step, or half of it, or a quarter ..., until the objective has decreased."""
    length, slack = np.ones(len(line.linear)), ROUNDING * np.maximum(np.abs(values), len(block))
    at = block.look(loss, S, D)
    for _ in range(MOST_HALVINGS):
        decrease = values - at.values + line.decrease(length)
        fails = ~(decrease >= SUFFICIENT * length * line.promised - slack) & (length > 0)
        if not fails.any():
            return length, at
        length = np.where(fails, 0.5 * length, length)
        at = block.look(loss, S, length * D)
    length = np.where(fails, 0.0, length)
    return length, block.look(loss, S, length * D)

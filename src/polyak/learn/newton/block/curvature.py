"""The losses of a block of rows: their values, gradients and Hessians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.newton.block.algebra import gram, times, times_transposed
from polyak.learn.newton.block.thinning import taken_of
from polyak.losses import Loss

Floats = NDArray[np.float64]


def curvature(loss: Loss, scores: Floats, targets: Floats, *, safe: bool = False) -> Floats:
    """Return the second derivative of each score's loss, or of a majorizer: see `Loss`."""
    if scores.ndim == 1 and not safe and loss.name == "log_loss":
        return _core.logistic_curvature(np.ascontiguousarray(scores))
    return loss.curvature_at(scores, targets, safe=safe)


def with_offsets(scores: Floats, offsets: Floats | None) -> Floats:
    """Return scores, whose first axis is rows, with the rows' offsets added, if there are any."""
    return scores if offsets is None else scores + offsets.reshape(-1, *[1] * (scores.ndim - 1))


class Look(NamedTuple):
    """The scores of rows by some weights, each penalty's loss of the block, and its gradient."""

    scores: Floats
    values: Floats
    gradient: Floats


@dataclass(frozen=True)
class Block:
    """Rows to learn, with their targets and weights, and what is added to their scores.

    Its Hessian is that of all rows or, with a ``rarity``, of those that
    `polyak.learn.newton.block.thinning` samples.
    """

    Z: NDArray[Any]
    targets: Floats
    weights: Floats | None
    threads: int = 1
    rarity: Floats | None = None
    offsets: Floats | None = None

    def __len__(self) -> int:
        return len(self.Z)

    def weighted(self, numbers: Floats) -> Floats:
        """Return numbers, of which each row has some, times the weights of the rows."""
        if self.weights is None:
            return numbers
        return numbers * self.weights.reshape(-1, *[1] * (numbers.ndim - 1))

    def scores(self, W: Floats) -> Floats:
        """Return rows times each penalty's weights, the penalties last, without offsets."""
        return times(self.Z, W, self.threads)

    def gradient(self, slopes: Floats) -> Floats:
        """Return the gradient of the block's loss where scores have these slopes."""
        return times_transposed(self.Z, slopes, self.threads)

    def losses(self, loss: Loss, scores: Floats) -> tuple[Floats, Floats]:
        """Return each penalty's loss of the block, and the slopes of all rows."""
        values, slopes = loss.value_and_slope(scores, self.targets[:, None])
        return self.weighted(values).sum(axis=0), self.weighted(slopes)

    def look_at(self, loss: Loss, W: Floats) -> Look:
        """Return the loss and gradient at each penalty's weights."""
        return self.look(loss, with_offsets(self.scores(W), self.offsets), None)

    def look(self, loss: Loss, scores: Floats, step: Floats | None) -> Look:
        """Return the loss and gradient at the weights of these scores, or a step below them.

        For the logistic loss the core computes all of it in one pass over the rows.
        """
        if self.targets.ndim == 1 and loss.name == "log_loss":
            along = None if step is None else np.ascontiguousarray(step.T)
            own = (self.targets, self.weights, np.ascontiguousarray(scores), along, self.threads)
            found, values, gradient = _core.logistic_loss(self.Z, *own)
            return Look(found, values, gradient.T)
        if step is not None:
            scores = scores - self.scores(step)
        values, slopes = self.losses(loss, scores)
        return Look(scores, values, self.gradient(slopes))

    def hessian(self, loss: Loss, scores: Floats, *, safe: bool) -> Floats:
        """Return the block's Hessian where rows have these scores, or that of a majorizer."""
        h = self.weighted(curvature(loss, scores, self.targets, safe=safe))
        taken, chances = self.sampled(h[:, None])
        return gram(self.Z[taken], h[taken] / chances, self.threads)

    def hessian_at(self, loss: Loss, w: Floats) -> Floats:
        """Return the Hessian of all rows at one penalty's weights."""
        scores = with_offsets(self.Z @ w.astype(self.Z.dtype), self.offsets)
        h = curvature(loss, scores, self.targets)
        return gram(self.Z, self.weighted(h), self.threads)

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

"""Newton's step for classes that are learned together, their probabilities being a softmax.

To add the same to all classes' scores changes nothing, so the weights of all classes may add up to
zero, as those with the least penalty do. With ``B`` an orthonormal basis of the vectors that add up
to zero, a column each, they are ``W = V B'``: K classes have K - 1 columns of ``V`` that nothing
holds down but the penalty, ``|W|² = |V|²``, and what is to be minimised has one optimum.

A row's Hessian is ``diag(p) - p p'`` in its scores, the sum over pairs of classes of ``p_c p_k`` on
the difference of their scores. So the Hessian of all weights takes a product of rows per pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import (
    definite_inverse,
    forms,
    gram,
    grams,
    times,
    times_transposed,
)
from polyak.learn.newton.block.curvature import Block
from polyak.learn.newton.block.leave_one_out import MOST_LEVERAGE, shared_by_all
from polyak.learn.newton.information import flat
from polyak.losses import Loss, get_loss
from polyak.losses.softmax import odds_of_softmax, softmax

Floats = NDArray[np.float64]

MOST_FORMS = 1 << 23
"""The most quadratic forms of rows that are held at a time: 64 MiB."""


@cache
def basis(classes: int) -> Floats:
    """Return an orthonormal basis of the vectors that add up to zero, a column each.

    Examples
    --------
    >>> basis(3).round(3)
    array([[ 0.707,  0.408],
           [-0.707,  0.408],
           [ 0.   , -0.816]])
    """
    B = np.zeros((classes, classes - 1))
    for k in range(1, classes):
        B[:k, k - 1], B[k, k - 1] = 1.0, -k
        B[:, k - 1] /= np.sqrt(k * (k + 1))
    return B


def odds_of_classes(scores: Floats, classes: int) -> Floats:
    """Return the log-odds of each class for scores of all penalties' classes, side by side."""
    return odds_of_softmax(scores.reshape(len(scores), -1, classes)).reshape(scores.shape)


def of_classes(V: Floats) -> Floats:
    """Return the weights of all K classes from V, whose last axis has K - 1."""
    return np.asarray(V @ basis(V.shape[-1] + 1).T)


@dataclass(frozen=True)
class ClassesBlock(Block):
    """Rows whose targets have a column per class: +1 for their own, -1 for the others.

    Weights have a column per penalty, those of one column of V below the others; scores have the
    axes rows, classes, penalties.
    """

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.targets.shape[1])

    def scores(self, W: Floats) -> Floats:
        """Return the rows' scores of all classes by each penalty's weights."""
        B, penalties = basis(self.classes), W.shape[1]
        V = W.reshape(B.shape[1], -1)
        each = (B @ V).reshape(self.classes, self.Z.shape[1], penalties)
        side_by_side = np.ascontiguousarray(each.transpose(1, 0, 2)).reshape(self.Z.shape[1], -1)
        found = times(self.Z, side_by_side, self.threads)
        return found.reshape(-1, self.classes, penalties)

    def losses(self, loss: Loss, scores: Floats) -> tuple[Floats, Floats]:
        """Return each penalty's loss of the block, and the slopes of all rows."""
        highest = scores.max(axis=1, keepdims=True)
        chance = np.exp(scores - highest)
        total = chance.sum(axis=1, keepdims=True)
        own = self.targets.argmax(axis=1)[:, None, None]
        values = np.log(total) + highest - np.take_along_axis(scores, own, axis=1)
        chance /= total
        chance -= (self.targets > 0)[:, :, None]
        return self.weighted(values[:, 0]).sum(axis=0), self.weighted(chance)

    def gradient(self, slopes: Floats) -> Floats:
        """Return the gradient of the block's loss where scores have these slopes."""
        rows, classes, penalties = slopes.shape
        found = times_transposed(self.Z, slopes.reshape(rows, -1), self.threads)
        each = found.reshape(-1, classes, penalties).transpose(1, 0, 2).reshape(classes, -1)
        return np.asarray(basis(classes).T @ each, dtype=np.float64).reshape(-1, penalties)

    def hessian(self, loss: Loss, scores: Floats, *, safe: bool) -> Floats:
        """Return the block's Hessian where rows have these scores, or a bound on it.

        The safe one bounds it everywhere: ``diag(p) - p p'`` is at most ``(I - 11'/K) / 2``.
        """
        B, columns = basis(self.classes), self.Z.shape[1]
        if safe:
            halves = self.weighted(np.full((len(self.Z), B.shape[1]), 0.5))
            taken, chances = self.sampled(halves)
            bound = gram(self.Z[taken], halves[taken, 0] / chances, self.threads)
            return np.asarray(np.kron(np.eye(self.classes - 1), bound), dtype=np.float64)
        chance = softmax(scores)
        along = np.maximum(chance @ np.square(B) - np.square(chance @ B), 0.0)
        taken, chances = self.sampled(self.weighted(along))
        some, others = np.triu_indices(self.classes, 1)
        pairs = self.weighted(chance[:, some] * chance[:, others])[taken]
        pairs /= chances if isinstance(chances, float) else chances[:, None]
        whole = np.zeros((self.classes, self.classes, columns * columns))
        whole[some, others] = whole[others, some] = -grams(self.Z[taken], pairs, self.threads)
        diagonal = np.arange(self.classes)
        whole[diagonal, diagonal] = -whole.sum(axis=1)
        # One side after the other: all pairs at once, as they are in the basis, take K / 4 times as
        # many multiplications.
        whole = B.T @ (B.T @ whole.reshape(self.classes, -1)).reshape(-1, *whole.shape[1:])
        size = (self.classes - 1) * columns
        blocks = whole.reshape(self.classes - 1, self.classes - 1, columns, columns)
        return np.ascontiguousarray(blocks.transpose(0, 2, 1, 3)).reshape(size, size)

    def hessian_at(self, loss: Loss, w: Floats) -> Floats:
        """Return the Hessian of all rows at one penalty's weights."""
        return replace(self, rarity=None).hessian(loss, self.scores(w[:, None])[..., 0], safe=False)


def blocks_of(
    Z: NDArray[Any],
    targets: Floats,
    weights: Floats | None,
    offsets: Floats | None,
    threads: int,
    *,
    together: bool,
) -> list[Block]:
    """Return a block for each output, or one of all classes that are learned together.

    Offsets do not change the probabilities of such classes.
    """
    if together:
        return [ClassesBlock(Z, targets, weights, threads)]
    own = [np.ascontiguousarray(column) for column in targets.T]
    return [Block(Z, column, weights, threads, offsets=offsets) for column in own]


def scores_left_out(
    Z: Floats,
    targets: Floats,
    weights: Floats | None,
    V: Floats,
    shrink: Floats,
    places: Sequence[int],
    *,
    times: float = 1.0,
    spent: float = 0.0,
) -> Floats:
    """Return the log-odds of every row's classes by the weights of penalties found without it.

    As in `polyak.learn.newton.block.leave_one_out`, with matrices for numbers: where ``Q`` is a
    row's part of the inverse Hessian and ``h`` its own Hessian, scores move by
    ``Q (1 - h Q)^-1 g``. Scores have the shape (rows, places, classes).
    """
    block, loss, penalties = ClassesBlock(Z, targets, weights), get_loss("log_loss"), list(places)
    scores = block.scores(flat(V[:, penalties]))
    _, slopes = block.losses(loss, scores)
    left_out = np.full(scores.shape, np.nan)
    inverses, definite = [], []
    for p, place in enumerate(penalties):
        matrix = block.hessian(loss, scores[..., p], safe=False)
        inverse = definite_inverse(matrix, np.tile(shrink[:, place], V.shape[2]))
        if inverse is not None:
            inverses.append(inverse / np.sqrt(times))
            definite.append(p)
    size = max(MOST_FORMS // (len(Z) * math.comb(V.shape[2] + 1, 2)), 1)
    for begin in range(0, len(definite), size):
        parts = _parts(block, inverses[begin : begin + size])
        for p, Q in zip(definite[begin : begin + size], parts, strict=True):
            moves = _moves(block, softmax(scores[..., p]), slopes[..., p], Q, spent / times)
            left_out[..., p] = scores[..., p] + moves
    return odds_of_softmax(left_out.transpose(0, 2, 1))


def _parts(block: ClassesBlock, inverses: list[Floats]) -> Floats:
    """Return each row's part of inverse Hessians, which are known by their factors."""
    one_less, columns = block.classes - 1, block.Z.shape[1]
    covariance = np.stack([inverse.T @ inverse for inverse in inverses])
    covariance = covariance.reshape(-1, one_less, columns, one_less, columns)
    a, b = np.triu_indices(one_less)
    between = covariance.transpose(0, 1, 3, 2, 4)[:, a, b].reshape(-1, columns, columns)
    Q = np.empty((len(inverses), len(block.Z), one_less, one_less))
    upper = forms(block.Z, between).reshape(len(block.Z), len(Q), -1)
    Q[:, :, a, b] = Q[:, :, b, a] = upper.transpose(1, 0, 2)
    return Q


def _moves(block: ClassesBlock, chance: Floats, slopes: Floats, Q: Floats, spent: float) -> Floats:
    """Return how each row's scores move where it is left out."""
    B = basis(block.classes)
    one_less = B.shape[1]
    h = chance @ (B[:, :, None] * B[:, None, :]).reshape(block.classes, -1)
    apart = chance @ B
    h = block.weighted(h.reshape(-1, one_less, one_less) - apart[:, :, None] * apart[:, None])
    left = np.eye(one_less) - MOST_LEVERAGE * (h @ Q)
    rest, mean = (float(np.trace(one.mean(axis=0))) / one_less for one in (left, h))
    Q = Q + shared_by_all(spent, len(h) * rest, mean) * np.eye(one_less)
    moved = Q @ np.linalg.solve(left, (slopes @ B)[:, :, None])
    return np.asarray(moved[:, :, 0] @ B.T)

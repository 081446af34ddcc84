"""The optimum of rows that are all in memory, where the weights themselves are asked for.

One pass sums up the rows of earlier blocks by quadratics at the weights of the time. That is good
enough to predict, but 0.02 to 0.15 standard errors from maximum likelihood on 10,000 rows with 3%
positives (ISLR Default, five orders), where standard errors are off by up to a tenth. A few Newton
steps over all rows from there reach the optimum itself, and the matrices of the sandwich are then
those of one set of weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.newton.block.algebra import GRAM_ROWS, definite, gram, inverse_of
from polyak.learn.newton.block.curvature import Block, Look
from polyak.learn.newton.block.one_thread import one_blas_thread
from polyak.learn.newton.block.penalty import Ridge
from polyak.learn.newton.block.step import CONVERGED, learn_block
from polyak.learn.newton.information import Information, flat
from polyak.learn.newton.learned import Learned
from polyak.learn.newton.sandwich import slope_spread
from polyak.learn.newton.softmax import blocks_of
from polyak.losses import Loss
from polyak.losses.softmax import odds_of_softmax
from polyak.model.terms import ExpandedRows
from polyak.rows.sparse import Rows
from polyak.threads import on_threads

Floats = NDArray[np.float64]

PART = 1 << 18
"""The numbers that a part has in standard units: 2 MiB. With half of that the steps to the optimum
of 678,013 x 47 rows take 1.5 s of processor time instead of 1.4."""
NOTHING_GAINED = 0.1
"""The promised decrease, as a share of the dispersion times the degrees of freedom, below which a
step of terms is the last and not looked at: estimating the weights costs half of the latter."""
SLOW = 0.25
"""The promised decrease, as a share of the step's before, above which the Hessian is stale."""
MOST_STEPS, SHORTEST = 12, 1e-3
"""The most steps of terms, and the shortest as a share of the whole one."""
VARIES = 1e-10
"""The variance, as a share of the largest, below which rows do not vary along a direction."""
NEXT_TO_NO_CURVATURE, HELD_BY_PENALTY = 1e-3, 1e3
"""Along a direction without a finite optimum the mean curvature is below the first, and the sum of
curvatures below the second times the penalty's: the penalty alone determines both."""


@dataclass(frozen=True, eq=False)
class AllRows:
    """All rows as one `Block`, put into standard units a part at a time: a copy would be dense.

    Attributes
    ----------
    X : array, SparseRows or ExpandedRows
    learned : Learned
        The columns with their units.
    targets : array of shape (rows, outputs)
    weights : array of shape (rows,), optional
    offsets : array of shape (rows,), optional
        What is added to scores.
    threads : int
        Both halves of the rows are summed separately, whether by one thread or by two.
    output : int
        The output whose losses are asked for, unless all are learned together.
    """

    X: Rows | ExpandedRows
    learned: Learned
    targets: Floats
    weights: Floats | None
    offsets: Floats | None
    threads: int
    output: int = 0

    def __len__(self) -> int:
        return len(self.X)

    def sums(self, function: Callable[[Block, slice], tuple[Floats, ...]]) -> list[Floats]:
        """Return the sums over all parts of what a function of a part and its place returns."""
        columns, together = self.learned.columns, self.learned.known.together
        step = max(PART // max(columns, 1), GRAM_ROWS)

        def half(ends: tuple[int, int]) -> list[Floats]:
            total: list[Floats] = []
            with one_blas_thread():
                for begin in range(*ends, step):
                    some = slice(begin, min(begin + step, ends[1]))
                    Z = self.learned.standard_rows(self.X[some])
                    weights = None if self.weights is None else self.weights[some]
                    offsets = None if self.offsets is None else self.offsets[some]
                    own = (self.targets[some], weights, offsets, 1)
                    parts = blocks_of(Z, *own, together=together)
                    found = function(parts[self.output], some)
                    total = _added(total, found) if total else list(found)
            return total

        middle = len(self) // 2
        ends = [(0, middle), (middle, len(self))]
        first, second = on_threads(half, ends, self.threads)
        return _added(first, second) if first else second

    def norms(self) -> Floats:
        """Return the squared norms of rows."""
        found = np.empty(len(self))

        def part(block: Block, some: slice) -> tuple[()]:
            _core.block_norms(block.Z, found[some])
            return ()

        self.sums(part)
        return found

    def look_at(self, loss: Loss, W: Floats) -> Look:
        """Return the loss and gradient at each penalty's weights."""
        classes = self.targets.shape[1:] if self.learned.known.together else ()
        shape = (len(self), *classes, W.shape[1])
        return self._look(shape, lambda block, _: block.look_at(loss, W))

    def look(self, loss: Loss, scores: Floats, step: Floats | None) -> Look:
        """Return the loss and gradient at the weights of these scores, or a step below them."""
        return self._look(scores.shape, lambda block, some: block.look(loss, scores[some], step))

    def _look(self, shape: tuple[int, ...], look: Callable[[Block, slice], Look]) -> Look:
        scores = np.empty(shape)

        def part(block: Block, some: slice) -> tuple[Floats, Floats]:
            scores[some], values, gradient = look(block, some)
            return values, gradient

        return Look(scores, *self.sums(part))

    def hessian(self, loss: Loss, scores: Floats, *, safe: bool) -> Floats:
        """Return the Hessian where rows have these scores, or that of a majorizer."""
        return self.sums(lambda block, some: (block.hessian(loss, scores[some], safe=safe),))[0]

    def slope_spread(self, loss: Loss, w: Floats, whole: Floats | None) -> Floats:
        """Return the sum of ``g² z zᵀ``: see `polyak.learn.newton.sandwich.slope_spread`."""
        inverse = inverse_of(whole, len(w))
        return self.sums(lambda block, _: (slope_spread(block, loss, w, inverse),))[0]


def _added(some: Sequence[Floats], others: Sequence[Floats]) -> list[Floats]:
    return [one + other for one, other in zip(some, others, strict=True)]


def converged(
    loss: Loss,
    known: Information,
    rows: AllRows,
    shrink: Floats,
    place: int,
    *,
    intervals: bool,
) -> tuple[Information, bool]:
    """Return ``known`` with the optimum of all rows for the penalty at ``place``.

    The flag is whether the steps converged to it.
    ``shrink`` has that penalty for each column. The weights of squared error are there already.
    With ``intervals`` the sums of squared slopes are there, too.
    """
    W, P, G, is_optimum = known.W.copy(), known.P.copy(), known.G, True
    if not known.exact:
        only, ridge = known.select([place]), Ridge(shrink[:, None]).tiled(known.outputs_each)
        found = []
        for k, past in enumerate(only.summaries(with_rows=False)):
            start, own = replace(past, P=np.zeros_like(past.P)), rows
            if not known.together:
                own = replace(rows, targets=rows.targets[:, [k]])
            how = (loss.of_output(k), own, start, ridge, 0, len(rows))
            first, intercept = known.G[k], rows.learned.objective.fit_intercept
            fit = partial(learn_block, tolerance=CONVERGED, intercept=intercept)
            found.append(fit(*how, first=first))
        G = [after.G for after in found if after.G is not None]
        is_optimum = all(after.is_optimum for after in found)
        W[:, [place]] = only.stacked([after.W for after in found])
        P[:, [place]] = only.stacked([after.P for after in found])
    M = []
    for k in range(W.shape[2] if intervals else 0):
        own, whole = replace(rows, output=k), definite(G[k % len(G)], shrink)
        M.append(own.slope_spread(loss.of_output(k), W[:, place, k], whole))
    return replace(known, W=W, P=P, G=G, M=M), is_optimum


class _Around(NamedTuple):
    """The loss of all rows around some weights, and each Hessian's rows as these score them."""

    known: Information
    looks: list[Look]

    @classmethod
    def weights(cls, loss: Loss, known: Information, rows: AllRows) -> _Around:
        """Look at all rows by the weights that are known, one pass for each output."""
        W = [flat(known.W)] if known.together else [*known.W.transpose(2, 0, 1)]
        looks = [
            replace(rows, output=k).look_at(loss.of_output(k), np.ascontiguousarray(own))
            for k, own in enumerate(W)
        ]
        if not known.exact:
            known = replace(known, P=known.stacked([look.gradient for look in looks]))
        return cls(known, looks)

    @property
    def value(self) -> float:
        """The sum of the rows' losses."""
        return float(sum(look.values[0] for look in self.looks))

    @property
    def scores(self) -> Floats:
        """The scores of rows, a column per output."""
        if self.known.together:
            return odds_of_softmax(self.looks[0].scores[..., 0])
        return np.concatenate([look.scores for look in self.looks], axis=1)

    def with_hessians(self, loss: Loss, rows: AllRows) -> _Around:
        """Return the same with the Hessians at these weights."""
        G = [
            replace(rows, output=k).hessian(loss.of_output(k), look.scores[..., 0], safe=False)
            for k, look in enumerate(self.looks)
        ]
        return self._replace(known=replace(self.known, G=G))


def terms_converged(loss: Loss, learned: Learned, rows: AllRows) -> Learned:
    """Return what is known at the optimum of all rows, with the penalties that belong to it.

    A step is Newton's for weights and that of Fellner and Schall for penalties. Hessians are those
    that one pass has left as long as steps by them become shorter fast.
    """
    standard, smoothing = learned.standard, learned.smoothing
    at, before = _Around.weights(loss, learned.padded(), rows), np.inf
    for _ in range(MOST_STEPS):
        assert smoothing is not None
        freedom = float(smoothing.freedom(at.known, standard).sum())
        kept = max(1.0 - freedom / at.scores.size, 0.1)
        own = (at.scores, rows.targets, rows.weights, kept)
        counted = replace(smoothing, squares=0.0, curvature=0.0).counted(loss, *own)
        better, there = counted.refitted(at.known, standard, learned.weight)
        shrink, start = better.shrink(standard)[:, None, None], at.known.W
        slope = at.known.gradient() + shrink * start
        promised = float((slope * (start - there.W)).sum())
        if promised < NOTHING_GAINED * better.dispersion * max(freedom, 1.0):
            return replace(learned, known=there, smoothing=better)
        length, penalty = 1.0, 0.5 * float((shrink * start * start).sum())
        while length >= SHORTEST:
            W = (1.0 - length) * start + length * there.W  # a weight at its bound stays there
            now = _Around.weights(loss, at.known.moved_to(W), rows)
            if now.value + 0.5 * float((shrink * W * W).sum()) < at.value + penalty:
                at, smoothing = now, better
                break
            length *= 0.5
        if length < SHORTEST:
            break
        if promised > SLOW * before and not at.known.exact:
            at = at.with_hessians(loss, rows)
        before = promised
    return replace(learned, known=at.known, smoothing=smoothing)


def has_no_optimum(known: Information, rows: AllRows, shrink: Floats) -> bool:
    """Whether some combination of features separates classes, so that only the penalty holds it.

    ``known`` is of all rows, at the optimum. Directions in which rows do not vary do not count.
    """
    if known.exact:
        return False
    ridge = np.tile(shrink, known.outputs_each)
    held = np.concatenate([_perhaps_held(G, ridge, len(known)) for G in known.G], axis=1)
    basis, sizes, _ = np.linalg.svd(held, full_matrices=False)
    basis = np.ascontiguousarray(basis[:, sizes > VARIES])
    if not basis.size:
        return False

    def products(block: Block, _: slice) -> tuple[Floats, ...]:
        norms = np.empty(len(block))
        _core.block_norms(block.Z, norms)
        return gram(block.Z @ basis, block.weights), block.weighted(norms).sum()

    between, total = rows.sums(products)
    variances, axes = np.linalg.eigh(between)
    varies = variances > VARIES * total
    whitened = basis @ axes[:, varies] / np.sqrt(variances[varies])
    each = np.kron(np.eye(known.outputs_each), whitened)
    for G in known.G:
        curvatures, directions = np.linalg.eigh(each.T @ G @ each)
        held = np.einsum("ij,i,ij->j", each @ directions, ridge, each @ directions)
        if (curvatures < np.minimum(NEXT_TO_NO_CURVATURE, HELD_BY_PENALTY * held)).any():
            return True
    return False


def _perhaps_held(G: Floats, ridge: Floats, columns: int) -> Floats:
    """Return directions of weights that span all in which the penalty may hold them, columns each.

    In units in which the diagonal of the Hessian is one, its curvature along all others is above
    that of the penalty along any direction.
    """
    size = 1.0 / np.sqrt(np.maximum(np.diagonal(G), 1e-300))
    curvatures, axes = np.linalg.eigh(G * size[:, None] * size)
    few = axes[:, curvatures < HELD_BY_PENALTY * (ridge * size * size).max(initial=0.0)]
    few = few * size[:, None]
    few = few / np.maximum(np.linalg.norm(few, axis=0), 1e-300)
    outputs = len(G) // columns
    return np.asarray(few.reshape(outputs, columns, -1).transpose(1, 0, 2).reshape(columns, -1))

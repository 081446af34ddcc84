"""Newton's step on a block of rows, what came before being summed up by a quadratic.

Of all rows before the block there are left the weights ``w0``, the matrix ``G``, the sum of their
Hessians, and ``p``, the gradient of their losses at ``w0``. With the block's rows Z, what is to be
minimised is

    sum of L(Z w, y) + (w - w0) G (w - w0) / 2 + p (w - w0) + tau w R w / 2

for several penalties tau side by side, a column of W each. They share the curvature of one of them,
the leading one: it is the matrix product that costs, and a line search makes up for the difference.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ENOUGH = 1e-3
"""A step that promised to lower the mean loss of all rows by no more than this share was the last.

What it leaves undone is less by far, and the next block makes up for it.
"""
MOST_STEPS = 25
SHORT = 0.25
"""Where less than this of a step was good, the next is a safe one."""
LOST = 10.0
"""How many times the leading penalty's loss of a block is too much."""
GRAM_ELEMENTS = 1 << 17
"""So many numbers at a time go into a product: they stay in a processor's cache."""


# -- losses with a curvature -------------------------------------------------------------------


def value_and_slope(loss: str, scores: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """Give the loss of each score and its derivative, together: they share the dear part."""
    if loss == "squared_error":
        away = scores - targets
        return 0.5 * away * away, away
    margin = targets * scores
    if loss == "squared_hinge":
        left = np.maximum(1.0 - margin, 0.0)
        return 0.5 * left * left, -targets * left
    small = np.exp(-np.abs(margin))
    value = np.log1p(small)
    value -= np.minimum(margin, 0.0)
    slope = np.where(margin > 0, small, 1.0)
    slope /= 1.0 + small
    slope *= -targets
    return value, slope


def curvature(loss: str, scores: Floats, targets: Floats, *, safe: bool = False) -> Floats:
    """Give the second derivative of the loss at each score.

    Where a score is large and wrong, the second derivative of the logistic loss is next to nothing,
    and a step that goes by it far too long. The ``safe`` one is that of the parabola which touches
    the loss there and lies above it everywhere: a step that goes by it always gains.
    """
    if loss == "squared_error":
        return np.ones_like(scores)
    if loss == "squared_hinge":
        return (targets * scores < 1.0).astype(np.float64)
    if safe:
        away = np.maximum(np.abs(scores), 1e-4)
        return np.asarray(np.tanh(0.5 * away) / (2.0 * away))
    small = np.exp(-np.abs(scores))
    return np.asarray(small / np.square(1.0 + small))


# -- linear algebra ----------------------------------------------------------------------------


def gram(Z: Floats, h: Floats | None) -> Floats:
    """Add up ``h z z'`` over rows, some at a time; without h each counts one."""
    width = Z.shape[1]
    total = np.zeros((width, width))
    if h is not None and np.count_nonzero(h) < 0.9 * len(h):
        there = np.flatnonzero(h)
        Z, h = Z[there], h[there]
    step = max(GRAM_ELEMENTS // max(width, 1), 128)
    for begin in range(0, len(Z), step):
        part = Z[begin : begin + step]
        if h is not None:
            part = part * np.sqrt(h[begin : begin + step])[:, None]
        total += part.T @ part
    return total


def solve(matrix: Floats, penalty: Floats, right: Floats) -> Floats:
    """Solve ``(matrix + diag(penalty)) x = right`` for a positive definite matrix."""
    return solve_by(definite(matrix, penalty), right)


def definite(matrix: Floats, penalty: Floats) -> Floats | None:
    """Give ``matrix + diag(penalty)``, positive definite; None for numbers that have overflowed.

    Where rounding has made it indefinite, the diagonal grows by as little as will do.
    """
    diagonal = np.arange(len(matrix))
    extra: float | Floats = 0.0
    for power in range(-15, 1):
        whole = matrix.copy()
        whole[diagonal, diagonal] += penalty + extra
        try:
            if np.isfinite(np.linalg.cholesky(whole)[-1, -1]):
                return whole
        except np.linalg.LinAlgError:
            pass
        extra = np.maximum(np.diagonal(matrix), 1e-300) * 10.0**power
    return None


def solve_by(whole: Floats | None, right: Floats) -> Floats:
    """Solve by a matrix that ``definite`` gave.

    In NumPy alone, which has no solver for Cholesky's factor: SciPy's would take longer to import
    than small files take to learn.
    """
    return np.asarray(
        np.full_like(right, np.nan) if whole is None else np.linalg.solve(whole, right),
        dtype=np.float64,
    )


class _OneThread:
    """Keeps BLAS to one thread as long as anybody is inside: more would change the last bits.

    Most libraries have one setting for the whole process, which threadpoolctl lets only the first
    thread change that ever did; here whoever comes first changes it and whoever leaves last changes
    it back. Those that use OpenMP have one for every thread.
    """

    def __init__(self) -> None:
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

        found = ThreadpoolController().select(user_api="blas").lib_controllers
        self.own = [one for one in found if getattr(one, "threading_layer", "") == "openmp"]
        self.shared = [one for one in found if one not in self.own]
        self.lock = threading.Lock()
        self.inside = 0
        self.before: list[int] = []

    def enter(self) -> list[int]:
        with self.lock:
            if not self.inside:
                self.before = [library.get_num_threads() for library in self.shared]
                _set_threads(self.shared, [1] * len(self.shared))
            self.inside += 1
        before = [library.get_num_threads() for library in self.own]
        _set_threads(self.own, [1] * len(self.own))
        return before

    def leave(self, before: list[int]) -> None:
        _set_threads(self.own, before)
        with self.lock:
            self.inside -= 1
            if not self.inside:
                _set_threads(self.shared, self.before)


def _set_threads(libraries: list[Any], numbers: list[int]) -> None:
    for library, number in zip(libraries, numbers, strict=True):
        getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


@cache
def _one_thread() -> _OneThread:
    return _OneThread()


if hasattr(os, "register_at_fork"):  # the lock may be held by a thread that is not there
    os.register_at_fork(after_in_child=_one_thread.cache_clear)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Do products in one thread, so that their bits do not depend on how many there are."""
    guard = _one_thread()
    before = guard.enter()
    try:
        yield
    finally:
        guard.leave(before)


# -- the step ----------------------------------------------------------------------------------


@dataclass
class Past:
    """What is left of the rows before: their matrix, their gradient at W, and W, a column each."""

    G: Floats
    P: Floats
    W: Floats


@dataclass(frozen=True)
class Block:
    """Rows to learn, with targets and weights that have a row each."""

    Z: Floats
    targets: Floats
    weights: Floats | None

    def weighted(self, numbers: Floats) -> Floats:
        """Count each row as often as its weight says."""
        if self.weights is None:
            return numbers
        return numbers * (self.weights if numbers.ndim == 1 else self.weights[:, None])


def learn_block(
    loss: str,
    block: Block,
    past: Past,
    shrink: Floats,
    lead: int,
    rows: int,
) -> tuple[Past, Floats]:
    """Minimise for every penalty; give what is left then, and the slopes of the block's losses.

    ``shrink`` is the diagonal of ``tau R``, a column a penalty; ``rows`` is how many there are now,
    those of the past and the block's.
    """
    Z, y = block.Z, block.targets[:, None]
    W = past.W
    GD = np.zeros_like(W)  # G (w - w0)
    S = Z @ W
    values, slopes = value_and_slope(loss, S, y)
    values, slopes = block.weighted(values).sum(axis=0), block.weighted(slopes)
    gradient = Z.T @ slopes
    safe, stale = False, False
    for _ in range(MOST_STEPS):
        if not stale:
            h = block.weighted(curvature(loss, S[:, lead], block.targets, safe=safe))
            Gb = gram(Z, h)
            factors = [definite(past.G + Gb, diagonal) for diagonal in shrink.T]
        pull = GD + past.P + shrink * W
        whole = gradient + pull
        D = np.stack([solve_by(*pair) for pair in zip(factors, whole.T, strict=True)], axis=1)
        D[:, ~np.isfinite(D).all(axis=0)] = 0.0
        GD_step = past.G @ D
        promised = np.einsum("it,it->t", whole, D)
        line = _Line(
            linear=np.einsum("it,it->t", pull, D),
            square=np.einsum("it,it->t", D, GD_step + shrink * D),
            promised=promised,
        )
        length, S, values, slopes = _search(loss, block, S, Z @ D, values, line)
        W = W - length * D
        GD = GD - length * GD_step
        gradient = Z.T @ slopes
        enough = promised[lead] <= 2.0 * ENOUGH * values[lead] * rows / len(Z)
        if enough and not safe:
            break
        safe = not safe and length[lead] < SHORT
        # With a past that holds the weights in place, the matrix is still good for a second step.
        stale = not stale and not safe and len(Z) < rows and length[lead] == 1.0
    P = past.P + GD + gradient
    # A curvature that is another's can lead a penalty astray. P is a gradient at W whatever the
    # penalty, so one that is lost can go on from where the leading one is.
    lost = ~(values <= LOST * values[lead])
    for array in (W, P, slopes):
        array[:, lost] = array[:, [lead]]
    return Past(past.G + Gb, P, W), slopes


@dataclass(frozen=True)
class _Line:
    """Along the step, how the quadratic part falls: ``linear * s - square * s^2 / 2``."""

    linear: Floats
    square: Floats
    promised: Floats


def _search(
    loss: str,
    block: Block,
    S: Floats,
    move: Floats,
    values: Floats,
    line: _Line,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Go the whole step, or half of it, or a quarter ..., until what is minimised has fallen."""
    y = block.targets[:, None]
    length = np.ones(len(line.linear))
    slack = 1e-12 * np.abs(values)
    for _ in range(40):
        there = S - length * move
        new_values, new_slopes = value_and_slope(loss, there, y)
        new_values, new_slopes = block.weighted(new_values).sum(axis=0), block.weighted(new_slopes)
        fallen = values - new_values + length * line.linear - 0.5 * length**2 * line.square
        fails = ~(fallen >= 1e-4 * length * line.promised - slack) & (length > 0)
        if not fails.any():
            return length, there, new_values, new_slopes
        length = np.where(fails, 0.5 * length, length)
    length = np.where(fails, 0.0, length)
    there = S - length * move
    new_values, new_slopes = value_and_slope(loss, there, y)
    return length, there, block.weighted(new_values).sum(axis=0), block.weighted(new_slopes)

"""Linear algebra of a block, in NumPy alone: importing SciPy would take longer than using it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.newton.block.one_thread import one_blas_thread
from polyak.threads import on_threads

Floats = NDArray[np.float64]
Rows = NDArray[Any]

GRAM_ROWS, GRAM_ELEMENTS = 1024, 1 << 17
"""Rows, or numbers if those are more rows, that go into a product at a time: with few columns they
stay in the cache; with many, sums of products must not be too many."""
FEW_NONZEROS, FEW_OF_NARROW = 0.12, 0.25
"""The share of non-zeros below which products of those alone take less time: of rows with more than
``WIDE`` columns, and with fewer. 678,013 x 47 rows of a table, 0.21 of them not zero: 0.10 s of
processor time instead of 0.21 for their products, 0.07 s instead of 0.27 for quadratic forms."""
HALVED = 1 << 18
"""The numbers of rows from which on a product is worth two threads."""
WIDE = 64
"""The columns that separate two tiers. Up to this many, the equations of each penalty have a factor
of their own, in 64 bits. With more, all penalties share one factor of 32 bits, found by halves that
BLAS multiplies, and conjugate gradients make up for the difference.

Logistic, 60,000 x 180 rows: 0.56 s of processor time instead of 0.68 with a threshold of 256;
200,000 x 100 rows: 0.57 s instead of 0.63 with one of 128."""
WORTH_TWO = 1 << 24
"""A product of two matrices that takes this many multiplications is worth two threads."""


# -- products of rows, in their own precision; sums have 64 bits ---------------------------------


def times(Z: Rows, W: Floats, threads: int = 1) -> Floats:
    """Return rows times columns of weights; a row's bits do not depend on the other rows."""
    return _core.block_scores(Z, np.ascontiguousarray(W.T, dtype=Z.dtype), threads)


def times_transposed(Z: Rows, S: Floats, threads: int = 1) -> Floats:
    """Return ``Z' S``."""
    S = S.astype(Z.dtype, copy=False)
    parts = _of_halves(Z, lambda some: S[some].T @ Z[some], threads)
    total = parts[0].astype(np.float64)
    for part in parts[1:]:
        total += part
    return np.asarray(total.T)


def _of_halves(Z: Rows, product: Callable[[slice], Rows], threads: int) -> list[Rows]:
    """Compute a product of many rows by halves, whether by one thread or by two."""
    if Z.size < HALVED:
        return [product(slice(None))]
    return _both_halves(Z, product, threads)


def _both_halves(Z: Rows, product: Callable[[slice], Rows], threads: int) -> list[Rows]:
    def alone(some: slice) -> Rows:
        with one_blas_thread():
            return product(some)

    middle = len(Z) // 2
    return on_threads(alone, [slice(middle), slice(middle, None)], threads)


def gram(Z: Rows, h: Floats | None, threads: int = 1) -> Floats:
    """Return the sum of ``h z z'`` over rows; without h each counts one.

    Both halves of the rows are summed separately, whether by one thread or by two. With few columns
    products have 64 bits, even those of rows that have less.
    """
    if h is not None and np.count_nonzero(h) < 0.9 * len(h):
        there = np.flatnonzero(h)
        Z, h = Z[there], h[there]
    if len(Z):
        few = _core.sparse_gram(Z, None if h is None else np.ascontiguousarray(h), _few(Z))
        if few is not None:
            return few
    dtype = Z.dtype if Z.shape[1] > WIDE else np.float64
    root = None if h is None else np.sqrt(h).astype(dtype)[:, None]
    step = max(GRAM_ELEMENTS // max(Z.shape[1], 1), GRAM_ROWS)
    middle = len(Z) // 2 if Z.size >= HALVED else len(Z) // 2 // step * step

    def half(ends: tuple[int, int]) -> Floats:
        total = np.zeros((Z.shape[1], Z.shape[1]))
        with one_blas_thread():
            for place in range(*ends, step):
                some = slice(place, min(place + step, ends[1]))
                part = Z[some] if root is None else Z[some] * root[some]
                total += part.T @ part
        return total

    if not middle:
        return half((0, len(Z)))
    first, second = on_threads(half, [(0, middle), (middle, len(Z))], threads)
    first += second
    return first


def _few(Z: Rows) -> float:
    return FEW_NONZEROS if Z.shape[1] > WIDE else FEW_OF_NARROW


def quadratic_form(Z: Rows, matrix: Floats) -> Floats:
    """Return ``z' M z`` of each row for a symmetric matrix."""
    found = _core.sparse_forms(Z, matrix, _few(Z))
    if found is not None:
        return found
    found, step = np.empty(len(Z)), max(GRAM_ELEMENTS // max(Z.shape[1], 1), GRAM_ROWS)
    for begin in range(0, len(Z), step):  # not to hold all products
        some = slice(begin, begin + step)
        np.einsum("ij,ij->i", Z[some] @ matrix, Z[some], out=found[some])
    return found


def grams(Z: Rows, H: Floats, threads: int = 1) -> Floats:
    """Return the sum of ``h z z'`` over rows for each column h of H, flattened to a row.

    The products of columns, which all of them share, are computed once where that pays.
    """
    columns = Z.shape[1]
    sparse = columns > WIDE and _core.sparse_gram(Z[:1024], None, FEW_NONZEROS) is not None
    if sparse or not _share_products(columns, H.shape[1]):
        return np.stack([gram(Z, h, threads).ravel() for h in np.ascontiguousarray(H.T)])
    H = H.astype(Z.dtype, copy=False)

    def half(rows: slice) -> Floats:
        total = np.zeros((columns * (columns + 1) // 2, H.shape[1]))
        with one_blas_thread():
            for some, products in _products_of_columns(Z, rows):
                total += products @ H[some]
        return total

    middle = len(Z) // 2
    halves = [slice(0, len(Z))]
    if Z.size * H.shape[1] >= HALVED:
        halves = [slice(0, middle), slice(middle, len(Z))]
    found = on_threads(half, halves, threads)
    whole = np.empty((H.shape[1], columns, columns))
    i, j = np.triu_indices(columns)
    whole[:, i, j] = whole[:, j, i] = sum(found[1:], start=found[0]).T
    return whole.reshape(len(whole), -1)


def forms(Z: Rows, matrices: Floats) -> Floats:
    """Return ``z' M z`` of each row and each of several matrices."""
    if not _share_products(Z.shape[1], len(matrices)):
        both = 0.5 * (matrices + matrices.transpose(0, 2, 1))
        return np.stack([quadratic_form(Z, matrix) for matrix in both], axis=1)
    i, j = np.triu_indices(Z.shape[1])
    both = np.where(i == j, 0.5, 1.0) * (matrices[:, i, j] + matrices[:, j, i])
    found = np.empty((len(Z), len(matrices)))
    for some, products in _products_of_columns(Z, slice(0, len(Z))):
        found[some] = (both @ products).T
    return found


def _share_products(columns: int, outputs: int) -> bool:
    """Whether products of any two columns, computed once, save more than BLAS does with each.

    10,000 x 101 rows: three Hessians take 21 ms one by one and 185 by shared products; 1,800 x 17
    rows: 45 of them 8 ms and 1.6. On 150 to 10,000 rows with 5 to 101 columns both take as long
    where outputs are 0.35 to 0.5 times the columns.
    """
    return outputs >= 0.4 * columns


def _products_of_columns(Z: Rows, rows: slice) -> Iterator[tuple[slice, Rows]]:
    """Yield slices of rows with the products of any two of their columns, a row per pair.

    In this order all numbers of one product are contiguous.
    """
    columns = Z.shape[1]
    products = columns * (columns + 1) // 2
    step = max(4 * GRAM_ELEMENTS // max(products, 1), 32)
    for begin in range(rows.start, rows.stop, step):
        some = slice(begin, min(begin + step, rows.stop))
        own, place = np.ascontiguousarray(Z[some].T), 0
        found = np.empty((products, own.shape[1]), dtype=Z.dtype)
        for j in range(columns):
            np.multiply(own[j:], own[j], out=found[place : place + columns - j])
            place += columns - j
        yield some, found


# -- equations of a positive definite matrix -----------------------------------------------------


def solve(matrix: Floats, penalty: Floats, right: Floats) -> Floats:
    """Solve ``(matrix + diag(penalty)) x = right`` for a positive definite matrix."""
    return solve_by(definite(matrix, penalty), right)


def inverse_of(whole: Floats | None, size: int) -> Floats:
    """Return the inverse of a matrix of this size, or NaN where ``solve_by`` does.

    It is symmetric to the last bit: along directions in which rows do not vary, its entries are
    huge and have to cancel, whichever half of them is used.
    """
    inverse = solve_by(whole, np.eye(size))
    return 0.5 * (inverse + inverse.T)


def solve_by(whole: Floats | None, right: Floats) -> Floats:
    """Solve ``whole x = right``; the solution is NaN if numbers have overflowed."""
    if whole is None:
        return np.full_like(right, np.nan)
    return np.asarray(np.linalg.solve(whole, right), dtype=np.float64)


def definite(matrix: Floats, penalty: Floats) -> Floats | None:
    """Return ``matrix + diag(penalty)``, positive definite; None if numbers have overflowed.

    Where rounding has made it indefinite, the diagonal grows by powers of ten until it is definite.
    """
    found = _grown(matrix, penalty, np.linalg.cholesky)
    return None if found is None else found[0]


def definite_inverse(matrix: Floats, penalty: Floats) -> Floats | None:
    """Return the inverse of the lower Cholesky factor of what ``definite`` returns."""
    found = _grown(matrix, penalty, inverse_of_factor)
    return None if found is None else found[1]


def _grown(
    matrix: Floats, penalty: Floats, factor: Callable[[Floats], Any], dtype: Any = np.float64
) -> tuple[Floats, Floats] | None:
    whole, diagonal = matrix.astype(dtype), np.arange(len(matrix))
    least = round(np.log10(np.finfo(dtype).eps)) - 1
    for power in range(least, 1):
        extra = np.maximum(np.diagonal(matrix), 1e-300) * 10.0**power if power > least else 0.0
        whole[diagonal, diagonal] = np.diagonal(matrix) + penalty + extra
        try:
            found = factor(whole)
        except np.linalg.LinAlgError:
            continue
        if np.isfinite(found[-1:]).all():
            return whole, found
    return None


def inverse_of_factor(matrix: Floats, threads: int = 1) -> Floats:
    """Return the inverse of the lower Cholesky factor, by halves, which BLAS multiplies fast.

    Large products may be shared by two threads.

    Examples
    --------
    >>> A = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> inverse = inverse_of_factor(A)
    >>> (inverse @ A @ inverse.T).round(12)
    array([[1., 0.],
           [0., 1.]])
    """
    half = len(matrix) // 2
    if len(matrix) <= WIDE:
        return _core.inverse_of_factor(np.ascontiguousarray(matrix))

    def product(left: Floats, right: Floats) -> Floats:
        if left.size * right.shape[1] < WORTH_TWO:
            return left @ right
        return np.concatenate(_both_halves(left, lambda some: left[some] @ right, threads))

    inverse = np.zeros_like(matrix)
    first = inverse[:half, :half] = inverse_of_factor(matrix[:half, :half], threads)
    below = product(matrix[half:, :half], first.T)
    rest = matrix[half:, half:] - below @ below.T  # symmetric: BLAS computes one half alone
    second = inverse[half:, half:] = inverse_of_factor(rest, threads)
    inverse[half:, :half] = product(-second, product(below, first))
    return inverse


class Equations:
    """``(matrix + diag(shrink_j)) x_j = right_j`` for several penalties, a column each.

    They differ from one of them, the leading one, by a diagonal: conjugate gradients that are
    preconditioned by its Cholesky factor solve it at once, and the others soon. With more than
    ``WIDE`` columns the factor has 32 bits, and so has the matrix unless the solution is to be
    ``precise``; with fewer, each is solved separately in less time.
    """

    def __init__(
        self, matrix: Floats, shrink: Floats, lead: int, threads: int, *, precise: bool
    ) -> None:
        self.matrix, self.shrink, self.threads = matrix, shrink, threads
        self.inverse: NDArray[Any] | None = None
        self.within: Floats | float = 0.0  # of the leading diagonal, what the matrix has
        self.is_small = len(matrix) <= WIDE and _are_definite(_each(matrix, shrink))
        if not self.is_small:
            dtype = np.float32 if len(matrix) > WIDE else np.float64
            factor = partial(inverse_of_factor, threads=threads)
            found = _grown(matrix, shrink[:, lead], factor, dtype)
            if found is not None:
                whole, self.inverse = found
                if not precise:
                    self.matrix, self.within = whole, shrink[:, [lead]]

    def solve(
        self, right: Floats, shrink: Floats | None = None, *, within: float, most: int
    ) -> Floats:
        """Solve for all columns, each to the relative error ``within`` or for ``most`` iterations.

        Columns that have converged stay as they are. The diagonals may be others, ``shrink``.
        """
        shrink = self.shrink if shrink is None else shrink
        if self.is_small:
            found = np.linalg.solve(_each(self.matrix, shrink), right.T[:, :, None])[:, :, 0].T
            return np.ascontiguousarray(found, dtype=np.float64)
        if self.inverse is None:
            return np.full_like(right, np.nan)
        shrink = shrink - self.within
        solved, left = np.zeros_like(right), right.copy()
        along = away = self._by_factor(left)
        size = inner(left, away)
        enough = within * within * size
        for _ in range(most):
            image = times(self.matrix, along, self.threads) + shrink * along
            curvature = inner(along, image)
            going = (size > enough) & (curvature > 0)
            if not going.any():
                break
            length = np.divide(size, curvature, out=np.zeros_like(size), where=going)
            solved += length * along
            left -= length * image
            away = self._by_factor(left)
            new = inner(left, away)
            along = away + np.divide(new, size, out=np.zeros_like(size), where=going) * along
            size = np.where(going, new, 0.0)
        return solved

    def _by_factor(self, columns: Floats) -> Floats:
        assert self.inverse is not None
        above = times(self.inverse, columns, self.threads)
        return times_transposed(self.inverse, above, self.threads)


def _each(matrix: Floats, shrink: Floats) -> Floats:
    """Return a matrix plus each diagonal."""
    each = np.repeat(matrix[None], shrink.shape[1], axis=0)
    diagonal = np.arange(len(matrix))
    each[:, diagonal, diagonal] += shrink.T
    return each


def _are_definite(each: Floats) -> bool:
    """Whether matrices are definite beyond rounding."""
    diagonal = np.arange(each.shape[1])
    try:
        found = np.linalg.cholesky(each)[:, diagonal, diagonal]
    except np.linalg.LinAlgError:
        return False
    safe = np.square(found) > 1e-12 * each[:, diagonal, diagonal]
    return bool(safe.all() and np.isfinite(found).all())


def inner(some: Floats, others: Floats) -> Floats:
    """Return the inner products of columns."""
    return np.asarray((some * others).sum(axis=0))


# -- rows that are fewer than their columns ------------------------------------------------------


class FewerRows:
    """Rows that are fewer than their columns, in one coordinate per row.

    With a penalty ``w R w``, the optimum is ``R^-1 Z' a`` for some a. With ``K = Z R^-1 Z' = L L'``
    and ``w = R^-1 Z' L'^-1 v``, scores are ``Z w = L v`` and the penalty is ``w R w = v v``: the
    same problem with the square matrix L in place of Z.

    Examples
    --------
    >>> few = FewerRows(np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]]), np.ones(3))
    >>> few.rows.round(3)
    array([[2.236, 0.   ],
           [0.894, 1.095]])
    >>> bool(np.allclose(few.Z @ few.outward(np.eye(2)), few.rows))
    True
    """

    def __init__(self, Z: NDArray[Any], R: Floats) -> None:
        self.Z = Z
        self._away = np.asarray(Z / R, dtype=np.float64)
        K = definite(self._away @ Z.T, np.zeros(len(Z)))
        factor = np.full((len(Z), len(Z)), np.nan) if K is None else np.linalg.cholesky(K)
        self.rows = np.asarray(factor, dtype=np.float64)

    def inward(self, W: Floats) -> Floats:
        """Return the weights of L that score the rows as these of Z do."""
        return np.asarray(np.linalg.solve(self.rows, times(self.Z, W)))

    def outward(self, V: Floats) -> Floats:
        """Return the weights of Z for those of L."""
        return np.asarray(self._away.T @ np.linalg.solve(self.rows.T, V))

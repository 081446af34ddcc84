"""What is left of rows that were learned and forgotten: a quadratic for every penalty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.algebra import solve
from polyak.learn.newton.standardize import Standard

Floats = NDArray[np.float64]


@dataclass
class Information:
    """The sum of all rows' losses around the weights, and what their slopes spread.

    Attributes
    ----------
    exact : bool
        The loss is a square, and ``P`` the sum of ``z y``, the same for every penalty.
    W : array of shape (columns, penalties, outputs)
        The weights.
    P : array of the same shape, or (columns, 1, outputs)
        The gradient of the losses at W.
    G : list of arrays
        The Hessian, one for all outputs of squared error and one for each otherwise.
    M : list of arrays
        The sum of ``slope^2 z z'`` at the smallest penalty, one an output; empty without intervals.
    """

    exact: bool
    W: Floats
    P: Floats
    G: list[Floats]
    M: list[Floats]

    @classmethod
    def none(
        cls, columns: int, penalties: int, outputs: int, *, exact: bool, intervals: bool
    ) -> Information:
        """Know nothing yet: the weights are zero."""
        return cls(
            exact,
            np.zeros((columns, penalties, outputs)),
            np.zeros((columns, 1 if exact else penalties, outputs)),
            [np.zeros((columns, columns)) for _ in range(1 if exact else outputs)],
            [np.zeros((columns, columns)) for _ in range(outputs if intervals else 0)],
        )

    def __len__(self) -> int:
        return len(self.W)

    def is_finite(self) -> bool:
        """Tell whether nothing has overflowed."""
        return all(np.isfinite(array).all() for array in (self.W, self.P, *self.G, *self.M))

    def with_weights(self, W: Floats) -> Information:
        """Give the same around other weights, as good as none being known of any rows."""
        return Information(self.exact, W, self.P, self.G, self.M)

    def padded(self, columns: int) -> Information:
        """Give the same with columns that were zero in all rows so far."""
        more = columns - len(self)
        if not more:
            return self
        sides = ((0, more), (0, 0), (0, 0))
        return Information(
            self.exact,
            np.pad(self.W, sides),
            np.pad(self.P, sides),
            [np.pad(G, (0, more)) for G in self.G],
            [np.pad(M, (0, more)) for M in self.M],
        )

    def in_units(self, mine: Standard, others: Standard) -> Information:
        """Give the same in other units: of rows ``A z``, where these are of rows ``z``."""
        A = others.map_from(mine)
        back = mine.map_from(others)  # w z = w' z' for the same row, with z = back z'
        return Information(
            self.exact,
            np.tensordot(back.T, self.W, axes=1),
            np.tensordot(A, self.P, axes=1),
            [A @ G @ A.T for G in self.G],
            [A @ M @ A.T for M in self.M],
        )

    def select(self, penalties: Sequence[int]) -> Information:
        """Give what is known for some of the penalties."""
        keep = list(penalties)
        P = self.P if self.exact else np.ascontiguousarray(self.P[:, keep])
        return Information(self.exact, np.ascontiguousarray(self.W[:, keep]), P, self.G, self.M)

    @classmethod
    def added(
        cls, parts: Sequence[Information], signs: Sequence[float], shrink: Floats
    ) -> Information:
        """Add up what several know, in the same units, each as often as its sign says.

        The gradient of part k at any w is ``P_k + G_k (w - W_k)``. The weights are where the sum
        of those and of the penalty's, a column of ``shrink`` each, is zero.
        """

        def total(arrays: Sequence[Floats]) -> Floats:
            added: Floats = np.sum([s * a for s, a in zip(signs, arrays, strict=True)], axis=0)
            return added

        first = parts[0]
        G = [total([part.G[k] for part in parts]) for k in range(len(first.G))]
        M = [total([part.M[k] for part in parts]) for k in range(len(first.M))]
        right = total([part._right() for part in parts])
        W = np.empty_like(first.W)
        for t, diagonal in enumerate(shrink.T):
            for k in range(W.shape[2]):
                own = right[:, 0 if first.exact else t, k]
                W[:, t, k] = solve(G[0 if first.exact else k], diagonal, own)
        P = right if first.exact else _products(G, W) - right
        return cls(first.exact, W, P, G, M)

    def _right(self) -> Floats:
        """Give the right side of the equations that W solves, but for the penalty."""
        return self.P if self.exact else _products(self.G, self.W) - self.P

    def state(self) -> dict[str, NDArray[Any]]:
        """Read out everything."""
        columns = len(self)
        none = np.zeros((0, columns, columns))
        return {
            "weights": self.W.copy(),
            "gradients": self.P.copy(),
            "hessians": np.stack(self.G),
            "spreads": np.stack(self.M) if self.M else none,
        }

    @classmethod
    def from_state(cls, arrays: dict[str, NDArray[Any]], *, exact: bool) -> Information:
        """Undo ``state``."""
        W, P = arrays["weights"].copy(), arrays["gradients"].copy()
        return cls(exact, W, P, list(arrays["hessians"].copy()), list(arrays["spreads"].copy()))


def _products(G: list[Floats], W: Floats) -> Floats:
    return np.stack([matrix @ W[:, :, k] for k, matrix in enumerate(G)], axis=2)

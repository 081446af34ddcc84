"""Rows that are fewer than their columns, seen in as many columns as there are rows.

With a penalty ``w R w``, the optimum is ``R^-1 Z' a`` for some a. With ``K = Z R^-1 Z' = L L'``
and ``w = R^-1 Z' L'^-1 v``, scores are ``Z w = L v`` and the penalty is ``w R w = v v``: the same
problem with rows L, which has as few columns as rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import definite, times

Floats = NDArray[np.float64]


class FewerRows:
    """The rows L in place of Z.

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
        """Give the weights of L that score the rows as these of Z do."""
        return np.asarray(np.linalg.solve(self.rows, times(self.Z, W)))

    def outward(self, V: Floats) -> Floats:
        """Give the weights of Z for those of L."""
        return np.asarray(self._away.T @ np.linalg.solve(self.rows.T, V))

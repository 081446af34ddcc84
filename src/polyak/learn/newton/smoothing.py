"""One ridge penalty per term, chosen from the information matrix: generalised Fellner-Schall steps.

With H the Hessian of all rows, R the diagonal of the penalties and φ the dispersion, the weights of
a term of q columns are taken as draws from one normal distribution, whose variance is φ over the
penalty. The penalty of largest marginal likelihood then satisfies

    penalty = φ (q - penalty · tr (H + R)⁻¹ over the term) / |weights of the term|²

(Wood and Fasiolo, 2017). Iterating it, with weights that minimise the quadratic for each R, needs
nothing but matrices that the solver has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import definite_inverse
from polyak.learn.newton.block.curvature import curvature
from polyak.learn.newton.block.penalty import Ridge
from polyak.learn.newton.information import Information
from polyak.learn.newton.standardize import Standard
from polyak.losses import Loss

Floats = NDArray[np.float64]
TermOf = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""From features to the numbers of their terms."""

FIRST = 10.0
"""The penalty of every term at first, in rows."""
FEWEST = 1024
"""Rows before which penalties stay as they are, unless these are all there are."""
LEAST, MOST = 1e-3, 1e9
"""Penalties are between these."""
ROUNDS = 6
"""The most rounds at each fit; the next fit goes on from there."""
CONVERGED = 0.05
"""The change of each term's degrees of freedom, as a share of one more than them, below which there
is no further round."""


@dataclass(frozen=True, eq=False)
class Smoothing:
    """The penalty of every term so far, and the dispersion.

    Attributes
    ----------
    term_of : function
        From features to the numbers of their terms.
    penalties : array
        One per term; of those that have not come up yet, there is none.
    squares, curvature : float
        Sums over rows, of squared slopes and of curvatures, whose ratio is the dispersion.
    """

    term_of: TermOf
    penalties: Floats = field(default_factory=lambda: np.empty(0))
    squares: float = 0.0
    curvature: float = 0.0

    @property
    def dispersion(self) -> float:
        """The variance of a slope over what the curvature says: one for counts and classes."""
        return self.squares / self.curvature if self.curvature > 0 else 1.0

    @staticmethod
    def merged(parts: Sequence[Any], signs: Sequence[float]) -> Smoothing:
        """Return the sums of several, and the penalties of the one that has seen most terms."""
        most = max(parts, key=lambda part: len(part.penalties))
        signed = list(zip(signs, parts, strict=True))
        return Smoothing(
            most.term_of,
            most.penalties,
            squares=sum(sign * part.squares for sign, part in signed),
            curvature=sum(sign * part.curvature for sign, part in signed),
        )

    def shrink(self, standard: Standard) -> Floats:
        """Return the penalty of each column but the constant, in standard units."""
        terms = self.term_of(standard.features)
        count = max(int(terms.max(initial=-1)) + 1, len(self.penalties))
        return np.asarray(self.penalties_of(count)[terms] / np.square(standard.units))

    def counted(
        self, loss: Loss, scores: Floats, targets: Floats, weights: Floats | None, kept: float
    ) -> Smoothing:
        """Return the same with rows of these scores in the dispersion.

        Weights are taken as inverse to variances. Rows that were fitted have squared slopes that
        are too small: ``kept`` is the share of them that a fit leaves.
        """
        slopes, h = loss.value_and_slope(scores, targets)[1], curvature(loss, scores, targets)
        if weights is not None:
            slopes, h = slopes * weights[:, None], h * weights[:, None]
        return replace(
            self,
            squares=self.squares + float(np.sum(slopes * slopes)) / kept,
            curvature=self.curvature + float(np.sum(h)),
        )

    def refitted(self, known: Information, standard: Standard) -> tuple[Smoothing, Information]:
        """Return better penalties, and the weights that minimise the quadratic with them."""
        first, units = int(standard.fit_intercept), np.square(standard.units)
        terms, found = self.term_of(standard.features), self
        there = np.bincount(terms) > 0
        before: Floats = np.full(len(there), np.inf)
        for round in range(ROUNDS + 1):
            factors = found._factors(known, standard)
            if factors is None:
                return self, known
            known = known.minimised(factors)
            used = found._freedom(factors, known, standard)
            settled = np.abs(used - before) < CONVERGED * (1.0 + used)
            if round == ROUNDS or settled.all():
                break
            sizes = np.bincount(terms, np.square(known.W[first:, 0]).sum(axis=1) / units)
            better = self.dispersion * used / np.maximum(sizes, 1e-300)
            better = np.where(there, better, found.penalties_of(len(there)))
            found, before = replace(found, penalties=np.clip(better, LEAST, MOST)), used
        return found, known

    def freedom(self, known: Information, standard: Standard) -> Floats:
        """Return the effective degrees of freedom of each term, summed over outputs."""
        return self._freedom(self._factors(known, standard) or (), known, standard)

    def _factors(self, known: Information, standard: Standard) -> list[Floats] | None:
        """Return the inverse Cholesky factor of each Hessian with the penalties.

        None if numbers have overflowed.
        """
        penalty = self.ridge(standard).tiled(known.outputs_each).shrink[:, 0]
        found = [definite_inverse(G, penalty) for G in known.G]
        factors = [factor for factor in found if factor is not None]
        return factors if len(factors) == len(found) else None

    def _freedom(self, factors: Sequence[Floats], known: Information, standard: Standard) -> Floats:
        first, shrink = int(standard.fit_intercept), self.shrink(standard)
        terms = self.term_of(standard.features)
        found = np.zeros(int(terms.max(initial=-1)) + 1)
        for factor in factors:
            inverse = np.square(factor).sum(axis=0)
            for own in inverse.reshape(known.outputs_each, -1):
                found += np.bincount(terms, 1.0 - shrink * own[first:])
        found *= known.W.shape[2] / (len(known.G) * known.outputs_each)
        return found

    def penalties_of(self, count: int) -> Floats:
        """Return the penalties of this many terms; those that have just come up have the first."""
        return np.pad(self.penalties, (0, count - len(self.penalties)), constant_values=FIRST)

    def ridge(self, standard: Standard) -> Ridge:
        """Return the penalty of all columns; the constant has next to none."""
        first = np.full(int(standard.fit_intercept), 1e-8)
        return Ridge(np.concatenate([first, self.shrink(standard)])[:, None])

"""One ridge penalty per term, chosen from the information matrix: generalised Fellner-Schall steps.

With H the Hessian of all rows, R the diagonal of the penalties and φ the dispersion, the weights of
a term of q columns are taken as draws from one normal distribution, whose variance is φ over the
penalty. The penalty of largest marginal likelihood then satisfies

    penalty = φ (q - penalty · tr (H + R)⁻¹ over the term) / |weights of the term|²

(Wood and Fasiolo, 2017). Iterating it, with weights that minimise the quadratic for each R, needs
nothing but matrices that the solver has. Where weights have given signs, only those that are not
zero count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import definite_inverse
from polyak.learn.newton.block.curvature import curvature
from polyak.learn.newton.block.penalty import Ridge, penalty_of
from polyak.learn.newton.information import Information
from polyak.learn.newton.standardize import Standard
from polyak.losses import Loss

Floats = NDArray[np.float64]
TermOf = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""From features to the numbers of their terms."""
SignOf = Callable[[NDArray[np.int64]], Floats]
"""From features to the signs of their weights: 1, -1, or 0 where any will do."""

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
AT_ZERO = 1e30
"""The penalty in place of the bound that keeps a weight at zero."""


@dataclass(frozen=True, eq=False)
class Smoothing:
    """The penalty of every term so far, and the dispersion.

    Attributes
    ----------
    term_of : function
        From features to the numbers of their terms.
    sign_of : function or None
        From features to the signs of their weights, if some have one.
    penalties : array
        One per term; of those that have not come up yet, there is none.
    squares, curvature : float
        Sums over rows, of squared slopes and of curvatures, whose ratio is the dispersion.
    """

    term_of: TermOf
    sign_of: SignOf | None = None
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
            term_of=most.term_of,
            sign_of=most.sign_of,
            penalties=most.penalties,
            squares=sum(sign * part.squares for sign, part in signed),
            curvature=sum(sign * part.curvature for sign, part in signed),
        )

    def shrink(self, standard: Standard) -> Floats:
        """Return the ridge of each column, in standard units; the constant has next to none."""
        terms = self.term_of(standard.features)
        count = max(int(terms.max(initial=-1)) + 1, len(self.penalties))
        own = self.penalties_of(count)[terms] / np.square(standard.units)
        return np.concatenate([np.full(int(standard.fit_intercept), 1e-8), own])

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

    def refitted(
        self, known: Information, standard: Standard, weight: float
    ) -> tuple[Smoothing, Information]:
        """Return better penalties, and the weights that minimise the quadratic with them.

        ``weight`` is the total weight of the rows.
        """
        first, units = int(standard.fit_intercept), np.square(standard.units)
        terms, found = self.term_of(standard.features), self
        there = np.bincount(terms) > 0
        before: Floats = np.full(len(there), np.inf)
        for round in range(ROUNDS + 1):
            if self.sign_of is not None:
                known = Information.added([known], [1.0], found.penalty(standard, weight))
            factors = found._factors(known, standard)
            if factors is None:
                return self, known
            if self.sign_of is None:
                known = known.minimised([factor for factor, _ in factors])
            used = found._freedom(factors, known, standard)
            settled = np.abs(used - before) < CONVERGED * (1.0 + used)
            if round == ROUNDS or settled.all():
                break
            sizes = np.bincount(terms, np.square(known.W[first:, 0]).sum(axis=1) / units)
            better = self.dispersion * used / np.maximum(sizes, 1e-300)
            better = np.where(there & (sizes > 0), better, found.penalties_of(len(there)))
            found, before = replace(found, penalties=np.clip(better, LEAST, MOST)), used
        return found, known

    def freedom(self, known: Information, standard: Standard) -> Floats:
        """Return the effective degrees of freedom of each term, summed over outputs."""
        return self._freedom(self._factors(known, standard) or (), known, standard)

    def spent(self, known: Information, standard: Standard) -> float:
        """Return the degrees of freedom that the choice of penalties took, summed over outputs.

        Rows left out of a fit whose penalties stay as they are do not see them. With u the
        eigenvalues of a term's part of (H + R)⁻¹ H, those of its penalty are about
        2 Σ u²(1 - u) / Σ u² (Wood, Pya and Säfken, 2016): next to none where rows determine its
        weights, two at most, and no more than the term has itself.
        """
        first, terms = int(standard.fit_intercept), self.term_of(standard.features)
        factors, spent = self._factors(known, standard) or [], 0.0
        places = [first + np.flatnonzero(terms == term) for term in np.unique(terms)]
        for factor, penalty in factors:
            scaled = (factor * np.sqrt(penalty)).reshape(len(factor), known.outputs_each, -1)
            for own in (scaled[:, k, place] for k in range(scaled.shape[1]) for place in places):
                u = (1.0 - np.linalg.eigvalsh(own.T @ own)).clip(0.0, 1.0)
                chosen = 2.0 * float((u * u) @ (1.0 - u)) / max(float(u @ u), 1e-300)
                spent += min(float(u.sum()), chosen)
        return float(spent * known.W.shape[2] / max(len(factors) * known.outputs_each, 1))

    def _factors(
        self, known: Information, standard: Standard
    ) -> list[tuple[Floats, Floats]] | None:
        """Return the inverse Cholesky factor of each Hessian with penalties, and the penalties.

        Weights that their sign keeps at zero have a penalty that does the same, so each output has
        a factor of its own then. None if numbers have overflowed.
        """
        shrink, G = self.shrink(standard), known.G
        diagonals = [np.tile(shrink, known.outputs_each)] * len(G)
        if self.sign_of is not None:
            signed = np.zeros(len(shrink), dtype=bool)
            signed[int(standard.fit_intercept) :] = self.sign_of(standard.features)
            diagonals = list(np.where(signed & (known.W[:, 0].T == 0), AT_ZERO, shrink))
        each = [(definite_inverse(G[k % len(G)], own), own) for k, own in enumerate(diagonals)]
        found = [(factor, own) for factor, own in each if factor is not None]
        return found if len(found) == len(each) else None

    def _freedom(
        self, factors: Sequence[tuple[Floats, Floats]], known: Information, standard: Standard
    ) -> Floats:
        first, terms = int(standard.fit_intercept), self.term_of(standard.features)
        found = np.zeros(int(terms.max(initial=-1)) + 1)
        for factor, penalty in factors:
            used = 1.0 - penalty * np.square(factor).sum(axis=0)
            for own in used.reshape(known.outputs_each, -1):
                found += np.bincount(terms, own[first:])
        found *= known.W.shape[2] / (max(len(factors), 1) * known.outputs_each)
        return found

    def penalties_of(self, count: int) -> Floats:
        """Return the penalties of this many terms; those that have just come up have the first."""
        return np.pad(self.penalties, (0, count - len(self.penalties)), constant_values=FIRST)

    def penalty(self, standard: Standard, weight: float) -> Ridge:
        """Return the penalty of a sum of losses of rows with this total weight."""
        shrink = self.shrink(standard)[:, None]
        signs = None if self.sign_of is None else self.sign_of(standard.features)
        return penalty_of(shrink, np.zeros_like(shrink), signs, standard, weight)

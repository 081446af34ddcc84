"""What is known of all rows that were learned and forgotten, and the models that follow from it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.newton.block.algebra import FewerRows
from polyak.learn.newton.block.curvature import Block
from polyak.learn.newton.block.leave_one_out import Spectrum, one_step, scores_left_out
from polyak.learn.newton.block.penalty import Ridge
from polyak.learn.newton.frequent import without_others
from polyak.learn.newton.information import Information
from polyak.learn.newton.objective import INTERCEPT, Objective
from polyak.learn.newton.smoothing import Smoothing
from polyak.learn.newton.softmax import of_classes
from polyak.learn.newton.softmax import scores_left_out as classes_left_out
from polyak.learn.newton.standardize import Standard
from polyak.rows.sparse import Rows

Floats = NDArray[np.float64]

LeftOutScores = Callable[[Sequence[int]], Floats]
"""From the places of penalties to scores of shape (rows, places, outputs)."""
FAR = 100.0
"""Standard deviations, and spreads, between a column's centre and its mean at which the centre is
moved: beyond, cancellation would cost more than two digits."""


@dataclass(eq=False)
class Learned:
    """The units of the columns, and the sum of the rows' losses in those units.

    Attributes
    ----------
    objective : Objective
        The loss and the penalties.
    standard : Standard
        The columns with their units.
    known : Information
        The losses of the rows; columns that appeared after the last fit are missing.
    weight : float
        The total weight of the rows.
    smoothing : Smoothing, optional
        The penalty of each term, where terms have one of their own.
    """

    objective: Objective
    standard: Standard
    known: Information
    weight: float = 0.0
    smoothing: Smoothing | None = None

    @classmethod
    def none(cls, objective: Objective) -> Learned:
        """Return what is known before the first row."""
        first, term_of = objective.first_of_terms, objective.term_of
        standard = Standard(fit_intercept=objective.fit_intercept, as_they_are_from=first)
        smoothing = None if term_of is None else Smoothing(term_of, objective.sign_of)
        return cls(objective, standard, objective.no_rows(), smoothing=smoothing)

    @property
    def columns(self) -> int:
        """The number of columns with the intercept's."""
        return int(self.standard.fit_intercept) + len(self.standard)

    def penalty(self) -> Ridge:
        """Return the penalty of the losses of all rows."""
        if self.smoothing is not None:
            return self.smoothing.penalty(self.standard, self.weight)
        return self.objective.penalty(self.standard, self.weight)

    def padded(self) -> Information:
        """Return the losses with columns that were zero in all rows so far."""
        return self.known.padded(self.columns)

    def copy(self) -> Learned:
        """Return a copy that may change."""
        return replace(self, standard=copy.deepcopy(self.standard))

    def select(self, penalties: Sequence[int]) -> Learned:
        """Return the same for only these penalties, by their places."""
        keep = list(penalties)
        objective = replace(self.objective, penalties=self.objective.penalties[keep])
        return replace(self.copy(), objective=objective, known=self.known.select(keep))

    def kept(self, places: NDArray[np.int64]) -> Learned:
        """Return the optimum of these columns, by their places, without the others."""
        first = np.arange(int(self.standard.fit_intercept))
        columns = np.concatenate([first, len(first) + places])
        known = without_others(self.padded(), columns)
        fewer = replace(self, standard=self.standard.kept(places), known=known)
        fewer.known = Information.added([known], [1.0], fewer.penalty())
        return fewer

    @staticmethod
    def merged(parts: Sequence[Learned], signs: Sequence[float]) -> Learned:
        """Return what all rows of several add up to, each counting as often as its sign says."""
        standard = copy.deepcopy(parts[0].standard)
        for part, sign in zip(parts[1:], signs[1:], strict=True):
            standard.take_in(part.standard, sign)
        weight = sum(sign * part.weight for sign, part in zip(signs, parts, strict=True))
        both = replace(parts[0], standard=standard, weight=weight)
        if both.smoothing is not None:
            both.smoothing = Smoothing.merged([part.smoothing for part in parts], signs)
        known = [part.padded().in_units(part.standard, standard) for part in parts]
        both.known = Information.added(known, signs, both.penalty())
        return both

    # -- centres -------------------------------------------------------------------------------

    def centre(self) -> None:
        """Move the centres that are far from the mean of all rows."""
        G = self.known.summed_hessian()
        mean, square = (part[1:] / max(G[0, 0], 1e-300) for part in (G[0], np.diagonal(G)))
        self.move_centres(mean, square - mean * mean)

    def move_centres(self, mean: Floats, variance: Floats) -> Floats:
        """Move the centres that are far from the mean, where cancellation would cost digits.

        Returns how far each was moved, in standard units.
        """
        reach = FAR * np.sqrt(np.maximum(variance, 1.0))
        shift = np.where(np.abs(mean) > reach, mean, 0.0)
        if shift.any():
            moved = self.standard.moved(shift)
            self.known = self.padded().in_units(self.standard, moved)
            self.standard = moved
        return shift

    # -- models --------------------------------------------------------------------------------

    def weights(
        self, n_features: int | None, place: int | None, dtype: Any
    ) -> tuple[NDArray[Any], Floats]:
        """Return each model's weights and intercepts, or those of the penalty at ``place``."""
        W = of_classes(self.known.W) if self.objective.softmax else self.known.W
        W = W if place is None else W[:, place]
        flat = np.ascontiguousarray(W).reshape(len(W), math.prod(W.shape[1:]))
        width = self.standard.n_features if n_features is None else n_features
        return self.standard.read_out(flat, width, dtype)

    def standard_rows(self, X: Rows) -> Floats:
        """Return rows in standard units, the constant first."""
        Z, first = np.empty((len(X), self.columns)), int(self.standard.fit_intercept)
        Z[:, :first] = 1.0
        self.standard.fill(X, Z[:, first:])
        return Z

    def leaving_out(
        self,
        X: Rows,
        targets: Floats,
        weights: Floats | None,
        offsets: Floats | None,
        times: float = 1.0,
    ) -> LeftOutScores:
        """Return a function of places of penalties: the scores of rows by weights without them.

        The rows are all that were learned, or a sample of which each stands for ``times`` as many.
        Where weights are sparse or have given signs, the set of those that are not zero is taken as
        fixed.
        """
        Z, objective, penalty = self.standard_rows(X), self.objective, self.penalty().shrink
        smoothing, spent = self.smoothing, 0.0
        if smoothing is not None:
            spent = smoothing.spent(self.known, self.standard) / objective.outputs
        # In a sample a penalty of all rows is as much smaller as the rows are fewer.
        shrink = penalty / times
        if objective.softmax:
            own = (Z, targets, weights, self.known.W, shrink)
            return partial(classes_left_out, *own, times=times, spent=spent)
        loss = objective.smooth_loss(*Z.shape)
        sparse = objective.sparsity is not None or objective.sign_of is not None
        W = [self.known.W[:, :, k] for k in range(self.known.W.shape[2])]
        narrow = len(Z) >= Z.shape[1]
        if sparse:
            shrink = np.maximum(shrink, INTERCEPT)
        elif not narrow:  # less work, and the same
            few = FewerRows(Z, np.maximum(shrink[:, 0] / objective.penalties[0], INTERCEPT))
            W = [few.inward(own) for own in W]
            Z, shrink = few.rows, np.repeat(objective.penalties[None], len(Z), axis=0)

        def scores(place: int) -> Floats:
            found = np.empty((len(Z), len(W)))
            for k, w in enumerate(W):
                # In C order, which Z[:, there] is not.
                there = np.flatnonzero(w[:, place]) if sparse else None
                rows = Z if there is None else Z.take(there, axis=1)
                some = slice(None) if there is None else there
                own = (w[some][:, [place]], shrink[some][:, [place]])
                given = (loss.of_output(k), rows, targets[:, k], weights)
                found[:, k] = scores_left_out(*given, *own, offsets, times, spent)[:, 0]
            return found

        if sparse or not narrow or self.smoothing is not None:
            return partial(_each, scores)
        ridge, G = penalty[:, 0] / objective.penalties[0], self.known.G
        first = int(objective.fit_intercept)
        spectra = [Spectrum.of(own, ridge, first) for own in G] * (len(W) // len(G))

        def by_spectrum(places: Sequence[int]) -> Floats:
            keep, each, unlike = list(places), [], np.zeros(len(places), dtype=bool)
            penalties = objective.penalties[keep]
            for k, spectrum in enumerate(spectra):
                rows = Block(Z, np.ascontiguousarray(targets[:, k]), weights, offsets=offsets)
                left_out, larger = one_step(
                    loss.of_output(k), rows, W[k][:, keep], spectrum, penalties, times
                )
                each.append(left_out)
                unlike |= np.abs(np.log2(larger)) > 1.0
            found = np.stack(each, axis=2)
            for place in np.flatnonzero(unlike):
                found[:, place] = scores(keep[place])
            return found

        return by_spectrum


def _each(scores: Callable[[int], Floats], places: Sequence[int]) -> Floats:
    """Return the scores of several places, of shape (rows, places, outputs)."""
    return np.stack([scores(place) for place in places], axis=1)

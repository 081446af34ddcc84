"""Averaged natural gradient steps, for rows that are too many to hold.

They go on from the optimum of the rows that were held. A step is the gradient of a block times the
inverse second moments of the rows, over the curvature of each output. Several rates run side by
side, and the one whose average lost least of late is the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.dense.losses import curvature, slopes
from polyak.learn.dense.optimum import Block, Units, gradient, scores_of

RATES = (0.125, 0.25, 0.5, 1.0, 2.0)
DECAY = 0.6
RIDGE = 1e-3
LEAST_CURVATURE = 0.05
"""Of the curvature of the best constant."""
FEWER_EVERY = 4
"""After so many steps the worst rate is eliminated."""


@dataclass(slots=True)
class NaturalSteps:
    """Weights of standardised rows for each rate, their averages, and the losses of those.

    Attributes
    ----------
    units : Units
        Of the rows that were held.
    step : float
        The number of steps, where those rows count as so many blocks.
    lost : array of shape (rates,)
        The losses of the averages on rows not yet learned, halved at every step.
    """

    units: Units
    rates: NDArray[np.float64]
    W: Any
    b: Any
    averaged: Any
    averaged_intercepts: Any
    step: float
    lost: NDArray[np.float64]

    @classmethod
    def starting(cls, xp: Any, units: Units, W: Any, b: Any, blocks: float) -> NaturalSteps:
        """Begin at weights of one candidate, found from so many blocks."""
        rates = np.array(RATES)
        W = xp.concat([W] * len(rates), axis=1)
        b = xp.concat([b] * len(rates), axis=0)
        return cls(units, rates, W, b, W, b, max(blocks, 1.0), np.zeros(len(rates)))

    @property
    def best(self) -> int:
        """The place of the rate with the lowest loss of late; the middle one before any."""
        return int(np.argmin(self.lost)) if self.lost.any() else len(self.rates) // 2

    def plain(self, xp: Any) -> tuple[Any, Any]:
        """Return the averages, for rows as they are."""
        return self.units.plain(xp, self.averaged, self.averaged_intercepts)

    def learned(
        self, xp: Any, kind: str, blocks: Sequence[Block], penalty: float, *, fit_intercept: bool
    ) -> NaturalSteps:
        """Return the state after a step on blocks of rows, at this penalty per row."""
        W, b, units = self.W, self.b, self.units
        rows, (d, _, _) = sum(len(block.rows) for block in blocks), W.shape
        _, G, g = gradient(xp, kind, blocks, units, W, b)
        found = scores_of(xp, blocks[0].rows, *units.plain(xp, W, b))
        bend = curvature(xp, kind, found)
        if kind != "squared_error":  # a class that has just joined is as yet thought impossible
            slope = slopes(xp, kind, found, blocks[0].targets)[1]
            bend = xp.maximum(bend, xp.mean(slope * slope, axis=0))
        constant = scores_of(xp, blocks[0].rows[:1], 0.0 * W, b)
        bend = xp.maximum(bend, LEAST_CURVATURE * curvature(xp, kind, constant))
        rate = self.rates * rows / (rows + d) * self.step**-DECAY
        size = xp.asarray(rate, dtype=W.dtype, device=W.device)[:, None] / bend
        along = 1.0 / (units.variances[:, None, None] + RIDGE)
        W = W - size * units.filtered(xp, G + penalty * W, along, 1.0 / (units.rest + RIDGE))
        b = b - size * g if fit_intercept else b
        share = min(3.0 / (self.step + 3.0), 1.0)  # of the newest in an average by squared steps
        averaged = (1.0 - share) * self.averaged + share * W
        averaged_intercepts = (1.0 - share) * self.averaged_intercepts + share * b
        kept = [W, b, averaged, averaged_intercepts]
        return NaturalSteps(units, self.rates, *kept, self.step + 1.0, 0.5 * self.lost)

    def fewer(self) -> NaturalSteps:
        """Return the state without the worst rate."""
        keep = np.sort(np.argsort(self.lost, kind="stable")[:-1])
        lists = keep.tolist()
        return NaturalSteps(
            self.units,
            self.rates[keep],
            self.W[:, lists],
            self.b[lists],
            self.averaged[:, lists],
            self.averaged_intercepts[lists],
            self.step,
            self.lost[keep],
        )

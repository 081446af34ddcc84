"""The leader of a race: the candidate whose model would be the result if the race ended now."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.bank import Bank
from polyak.calibration import ScoreHistogram
from polyak.recipes import Candidate

Floats = NDArray[np.float64]


class Leader(NamedTuple):
    """The candidate in front, and where its weights are."""

    number: int
    candidate: Candidate
    bank: Bank
    place: int
    outputs: int
    models_each: int
    histogram: ScoreHistogram | None

    @property
    def models(self) -> slice:
        """Its models in the bank, one an output."""
        first = self.place * self.models_each
        return slice(first, first + self.outputs)

    @property
    def replicas(self) -> slice:
        """The models in the bank that are its replicas, an output after the other in each."""
        first = self.place * self.models_each
        return slice(first + self.outputs, first + self.models_each)

    def sigmoids(self) -> Floats | None:
        """Give the curves from its scores to probabilities, where a loss needs any."""
        counts = self._counts()
        return None if counts is None or counts.sampled else counts.sigmoids()

    def reliability(self, sigmoids: Floats | None) -> dict[str, list[float]] | None:
        """Compare its probabilities, by the curves that `sigmoids` gave, with what happened.

        None if its scores were not counted.
        """
        counts = self._counts()
        if counts is None:
            return None
        slope, offset = (1.0, 0.0) if sigmoids is None else sigmoids[0]
        return counts.reliability((float(slope), float(offset)))

    def _counts(self) -> ScoreHistogram | None:
        columns = self.place * self.outputs + np.arange(self.outputs)
        return None if self.histogram is None else self.histogram.select(columns)

"""The leader of a race: the candidate whose model would be the result if the race ended now."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.learn.race.lanes.protocol import Lane
from polyak.learn.recipes import AnyCandidate

Floats = NDArray[np.float64]


class Leader(NamedTuple):
    """The candidate in front, and where its weights are."""

    number: int
    candidate: AnyCandidate
    lane: Lane
    place: int
    n_features: int

    def weights(self, *, last: bool = False) -> tuple[NDArray[np.floating], Floats]:
        """Return its weights, a row per output, and intercepts."""
        coef, intercept = self.lane.weights(self.place, last=last)
        missing = max(self.n_features - coef.shape[1], 0)
        return np.pad(coef, ((0, 0), (0, missing))) if missing else coef, intercept

    def replicas(self) -> NDArray[np.floating] | None:
        """Return its replicas, where there are any."""
        return self.lane.replicas(self.place)

    def average_start(self) -> Floats:
        """Return the row at which its averages began, for each output."""
        return self.lane.average_start(self.place)

    @property
    def softmax(self) -> bool:
        """Whether its classes are learned together, their probabilities being a softmax."""
        return self.lane.softmax

    @property
    def has_softmax(self) -> bool:
        """Whether its probabilities are a softmax of its scores, or of scores that are scaled."""
        counts = self.lane.histogram(self.place)
        return self.softmax or (counts is not None and counts.losses.size > 0)

    def sigmoids(self) -> Floats | None:
        """Return the curves from its scores to probabilities, where a loss needs any."""
        counts = self.lane.histogram(self.place)
        if counts is None or counts.sampled:
            return None
        return counts.sigmoids()

    def reliability(self, sigmoids: Floats | None) -> dict[str, list[float]] | None:
        """Compare its probabilities, by the curves that `sigmoids` gave, with what happened.

        None if its scores were not counted.
        """
        counts = self.lane.histogram(self.place)
        if counts is None or counts.losses.size:  # a softmax is of no score alone
            return None
        if counts.apart and sigmoids is not None and len(sigmoids) > 1:
            return None  # there is a curve a label
        slope, offset = (1.0, 0.0) if sigmoids is None else sigmoids[0]
        return counts.reliability((float(slope), float(offset)))

    def roc_auc(self) -> float:
        """Return the area under the ROC curve of its scores of later rows; NaN where unknown."""
        counts = self.lane.histogram(self.place)
        return math.nan if counts is None else counts.roc_auc()

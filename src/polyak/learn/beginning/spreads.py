"""Spreads: how far each feature varies in the first rows, so that weights can be compared."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.learn.stored_state import StoredState
from polyak.rows.sparse import Rows, SparseRows

Floats = NDArray[np.float64]

MOST_KEPT = 100
"""A model keeps the spreads of so many features at most."""


class Spreads(NamedTuple):
    """The features of the first rows, and their standard deviations there."""

    features: NDArray[np.int64]
    values: Floats

    @classmethod
    def of(cls, rows: Rows) -> Spreads:
        """Measure rows; what a sparse row does not have is zero.

        Examples
        --------
        >>> Spreads.of(np.array([[1.0, 5.0], [3.0, 5.0]])).values
        array([1., 0.])
        """
        count = max(len(rows), 1)
        with np.errstate(over="ignore", invalid="ignore"):
            if not isinstance(rows, SparseRows):
                features = np.arange(rows.shape[1])
                return cls(features, np.asarray(rows, np.float64).std(axis=0))
            span = slice(int(rows.indptr[0]), int(rows.indptr[-1]))
            place, values = rows.indices[span], rows.values[span].astype(np.float64)
            names = None
            if len(place) and int(place.max()) > 4 * len(place):  # else counting beats sorting
                names, place = np.unique(place, return_inverse=True)
            there = np.bincount(place)
            means = np.bincount(place, values) / count
            about = np.bincount(place, np.square(values - means[place]))
            spreads = np.sqrt((about + (count - there) * means**2) / count)
            known = np.flatnonzero(there)
            features = known if names is None else names[known].astype(np.int64)
            return cls(features, spreads[known])

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return them as an empty JSON-serialisable dict and a dict of arrays."""
        return {}, {"spreads.features": self.features, "spreads.values": self.values}

    @classmethod
    def from_state(cls, stored: StoredState) -> Spreads:
        """Return the spreads that `state` was of."""
        features = stored.array("features", (None,), "int64", least=0)
        return cls(features, stored.array("values", features.shape))

    @classmethod
    def none(cls) -> Spreads:
        """Return the spreads of no features."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0))

    def of_the_largest_effects(self, weights: NDArray[np.floating]) -> dict[int, float]:
        """Keep those of the features whose weight times spread is largest.

        ``weights`` have a row for each output.

        Examples
        --------
        >>> spreads = Spreads(np.array([0, 2]), np.array([0.5, 0.0]))
        >>> spreads.of_the_largest_effects(np.array([[2.0, 9.0, 9.0]]))
        {0: 0.5}
        """
        known = self.features < weights.shape[1]
        features, values = self.features[known], self.values[known]
        with np.errstate(over="ignore", invalid="ignore"):
            effects = np.abs(weights[:, features]).max(axis=0, initial=0.0) * values
        effects[~np.isfinite(effects)] = 0.0
        among = np.arange(len(effects))
        if len(effects) > MOST_KEPT:  # sorting all takes longer
            among = np.flatnonzero(effects >= np.partition(effects, -MOST_KEPT)[-MOST_KEPT])
        largest = among[np.argsort(-effects[among], kind="stable")[:MOST_KEPT]]
        return {
            int(features[i]): float(f"{values[i]:.6g}") for i in largest.tolist() if effects[i] > 0
        }

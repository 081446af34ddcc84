"""A lane: some candidates that learn together, and all that the race knows of how they do it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from polyak._core import CheckedRows
from polyak.learn.calibration import ScoreHistogram
from polyak.learn.centring import NOTHING, Centre
from polyak.learn.training_rows import TrainingRows
from polyak.rows.sparse import Rows
from polyak.storage.sandwich import Sandwich

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is to be learned, as the first rows show it.

    Attributes
    ----------
    outputs : int
        How many numbers a target has, or how many classes there are beyond two.
    one_vs_rest : bool
        Targets are class numbers, and each class has a model of its own.
    classifies : bool
    n_features : int or None
        How many features there can be, if that is known.
    width : int
        How many the first rows have.
    dtype : numpy dtype
        Of the rows, and so of the weights.
    centre : Centre
        What averaged SGD is to shift rows by.
    begin_at : array or None
        The intercepts to begin with, an output each, if not with none.
    """

    outputs: int
    one_vs_rest: bool
    classifies: bool
    n_features: int | None
    width: int
    dtype: Any
    centre: Centre = NOTHING
    begin_at: Floats | None = None

    @property
    def has_labels(self) -> bool:
        """Whether a row may have several labels, each with a model of its own."""
        return self.classifies and self.outputs > 1 and not self.one_vs_rest


class Lane(Protocol):
    """Candidates that learn together from the same rows.

    ``numbers`` are theirs in the race; a place is one of them in the lane. Sums have a row for
    every candidate and the columns of `polyak.learn.race.history`. What has an answer here is as
    most lanes have it.
    """

    numbers: list[int]

    @property
    def clock(self) -> int:
        """How many rows were learned."""

    @property
    def nbytes(self) -> int:
        """How much memory its weights take."""

    @property
    def n_features(self) -> int:
        """How many features its models have."""

    @property
    def has_left(self) -> bool:
        """Whether it cannot go on, and is to be dropped."""
        return False

    @property
    def may_leave(self) -> bool:
        """Whether rows might come that it cannot go on with."""
        return False

    @property
    def softmax(self) -> bool:
        """Whether the probabilities of its classes are a softmax of their scores."""
        return False

    @property
    def fewest(self) -> int:
        """How many of its best must stay, since it is too early to tell how well they will do."""
        return 0

    @property
    def stays(self) -> list[int]:
        """Who must not drop out, how well others may do."""
        return []

    def warm_up(self, rows: Rows) -> None:
        """See the rows that calibration looks at, before any is learned."""
        return

    def check(self, rows: Any, targets: NDArray[Any], weights: Floats | None) -> CheckedRows:
        """Refuse what cannot be learned from, and make room for the rest."""

    def most_rows(self) -> int:
        """Say how many rows can be learned at once in bounded memory."""
        return sys.maxsize

    def learn(self, given: TrainingRows, *, again: bool, stops: NDArray[np.int64]) -> Floats:
        """Learn rows and return the sums of each interval that ends at one of the stops.

        They are NaN after the row at which the lane left.
        """

    def sums(self) -> Floats:
        """Return the sums since the last milestone."""

    def start_interval(self) -> None:
        """Begin a new interval of the race: its sums are zero."""

    def select(self, places: Sequence[int]) -> Self:
        """Give a lane of only these candidates, each as it stands."""

    def merge(self, others: Sequence[Self], base: Self | None) -> None:
        """Become what this lane and others learned together, each from rows of its own."""

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Read out what learning changes: what JSON holds, and arrays."""

    def set_state(self, page: dict[str, Any], arrays: dict[str, NDArray[Any]], clock: int) -> None:
        """Go on from what ``state`` gave, after so many rows."""

    def weights(self, place: int, *, last: bool = False) -> tuple[NDArray[Any], Floats]:
        """Give a candidate's weights, a row an output, and its intercepts."""

    def replicas(self, place: int) -> NDArray[Any] | None:
        """Give its replicas as (replicas, features + 1, outputs), the intercept last."""
        return None

    def sandwich(self) -> tuple[Sandwich, str | None] | None:
        """Give hardly penalised weights and their covariance, if it has them, and any doubt."""
        return None

    def average_start(self, place: int) -> Floats:
        """Say at which row its averages began."""

    def histogram(self, place: int) -> ScoreHistogram | None:
        """Give the counts of its scores, if they were counted."""

"""Candidates: the ways to learn that race with each other, and how many there is room for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polyak.learn.averaging import Averaging
from polyak.learn.bank.settings import Step
from polyak.learn.schedules import Polynomial

MOST_BYTES = 1 << 26
"""How much memory the weights of all candidates of a race may take, unless they are few."""
MOST_MODELS = 4000
"""How many models all candidates of a race may have, unless they are few: with hundreds of classes
each candidate costs as much as hundreds of others. 250 classes leave room for 16 candidates."""
BYTES_PER_FEATURE = 16
PEAK_BYTES_PER_FEATURE = 40
"""The same with the preconditioner's sums, while a bank is copied to drop some of its candidates.
Four candidates of 2^25 features take 5.4 GB at most."""
FEWEST_CANDIDATES = 4
"""So many may run however wide the rows are."""
ROOM_FOR_MOVING = 12
"""Candidates that do not rest run as long as memory has room for so many others."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One complete way to learn, ready to run."""

    alpha: float
    schedule: Polynomial
    averaging: Averaging
    step: Step
    precondition: float
    capped: bool
    largest_squared_length: float
    adagrad: float | None = None

    @property
    def never_rests(self) -> bool:
        """Whether its rate does not fall and nothing is averaged."""
        return self.schedule.a == 0.0 and self.averaging.start is None

    def of_the_bank(self) -> tuple[Any, ...]:
        """Return the settings that all models of a bank share."""
        apart = (self.averaging, self.step, self.precondition, self.adagrad)
        return (*apart, self.capped, self.schedule.c)


@dataclass(frozen=True, slots=True)
class NewtonCandidate:
    """Block Newton steps with a penalty, in rows; see `polyak.learn.newton.lane`.

    With ``softmax`` all classes are learned together, without it one against the rest.
    """

    penalty: float
    softmax: bool = False


@dataclass(frozen=True, slots=True)
class AlphaCandidate(NewtonCandidate):
    """The same with a penalty of the mean loss, for features in the units in which they come."""

    of_mean: bool = True


@dataclass(frozen=True, slots=True)
class ConstantCandidate:
    """The best constant so far, so that no model is worse; see `polyak.learn.race.lanes.constant`.

    Its one field tells it from the others where candidates are stored.
    """

    constant: bool = True


AnyCandidate = Candidate | NewtonCandidate | ConstantCandidate


def most_candidates(width: int, models_each: int) -> int:
    """Return how many candidates may run, so that memory and time stay bounded.

    Each has ``models_each`` models of ``width`` features.

    Examples
    --------
    >>> most_candidates(100_000, 1), most_candidates(100_000_000, 1), most_candidates(20, 250)
    (41, 4, 16)
    """
    bytes_each = BYTES_PER_FEATURE * max(width, 1) * models_each
    return max(min(MOST_BYTES // bytes_each, MOST_MODELS // models_each), FEWEST_CANDIDATES)

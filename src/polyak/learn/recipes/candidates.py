"""Candidates: the ways to learn that race with each other, and the number there is room for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from polyak.learn.averaging import Averaging
from polyak.learn.bank.settings import Step
from polyak.learn.schedules import Polynomial
from polyak.model.training_report import AveragingReport, Rate

MOST_BYTES = 1 << 26
"""How much memory the weights of all candidates of a race may take, unless they are few."""
MOST_MODELS = 2000
"""The most models that all candidates of a race may have, unless they are few: with hundreds of
classes each candidate costs as much as hundreds of others. 250 classes leave room for 8 candidates.
On four simulated tables of 80 to 400 classes, twice this limit changed test losses by less than 1%
and took up to twice the time."""
BYTES_PER_FEATURE = 16
PEAK_BYTES_PER_FEATURE = 40
"""The same with the preconditioner's sums, while a bank is copied to drop some of its candidates.
Four candidates of 2^25 features take 5.4 GB at most."""
FEWEST_CANDIDATES = 4
"""The number of candidates that may run however wide the rows are."""
ROOM_FOR_MOVING = 12
"""Candidates of constant rates run where memory has room for this many others."""


class AnyCandidate(Protocol):
    """A way to learn: a frozen dataclass of numbers, words and flags."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def settings(self, *, softmax: bool) -> dict[str, Any]:
        """Return the fields of its `polyak.model.training_report.CandidateReport`.

        ``softmax`` says whether averaged SGD learns several classes together.
        """


@dataclass(frozen=True, slots=True)
class Candidate:
    """Averaged SGD with all its settings."""

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
        """Whether its rate is constant and nothing is averaged, for streams that drift."""
        return self.schedule.a == 0.0 and self.averaging.start is None

    def settings(self, *, softmax: bool) -> dict[str, Any]:
        """Return the fields of its report."""
        rate, averaging = self.schedule, self.averaging
        return {name: getattr(self, name) for name in self.__slots__} | {
            "softmax": softmax or None,
            "schedule": Rate(gamma0=rate.gamma0, a=rate.a, c=rate.c),
            "averaging": AveragingReport(start=averaging.start, power=averaging.power),
        }

    def of_the_bank(self) -> tuple[Any, ...]:
        """Return the settings that all models of a bank share."""
        apart = (self.averaging, self.step, self.precondition, self.adagrad)
        return (*apart, self.capped, self.schedule.c)


@dataclass(frozen=True, slots=True)
class NewtonCandidate:
    """Block Newton steps with a penalty, in rows; see `polyak.learn.newton.solver`.

    With ``softmax`` all classes are learned together, without it one against the rest.
    """

    penalty: float
    softmax: bool = False

    def settings(self, *, softmax: bool) -> dict[str, Any]:
        """Return the fields of its report."""
        return {"penalty": self.penalty, "softmax": self.softmax or None}


@dataclass(frozen=True, slots=True)
class AlphaCandidate(NewtonCandidate):
    """The same with a penalty of the mean loss, for features in the units in which they come."""

    of_mean: bool = True

    def settings(self, *, softmax: bool) -> dict[str, Any]:
        """Return the fields of its report."""
        found = NewtonCandidate.settings(self, softmax=softmax)
        return found | {"alpha": self.penalty}


def most_candidates(width: int, models_each: int) -> int:
    """Return how many candidates may run, so that memory and time stay bounded.

    Each has ``models_each`` models of ``width`` features.

    Examples
    --------
    >>> most_candidates(100_000, 1), most_candidates(100_000_000, 1), most_candidates(20, 250)
    (41, 4, 8)
    """
    bytes_each = BYTES_PER_FEATURE * max(width, 1) * models_each
    return max(min(MOST_BYTES // bytes_each, MOST_MODELS // models_each), FEWEST_CANDIDATES)

"""Candidates: the ways to learn that race with each other, and the number there is room for."""

from __future__ import annotations

from dataclasses import dataclass, fields
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

    @property
    def method(self) -> str:
        """What it is called where people read it, such as "newton" or "curves and pairs"."""

    @property
    def is_stochastic(self) -> bool:
        """Whether it takes stochastic gradient steps: its weights are as wide as the rows."""
        return False

    @property
    def averages(self) -> bool:
        """Whether its model is an average of iterates, once averaging has begun."""
        return False

    @property
    def may_overflow(self) -> bool:
        """Whether its steps may be so long that weights overflow."""
        return False

    @property
    def never_rests(self) -> bool:
        """Whether its rate is constant and nothing is averaged, for streams that drift."""
        return False

    def lane_settings(self) -> tuple[Any, ...]:
        """Return what candidates must have in common to share a lane."""
        return ()

    def may_overtake(self, other: AnyCandidate) -> bool:
        """Whether it is ``other`` with a smaller rate, which may be behind for long and lead."""
        return False

    def settings(self, *, softmax: bool) -> dict[str, Any]:
        """Return the fields of its `polyak.model.training_report.CandidateReport`.

        ``softmax`` says whether averaged SGD learns several classes together.
        """


@dataclass(frozen=True, slots=True)
class Candidate(AnyCandidate):
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
    def method(self) -> str:
        """The kind of its steps."""
        if self.step == "proximal":
            return "proximal"
        return "averaged SGD" if self.adagrad is None else "adaptive SGD"

    @property
    def is_stochastic(self) -> bool:
        return True

    @property
    def averages(self) -> bool:
        return self.averaging.start is not None

    @property
    def may_overflow(self) -> bool:
        return self.step == "explicit" and not self.capped

    @property
    def never_rests(self) -> bool:
        return self.schedule.a == 0.0 and self.averaging.start is None

    def settings(self, *, softmax: bool) -> dict[str, Any]:
        """Return the fields of its report."""
        rate, averaging = self.schedule, self.averaging
        return {one.name: getattr(self, one.name) for one in fields(self)} | {
            "softmax": softmax or None,
            "schedule": Rate(gamma0=rate.gamma0, a=rate.a, c=rate.c),
            "averaging": AveragingReport(start=averaging.start, power=averaging.power),
        }

    def lane_settings(self) -> tuple[Any, ...]:
        """Return the settings that all models of a bank share."""
        apart = (self.averaging, self.step, self.precondition, self.adagrad)
        return (*apart, self.capped, self.schedule.c)

    def may_overtake(self, other: AnyCandidate) -> bool:
        """Whether it is ``other`` with a smaller rate, where rates follow gradients.

        Such rates are best small where rows are many: at every doubling the next smaller one is
        still behind, and in the end it leads.
        """
        if self.adagrad is None or not isinstance(other, Candidate):
            return False
        same = self.lane_settings() == other.lane_settings()
        return same and self.schedule.gamma0 < other.schedule.gamma0


@dataclass(frozen=True, slots=True)
class NewtonCandidate(AnyCandidate):
    """Block Newton steps with a penalty, in rows; see `polyak.learn.newton.solver`.

    With ``softmax`` all classes are learned together, without it one against the rest.
    """

    penalty: float
    softmax: bool = False

    @property
    def method(self) -> str:
        """The kind of its steps."""
        return "newton"

    def settings(self, *, softmax: bool) -> dict[str, Any]:
        """Return the fields of its report."""
        return {"penalty": self.penalty, "softmax": self.softmax or None}


@dataclass(frozen=True, slots=True)
class DenseCandidate(AnyCandidate):
    """The optimum at a penalty for wide dense rows; see `polyak.learn.dense.solver`.

    The penalty is in rows of standardised features or, where it was given, that of the mean loss,
    for features in the units in which they come.
    """

    penalty: float
    of_mean: bool = False

    @property
    def method(self) -> str:
        """The kind of its rows."""
        return "dense"

    def settings(self, *, softmax: bool) -> dict[str, Any]:
        """Return the fields of its report."""
        fields = {"penalty": self.penalty, "dense": True}
        return fields | {"alpha": self.penalty} if self.of_mean else fields


@dataclass(frozen=True, slots=True)
class TermsCandidate(AnyCandidate):
    """Block Newton steps on curves, each term with a penalty chosen from the rows."""

    pairs: bool = False
    softmax: bool = False
    penalty: float = 1.0

    @property
    def method(self) -> str:
        """What it learns."""
        return "curves and pairs" if self.pairs else "curves"

    def lane_settings(self) -> tuple[Any, ...]:
        """Return what candidates must have in common to share a lane."""
        return (self.pairs,)

    def settings(self, *, softmax: bool) -> dict[str, Any]:
        """Return the fields of its report."""
        return {"terms": self.method, "softmax": self.softmax or None}


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

"""The training report: how a model was learned, and how it did on rows not learned yet.

Nothing in it changes a prediction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

from polyak.storage.container import plain
from polyak.storage.shapes import real

NotNegative = Annotated[float, real(0)]


class Rate(NamedTuple):
    """A learning rate, ``gamma0 * (1 + a * gamma0 * t) ** -c``."""

    gamma0: NotNegative
    a: NotNegative
    c: NotNegative


class AveragingReport(NamedTuple):
    """From which row on iterates are averaged, None being never, and how much later ones count."""

    start: Literal["auto"] | int | None
    power: NotNegative


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateReport:
    """A candidate of the race: its settings, and how far it came.

    Attributes
    ----------
    penalty : float or None
        That of block Newton steps, in rows. It is their only setting, and averaged SGD has all
        others but this.
    softmax : bool or None
        True where such steps learn several classes together.
    constant : bool or None
        True for the best constant so far, which has no setting.
    alpha, schedule, averaging, step, precondition, capped, largest_squared_length
        The settings of averaged SGD, and of proximal steps.
    adagrad : float or None
        Where rates follow gradients: what the sums of their squares begin at.
    number : int
        Its place among the candidates.
    running : bool
        Whether it was never dropped.
    rows : int
        How many rows it came to.
    progressive_loss : float or None
        Its mean loss on rows it had not learned yet.
    curve : tuple of (int, float)
        Its mean loss from milestone to milestone, each with the row it ends at.
    """

    penalty: NotNegative | None = None
    softmax: bool | None = None
    constant: bool | None = None
    alpha: NotNegative | None = None
    schedule: Rate | None = None
    averaging: AveragingReport | None = None
    step: Literal["explicit", "implicit", "proximal"] | None = None
    precondition: NotNegative | None = None
    capped: bool | None = None
    largest_squared_length: NotNegative | None = None
    adagrad: NotNegative | None = None
    number: int
    running: bool
    rows: int
    progressive_loss: float | None
    curve: tuple[tuple[int, float | None], ...] = ()

    def __post_init__(self) -> None:
        settings = (self.alpha, self.schedule, self.step, self.precondition)
        if self.method not in ("newton", "constant") and None in settings:
            raise ValueError(f"its candidate {self.number} has not all settings of {self.method}")
        if self.schedule is not None and not (self.schedule.gamma0 > 0 and self.schedule.c <= 1):
            raise ValueError(f"its candidate {self.number} has a learning rate that cannot be")

    @property
    def method(self) -> str:
        """How it learns.

        It is "newton", "proximal", "averaged SGD" or "adaptive SGD"; or not: "constant".
        """
        if self.constant:
            return "constant"
        if self.step == "proximal":
            return "proximal"
        if self.penalty is not None:
            return "newton"
        return "averaged SGD" if self.adagrad is None else "adaptive SGD"

    def as_dict(self) -> dict[str, Any]:
        """Give it as a dict, with the settings of its own method only."""
        found: dict[str, Any] = plain(self)
        return found


class Measure(NamedTuple):
    """How a model did on rows that it had not learned: the estimate that its choice rests on.

    Where all rows were at hand and few, each was ``left_out`` in turn; otherwise they are the later
    half of the rows, each scored before it was learned. ``capped`` losses were so large that they
    counted in part where candidates were compared; in ``loss`` they count in full.

    ``constant_loss`` is that of the best constant so far, where it raced, and ``r2`` the share of
    it that a model for squared error does without. ``roc_auc`` is known for two classes whose
    scores were counted.
    """

    rows: int = 0
    loss: float | None = None
    loss_std_err: float | None = None
    error: float | None = None
    constant_loss: float | None = None
    r2: float | None = None
    roc_auc: float | None = None
    capped: int = 0
    left_out: bool = False

    @property
    def which_rows(self) -> str:
        """The rows it is of, to end a sentence with."""
        return "rows left out in turn" if self.left_out else "the later half, before it was learned"


class Reliability(NamedTuple):
    """Bins of probabilities: the mean of what was said, the positive rows, and all rows."""

    predicted: tuple[float, ...]
    positive: tuple[NotNegative, ...]
    total: tuple[NotNegative, ...]


class Theory(NamedTuple):
    """After how many rows averaging pays off; right to an order of magnitude.

    Attributes
    ----------
    rows : int
        ``1 / (λ γ0)``.
    lambda0 : float
        The curvature of the flattest direction that counts, penalty included: the directions
        curved at least as much carry 99% of the rows' squared norm.
    gamma0 : float
        The first learning rate.
    flattest : float
        The curvature of the flattest direction of all. After ``1 / (flattest γ0)`` rows averaging
        pays off in every direction.
    spectrum : bool
        Whether ``lambda0`` is from the spectrum of a sample. Otherwise it is from the mean squares
        of the features, as if they were uncorrelated.
    """

    rows: int
    lambda0: float
    gamma0: float
    flattest: float
    spectrum: bool = True


class Engine(NamedTuple):
    """Who learned together: how many chains, and how many times they were merged."""

    name: str
    chains: int
    rounds: int


class IntervalReport(NamedTuple):
    """Where standard errors come from, and why they cannot be trusted, if so."""

    kind: Literal["sandwich", "replicas"]
    doubt: str | None = None


class ColumnReport(NamedTuple):
    """A column as it was read: its range or how many values it has, and the share missing."""

    name: str
    read_as: str
    values: str
    missing: NotNegative


class SourceReport(NamedTuple):
    """What was learned from: its name, its first columns, and how many others it has."""

    name: str
    columns: tuple[ColumnReport, ...] = ()
    others: int = 0


class CheckReport(NamedTuple):
    """Predictions compared with known targets, in figures and in what a page can draw.

    ``confusion`` has a row for each true class, in the order of the model's; ``points`` are
    predictions and true values of some rows.
    """

    rows: int
    figures: dict[str, float | None]
    confusion: tuple[tuple[NotNegative, ...], ...] = ()
    calibration: Reliability | None = None
    points: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReport:
    """How a model was learned; whatever is not known is None.

    Attributes
    ----------
    rows : int
        How many were learned, each pass counted.
    candidates : tuple of CandidateReport
    best_candidate : int
        The place of the one that the model is of.
    passes, bad_lines, rows_without_target : int
    recipe : dict
        What was asked for, by the names of the settings.
    average_start : tuple of int or None
        The row after which averaging began, for each output; None where it has not.
    progressive_loss, progressive_loss_std_err, progressive_error : float or None
        The mean over all rows, each scored before it was learned.
    recent : Measure or None
        The same over the later half of the rows.
    calibration : Reliability or None
    rows_needed : Theory or None
    intervals : IntervalReport or None
        Where they were asked for.
    engine : Engine or None
        Where several workers learned it.
    distinct_rows : int or None
        How many there are, however often each was learned.
    spreads : dict of int to float
        The standard deviations, in the first rows, of the features that matter most.
    source : SourceReport or None
    check : CheckReport or None
        How later rows were predicted before they were learned, where it was asked for.
    """

    rows: int
    candidates: tuple[CandidateReport, ...]
    best_candidate: int = 0
    passes: int = 1
    bad_lines: int = 0
    rows_without_target: int = 0
    recipe: dict[str, bool | float | str] = field(default_factory=dict)
    average_start: tuple[int | None, ...] = ()
    progressive_loss: float | None = None
    progressive_loss_std_err: float | None = None
    progressive_error: float | None = None
    recent: Measure | None = None
    calibration: Reliability | None = None
    rows_needed: Theory | None = None
    intervals: IntervalReport | None = None
    engine: Engine | None = None
    distinct_rows: int | None = None
    spreads: dict[int, NotNegative] = field(default_factory=dict)
    source: SourceReport | None = None
    check: CheckReport | None = None

    def __post_init__(self) -> None:
        if self.best_candidate >= len(self.candidates):
            raise ValueError("its best candidate is not among the candidates")
        bins = self.calibration
        if bins is not None and (len({*map(len, bins)}) > 1 or 0 in bins.total):
            raise ValueError("its bins of probabilities do not fit each other")

    @property
    def winner(self) -> CandidateReport:
        """The candidate that the model is of."""
        return self.candidates[self.best_candidate]

    @property
    def penalty_words(self) -> str:
        """Which penalty the weights have, as the recipe says it."""
        penalty = str(self.recipe.get("penalty", "l2"))
        share = f", l1_ratio {self.recipe.get('l1_ratio'):g}" if penalty == "elasticnet" else ""
        return penalty + share + (", no weight negative" if self.recipe.get("positive") else "")

    @property
    def has_zeros(self) -> bool:
        """Whether weights were to be exactly zero, or not negative."""
        return self.penalty_words not in ("l2", "none")

    @property
    def survivors(self) -> int:
        """How many candidates were never dropped."""
        return sum(candidate.running for candidate in self.candidates)

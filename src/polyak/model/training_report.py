"""The training report: how a model was learned, and its figures on rows not learned yet.

Predictions do not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

from polyak.losses import get_loss
from polyak.storage.container import plain
from polyak.storage.records import real

NotNegative = Annotated[float, real(0)]

OF_AVERAGING = ("eta0", "decay", "power_t", "average", "step", "precondition")
"""The settings of a recipe that only averaged SGD has."""


class Rate(NamedTuple):
    """A learning rate, ``gamma0 * (1 + a * gamma0 * t) ** -c``."""

    gamma0: NotNegative
    a: NotNegative
    c: NotNegative


class AveragingReport(NamedTuple):
    """The row at which averaging begins (None: never), and the power of the iterates' weights."""

    start: Literal["auto"] | int | None
    power: NotNegative


Settings = tuple[str | tuple[str, ...], ...]
"""The names of columns, or of pairs of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateReport:
    """A candidate of the race: its settings and its losses.

    Attributes
    ----------
    penalty : float or None
        The ridge penalty of block Newton steps, in pseudo-observations; their only setting.
    softmax : bool or None
        True if several classes are learned together.
    terms : {"curves", "curves and pairs"} or None
        What an additive model consists of; its penalties are its own, one per term.
    dense : bool or None
        True for the optimum of wide dense rows, found by matrix products.
    frequent : bool or None
        True if only the features that most rows have got weights, since there are too many.
    constant : bool or None
        True for the best constant, which has no settings.
    alpha, schedule, averaging, step, precondition, capped, largest_squared_length
        The settings of averaged SGD and of proximal steps.
    adagrad : float or None
        For adaptive SGD: the initial value of the sums of squared gradients.
    number : int
        Its index among the candidates.
    running : bool
        Whether it was not eliminated.
    rows : int
        The number of rows it learned.
    progressive_loss : float or None
        Its mean loss, each row scored before it was learned.
    curve : tuple of (int, float)
        Its mean loss between milestones, each with the row at which it ends.
    """

    penalty: NotNegative | None = None
    softmax: bool | None = None
    terms: Literal["curves", "curves and pairs"] | None = None
    dense: bool | None = None
    frequent: bool | None = None
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
        has_rate = self.schedule is not None or self.method in ("proximal", "averaged SGD")
        if has_rate and None in settings:
            raise ValueError(f"its candidate {self.number} lacks a setting of {self.method}")
        if self.schedule is not None and not (self.schedule.gamma0 > 0 and self.schedule.c <= 1):
            raise ValueError(f"its candidate {self.number} has an invalid learning rate")

    @property
    def method(self) -> str:
        """The kind of its steps, or "constant", or the kind of its terms."""
        if self.constant:
            return "constant"
        if self.terms is not None:
            return self.terms
        if self.dense:
            return "dense"
        if self.step == "proximal":
            return "proximal"
        if self.penalty is not None:
            return "newton"
        return "averaged SGD" if self.adagrad is None else "adaptive SGD"

    def as_dict(self) -> dict[str, Any]:
        """Return it as a dict with the settings of its own method."""
        found: dict[str, Any] = plain(self)
        return found


class TermReport(NamedTuple):
    """A column of an additive model, or a pair of them.

    Attributes
    ----------
    name : str
    kind : {"curve", "category", "linear", "pair"}
    edf : float
        Effective degrees of freedom: how many weights without a penalty would be as flexible.
    statistic, p_value : float or None
        A test of whether it has any effect, all else being equal; None with several outputs.
    """

    name: str
    kind: str
    edf: float
    statistic: float | None = None
    p_value: float | None = None


class Measure(NamedTuple):
    """Figures on rows that were not learned yet, from which the candidate was chosen.

    Where all rows were in memory and few, each was ``left_out`` in turn; otherwise they are the
    later half of the rows, each scored before it was learned. ``capped`` is the number of losses
    that were capped when candidates were compared; in ``loss`` they count in full.

    ``constant_loss`` is the loss of the best constant, if it was in the race, and ``r2`` one minus
    the ratio of the two losses for squared error. ``roc_auc`` is known for two classes whose scores
    were counted.
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
        """The rows of the estimate, as text."""
        return "rows left out in turn" if self.left_out else "the later half, before it was learned"


class Reliability(NamedTuple):
    """Bins of predicted probabilities: their mean, the positive rows, and all rows."""

    predicted: tuple[float, ...]
    positive: tuple[NotNegative, ...]
    total: tuple[NotNegative, ...]


class Theory(NamedTuple):
    """The number of rows after which averaging pays off, to an order of magnitude.

    Attributes
    ----------
    rows : int
        ``1 / (λ γ0)``.
    lambda0 : float
        The smallest relevant curvature, penalty included: directions of at least this curvature
        carry 99% of the rows' squared norm.
    gamma0 : float
        The initial learning rate.
    flattest : float
        The smallest curvature of all. After ``1 / (flattest γ0)`` rows averaging pays off in every
        direction.
    spectrum : bool
        Whether ``lambda0`` is from the spectrum of a sample; otherwise it is from the mean squares
        of the features, as if they were uncorrelated.
    """

    rows: int
    lambda0: float
    gamma0: float
    flattest: float
    spectrum: bool = True


class Engine(NamedTuple):
    """The engine of a distributed run: its name, and the numbers of chains and rounds."""

    name: str
    chains: int
    rounds: int


class IntervalReport(NamedTuple):
    """The source of standard errors, and the reason if they cannot be trusted."""

    kind: Literal["sandwich", "replicas"]
    doubt: str | None = None


class ColumnReport(NamedTuple):
    """A column as it was read: its range or number of values, and the share missing."""

    name: str
    read_as: str
    values: str
    missing: NotNegative


class SourceReport(NamedTuple):
    """The training data: its name, its first columns in ``rows``, the number of other columns."""

    name: str
    columns: tuple[ColumnReport, ...] = ()
    others: int = 0
    rows: int = 0


class CheckReport(NamedTuple):
    """An evaluation: figures, and data for charts.

    ``confusion`` has a row for each true class, in the order of the model's classes; ``points``
    are predictions and true values of a sample of rows.
    """

    rows: int
    figures: dict[str, float | None]
    confusion: tuple[tuple[NotNegative, ...], ...] = ()
    calibration: Reliability | None = None
    points: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReport:
    """How a model was learned; unknown figures are None.

    Attributes
    ----------
    rows : int
        The number of rows learned, each pass counted.
    candidates : tuple of CandidateReport
    best_candidate : int
        The index of the winner.
    passes, bad_lines, rows_without_target : int
    recipe : dict
        The settings given, by name.
    average_start : tuple of int or None
        The row after which averaging began, for each output; None where it has not begun.
    progressive_loss, progressive_loss_std_err, progressive_error : float or None
        The mean over all rows, each scored before it was learned.
    recent : Measure or None
        The same over the later half of the rows.
    calibration : Reliability or None
    rows_needed : Theory or None
    intervals : IntervalReport or None
        If they were requested.
    engine : Engine or None
        For a distributed run.
    distinct_rows : int or None
        The number of distinct rows, without repeated passes.
    spreads : dict of int to float
        The standard deviations, in the first rows, of the features with the largest effects.
    source : SourceReport or None
    check : CheckReport or None
        An evaluation on later rows before they were learned, if it was requested.
    terms : tuple of TermReport
        The columns and pairs of an additive model.
    """

    rows: int
    candidates: tuple[CandidateReport, ...]
    best_candidate: int = 0
    passes: int = 1
    bad_lines: int = 0
    rows_without_target: int = 0
    recipe: dict[str, bool | float | str | Settings | None] = field(default_factory=dict)
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
    terms: tuple[TermReport, ...] = ()

    def __post_init__(self) -> None:
        if self.best_candidate >= len(self.candidates):
            raise ValueError("its best candidate is not among the candidates")
        if "loss" in self.recipe:
            get_loss(str(self.recipe["loss"]))  # raises ValueError if there is none of this name
        bins = self.calibration
        if bins is not None and (len({*map(len, bins)}) > 1 or 0 in bins.total):
            raise ValueError("its bins of probabilities are inconsistent")

    @property
    def winner(self) -> CandidateReport:
        """The winning candidate."""
        return self.candidates[self.best_candidate]

    @property
    def penalty_words(self) -> str:
        """The kind of penalty, from the recipe, as text."""
        penalty = str(self.recipe.get("penalty", "l2"))
        share = f", l1_ratio {self.recipe.get('l1_ratio'):g}" if penalty == "elasticnet" else ""
        signs = ", no weight negative" if self.recipe.get("positive") is True else ""
        for name, what in (("positive", "not negative"), ("negative", "not positive")):
            columns = self.recipe.get(name)
            if isinstance(columns, list | tuple) and columns:
                signs += f", weights of {', '.join(map(str, columns))} {what}"
        return penalty + share + signs

    @property
    def has_zeros(self) -> bool:
        """Whether the penalty or constraint makes weights exactly zero."""
        return self.penalty_words not in ("l2", "none")

    @property
    def departure(self) -> str | None:
        """Where the model is not what was asked for, a sentence that says so."""
        asked, winner = self.recipe, self.winner
        alpha = asked.get("alpha", "auto")
        if asked.get("recipe") != "auto" or "loss" not in asked:
            return None
        of_sgd = any(asked.get(name, "auto") != "auto" for name in OF_AVERAGING)
        is_default = alpha == "auto" and not asked.get("intervals")
        if is_default or of_sgd or self.has_zeros or not get_loss(str(asked["loss"])).has_curvature:
            return None
        what = "no penalty" if alpha == 0 else f"alpha={alpha}"
        if winner.constant:
            return (
                f"the best constant predicts clearly better than the weights with {what}, so it is "
                'the model: alpha="auto" finds a penalty'
            )
        what = "intervals=True" if asked.get("intervals") else what
        too_many = f"there are too many features to find the optimum with {what}: "
        if winner.frequent:
            return too_many + "only those that most rows have got weights"
        if winner.schedule is None:
            return None
        return too_many + "the weights are those of averaged SGD, which are not at it"

    @property
    def doubts(self) -> list[str]:
        """What to know before weights and intervals are trusted, a sentence each."""
        of_intervals = None if self.intervals is None else self.intervals.doubt
        return [doubt for doubt in (self.departure, of_intervals) if doubt is not None]

    @property
    def survivors(self) -> int:
        """The number of candidates that were not eliminated."""
        return sum(candidate.running for candidate in self.candidates)

"""The lane protocol: all that the race knows of candidates that learn together.

A lane prepares the rows it learns from, reports losses, and stores, validates, merges and extends
its own state. Members with a body here are what most lanes answer.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from polyak._core import CheckedRows
from polyak.learn.centring import NOTHING, Centre
from polyak.learn.recipes import AnyCandidate, Recipe
from polyak.learn.score_histogram import ScoreHistogram
from polyak.learn.stored_state import Arrays, Page, StoredState
from polyak.learn.training_rows import SharedRows, TrainingRows
from polyak.model.columns import SourceColumns
from polyak.model.terms import Terms
from polyak.model.training_report import TermReport
from polyak.rows.sparse import Rows
from polyak.storage.sandwich import Sandwich

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Problem:
    """What is to be learned, as the first rows show it.

    Attributes
    ----------
    outputs : int
        The number of targets a row has, or the number of classes if there are more than two.
    one_vs_rest : bool
        Targets are class numbers, and each class has a model of its own.
    classifies : bool
    n_features : int or None
        Features are numbered below this, if it is known.
    features : int or None
        The number of different features there can be, if that is known.
    width : int
        The number of features of the first rows.
    dtype : numpy dtype
        The type of the rows, and so of the weights.
    centre : Centre
        The shift of the rows that averaged SGD learns from.
    begin_at : array or None
        The intercepts to begin with, one per output, if not with zero.
    at_hand : bool
        All rows are in memory, and `Lane.converge` follows when each was learned once.
    solved : bool
        All rows are in memory, and lanes fit them at once: see `Lane.fit`.
    columns : SourceColumns or None
        The columns that features come from, where terms are asked for.
    offset : int or None
        The feature that is the offset of rows: its weight is one. Rows are learned without it.
    """

    outputs: int
    one_vs_rest: bool
    classifies: bool
    n_features: int | None
    features: int | None
    width: int
    dtype: Any
    centre: Centre = NOTHING
    begin_at: Floats | None = None
    at_hand: bool = False
    solved: bool = False
    columns: SourceColumns | None = None
    offset: int | None = None

    @property
    def has_labels(self) -> bool:
        """Whether a row may have several labels, each with a model of its own."""
        return self.classifies and self.outputs > 1 and not self.one_vs_rest


@dataclass(frozen=True, slots=True)
class NewOutput:
    """A class or label first seen when the race is under way, and what its models begin with.

    They begin as models that have seen only negative rows: the weights are zero, and the intercept
    is the best constant for no positive row and ``rows`` negative ones, where each side counts half
    a row more. For the logistic loss that is the logarithm of the odds. Rates, clocks and averages
    are those of the other outputs' models.

    Where there were two classes, one model served both. First it becomes two, the first class's
    model being the mirror image of the second's, since all losses of classes are symmetric.

    Attributes
    ----------
    place : int
        Its place among the outputs.
    rows : float
        The number of rows learned so far.
    constant : float
        The score that its models begin with; zero without an intercept.
    mirrors : bool
        Whether there were two classes so far.
    recipe : Recipe
    problem : Problem
        What is to be learned from now on.
    """

    place: int
    rows: float
    constant: float
    mirrors: bool
    recipe: Recipe
    problem: Problem

    @property
    def before(self) -> int:
        """The number of outputs before this one, after mirroring."""
        return self.problem.outputs - 1

    @property
    def share(self) -> float:
        """What a mirrored model keeps of scores and losses.

        Half, where classes are learned together: there the one model was the difference of two, and
        only the row's own class contributes a loss.
        """
        return 0.5 if self.recipe.takes_softmax else 1.0

    def inserted(self, array: NDArray[Any], new: Any = 0.0) -> NDArray[Any]:
        """Insert a column into every group of ``before`` columns, the last axis."""
        groups = array.reshape(*array.shape[:-1], -1, self.before)
        one = np.asarray(new, array.dtype)
        one = one if one.ndim == 0 else one.reshape(groups.shape[:-1])
        one = np.broadcast_to(one, groups.shape[:-1])[..., None]
        wider = np.concatenate([groups[..., : self.place], one, groups[..., self.place :]], axis=-1)
        return np.ascontiguousarray(wider.reshape(*array.shape[:-1], -1))


def mirrored(array: NDArray[Any]) -> NDArray[Any]:
    """Insert the negative of every column before it, in the last axis."""
    pairs = np.stack([-array, array], axis=-1)
    return pairs.reshape(*array.shape[:-1], -1)


def candidate_sums(notes: Floats, *, one_vs_rest: bool) -> Floats:
    """Return the sums of candidates, as `polyak.learn.sums` lists them.

    ``notes`` are those of their models, as `polyak.learn.bank.settings.SUMS` lists them, of shape
    (intervals, sums, candidates, outputs).
    """
    weight, losses, squares, errors, confusion, rated, capped = notes.swapaxes(0, 1)
    error = confusion[..., 0] if one_vs_rest else errors.mean(axis=-1)
    added = [part.sum(axis=-1) for part in (losses, squares, rated, capped)]
    return np.stack([weight[..., 0], *added[:2], error, *added[2:]], axis=-1)


def histogram_for(loss: str, problem: Problem, candidates: int) -> ScoreHistogram:
    """Return a histogram for the scores of a lane's candidates; of numbers it has no models.

    The scores of log_loss are log-odds as they stand: a sample shows how well calibrated.
    """
    sampled, apart = loss == "log_loss", not problem.one_vs_rest
    classes = 1 if apart or sampled else problem.outputs
    models = candidates * problem.outputs if problem.classifies else 0
    return ScoreHistogram(models, sampled=sampled, classes=classes, apart=apart)


class Lane(Protocol):
    """Candidates that learn together from the same rows.

    Sums have a row for each candidate and the columns of `polyak.learn.sums`.

    Attributes
    ----------
    kinds : tuple of types
        The classes of its candidates, which are frozen dataclasses.
    numbers : list of int
        The candidates' numbers in the race. A *place* is the place of one of them in this list.
    candidates : list
        The candidates themselves.
    limits : array or None
        How the rows learned last count where candidates are compared, if this lane sets that.
    terms : Terms or None
        What rows are expanded in before its weights apply.
    """

    kinds: ClassVar[tuple[type[Any], ...]]
    numbers: list[int]
    candidates: list[Any]
    limits: Floats | None = None
    terms: Terms | None = None

    def __init__(
        self, numbers: list[int], candidates: list[Any], recipe: Recipe, problem: Problem
    ) -> None: ...

    # -- which candidates ----------------------------------------------------------------------

    @classmethod
    def entering(cls, recipe: Recipe) -> list[AnyCandidate]:
        """Return the candidates that enter every race of a recipe.

        `polyak.learn.recipes.plan` plans those that depend on the rows, and on each other.
        """
        return []

    @classmethod
    def takes(cls, candidate: AnyCandidate) -> bool:
        """Whether lanes of this kind learn by such a candidate."""
        return isinstance(candidate, cls.kinds)

    @classmethod
    def split(cls, numbers: list[int], recipe: Recipe, problem: Problem) -> list[list[int]]:
        """Divide candidates that could share a lane among several."""
        return [numbers]

    # -- what the race asks ----------------------------------------------------------------------

    @property
    def clock(self) -> int:
        """The number of rows learned."""

    @property
    def nbytes(self) -> int:
        """The memory that its weights take."""

    @property
    def n_features(self) -> int:
        """The number of features of its models."""

    @property
    def is_baseline(self) -> bool:
        """Whether it is what all others must beat.

        It learns first, costs next to nothing, sets the limits and is never eliminated.
        """
        return False

    @property
    def left(self) -> Exception | None:
        """Why it cannot go on: the error to raise where no other lane can."""
        return None

    @property
    def may_leave(self) -> bool:
        """Whether rows might come that it cannot go on with."""
        return False

    @property
    def is_optimum(self) -> bool:
        """Whether it is at the optimum that was asked for, so that no other lane can win."""
        return False

    @property
    def softmax(self) -> bool:
        """Whether the probabilities of its classes are a softmax of their scores."""
        return False

    @property
    def counts_from(self) -> int:
        """The row from which on losses are those of models like its own, in pairs and penalty."""
        return 0

    @property
    def fewest(self) -> int:
        """The number of its best candidates that stay, since it is too early to compare them."""
        return 0

    @property
    def stays(self) -> list[int]:
        """The candidate that the user asked for: it leads, and is never eliminated."""
        return []

    @property
    def converges(self) -> bool:
        """Whether its weights become the optimum of rows that are in memory where it leads."""
        return False

    @property
    def takes_tensors(self) -> bool:
        """Whether it learns tensors on the device that holds them."""
        return False

    @property
    def checks_while_learning(self) -> bool:
        """Whether `learn` refuses rows before it has learned any of them."""
        return False

    # -- learning --------------------------------------------------------------------------------

    def warm_up(self, rows: Rows) -> None:
        """See the rows that calibration looks at, before any is learned."""
        return

    def check(self, rows: Any, targets: NDArray[Any], weights: Floats | None) -> CheckedRows:
        """Refuse what cannot be learned from, and make room for the rest."""

    def begin_part(self) -> None:
        """Change nothing from now on that other parts of the race would have to change too."""
        return

    def most_rows(self, rows: Rows, *, again: bool) -> int:
        """Return the number of these rows that can be learned at once in bounded memory."""
        return sys.maxsize

    def rows_for(self, shared: SharedRows) -> TrainingRows:
        """Return rows in the form that this lane learns from."""
        return shared.plain

    def learn(
        self, given: TrainingRows, *, again: bool, stops: NDArray[np.int64], threads: int
    ) -> Floats:
        """Learn rows and return the sums of each interval that ends at one of the stops.

        The sums are NaN after the row at which the lane left. Rows that were learned before
        (``again``) are not scored. The number of threads does not change the result.
        """

    def fit(self, given: TrainingRows, threads: int) -> bool:
        """Learn rows that are all in memory at once, unscored; return whether it could."""
        return False

    def sums(self) -> Floats:
        """Return the sums since the last milestone."""

    def start_interval(self) -> None:
        """Begin a new interval of the race: its sums are zero."""

    def can_leave_out(self, rows: int) -> bool:
        """Whether `polyak.learn.race.comparing` can leave each row out in turn."""
        return False

    def sums_left_out(self, constant: int) -> dict[int, Floats]:
        """Return its candidates' sums over rows left out, if it finds them itself, and constant's.

        ``constant`` is the number of that candidate.
        """
        return {}

    def converge(self, given: TrainingRows) -> bool:
        """Make weights exact for all rows, each learned once; return whether they are finite."""
        return True

    # -- state -----------------------------------------------------------------------------------

    def select(self, places: Sequence[int]) -> Self:
        """Return a lane of only these candidates, each as it stands."""

    def merge(self, others: Sequence[Self], base: Self | None) -> None:
        """Become what this lane and others learned together, each from rows of its own."""

    def add_output(self, new: NewOutput) -> Self:
        """Return the lane with models for a class that was not known before."""

    def state(self) -> tuple[Page, Arrays]:
        """Return what learning changes as a JSON-serialisable dict and a dict of arrays."""

    def set_state(self, stored: StoredState, clock: int) -> None:
        """Go on from what `state` returned, after ``clock`` rows; ValueError if it is corrupt."""

    # -- results ---------------------------------------------------------------------------------

    def weights(self, place: int, *, last: bool = False) -> tuple[NDArray[Any], Floats]:
        """Return a candidate's weights, a row per output, and its intercepts."""

    def replicas(self, place: int) -> NDArray[Any] | None:
        """Return its replicas as (replicas, features + 1, outputs), the intercept last."""
        return None

    def sandwich(self) -> tuple[Sandwich, tuple[int, float] | None] | None:
        """Return hardly penalised weights and their covariance, if known, and their drift.

        That is a number of rows, and how far weights have moved since, in standard errors.
        """
        return None

    def reach(self, place: int) -> Floats | None:
        """Return the lowest and the highest score of its model, if it has any: a row each."""
        return None

    def term_reports(self) -> tuple[TermReport, ...]:
        """Return what is known of each term of an additive model."""
        return ()

    def found(self, place: int) -> dict[str, Any]:
        """Return fields of its report that differ from the candidate's settings."""
        return {}

    def average_start(self, place: int) -> Floats:
        """Return the row at which each output's average began; NaN where nothing is averaged."""

    def histogram(self, place: int) -> ScoreHistogram:
        """Return the histogram of its scores; without models, where they are not counted."""

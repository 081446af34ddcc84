"""The lane of the constant: what a model that knows no feature would have achieved.

It is the best constant under the loss for all rows so far: their mean, or what the shares of the
classes make it; where rows have offsets, the best constant to add to them. It changes only at
milestones, of which there are eight to every doubling, so that all rows between are scored by the
same number. Then a count of each class gives the loss of all: it costs next to nothing, and is a
progressive loss like any other.

Its losses also determine how rows count where candidates are compared: see
`polyak.learn.race.row_limits`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.race.lanes.protocol import Lane, NewOutput, Problem, mirrored
from polyak.learn.race.row_limits import FEWEST, LEAST, largest_size, row_limits
from polyak.learn.recipes import AnyCandidate, Recipe
from polyak.learn.score_histogram import ScoreHistogram
from polyak.learn.stored_state import Arrays, Page, StoredState
from polyak.learn.sums import SUMS
from polyak.learn.training_rows import TrainingRows
from polyak.losses import get_loss
from polyak.losses.softmax import normalised_odds
from polyak.losses.target_sample import TargetSample
from polyak.rows.sparse import Rows

Floats = NDArray[np.float64]

ROWS_AT_A_TIME = 1 << 14
MOST_LIMITS = 1 << 16
"""The number of rows whose limits are held at a time, so that memory stays bounded."""


@dataclass(frozen=True, slots=True)
class ConstantCandidate(AnyCandidate):
    """The best constant so far, so that no model is worse."""

    constant: bool = True

    @property
    def method(self) -> str:
        """The kind of model."""
        return "constant"

    def settings(self, *, softmax: bool) -> dict[str, Any]:
        """Return the fields of its report."""
        return {"constant": True}


class ConstantLane(Lane):
    """A single candidate, whose weights are zero.

    Without an intercept the constant is zero. Where classes are learned ``together``, a row
    has one loss: that of the probability of its own class.
    """

    kinds = (ConstantCandidate,)
    clock = 0
    n_features = 0

    def __init__(
        self,
        numbers: list[int],
        candidates: list[ConstantCandidate],
        recipe: Recipe,
        problem: Problem,
    ) -> None:
        self.numbers, self.candidates = numbers, candidates
        self.recipe, self.problem = recipe, problem
        self.loss, self.fit_intercept = recipe.loss, recipe.fit_intercept
        self.together = problem.one_vs_rest and recipe.takes_softmax
        self.rows = 0  # scored; those learned again were not
        counted = problem.classifies and problem.offset is None
        self.sample = None if counted else TargetSample(problem.outputs)
        # Weights of the classes; of labels the negative rows of each, then the positive; or the sum
        # of all weights, then of all targets less offsets.
        self.seen: Floats = np.zeros(self._kinds)
        self.then: Floats = np.zeros(self._kinds)  # the same at the last milestone
        self.since: Floats = np.zeros(SUMS)  # since the milestone, unless classes are counted
        self.constant: Floats = self._best()
        # The constant's mean loss, and the largest size of a row that counts in full.
        self.usual: Floats = np.array([np.inf, np.inf])
        self.limits: Floats = np.empty((0, 2))  # of the rows learned last

    @classmethod
    def entering(cls, recipe: Recipe) -> list[AnyCandidate]:
        """Return the constant, which enters every race but that of the paper's one candidate."""
        return [] if recipe.is_paper else [ConstantCandidate()]

    @property
    def _kinds(self) -> int:
        if self.sample is not None:
            return 1 + self.problem.outputs
        return self.problem.outputs * (1 if self.problem.one_vs_rest else 2)

    # -- the protocol of a lane ----------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """The memory that its weights take: there are none."""
        return 0

    @property
    def is_baseline(self) -> bool:
        return True

    @property
    def takes_tensors(self) -> bool:
        """Whether rows may be tensors: it does not look at them."""
        return True

    def check(self, rows: Any, targets: NDArray[Any], weights: Floats | None) -> Any:
        """Return the rows: other lanes refuse what cannot be learned from."""
        return rows

    def most_rows(self, rows: Rows, *, again: bool) -> int:
        return MOST_LIMITS

    def learn(
        self, given: TrainingRows, *, again: bool, stops: NDArray[np.int64], threads: int
    ) -> Floats:
        """Count rows and return the sums of each interval that ends at one of the stops."""
        n = given.total
        self.clock += n
        if again:
            return np.empty((0, 1, SUMS))
        given = given.taken(given.rows)
        notes: list[Floats] = []
        limits: list[Floats] = []
        done = 0
        for end in [*stops.tolist(), n]:
            limits.append(self._count(given, done, end))
            self.rows, done = self.rows + end - done, end
            if len(notes) < len(stops):
                notes.append(self.sums()[0])
                self.start_interval()
        self.limits = np.concatenate(limits)
        return np.array(notes).reshape(-1, 1, SUMS)

    def fit(self, given: TrainingRows, threads: int) -> bool:
        self.learn(given, again=False, stops=np.empty(0, dtype=np.int64), threads=threads)
        self.start_interval()  # what these rows lose is told by leaving each out
        return True

    def sums(self) -> Floats:
        return self._sums_since()[None]

    def start_interval(self) -> None:
        """From now on score by the best constant of all rows so far."""
        self.since, self.then = np.zeros(SUMS), self.seen.copy()
        self.constant = self._best()
        self.usual = self._usual()

    def select(self, places: Sequence[int]) -> Self:
        """Return the lane itself: there are no other candidates to leave out."""
        return self

    def merge(self, others: Sequence[Self], base: Self | None) -> None:
        parts = [self, *others]
        then = base or self._empty(self.recipe, self.problem)
        self.seen = then.seen + sum(one.seen - then.seen for one in parts)
        self.rows = then.rows + sum(one.rows - then.rows for one in parts)
        self.clock = then.clock + sum(one.clock - then.clock for one in parts)
        if self.sample is not None:
            self.sample.join([one.sample for one in others if one.sample is not None])
        self.start_interval()

    def _empty(self, recipe: Recipe, problem: Problem) -> Self:
        return type(self)(self.numbers, self.candidates, recipe, problem)

    def add_output(self, new: NewOutput) -> Self:
        """Return the lane with a class more, which no row has had so far."""
        grown = self._empty(new.recipe, new.problem)
        grown.rows, grown.clock = self.rows, self.clock
        grown.since, grown.usual = self.since.copy(), self.usual.copy()
        constant = self.constant
        if new.mirrors:  # the rows of each class are counted already
            grown.usual[0] *= 2.0 * new.share
            constant = mirrored(constant)
        grown.constant = new.inserted(constant, new.constant)
        for name in ("seen", "then"):
            counts: Floats = getattr(self, name)
            sides = counts.reshape(-1, new.before)[:, 0]  # of labels, the negative rows too
            rows = np.array([sides.sum(), 0.0]) if len(sides) > 1 else 0.0
            setattr(grown, name, new.inserted(counts, rows))
        return grown

    def state(self) -> tuple[Page, Arrays]:
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        page: Page = {"rows": self.rows}
        if self.sample is not None:
            arrays["sample"] = self.sample.table.copy()
            page |= {"sampled": self.sample.rows, "every": self.sample.every}
        return page, arrays

    def set_state(self, stored: StoredState, clock: int) -> None:
        self.rows, self.clock = stored.whole("rows", most=clock), clock
        for name in ARRAYS:
            setattr(self, name, stored.array(name, getattr(self, name).shape))
        if self.sample is not None:
            shape = (None, 2 + self.problem.outputs)
            self.sample.table = stored.array("sample", shape, least=-np.inf)
            self.sample.rows = stored.whole("sampled")
            self.sample.every = stored.whole("every", least=1)

    def weights(self, place: int, *, last: bool = False) -> tuple[NDArray[Any], Floats]:
        """Return weights of no features, and the constant of all rows so far."""
        coef = np.zeros((self.problem.outputs, self.n_features), self.problem.dtype)
        return coef, self._best()

    def average_start(self, place: int) -> Floats:
        """Return NaN: nothing is averaged."""
        return np.full(self.problem.outputs, np.nan)

    def histogram(self, place: int) -> ScoreHistogram:
        """Count all rows at the score that they would have now."""
        apart, sampled = not self.problem.one_vs_rest, self.loss == "log_loss"
        models = self.problem.outputs if self.problem.classifies else 0
        found = ScoreHistogram(models, sampled=sampled, apart=apart)
        if not models:
            return found
        if self.sample is not None:
            own, shift, *targets = self.sample.table.T
            for output, score in enumerate(self._best()):
                counts = found.counts[0, output : output + 1]
                _core.count_scores(
                    (score + shift)[:, None], targets[output][:, None] > 0, own, counts
                )
            return found
        positive, negative = self._sides(self.seen)
        signs = np.array([[True], [False]])
        for output, score in enumerate(self._best()):
            scores, sides = np.full((2, 1), score), np.array([positive[output], negative[output]])
            _core.count_scores(scores, signs, sides, found.counts[0, output : output + 1])
        return found

    def scores_left_out(self, given: TrainingRows) -> Floats:
        """Return the constant of all other rows, for each of the rows that were learned.

        A row more or less changes the constant by next to nothing, so one Newton step will do.
        """
        from polyak.learn.newton.block.leave_one_out import scores_left_out

        targets, shift = given.targets, given.offsets
        ones, penalty = np.ones((len(targets), 1)), np.full((1, 1), 1e-300)
        loss = get_loss(self.loss).for_newton(len(targets), 1)
        found = np.zeros((len(targets), self.problem.outputs))
        for output, score in enumerate(self._best()):
            if self.problem.one_vs_rest:
                goals = np.where(targets == output, 1.0, -1.0)
            else:
                goals = np.asarray(targets, np.float64).reshape(len(targets), -1)[:, output]
            W = np.full((1, 1), score)
            own = loss.of_output(output)
            if self.fit_intercept:
                how = (ones, goals, given.weights, W, penalty)
                found[:, output] = scores_left_out(own, *how, offsets=shift)[:, 0]
            elif shift is not None:
                found[:, output] = shift
        return normalised_odds(found) if self.together else found

    # -- inside --------------------------------------------------------------------------------

    def _count(self, given: TrainingRows, first: int, last: int) -> Floats:
        """Add rows up one after the other, so that batches leave no trace; return their limits."""
        limits = np.empty((last - first, 2))
        for begin in range(first, last, ROWS_AT_A_TIME):
            some = slice(begin, min(begin + ROWS_AT_A_TIME, last))
            here = slice(some.start - first, some.stop - first)
            targets = given.targets[some]
            own, shift = (
                None if each is None else each[some] for each in (given.weights, given.offsets)
            )
            if self.sample is None:
                lost = self._class_losses(targets)
                sizes = np.ones(len(lost)) if own is None else own
                limits[here] = row_limits(lost, sizes, *self.usual)
                self._count_classes(targets, own)
                continue
            with np.errstate(over="ignore", invalid="ignore"):  # as in the core
                limits[here] = self._count_in_sample(self.sample, targets, own, shift)
        return limits

    def _class_losses(self, targets: NDArray[Any]) -> Floats:
        """Return the constant's loss on each row, summed over the outputs."""
        high, low = self._losses_of_sides()
        if self.problem.one_vs_rest:
            of_class: Floats = high + (low.sum() - low)
            return of_class[targets.astype(np.int64)]
        signs = targets.reshape(len(targets), -1)
        lost: Floats = np.einsum("ij,j->i", signs, 0.5 * (high - low)) + 0.5 * (high + low).sum()
        return lost

    def _usual(self) -> Floats:
        """Return the constant's mean loss of all rows so far, and the largest size in proportion.

        Sizes are weighted losses, or weights where targets are classes.
        """
        if not self.rows:
            return np.array([np.inf, np.inf])
        if self.sample is not None:
            own = self.sample.table[:, 0]
            with np.errstate(over="ignore", invalid="ignore"):
                lost = self.sample.losses(get_loss(self.loss), self.constant)
                largest = largest_size(own * lost, self.rows)
                counted = np.minimum(own * lost, largest)
                mean = counted.sum() / max(own.sum(), 1e-300)
            return np.array([mean, largest])
        positive, negative = self._sides(self.seen)
        high, low = self._losses_of_sides()
        weight = positive[0] + negative[0]
        mean = (positive @ high + negative @ low) / max(weight, 1e-300)
        return np.array([mean, weight / self.rows * max(LEAST, self.rows / FEWEST)])

    def _count_classes(self, targets: NDArray[Any], weights: Floats | None) -> None:
        """Add the weight of each row to its class, or to a side of each label, in order."""
        each = np.ones(len(targets)) if weights is None else weights
        if targets.ndim > 1 and weights is None:  # counts are exact in any order
            positive = np.count_nonzero(targets > 0, axis=0)
            self.seen = self.seen + np.concatenate([len(targets) - positive, positive])
            return
        if targets.ndim > 1:
            sides = np.hstack([targets < 0, targets > 0]).T * each
            self.seen = self.seen.copy()
            _core.add_in_order(np.ascontiguousarray(sides), self.seen)
            return
        own = (targets if self.problem.one_vs_rest else targets > 0).astype(np.int64)
        self.seen = np.bincount(
            np.concatenate([np.arange(self._kinds), own]), np.concatenate([self.seen, each])
        ).astype(np.float64)

    def _count_in_sample(
        self,
        sample: TargetSample,
        targets: NDArray[Any],
        weights: Floats | None,
        offsets: Floats | None,
    ) -> Floats:
        goals = np.asarray(targets, dtype=np.float64).reshape(len(targets), -1).T
        loss = get_loss(self.loss)
        shift = np.zeros((1, 1)) if offsets is None else offsets[:, None]
        scores = self.constant + shift
        losses = np.ascontiguousarray(loss.value(scores, goals.T).T)
        said = loss.predictions(scores).T
        sample.add(goals.T, weights, offsets)
        lost = losses.sum(axis=0)
        limits = row_limits(lost, lost if weights is None else weights * lost, *self.usual)
        new = np.empty((SUMS + len(self.seen), len(targets)))
        new[0] = new[SUMS] = 1.0
        new[1], new[2] = lost, np.square(losses).sum(axis=0)
        wrong = (said > 0) != (goals > 0) if loss.classifies else np.abs(goals - said)
        new[3] = wrong.mean(axis=0)
        new[4], new[5] = limits[:, 1] * lost, 0.0
        new[SUMS + 1 :] = goals - shift.T
        if weights is not None:
            new *= weights
        # Not np.sum: it adds up in an order that depends on how many there are.
        after = np.concatenate([self.since, self.seen])
        _core.add_in_order(new, after)
        self.since, self.seen = after[:SUMS], after[SUMS:]
        return limits

    def _sums_since(self) -> Floats:
        if self.sample is not None:
            return self.since
        counts = self.seen - self.then
        positive, negative = self._sides(counts)
        rows = positive[0] + negative[0] if self.problem.has_labels else counts.sum()
        high, low = self._losses_of_sides()
        if self.problem.one_vs_rest:
            errors = rows - counts[np.argmax(self.constant)]
        else:
            errors = np.where(self.constant > 0, negative, positive).mean()
        lost = positive @ high + negative @ low
        squares = positive @ np.square(high) + negative @ np.square(low)
        return np.array([rows, lost, squares, errors, lost, 0.0])

    def _losses_of_sides(self) -> tuple[Floats, Floats]:
        """Return the constant's loss on a positive and on a negative row of each output."""
        if self.together:
            high = np.logaddexp(0.0, -normalised_odds(self.constant))
            return high, np.zeros_like(high)
        loss = get_loss(self.loss)
        return loss.value(self.constant, 1.0), loss.value(self.constant, -1.0)

    def _sides(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return the positive and the negative rows of each output."""
        outputs = self.problem.outputs
        if self.problem.has_labels:
            return counts[outputs:], counts[:outputs]
        positive = counts if self.problem.one_vs_rest else counts[1:]
        return positive, counts.sum() - positive

    def _best(self) -> Floats:
        """Return the constant with the lowest loss on all rows so far, one for each output."""
        if not self.fit_intercept:
            return np.zeros(self.problem.outputs)
        if self.sample is None:
            return get_loss(self.loss).best_constant(*self._sides(self.seen))
        if self.loss == "squared_error":  # the mean of all rows, not of a sample
            return self.seen[1:] / (self.seen[0] or 1.0)
        if not self.sample.rows and self.problem.begin_at is not None:
            return self.problem.begin_at
        return self.sample.constants(get_loss(self.loss))


ARRAYS = ("seen", "then", "since", "constant", "usual")

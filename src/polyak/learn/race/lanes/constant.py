"""The lane of the constant: what a model that knows no feature would have achieved.

It is the best constant under the loss for all rows so far: their mean, or what the shares of the
classes make it. It changes only at milestones, of which there are eight to every doubling, and at
doublings before the first decision, so that all rows between are scored by the same number. Then a
count of each class says what they all lose: it costs next to nothing, and is as honest as any other
progressive loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.calibration import ScoreHistogram
from polyak.learn.given import Given
from polyak.learn.race.lanes.lane import Lane, Problem
from polyak.learn.race.milestones import FIRST_DECISION, milestones_between
from polyak.learn.race.past import SUMS
from polyak.losses import get_loss
from polyak.losses.softmax import normalised_odds
from polyak.losses.target_sample import TargetSample

Floats = NDArray[np.float64]

ROWS_AT_A_TIME = 1 << 14


class ConstantLane(Lane):
    """A single candidate, whose weights are zero.

    Without an intercept the constant is zero. Of classes that are learned ``together`` only the
    row's own loses: what counts is its probability.
    """

    clock = 0
    n_features = 0

    def __init__(
        self,
        number: int,
        loss: str,
        problem: Problem,
        *,
        fit_intercept: bool,
        together: bool = False,
    ) -> None:
        self.numbers = [number]
        self.together = together
        self.loss = loss
        self.problem = problem
        self.fit_intercept = fit_intercept
        self.n_features = problem.n_features or 0
        self.rows = 0  # scored; those learned again were not
        self.total: Floats = np.zeros(SUMS)  # up to the last milestone
        # Weights of the classes; of labels the negative rows of each, then the positive; or the sum
        # of all weights, then of all targets.
        self.seen: Floats = np.zeros(self._kinds)
        self.then: Floats = np.zeros(self._kinds)  # the same at the last milestone
        self.since: Floats = np.zeros(SUMS)  # of targets that are numbers, since the milestone
        # Where no sums tell the best constant, as they do of classes and of least squares.
        by_sums = problem.classifies or loss == "squared_error"
        self.sample = None if by_sums else TargetSample(problem.outputs)
        self.constant: Floats = self._best()

    @property
    def _kinds(self) -> int:
        if not self.problem.classifies:
            return 1 + self.problem.outputs
        return self.problem.outputs * (1 if self.problem.one_vs_rest else 2)

    # -- the protocol of a lane ----------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """How much memory its weights take: there are none."""
        return 0

    @property
    def stays(self) -> list[int]:
        """Who must not drop out: the constant costs nothing."""
        return self.numbers

    def check(self, rows: Any, targets: NDArray[Any], weights: Floats | None) -> Any:
        """Leave it to others to refuse rows."""
        return rows

    def learn(self, given: Given, *, again: bool, stops: NDArray[np.int64]) -> Floats:
        """Count rows and give the sums after so many of them, one stop after the other."""
        _, targets, weights, order = given
        n = given.total
        self.clock += n
        if again:
            return np.empty((0, 1, SUMS))
        if order is not None:
            targets, weights = targets[order], None if weights is None else weights[order]
        begin, notes = self.rows, []
        moves = _moves_between(begin, begin + n)
        ends = {begin + int(stop) for stop in stops}
        for end in sorted(moves | ends | {begin + n}):
            some = slice(self.rows - begin, end - begin)
            self._count(targets[some], None if weights is None else weights[some])
            self.rows = end
            if end in moves:
                self._move()
            if end in ends:
                notes.append(self.sums())
        return np.array(notes).reshape(-1, 1, SUMS)

    def sums(self) -> Floats:
        """Give the sums as they are now."""
        return (self.total + self._sums_since())[None]

    def select(self, places: Sequence[int]) -> ConstantLane:
        """Give the lane itself: there is nobody to leave out."""
        return self

    def merge(self, others: Sequence[ConstantLane], base: ConstantLane | None) -> None:
        """Become what this lane and others learned together, each from rows of its own."""
        everyone = [self, *others]
        then = base or ConstantLane(
            self.numbers[0],
            self.loss,
            self.problem,
            fit_intercept=self.fit_intercept,
            together=self.together,
        )
        total = then.sums()[0] + sum(one.sums()[0] - then.sums()[0] for one in everyone)
        self.seen = then.seen + sum(one.seen - then.seen for one in everyone)
        self.rows = then.rows + sum(one.rows - then.rows for one in everyone)
        self.clock = then.clock + sum(one.clock - then.clock for one in everyone)
        self.total, self.since = total, np.zeros(SUMS)
        if self.sample is not None:
            self.sample.join([one.sample for one in others if one.sample is not None])
        self.then, self.constant = self.seen.copy(), self._best()

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Read out what learning changes: what JSON holds, and arrays."""
        arrays = {name: getattr(self, name).copy() for name in ARRAYS}
        page = {"rows": self.rows}
        if self.sample is not None:
            arrays["sample"] = self.sample.table.copy()
            page |= {"sampled": self.sample.rows, "every": self.sample.every}
        return page, arrays

    def set_state(self, page: dict[str, Any], arrays: dict[str, NDArray[Any]], clock: int) -> None:
        """Go on from what ``state`` gave."""
        self.rows, self.clock = page["rows"], clock
        for name in ARRAYS:
            setattr(self, name, arrays[name].copy())
        if self.sample is not None:
            self.sample.table = arrays["sample"].copy()
            self.sample.rows, self.sample.every = page["sampled"], page["every"]

    def weights(self, place: int, *, last: bool = False) -> tuple[NDArray[Any], Floats]:
        """Give weights, all zero, and the constant of all rows so far."""
        width = max(self.n_features, self.problem.n_features or 0)
        coef = np.zeros((self.problem.outputs, width), self.problem.dtype)
        return coef, self._best()

    def average_start(self, place: int) -> Floats:
        """Say that nothing is averaged."""
        return np.full(self.problem.outputs, np.nan)

    def losses(self, place: int) -> Floats:
        """Give its progressive loss, all outputs together."""
        count, loss = self.sums()[0, :2]
        return np.array([loss / count if count > 0 else np.nan])

    def histogram(self, place: int) -> ScoreHistogram | None:
        """Count all rows at the score that they would have now."""
        if not self.problem.classifies:
            return None
        apart, sampled = not self.problem.one_vs_rest, self.loss == "log_loss"
        found = ScoreHistogram(self.problem.outputs, sampled=sampled, apart=apart)
        positive, negative = self._sides(self.seen)
        signs = np.array([[True], [False]])
        for output, score in enumerate(self._best()):
            scores, sides = np.full((2, 1), score), np.array([positive[output], negative[output]])
            _core.count_scores(scores, signs, sides, found.counts[0, output : output + 1])
        return found

    def losses_left_out(self, targets: NDArray[Any], weights: Floats | None) -> Floats:
        """Give what each of the rows, all that were learned, loses by the constant of the others.

        A row more or less changes the constant by next to nothing, so its Newton step will do.
        """
        from polyak.learn.newton.block.leave_one_out import losses_left_out

        ones, penalty = np.ones((len(targets), 1)), np.full((1, 1), 1e-300)
        loss = get_loss(self.loss).for_newton(len(targets), 1)
        found = np.zeros(len(targets))
        for output, score in enumerate(self._best()):
            if self.problem.one_vs_rest:
                goals = np.where(targets == output, 1.0, -1.0)
            else:
                goals = np.asarray(targets, np.float64).reshape(len(targets), -1)[:, output]
            W = np.full((1, 1), score if self.fit_intercept else 0.0)
            own = loss.of_output(output)
            lost = losses_left_out(own, ones, goals, weights, W, penalty)[:, 0]
            found += np.where(goals > 0, lost, 0.0) if self.together else lost
        return found

    # -- inside --------------------------------------------------------------------------------

    def _count(self, targets: NDArray[Any], weights: Floats | None) -> None:
        """Add rows up one after the other, so that batches leave no trace."""
        for begin in range(0, len(targets), ROWS_AT_A_TIME):
            some = slice(begin, begin + ROWS_AT_A_TIME)
            own = None if weights is None else weights[some]
            if self.problem.classifies:
                self._count_classes(targets[some], own)
                continue
            with np.errstate(over="ignore", invalid="ignore"):  # as in the core
                self._count_numbers(targets[some], own)

    def _count_classes(self, targets: NDArray[Any], weights: Floats | None) -> None:
        if weights is None and (self.seen == np.floor(self.seen)).all():  # whole numbers: exact
            if self.problem.one_vs_rest:
                self.seen += np.bincount(targets.astype(np.int64), minlength=self._kinds)
            else:
                positive = np.count_nonzero(targets.reshape(len(targets), -1) > 0, axis=0)
                self.seen += np.concatenate([len(targets) - positive, positive])
            return
        if targets.ndim > 1:
            sides = np.hstack([targets < 0, targets > 0]).astype(np.float64)
            sides *= 1.0 if weights is None else weights[:, None]
            self.seen = np.add.accumulate(np.vstack([self.seen, sides]))[-1].copy()
            return
        own = (targets if self.problem.one_vs_rest else targets > 0).astype(np.int64)
        each = np.ones(len(own)) if weights is None else weights
        self.seen = np.bincount(
            np.concatenate([np.arange(self._kinds), own]), np.concatenate([self.seen, each])
        ).astype(np.float64)

    def _count_numbers(self, targets: NDArray[Any], weights: Floats | None) -> None:
        goals = np.asarray(targets, dtype=np.float64).reshape(len(targets), -1).T
        loss = get_loss(self.loss)
        losses = np.ascontiguousarray(loss.value(self.constant, goals.T).T)
        said = loss.predictions(self.constant)[:, None]
        if self.sample is not None:
            self.sample.add(goals.T, weights)
        new = np.empty((SUMS + len(self.seen), len(targets)))
        new[0] = new[SUMS] = 1.0
        new[1], new[2] = losses.sum(axis=0), np.square(losses).sum(axis=0)
        new[3] = np.abs(goals - said).mean(axis=0)
        new[SUMS + 1 :] = goals
        if weights is not None:
            new *= weights
        # Not np.sum: it adds up in an order that depends on how many there are.
        after = np.concatenate([self.since, self.seen])
        _core.add_in_order(new, after)
        self.since, self.seen = after[:SUMS], after[SUMS:]

    def _move(self) -> None:
        """At a milestone: from now on, score by the best constant of all rows so far."""
        self.total = self.total + self._sums_since()
        self.since, self.then = np.zeros(SUMS), self.seen.copy()
        self.constant = self._best()

    def _sums_since(self) -> Floats:
        if not self.problem.classifies:
            return self.since
        counts = self.seen - self.then
        positive, negative = self._sides(counts)
        rows = positive[0] + negative[0] if self.problem.has_labels else counts.sum()
        loss = get_loss(self.loss)
        high, low = loss.value(self.constant, 1.0), loss.value(self.constant, -1.0)
        if self.together:
            high, low = np.logaddexp(0.0, -normalised_odds(self.constant)), np.zeros_like(low)
        if self.problem.one_vs_rest:
            errors = rows - counts[np.argmax(self.constant)]
        else:
            errors = np.where(self.constant > 0, negative, positive).mean()
        return np.array(
            [
                rows,
                positive @ high + negative @ low,
                positive @ np.square(high) + negative @ np.square(low),
                errors,
            ]
        )

    def _sides(self, counts: Floats) -> tuple[Floats, Floats]:
        """Give the positive and the negative rows of each output."""
        outputs = self.problem.outputs
        if self.problem.has_labels:
            return counts[outputs:], counts[:outputs]
        positive = counts if self.problem.one_vs_rest else counts[1:]
        return positive, counts.sum() - positive

    def _best(self) -> Floats:
        """Give the constant with the lowest loss on all rows so far, one for each output."""
        if not self.fit_intercept:
            return np.zeros(self.problem.outputs)
        if self.sample is not None:
            if not self.sample.rows and self.problem.begin_at is not None:
                return self.problem.begin_at
            return self.sample.constants(get_loss(self.loss))
        if not self.problem.classifies:
            return (
                self.seen[1:] / self.seen[0] if self.seen[0] > 0 else np.zeros(len(self.seen) - 1)
            )
        return get_loss(self.loss).best_constant(*self._sides(self.seen))


def _moves_between(begin: int, end: int) -> set[int]:
    """Give the numbers of rows beyond the one and up to the other where the constant changes."""
    early = {1 << power for power in range(FIRST_DECISION.bit_length())}
    later = milestones_between(max(begin, FIRST_DECISION - 1), end)
    return {rows for rows in early if begin < rows <= min(end, FIRST_DECISION)} | set(later)


ARRAYS = ("total", "seen", "then", "since", "constant")

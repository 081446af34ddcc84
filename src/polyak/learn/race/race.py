"""Who runs: the lanes of a race, how they learn, and who leads."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DataError, DivergenceError
from polyak.learn.centring import rows_at_a_time
from polyak.learn.newton.limits import UNPENALISED
from polyak.learn.newton.sparse.asking import too_wide
from polyak.learn.race.comparing import sums_left_out
from polyak.learn.race.elimination import (
    best_and_slower,
    is_doubling,
    milestones_between,
    most_after,
    most_moving,
    moving_candidates,
    moving_leader,
    next_doubling,
    next_milestone,
    require_room,
    widest_for,
)
from polyak.learn.race.entering import lanes_of
from polyak.learn.race.going_back import before
from polyak.learn.race.history import RATED, SUMS, RaceHistory, measure
from polyak.learn.race.lanes.constant import ConstantLane
from polyak.learn.race.lanes.lane import Lane, Problem
from polyak.learn.race.lanes.newton import NewtonRacer
from polyak.learn.race.lanes.sgd import SgdLane
from polyak.learn.race.leader import Leader
from polyak.learn.recipes import AnyCandidate, Candidate, ConstantCandidate, Recipe
from polyak.learn.recipes.candidates import ROOM_FOR_MOVING, most_candidates
from polyak.learn.training_rows import Once, TrainingRows
from polyak.processors import processors
from polyak.rows.sparse import Rows, check_rows, row_widths
from polyak.threads import on_threads

Floats = NDArray[np.float64]

CLEARLY = 2.0
"""The constant replaces a penalty that was given if that is worse by this many standard errors, or
this many times as bad."""
NO_OPTIMUM = (
    "without a penalty there is no finite optimum, since a combination of features separates "
    f"classes or groups: the weights are those of a penalty of {UNPENALISED:g} rows; to predict, "
    "leave the penalty to the race and ask for no intervals"
)


class Race:
    """Lanes of candidates, what each of them has achieved so far, and which of them leads.

    The constant, which costs nothing, never drops out; all others are contenders.
    """

    def __init__(self, candidates: list[AnyCandidate], recipe: Recipe, problem: Problem) -> None:
        self.candidates = candidates
        self.problem, self.recipe = problem, recipe
        averaged = recipe.for_averaged_sgd(problem.outputs, problem.n_features)
        self.models_each = problem.outputs * (1 + averaged.replicas)
        self.moving = moving_candidates(candidates)
        self.entered = len(candidates) - len(self.moving) - (self.constant is not None)
        self.lanes = lanes_of(candidates, recipe, problem)
        self.scored = 0  # how many rows were scored; those learned again were not
        # A part of a larger race lets nobody drop out, since the others might keep him; and leaves
        # the other processors to the others.
        self.is_part = False
        self.threads: int | None = None  # how many learn; as many as there are processors if None
        # Where the weights themselves are asked for, the constant is only to compare with.
        self.constant_may_win = not recipe.for_inference
        self.history = RaceHistory(len(candidates))
        # The sums of candidates over rows they were fitted without, where all rows were at hand.
        self.left_out: dict[int, Floats] = {}

    @property
    def clock(self) -> int:
        """How many rows of non-zero weight were learned."""
        return self.lanes[0].clock

    @property
    def running(self) -> list[int]:
        """The numbers of the candidates that have not dropped out."""
        return [number for lane in self.lanes for number in lane.numbers]

    @property
    def contenders(self) -> list[int]:
        """The numbers of those that may drop out: not the constant, nor who does not rest."""
        free = self.moving | {self.constant}
        return [number for number in self.running if number not in free]

    @property
    def constant(self) -> int | None:
        """The number of the constant, if it is a candidate."""
        known = (n for n, c in enumerate(self.candidates) if isinstance(c, ConstantCandidate))
        return next(known, None)

    @property
    def running_sgd(self) -> list[int]:
        """The numbers of those among them that are averaged SGD."""
        return [n for n in self.contenders if isinstance(self.candidates[n], Candidate)]

    @property
    def running_moving(self) -> list[int]:
        """The numbers of those that do not rest; see `polyak.learn.race.elimination`."""
        return [number for number in self.running if number in self.moving]

    def warm_up(self, rows: Rows, shifted: Rows) -> None:
        """Show everybody the first rows; ``shifted`` are the same about averaged SGD's centre."""
        for lane in self.lanes:
            lane.warm_up(shifted if isinstance(lane, SgdLane) else rows)

    # -- learning ------------------------------------------------------------------------------

    def learn(self, given: TrainingRows, *, again: bool = False) -> None:
        """Let every candidate learn the rows, all of them of non-zero weight.

        ``again`` says that they were learned before: then nothing is scored, and nobody drops out.
        After an error the race is as it was before, as far as `polyak.learn.race.going_back` says.
        """
        kept = before(self, given.rows)
        self.left_out = {}
        try:
            for some in self._that_fit(given):
                self._learn_all(some, again)
        except BaseException:
            if kept is not None:
                kept.put_back(self)
            raise

    def _that_fit(self, given: TrainingRows) -> Iterator[TrainingRows]:
        """Give what can be learned at once: all, unless rows come that are too wide for everybody.

        Then some candidates drop out, at the first such row, not at the batch it came in.
        """
        rows, targets, weights, order, _ = given
        widths = np.array([rows.shape[1]])  # as declared; it may be that no row is so wide
        if widths[0] > self._widest():
            check_rows(rows, self.problem.n_features)
            widths = row_widths(rows)[slice(None) if order is None else order]
        if widths.max(initial=0) <= self._widest():
            yield given
            return
        # All rows are good, or none is learned; to make room for them all at once is too much.
        self.lanes[0].check(np.empty((len(rows), 0)), targets, weights)
        widest = np.maximum.accumulate(widths)
        require_room(int(widest[-1]), len(self.running_sgd), self.models_each)
        begin = 0
        while begin < len(widest):
            self._keep_what_fits(most_candidates(int(widest[begin]), self.models_each))
            end = int(np.searchsorted(widest, self._widest(), side="right"))
            yield given.part(begin, end)
            begin = end

    def _keep_what_fits(self, keep: int) -> None:
        """Let averaged SGD have only so many candidates; its weights alone are as wide as rows."""
        averaged = sorted(self.running_sgd)
        if keep < ROOM_FOR_MOVING:
            self.drop_all_but(set(self.running) - self.moving)
        if len(averaged) <= keep:
            return
        # All parts must keep the same ones: those that were most promising at first.
        kept = averaged if self.is_part else self._in_order(self.scored / 2, averaged)
        self.drop_all_but(set(self.running) - set(averaged) | set(kept[:keep]))

    def _widest(self) -> int:
        least = ROOM_FOR_MOVING if self.running_moving else 0
        return widest_for(max(len(self.running_sgd), least), self.models_each)

    def _learn_all(self, given: TrainingRows, again: bool) -> None:
        total, done, checked = given.total, 0, given
        # All rows are good and every lane has room for them, or none is learned. A single lane
        # that learns all at once sees to that by itself, while it learns.
        busy, _ = self._by_cost()
        sees_to_it = len(busy) == 1 and isinstance(busy[0], SgdLane) and not self.problem.centre
        if not sees_to_it or (not again and total > self._most_rows()):
            for lane in self.lanes:
                checked = checked._replace(rows=lane.check(*checked[:3]))
        most = rows_at_a_time(given.rows) if self.problem.centre else sys.maxsize
        while done < total:
            take = min(total - done, most, sys.maxsize if again else self._most_rows())
            some = given.part(done, done + take), checked.part(done, done + take)
            milestones = [] if again else self._milestones_within(take)
            sums = self._learn_slice(*some, again=again, milestones=milestones)
            done += take
            if not again:
                self.scored += take
                if milestones:
                    self.history.add(milestones, self._of_all(sums))
                self.drop_who_left()
                self._drop_at_doubling()

    def _most_rows(self) -> int:
        """How many rows until somebody may have to drop out, or as many as memory has room for."""
        most = min(lane.most_rows() for lane in self.lanes)
        if max(len(self.contenders), len(self.running_moving)) > 1 and not self.is_part:
            most = min(most, next_doubling(self.scored) - self.scored)
        return most

    def _milestones_within(self, rows: int) -> list[int]:
        """Give those among the next rows; where one is overdue, as after a merge, their end."""
        end = self.scored + rows
        found = milestones_between(self.scored, end)
        return found if found or next_milestone(self.history.milestones[-1]) > end else [end]

    def _learn_slice(
        self, given: TrainingRows, checked: TrainingRows, *, again: bool, milestones: list[int]
    ) -> list[Floats]:
        """Let every lane learn, and return the sums of its intervals.

        The constant is the first to learn: it sets the limits by which rows count for the others.
        """
        stops = np.array(milestones, dtype=np.int64) - self.scored
        busy, free = self._by_cost()
        of_free = [lane.learn(given, again=again, stops=stops) for lane in free]
        if free and not again:
            limits = free[0].limits
            given, checked = given._replace(limits=limits), checked._replace(limits=limits)
        threads = 1 if self.is_part else self.threads or processors()
        centre, centred = self.problem.centre, Once()

        def shifted(helpers: int = 1) -> TrainingRows:
            return given.taken(centre.shifted(given.rows, given.order, helpers))

        def drive(lane: Lane) -> Floats:
            own = checked if isinstance(lane, SgdLane) else given
            if isinstance(lane, SgdLane) and centre:  # by the first of them, beside the others
                own = centred.get(shifted)
            if isinstance(lane, NewtonRacer):
                lane.newton.threads = threads
            return lane.learn(own, again=again, stops=stops)

        if centre and all(isinstance(lane, SgdLane) for lane in busy):  # who would wait can help
            centred.get(lambda: shifted(threads))
        if len(busy) == 1 or self.is_part:
            return [drive(lane) for lane in busy] + of_free
        # Lanes share nothing but the rows, so the number of threads leaves no trace. The last takes
        # longest, so it is the first to begin.
        done = on_threads(drive, busy[::-1], threads)[::-1]
        return done + of_free

    def _by_cost(self) -> tuple[list[Lane], list[ConstantLane]]:
        """Return the lanes that take time, and after them the constant's, which is the last."""
        free = [lane for lane in self.lanes if isinstance(lane, ConstantLane)]
        return self.lanes[: len(self.lanes) - len(free)], free

    def drop_who_left(self) -> None:
        """Go on without the lanes that cannot."""
        staying = [lane for lane in self.lanes if not lane.has_left]
        if all(isinstance(lane, ConstantLane) for lane in staying):
            raise nobody_left(self.lanes, self.recipe)
        if len(staying) < len(self.lanes):
            self.lanes = staying

    def _drop_at_doubling(self) -> None:
        if self.is_part or not is_doubling(self.scored):
            return
        keep = most_after(self.scored, self.entered)
        if len(self.contenders) > keep:
            self._keep_best(keep, self.scored // 2)
        moving = self._in_order(self.scored / 2, self.running_moving)
        if behind := moving[most_moving(self.scored) :]:
            self.drop_all_but(set(self.running) - set(behind))

    def settle(self) -> None:
        """Drop candidates that are behind after a merge.

        It is what happens at every doubling while one learner learns all rows.
        """
        keep = most_after(self.scored, self.entered)
        if len(self.contenders) > keep:
            self._keep_best(keep, self.scored / 2)

    def _keep_best(self, keep: int, since: float) -> None:
        best = self._in_order(since, self.contenders)
        stay = [lane.stays for lane in self.lanes]
        chosen = self.moving.union(best_and_slower(best, keep, self.candidates), *stay)
        if any(lane.may_leave for lane in self.lanes):
            # Averaged SGD may have to go on alone, so its candidates race as if it did.
            entered = sum(isinstance(one, Candidate) for one in self.candidates) - len(self.moving)
            averaged = [number for number in best if number in set(self.running_sgd)]
            chosen.update(averaged[: most_after(self.scored, entered)])
        for lane in self.lanes:
            chosen.update([number for number in best if number in lane.numbers][: lane.fewest])
        self.drop_all_but(chosen)

    def _in_order(self, since: float, numbers: list[int]) -> list[int]:
        if len(numbers) < 2:
            return numbers
        losses, last = self.history.rated(since, self.sums()), reserve_of(self.lanes)
        return sorted(numbers, key=lambda number: (number in last, losses[number], number))

    def drop_all_but(self, chosen: set[int]) -> None:
        """Go on with only these candidates."""
        left = [[p for p, n in enumerate(lane.numbers) if n in chosen] for lane in self.lanes]
        pairs = zip(self.lanes, left, strict=True)
        self.lanes = [lane.select(places) for lane, places in pairs if places]

    # -- what came out -------------------------------------------------------------------------

    def leader(self, *, contender: bool = False) -> Leader:
        """Return the candidate with the lowest loss, or the best contender.

        Where the weights themselves are asked for it is the one that they are of, as long as it
        runs: see `Recipe.for_inference`. Otherwise the loss is that of rows left out, where all are
        at hand, or that since half of the rows. Once rows were learned again, losses no longer tell
        how the contenders compare with the constant, which learns nothing from that.
        """
        newton = (lane for lane in self.lanes if isinstance(lane, NewtonRacer))
        asked_for = (number for lane in newton for number in lane.stays)
        best = next(asked_for, None if contender else self._best_left_out())
        if best is None:
            may_win = self.constant_may_win and self.clock == self.scored and not contender
            running = self.running if may_win else self.contenders
            running = [number for number in running if number not in self.moving]
            best = self._in_order(self.scored / 2, running)[0]
            if self.clock == self.scored:
                losses = partial(self.history.rated, now=self.sums())
                best = moving_leader(best, self.running_moving, self.scored, losses)
        if best == self.constant and self.recipe.alpha != "auto":
            best = self._asked_for_or_constant(best)
        lane = next(lane for lane in self.lanes if best in lane.numbers)
        if isinstance(lane, ConstantLane):
            lane.n_features = self.lanes[0].n_features
        return Leader(best, self.candidates[best], lane, lane.numbers.index(best))

    def _asked_for_or_constant(self, constant: int) -> int:
        """Return the best candidate with the given penalty, unless it is clearly worse.

        Losses without a bound may have any standard error, so the ones compared must not be twice
        the constant's either.
        """
        rated = self.history.rated(self.scored / 2, self.sums())
        for number, sums in self.left_out.items():
            rated[number] = sums[RATED] / max(sums[0], 1e-300)
        best = min(self.left_out.keys() - {constant} or self.contenders, key=rated.__getitem__)
        asked_for, alone = self.recent(best), self.recent(constant)
        within = asked_for["loss"] - alone["loss"] <= CLEARLY * asked_for["loss_std_err"]
        return best if within and rated[best] <= CLEARLY * rated[constant] else constant

    def best_by_loss(self) -> int:
        """Return the number of the contender with the lowest loss since half of the rows."""
        return self._in_order(self.scored / 2, self.contenders)[0]

    def can_compare(self, rows: int) -> bool:
        """Tell whether `compare` would tell anything, if these were all rows."""
        lanes = [lane.newton for lane in self.lanes if isinstance(lane, NewtonRacer)]
        return bool(lanes) and self.clock <= self.scored and lanes[0].can_leave_out(rows)

    def compare(self, rows: Rows, targets: NDArray[Any], weights: Floats | None) -> None:
        """Find out who leads by leaving each of the rows, all that were learned, out in turn.

        Where rows are few that tells far more than what they lost one after the other. It is for
        block Newton steps and the constant: averaged SGD is on its way to where they are. Where
        the weights themselves are asked for there is no choice, and they are made exact first.
        """
        has_optimum = self._converge(rows, targets, weights)
        if not (has_optimum and self.can_compare(len(rows))):
            return
        newton = next(lane for lane in self.lanes if isinstance(lane, NewtonRacer))
        constant = next(lane for lane in self.lanes if isinstance(lane, ConstantLane))
        threads = self.threads or processors()
        with np.errstate(all="ignore"):
            self.left_out = sums_left_out(newton, constant, rows, targets, weights, threads)

    def _best_left_out(self) -> int | None:
        """Return the candidate with the lowest loss of rows left out, if that is known."""
        rated = {
            number: sums[RATED]
            for number, sums in self.left_out.items()
            if self.constant_may_win or number != self.constant
        }
        return min(rated, key=lambda number: (rated[number], number), default=None)

    def _converge(self, rows: Rows, targets: NDArray[Any], weights: Floats | None) -> bool:
        """Make the weights that are asked for exact; return whether there is a finite optimum."""
        has_optimum = True
        for lane in self.lanes:
            if lane.stays and isinstance(lane, NewtonRacer) and self.clock == self.scored:
                with np.errstate(all="ignore"):
                    is_finite = lane.newton.converge(rows, targets, weights)
                if not is_finite:
                    has_optimum = False
                    warnings.warn(NO_OPTIMUM, stacklevel=2)
        return has_optimum

    def sums(self) -> Floats:
        """Return each candidate's sums since the last milestone."""
        sums: Floats = self._of_all([lane.sums()[None] for lane in self.lanes])[0]
        return sums

    def totals(self) -> Floats:
        """Return each candidate's sums since the first row."""
        return self.history.since(0, self.sums())

    def _of_all(self, sums: list[Floats]) -> Floats:
        """Put the lanes' sums together; those of candidates that do not run are zero."""
        whole = np.zeros((len(sums[0]), len(self.candidates), SUMS))
        for lane, of_lane in zip(self.lanes, sums, strict=True):
            for stop, own in enumerate(of_lane):
                if not (lane.has_left and np.isnan(own).any()):
                    whole[stop, lane.numbers] = own
        return whole

    @property
    def _losses_per_row(self) -> int:
        """How many losses a row has: of classes that are learned together, its own."""
        together = self.problem.one_vs_rest and self.recipe.takes_softmax
        return 1 if together else self.problem.outputs

    def measure(self, number: int, since: float = 0) -> dict[str, float]:
        """Return how a candidate has done since row ``since``; see `history.measure`."""
        rows = self.scored - self.history.milestones[self.history.place(since)]
        sums = self.history.since(since, self.sums())[number]
        return measure(sums, rows, self._losses_per_row)

    def recent(self, number: int) -> dict[str, float]:
        """Return the estimate of a candidate's loss that the choice rests on.

        That is of rows left out in turn where all were at hand, else of the later half of the rows.
        """
        if number in self.left_out:
            return measure(self.left_out[number], self.scored, self._losses_per_row)
        return self.measure(number, self.scored / 2)


def nobody_left(lanes: Sequence[Lane], recipe: Recipe) -> Exception:
    """Say why there is nobody who could go on."""
    from polyak.learn.newton.learning import TOO_MANY

    for lane in lanes:
        if isinstance(lane, NewtonRacer) and lane.newton.left == TOO_MANY:
            return DataError(too_wide(recipe, lane.newton.widest))
    return DivergenceError("the weights overflowed")


def reserve_of(lanes: Sequence[Lane]) -> set[int]:
    """Return the candidates that only win should Newton steps have to leave.

    Where ``alpha`` or the kind of penalty is given, so is what is to be minimised: Newton steps are
    at its optimum, and others on their way.
    """
    newton = [lane.newton for lane in lanes if isinstance(lane, NewtonRacer)]
    if not newton or newton[0].sparsity is None or newton[0].closed:
        return set()
    others = [lane.numbers for lane in lanes if isinstance(lane, SgdLane)]
    return {number for numbers in others for number in numbers}

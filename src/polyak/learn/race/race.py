"""The race: lanes of candidates that learn the same rows, their elimination, and the leader."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak._core import score_rows
from polyak.errors import DivergenceError
from polyak.learn.centring import Centre
from polyak.learn.newton.limits import UNPENALISED
from polyak.learn.race.comparing import AS_GOOD, LeftOut, shares_of, sums_left_out
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
from polyak.learn.race.history import RaceHistory, measure
from polyak.learn.race.lanes import CANDIDATES, lane_numbers, lane_of
from polyak.learn.race.lanes.protocol import Lane, NewOutput, Problem
from polyak.learn.recipes import AnyCandidate, Recipe
from polyak.learn.recipes.candidates import ROOM_FOR_MOVING, most_candidates
from polyak.learn.stored_state import FLOATS, Arrays, Page, StoredState
from polyak.learn.sums import LOSS, RATED, SQUARES, SUMS
from polyak.learn.training_rows import SharedRows, TrainingRows
from polyak.losses import get_loss
from polyak.model.columns import SourceColumns
from polyak.processors import processors
from polyak.rows.sparse import Rows, as_rows, bytes_of, check_rows, core_rows, row_widths
from polyak.storage.records import read
from polyak.threads import on_threads

Floats = NDArray[np.float64]

CLEARLY = 2.0
"""A candidate is clearly worse than another by this many standard errors, or this many times."""
SHARES = 3
"""How often the shares of rows out of proportion are found, by the constant of the others."""
UNEXPLAINED = 0.01
"""The share of the constant's loss below which rows out of proportion are as features say."""
IN_ORDER, CERTAINLY = 1.1, 6.0
"""Rows come in order of their classes where the later half of them cost the constant, as it was at
the time, more than this many times the loss of the constant of all rows, and more than this many
standard errors: in random order the two are equal. 54 simulated streams (2 to 5 classes, sorted, or
one class last) were seen when the values were set: 53 of them ended at 1.02 to 5.1 times the test
loss of the constant before, none now."""
SMALL_COPY = 0.25
"""Lanes are copied before a batch where their weights take at most this share of its bytes."""
SMALL_LANES = 1 << 20
"""Lanes of at most this many bytes always are: in 0.06 to 0.2 ms, where learning a row takes 3."""
NO_OPTIMUM = (
    "without a penalty there is no finite optimum, since a combination of features separates "
    f"classes or groups: the weights are those of a penalty of {UNPENALISED:g} rows; to predict, "
    "leave the penalty to the race and ask for no intervals"
)
ONLY_CONSTANT = (
    "the weights of all other candidates overflowed, so the model predicts a constant: look for "
    "extreme values in the features, or take their logarithms or ranks"
)


class Leader(NamedTuple):
    """The candidate whose model would be the result now, and where its weights are."""

    number: int
    candidate: AnyCandidate
    lane: Lane
    place: int
    n_features: int
    offset: int | None = None

    def scores(self, rows: Rows) -> Floats:
        """Return the scores of rows."""
        coef, intercept = self.weights()
        terms = self.lane.terms
        own = core_rows(rows if terms is None else terms.expand(as_rows(rows)))
        return np.asarray(score_rows(own, np.ascontiguousarray(coef.T)) + intercept)

    def weights(self, *, last: bool = False) -> tuple[NDArray[np.floating], Floats]:
        """Return its weights, a row per output, and intercepts; or those of the last iterate."""
        coef, intercept = self.lane.weights(self.place, last=last)
        missing = max(self.n_features - coef.shape[1], 0)
        coef = np.pad(coef, ((0, 0), (0, missing))) if missing else coef
        if self.offset is not None:
            coef[:, self.offset] = 1.0
        return coef, intercept


class Race:
    """Lanes of candidates, the losses of each so far, and which of them leads.

    The baseline, which costs nothing, is never eliminated; all others are contenders.

    Attributes
    ----------
    candidates : list
    lanes : list of Lane
        Those that are still running.
    scored : int
        The number of rows that were scored; rows learned again were not.
    is_part : bool
        A part of a larger race eliminates no candidate, since other parts might keep it, and uses
        one thread, since the other parts have the other processors.
    threads : int or None
        The number of threads that learn; None for the number of processors.
    is_torn : bool
        Learning was interrupted where some candidates had learned rows that others had not.
    left_out : dict
        The sums of candidates over rows they were fitted without, where all rows were at hand.
    """

    def __init__(self, candidates: list[AnyCandidate], recipe: Recipe, problem: Problem) -> None:
        self.candidates = candidates
        self.problem, self.recipe = problem, recipe
        self.moving = moving_candidates(candidates)
        groups = lane_numbers(candidates, recipe, problem)
        self.lanes = [lane_of(numbers, candidates, recipe, problem) for numbers in groups]
        self.scored = 0
        self._is_part = False
        self.threads: int | None = None
        self.is_torn = False
        self.history = RaceHistory(len(candidates))
        self.left_out: dict[int, Floats] = {}
        self._has_absurd_rows = False
        self._best_penalty = -1  # the candidate that these sums prefer to all but the constant
        self.constant = next((lane.numbers[0] for lane in self.lanes if lane.is_baseline), None)
        self.entered = len(candidates) - len(self.moving) - (self.constant is not None)

    @property
    def is_part(self) -> bool:
        """Whether this is a part of a larger race, with which it is merged later."""
        return self._is_part

    @is_part.setter
    def is_part(self, is_part: bool) -> None:
        self._is_part = is_part
        for lane in self.lanes:
            lane.begin_part()

    @property
    def models_each(self) -> int:
        """The number of models of a candidate of averaged SGD, with its replicas."""
        return self.problem.outputs * (1 + self.recipe.replicas)

    @property
    def constant_may_win(self) -> bool:
        """Whether the constant may be the model: not where weights themselves are asked for."""
        return not self.recipe.for_inference

    @property
    def clock(self) -> int:
        """The number of rows of non-zero weight that were learned."""
        return self.lanes[0].clock

    @property
    def running(self) -> list[int]:
        """The numbers of the candidates that were not eliminated."""
        return [number for lane in self.lanes for number in lane.numbers]

    @property
    def contenders(self) -> list[int]:
        """The numbers of the candidates that may be eliminated by the others."""
        free = self.moving | {self.constant}
        return [number for number in self.running if number not in free]

    @property
    def running_sgd(self) -> list[int]:
        """The numbers of those among them that are averaged SGD, whose weights are widest."""
        return [n for n in self.contenders if self.candidates[n].is_stochastic]

    @property
    def running_moving(self) -> list[int]:
        """The numbers of the running candidates with a constant rate, for streams that drift."""
        return [number for number in self.running if number in self.moving]

    @property
    def baselines(self) -> list[Lane]:
        """The lane of the constant, if it is a candidate."""
        return [lane for lane in self.lanes if lane.is_baseline]

    def placed(self, given: TrainingRows) -> TrainingRows:
        """Return rows where all lanes can learn them: tensors on their device, or on the host."""
        stays = all(lane.takes_tensors for lane in self.lanes)
        return given if stays else given.on_host()

    def warm_up(self, rows: Rows) -> None:
        """Let every lane see the first rows before it learns any."""
        for lane in self.lanes:
            lane.warm_up(rows)

    # -- learning ------------------------------------------------------------------------------

    def learn(self, given: TrainingRows, *, again: bool = False) -> None:
        """Let every candidate learn the rows, all of them of non-zero weight.

        Rows that were learned before (``again``) are not scored, and no candidate is eliminated.
        After an error or an interrupt the race is as it was before, unless a copy of its weights
        was not worth it: see `_is_worth_a_copy`. Then ``is_torn`` says so.
        """
        before = (self.lanes, self.scored, len(self.history.milestones))
        kept: list[tuple[StoredState, int]] = []
        if self._is_worth_a_copy(given.rows):
            kept = [(StoredState(*lane.state()), lane.clock) for lane in self.lanes]
        if not again:
            self.left_out = {}
        try:
            for some in self._that_fit(given):
                self._learn_all(some, again)
        except BaseException as error:
            if kept:
                self.lanes, self.scored, milestones = before
                self.history.forget(milestones)
                for lane, state in zip(self.lanes, kept, strict=True):
                    lane.set_state(*state)
            if kept or isinstance(error, (ValueError, DivergenceError)):  # refused before
                self.is_torn = False
            raise
        self.is_torn = False

    def fit(self, given: TrainingRows) -> bool:
        """Let every candidate learn rows that are all in memory at once, and choose the leader.

        Losses are those of rows left out in turn, and take the place of progressive ones. Returns
        whether all lanes could learn the rows: numbers may be too large.
        """
        if not all(lane.fit(given, self._threads) for lane in self.lanes):
            return False
        self.scored = given.total
        self._converge(given)
        self._leave_out(given)
        if self._has_absurd_rows and not self.recipe.for_inference:
            with np.errstate(all="ignore"):
                self._fit_without_absurd_rows(given)
        lane = self.leader().lane
        if lane.converges:
            lane.converge(given)
        sums = np.zeros((len(self.candidates), SUMS))
        for number, own in self.left_out.items():
            sums[number] = own
        self.history.add([self.scored], sums[None])
        return True

    def _fit_without_absurd_rows(self, given: TrainingRows) -> None:
        """Let rows out of proportion count in part, if the fit of the others is clearly better.

        One absurd target or weight can ruin every optimum, and the constant by which it is told.
        It does not where features explain next to all that the constant loses, these rows included.
        """
        best = self.left_out[self._best_penalty][RATED]
        if self.constant is None or best < UNEXPLAINED * self.left_out[self.constant][RATED]:
            return
        busy: list[Any] = [lane for lane in self.lanes if not lane.is_baseline]
        constant: Any = self.baselines[0]
        own, some = 1.0 if given.weights is None else given.weights, given
        for _ in range(SHARES):
            some = given._replace(weights=own * shares_of(busy[0], constant, given))
            constant = self._fitted_anew(constant, some)
        others = [self._fitted_anew(lane, some) for lane in busy]
        before = self._sums_left_out(busy, constant, given)
        after = self._sums_left_out(others, constant, given, some.weights)
        rated = [float(found.sums[found.best][RATED]) for found in (before, after)]
        if CLEARLY * rated[1] < rated[0]:
            refitted = iter(others)
            self.lanes = [constant if one.is_baseline else next(refitted) for one in self.lanes]
            self.left_out, self._best_penalty = after.sums, after.best

    def _fitted_anew(self, lane: Lane, given: TrainingRows) -> Any:
        """Return a lane of the same candidates, or this one if it cannot learn the rows."""
        new = lane_of(lane.numbers, self.candidates, self.recipe, self.problem)
        return new if new.fit(given, self._threads) else lane

    def _is_worth_a_copy(self, rows: Rows) -> bool:
        """Whether to keep a copy to go back to if learning a batch fails halfway.

        Rows are validated before any is learned. What can still fail is weights that overflow,
        memory, and an interrupt. So there is a copy where weights can be expected to overflow,
        which takes explicit steps of a length that the user set and nothing caps; and anywhere else
        where it is small, or small beside the batch, as when a file is learned. Otherwise a race
        whose weights overflowed stays as it is, and its model says so.
        """
        size = sum(lane.nbytes for lane in self.lanes)
        small = size <= max(SMALL_LANES, SMALL_COPY * bytes_of(rows))
        return small or any(candidate.may_overflow for candidate in self.candidates)

    def _that_fit(self, given: TrainingRows) -> Iterator[TrainingRows]:
        """Yield the rows that can be learned at once: all, unless some are too wide for all lanes.

        Then some candidates are eliminated, at the first such row, not at the batch it came in.
        """
        rows, targets, weights, order, *_ = given
        widths = np.array([rows.shape[1]])  # as declared; it may be that no row is so wide
        if widths[0] > self._widest():
            check_rows(rows, self.problem.n_features)
            widths = row_widths(rows)[slice(None) if order is None else order]
        if widths.max(initial=0) <= self._widest():
            yield given
            return
        # All rows are valid, or none is learned; to make room for them all at once is too much.
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
        """Keep at most ``keep`` candidates of averaged SGD, whose weights are as wide as rows."""
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
        busy = [lane for lane in self.lanes if not lane.is_baseline]
        # All rows are valid and every lane has room for them, or none is learned. A single lane
        # that learns them all at once may see to that itself.
        alone = len(busy) == 1 and busy[0].checks_while_learning
        if not alone or total > self._most_rows(given.rows, again):
            for lane in self.lanes:
                checked = checked._replace(rows=lane.check(*checked[:3]))
        while done < total:
            end = done + min(total - done, self._most_rows(given.rows, again))
            milestones = [] if again else self._milestones_within(end - done)
            shared = SharedRows(given.part(done, end), checked.part(done, end), self._threads)
            self.is_torn = True  # until the whole batch is learned
            sums = self._learn_slice(shared, again=again, milestones=milestones)
            if not again:
                self.scored += end - done
                if milestones:
                    self.history.add(milestones, self._of_all(sums))
                self.drop_lanes_that_left()
                self._drop_at_doubling()
            done = end

    @property
    def _threads(self) -> int:
        return 1 if self.is_part else self.threads or processors()

    def _most_rows(self, rows: Rows, again: bool) -> int:
        """Return the rows until a candidate may be eliminated, or that memory has room for."""
        most = min(lane.most_rows(rows, again=again) for lane in self.lanes)
        several = max(len(self.contenders), len(self.running_moving)) > 1
        if several and not (again or self.is_part):
            most = min(most, next_doubling(self.scored) - self.scored)
        return most

    def _milestones_within(self, rows: int) -> list[int]:
        """Return those among the next rows; where one is overdue, as after a merge, their end."""
        end = self.scored + rows
        found = milestones_between(self.scored, end)
        return found if found or next_milestone(self.history.milestones[-1]) > end else [end]

    def _learn_slice(
        self, shared: SharedRows, *, again: bool, milestones: list[int]
    ) -> list[Floats]:
        """Let every lane learn, and return the sums of its intervals.

        The baseline learns first: it sets the limits by which rows count for the others.
        """
        stops = np.array(milestones, dtype=np.int64) - self.scored

        def drive(lane: Lane) -> Floats:
            return lane.learn(own[id(lane)], again=again, stops=stops, threads=shared.threads)

        own, sums = {}, {}
        for lane in self.baselines:
            own[id(lane)] = lane.rows_for(shared)
            sums[id(lane)] = drive(lane)
            if lane.limits is not None and not again:
                shared = shared.with_limits(lane.limits)
        # Lanes share nothing but the rows, so the number of threads does not change the result. The
        # last lane takes longest, so it begins first.
        busy = [lane for lane in self.lanes[::-1] if not lane.is_baseline]
        own |= {id(lane): lane.rows_for(shared) for lane in busy}
        alone = len(busy) == 1 or self.is_part
        found = [drive(lane) for lane in busy] if alone else on_threads(drive, busy, shared.threads)
        sums |= {id(lane): one for lane, one in zip(busy, found, strict=True)}
        return [sums[id(lane)] for lane in self.lanes]

    def drop_lanes_that_left(self) -> None:
        """Go on without the lanes that cannot, if need be with the baseline alone."""
        staying = [lane for lane in self.lanes if lane.left is None]
        if all(lane.is_baseline for lane in staying) and self.contenders:
            overflow = DivergenceError("the weights overflowed")
            error = next((lane.left for lane in self.lanes if lane.left is not None), overflow)
            is_choice = self.recipe.alpha == "auto" and self.constant_may_win and staying
            if not is_choice or not isinstance(error, DivergenceError):
                raise error
            warnings.warn(ONLY_CONSTANT, stacklevel=2)
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
        """Eliminate candidates that are behind after a merge.

        It is what happens at every doubling while one learner learns all rows.
        """
        keep = most_after(self.scored, self.entered)
        if len(self.contenders) > keep:
            self._keep_best(keep, self.scored / 2)

    def _keep_best(self, keep: int, since: float) -> None:
        best = self._in_order(since, self.contenders)
        stay = [lane.numbers if lane.is_baseline else lane.stays for lane in self.lanes]
        chosen = self.moving.union(best_and_slower(best, keep, self.candidates), *stay)
        if any(lane.may_leave for lane in self.lanes):
            # Averaged SGD may have to go on alone, so its candidates race as if it did.
            entered = sum(one.is_stochastic for one in self.candidates) - len(self.moving)
            averaged = [number for number in best if number in set(self.running_sgd)]
            chosen.update(averaged[: most_after(self.scored, entered)])
        for lane in self.lanes:
            chosen.update([number for number in best if number in lane.numbers][: lane.fewest])
        self.drop_all_but(chosen)

    def _in_order(self, since: float, numbers: list[int]) -> list[int]:
        """Return candidates by their loss since row ``since``, the lowest first."""
        if len(numbers) < 2:
            return numbers
        losses, last = self.history.rated(since, self.sums()), self._reserve()
        return sorted(numbers, key=lambda number: (number in last, losses[number], number))

    def _reserve(self) -> set[int]:
        """Return the candidates that win only if the lane at the optimum has to leave."""
        if not any(lane.is_optimum for lane in self.lanes):
            return set()
        behind = [lane for lane in self.lanes if not (lane.is_optimum or lane.is_baseline)]
        return {number for lane in behind for number in lane.numbers}

    def drop_all_but(self, chosen: set[int]) -> None:
        """Go on with only these candidates."""
        left = [[p for p, n in enumerate(lane.numbers) if n in chosen] for lane in self.lanes]
        pairs = zip(self.lanes, left, strict=True)
        self.lanes = [lane.select(places) for lane, places in pairs if places]

    def add_output(self, place: int, recipe: Recipe) -> bool:
        """Add a class, not seen before, at this place among the classes: see `NewOutput`.

        Returns whether any contender could go on with it. If not, the race is of no more use. With
        offsets there are no more classes than at first.
        """
        before, rows = self.problem, float(self.clock)
        if before.offset is not None:
            return False
        mirrors = not (before.one_vs_rest or before.has_labels)
        if before.has_labels:
            recipe = replace(recipe, multi_class="ovr")
        grown = replace(
            before, outputs=before.outputs + 1 + mirrors, one_vs_rest=not before.has_labels
        )
        constant = get_loss(recipe.loss).best_constant(np.zeros(1), np.full(1, rows))[0]
        new = NewOutput(place, rows, float(constant) * recipe.fit_intercept, mirrors, recipe, grown)
        lanes = [lane.add_output(new) for lane in self.lanes]
        for lane in lanes:
            for number, candidate in zip(lane.numbers, lane.candidates, strict=True):
                self.candidates[number] = candidate
        if mirrors:  # sums of losses are of all outputs together
            for interval in self.history.intervals:
                interval[:, [LOSS, SQUARES, RATED]] *= 2.0 * new.share
        self.problem, self.recipe = grown, recipe
        self.lanes = []
        for numbers in lane_numbers(self.candidates, recipe, grown):
            for lane in lanes:
                if places := [p for p, number in enumerate(lane.numbers) if number in numbers]:
                    self.lanes.append(lane.select(places))
        contending = [lane for lane in self.lanes if not lane.is_baseline]
        if all(lane.left is not None for lane in contending):
            return False
        self.drop_lanes_that_left()
        return True

    # -- stopping, going on, and learning in parts ---------------------------------------------

    def state(self) -> tuple[Page, Arrays]:
        """Return all that was learned as a JSON-serialisable dict and a dict of arrays."""
        lanes = [lane.state() for lane in self.lanes]
        centre = self.problem.centre
        page: Page = {
            "candidates": [{"kind": type(one).__name__} | asdict(one) for one in self.candidates],
            "outputs": self.problem.outputs,
            "one_vs_rest": self.problem.one_vs_rest,
            "dtype": np.dtype(self.problem.dtype).name,
            "clock": self.clock,
            "scored": self.scored,
            "milestones": list(self.history.milestones),
            "lanes": [
                own | {"numbers": lane.numbers}
                for lane, (own, _) in zip(self.lanes, lanes, strict=True)
            ],
        }
        intervals = np.array(self.history.intervals).reshape(-1, len(self.candidates), SUMS)
        arrays: Arrays = {
            "history": intervals,
            "centre.features": centre.features,
            "centre.means": centre.means,
        }
        for number, (_, own) in enumerate(lanes):
            arrays |= {f"lane{number}.{name}": array for name, array in own.items()}
        return page, arrays

    @classmethod
    def from_state(
        cls,
        stored: StoredState,
        recipe: Recipe,
        n_features: int | None,
        features: int | None,
        columns: SourceColumns | None = None,
        offset: int | None = None,
    ) -> Race:
        """Return the race that `state` was of: it goes on as if it had never stopped."""
        dtype = stored.field("dtype")
        stored.require(dtype in FLOATS, "dtype", f"cannot be {dtype!r}")
        problem = Problem(
            outputs=stored.whole("outputs", least=1),
            one_vs_rest=stored.flag("one_vs_rest"),
            classifies=get_loss(recipe.loss).classifies,
            n_features=n_features,
            features=features,
            width=0,
            dtype=np.dtype(dtype),
            centre=Centre.from_state(stored.part("centre"), n_features),
            columns=columns,
            offset=offset,
        )
        candidates = []
        for fields in stored.field("candidates"):
            kind = CANDIDATES.get(fields["kind"])
            stored.require(kind is not None, "candidates", f"cannot be of kind {fields['kind']!r}")
            candidates.append(read(kind, fields, "candidates"))
        race = cls(candidates, recipe, problem)
        clock = stored.whole("clock")
        race.scored = stored.whole("scored", most=clock)
        race.history = RaceHistory.from_state(stored, len(candidates), race.scored)
        race.lanes = []
        numbers = [number for own in stored.field("lanes") for number in own["numbers"]]
        known = len(set(numbers)) == len(numbers) and set(numbers) <= set(range(len(candidates)))
        stored.require(known and bool(numbers), "lanes", "have numbers of no candidates")
        for place, own in enumerate(stored.field("lanes")):
            lane = lane_of(own["numbers"], candidates, recipe, problem)
            lane.set_state(stored.part(f"lane{place}", own), clock)
            race.lanes.append(lane)
        return race

    def merge(self, others: list[Race], base: Race | None = None) -> None:
        """Become what this race and others learned together, each from rows of its own.

        Candidates correspond by their numbers, whatever rates each race's first rows gave them.
        Only those that are still in every race go on. Where all went on from the same race,
        ``base``, what was known there counts once.
        """
        races = [self, *others]
        common = self._common_with(others)
        then = 0 if base is None else base.scored
        scored = then + sum(one.scored - then for one in races)
        if base is None:
            history = _halves(races, common, scored)
        else:
            history = _continued(races, base, scored)
            base = copy.copy(base)  # whose lanes are replaced, not changed
        for one in (*races, *([] if base is None else [base])):
            one.drop_all_but(one.with_constant(common))
        for number, lane in enumerate(self.lanes):
            theirs = [other.lanes[number] for other in others]
            lane.merge(theirs, None if base is None else base.lanes[number])
            lane.start_interval()
        self.drop_lanes_that_left()
        self.scored, self.history = scored, history

    def _common_with(self, others: list[Race]) -> set[int]:
        """Return the candidates that all races still have, the constant apart."""
        races = [self, *others]
        takes_newton = [any(one.method == "newton" for one in race.candidates) for race in races]
        if len(set(takes_newton)) == 1 and any(other.entered != self.entered for other in others):
            raise ValueError("only races with the same number of candidates can be merged")
        common = set(self.running).intersection(*(other.running for other in others))
        if not all(takes_newton):  # the first rows of some had too many features for it
            for race in races:
                common &= {n for n in race.contenders if race.candidates[n].method != "newton"}
                methods = {
                    n: (race.candidates[n].method, self.candidates[n].method) for n in common
                }
                common = {n for n, (theirs, mine) in methods.items() if theirs == mine}
        common -= {number for race in races if (number := race.constant) is not None}
        if not common:
            raise ValueError("the races have no candidate in common any more")
        return common

    def with_constant(self, numbers: set[int]) -> set[int]:
        """Return these candidates and the constant, if it is one."""
        return numbers if self.constant is None else numbers | {self.constant}

    # -- what came out -------------------------------------------------------------------------

    def leader(self, *, contender: bool = False) -> Leader:
        """Return the candidate with the lowest loss, or the best contender.

        Where the weights themselves are asked for it is the one that they are of, as long as it
        runs: see `Recipe.for_inference`. Otherwise the loss is that of rows left out, where all are
        at hand, or that since half of the rows. Once rows were learned again, losses no longer tell
        how the contenders compare with the constant, which learns nothing from that. Nor do they
        where rows come in order of their classes, which models that forget follow: then optima of
        all rows are compared with what the constant of all rows loses.
        """
        asked_for = [number for lane in self.lanes for number in lane.stays]
        best = None if contender else self._best_left_out()
        if asked_for:
            rated = {n: sums[RATED] for n, sums in self.left_out.items() if n in asked_for}
            first = self._in_order(self.scored / 2, asked_for)[0]
            best = min(rated, key=rated.__getitem__, default=first)
        if best is None:
            may_win = self.constant_may_win and self.clock == self.scored and not contender
            running = self.running if may_win else self.contenders
            running = [number for number in running if number not in self.moving]
            if may_win and self.recipe.alpha == "auto":
                running = [number for number in running if not self._is_saturated(number)]
            alone, losses = self._constant_in_order(), partial(self.history.rated, now=self.sums())
            if alone is not None:
                running = [n for n in running if n not in self.running_sgd] or running
            best = self._optimum_if_as_good(self._in_order(self.scored / 2, running)[0])
            if alone is None and self.clock == self.scored:
                best = moving_leader(best, self.running_moving, self.scored, losses)
            elif alone is not None and may_win and losses(self.scored / 2)[best] > alone:
                best = self.baselines[0].numbers[0]
        if best == self.constant and self.recipe.alpha != "auto":
            best = self._asked_for_or_constant(best)
        lane = next(lane for lane in self.lanes if best in lane.numbers)
        width = lane.n_features
        if lane.is_baseline:  # which has no weights of its own
            width = max(self.lanes[0].n_features, self.problem.n_features or 0)
        offset = self.problem.offset
        width = width if offset is None else max(width, offset + 1)
        place = lane.numbers.index(best)
        return Leader(best, self.candidates[best], lane, place, width, offset)

    def _constant_in_order(self) -> float | None:
        """Return the loss of the constant of all rows, if they come in order of their classes."""
        if self.constant is None or not self.problem.classifies or self.clock > self.scored:
            return None
        baseline: Any = self.baselines[0]
        alone, late = float(baseline.usual[0]), self.measure(self.constant, self.scored / 2)
        far = late["loss"] - alone > CERTAINLY * late["loss_std_err"]
        return alone if far and late["loss"] > IN_ORDER * alone else None

    def _optimum_if_as_good(self, best: int) -> int:
        """Return the best batch optimum instead of averaged SGD that is not clearly better.

        Within a standard error losses do not tell the two apart, and an optimum depends neither on
        rates nor on the order of rows. Since one absurd row gives any standard error, no more than
        a tenth of the gain over the constant is forgone either.
        """
        optima = [number for number in self.contenders if number not in self.running_sgd]
        if best not in self.running_sgd or not optima or self.constant is None:
            return best
        rated = self.history.rated(self.scored / 2, self.sums())
        optimum = min(optima, key=rated.__getitem__)
        error = self.measure(best, self.scored / 2)["loss_std_err"]
        forgone = min(error, AS_GOOD * (rated[self.constant] - rated[best]))
        return optimum if rated[optimum] - rated[best] <= forgone else best

    def _asked_for_or_constant(self, constant: int) -> int:
        """Return the best candidate with the given penalty, unless it is clearly worse.

        Losses without a bound may have any standard error, so the ones compared must not be twice
        the constant's either.
        """
        rated = self.history.rated(self.scored / 2, self.sums())
        for number, sums in self.left_out.items():
            rated[number] = sums[RATED] / max(sums[0], 1e-300)
        able = self.left_out.keys() - {constant} or set(self.contenders) - self._reserve()
        best = min(able, key=rated.__getitem__, default=constant)
        asked_for, alone = self.recent(best), self.recent(constant)
        within = asked_for["loss"] - alone["loss"] <= CLEARLY * asked_for["loss_std_err"]
        return best if within and rated[best] <= CLEARLY * rated[constant] else constant

    def best_by_loss(self) -> int:
        """Return the number of the contender with the lowest loss since half of the rows."""
        return self._in_order(self.scored / 2, self.contenders)[0]

    def can_compare(self, rows: int) -> bool:
        """Whether `compare` would tell anything, if these were all rows."""
        return self.clock <= self.scored and any(lane.can_leave_out(rows) for lane in self.lanes)

    def compare(self, given: TrainingRows) -> None:
        """Choose the leader by leaving each of the rows, all that were learned, out in turn.

        Where rows are few that tells far more than their progressive losses. It is for the lanes
        that can do it and for the baseline: averaged SGD is on its way to where they are, and
        leads only where rows are absurd and it is clearly better. Where the weights themselves are
        asked for there is no choice, and they are made exact first.
        """
        if self.left_out:
            return  # as where they were fitted at once
        if self._converge(given) and self.can_compare(given.total):
            self._leave_out(given)
        lane = self.leader().lane
        if lane.converges and self.clock == self.scored:
            lane.converge(given)

    def _leave_out(self, given: TrainingRows) -> None:
        """Choose the leader among lanes that can leave each of the rows out in turn."""
        able = [lane for lane in self.lanes if lane.can_leave_out(given.total)]
        with np.errstate(all="ignore"):
            found = self._sums_left_out(able, self.baselines[0], given)
            self._has_absurd_rows = found.has_absurd_rows
            if not (found.has_absurd_rows and self._averaged_is_better(found.sums, found.best)):
                self.left_out, self._best_penalty = found.sums, found.best

    def _sums_left_out(
        self, lanes: list[Any], constant: Any, given: TrainingRows, weights: Floats | None = None
    ) -> LeftOut:
        """Return what all candidates of lanes, fitted with ``weights``, lose on rows left out."""
        found = [sums_left_out(lane, constant, given, weights) for lane in lanes]
        sums = {number: own for one in found for number, own in one.sums.items()}
        best = min((one.best for one in found), key=lambda number: sums[number][RATED])
        return LeftOut(sums, best, found[-1].has_absurd_rows)

    def _best_left_out(self) -> int | None:
        """Return the best candidate on rows left out, if that is known."""
        if not self.left_out:
            return None
        best, constant = self._best_penalty, self.constant
        if self.constant_may_win and constant is not None:
            rated = {number: self.left_out[number][RATED] for number in (best, constant)}
            best = constant if self._is_saturated(best) else min(rated, key=rated.__getitem__)
        return best

    def _is_saturated(self, number: int) -> bool:
        """Whether a candidate loses more than the constant by losses that are capped.

        Where targets are bounded such losses are its own fault, unless they are of few rows: one
        row, however absurd, is within a standard error.
        """
        constant = self.constant
        if constant is None or number == constant or not self.problem.classifies:
            return False
        own, alone = self.recent(number), self.recent(constant)
        return own["capped"] > 0 and own["loss"] - own["loss_std_err"] > alone["loss"]

    def _averaged_is_better(self, left_out: dict[int, Floats], best: int) -> bool:
        """Whether averaged SGD is clearly better than the best penalty is on rows left out.

        One absurd target or weight can ruin every optimum, but moves averaged SGD by bounded steps.
        The losses are of different rows, so each is compared with the constant's on the same rows.
        """
        if not (self.running_sgd and self.constant_may_win and self.constant is not None):
            return False
        recent = self.history.rated(self.scored / 2, self.sums())
        averaged = min(self.running_sgd, key=recent.__getitem__)
        measured = self.measure(averaged, self.scored / 2)
        loss, at_most = measured["loss"], measured["loss"] + CLEARLY * measured["loss_std_err"]
        alone = left_out[self.constant][RATED]
        averaged_ratio = recent[averaged] * at_most / (recent[self.constant] * loss)
        best_ratio = min(left_out[best][RATED], alone) / alone
        return bool(CLEARLY * averaged_ratio < best_ratio)  # false where a constant loses nothing

    def _converge(self, given: TrainingRows) -> bool:
        """Make the weights that are asked for exact; return whether there is a finite optimum."""
        has_optimum = True
        for lane in self.lanes:
            if not lane.stays or lane.converges or self.clock > self.scored:
                continue
            if not lane.converge(given):
                has_optimum = False
                warnings.warn(NO_OPTIMUM, stacklevel=2)
        self.drop_lanes_that_left()
        return has_optimum

    def sums(self) -> Floats:
        """Return each candidate's sums since the last milestone."""
        sums: Floats = self._of_all([lane.sums()[None] for lane in self.lanes])[0]
        return sums

    def progressive(self, number: int) -> Floats:
        """Return a candidate's sums over all rows; of rows left out where no others count."""
        since = self._counts_from(number)
        if since == self.scored and number in self.left_out:
            return self.left_out[number]
        return np.asarray(
            self.history.since(since if since < self.scored else 0, self.sums())[number]
        )

    def _counts_from(self, number: int) -> int:
        """Return the row from which on a candidate's losses are those of models like its own."""
        return max((one.counts_from for one in self.lanes if number in one.numbers), default=0)

    def _of_all(self, sums: list[Floats]) -> Floats:
        """Put the lanes' sums together; those of candidates that do not run are zero."""
        whole = np.zeros((len(sums[0]), len(self.candidates), SUMS))
        for lane, of_lane in zip(self.lanes, sums, strict=True):
            for stop, own in enumerate(of_lane):
                if lane.left is None or not np.isnan(own).any():
                    whole[stop, lane.numbers] = own
        return whole

    @property
    def scores_true_class(self) -> bool:
        """Whether a row has one loss, minus the log-probability of its class."""
        return self.problem.one_vs_rest and self.recipe.takes_softmax

    @property
    def losses_per_row(self) -> int:
        """The number of losses of a row that are added up."""
        return 1 if self.scores_true_class else self.problem.outputs

    def measure(self, number: int, since: float = 0, like: int | None = None) -> dict[str, float]:
        """Return how a candidate has done since row ``since``; see `history.measure`.

        Only rows count that do so for the candidate ``like``, which is itself by default.
        """
        own = self._counts_from(number if like is None else like)
        since = max(since, own) if own < self.scored else since
        rows = self.scored - self.history.milestones[self.history.place(since)]
        sums = self.history.since(since, self.sums())[number]
        return measure(sums, rows, self.losses_per_row)

    def recent(self, number: int, like: int | None = None) -> dict[str, float]:
        """Return the estimate of a candidate's loss that the choice rests on.

        That is of rows left out in turn where all were at hand, else of the later half of the rows,
        as far as they count for the candidate ``like``.
        """
        if number in self.left_out:
            return measure(self.left_out[number], self.scored, self.losses_per_row)
        return self.measure(number, self.scored / 2, like)


def _halves(races: list[Race], common: set[int], scored: int) -> RaceHistory:
    """Return a history of two intervals, the halves of all races: later losses tell more."""
    history = RaceHistory(len(races[0].candidates))
    rows, halves = 0, np.zeros((2, len(races[0].candidates), SUMS))
    numbers = sorted(races[0].with_constant(common))
    for race in races:
        place = race.history.place(race.scored / 2)
        rows += race.history.milestones[place]
        theirs = sorted(race.with_constant(common))  # the constant is the last of each
        halves[0, numbers] += race.history.total(0, place)[theirs]
        halves[1, numbers] += race.history.total(place, now=race.sums())[theirs]
    history.add([rows, scored], halves)
    return history


def _continued(races: list[Race], base: Race, scored: int) -> RaceHistory:
    """Return the base's history, and one interval of all that the races have scored since."""
    known = len(base.history.intervals)
    history = RaceHistory.of(len(base.candidates), base.history.milestones, base.history.intervals)
    since = sum(race.history.total(known, now=race.sums()) for race in races)
    # The rows since the base's last milestone are in the sums of every race.
    history.add([scored], (since - (len(races) - 1) * base.sums())[None])
    return history

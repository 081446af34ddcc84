"""How a race is stored, and how races that learned different rows become one."""

from __future__ import annotations

import copy
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.averaging import Averaging
from polyak.learn.centring import NOTHING, Centre
from polyak.learn.race.entering import lanes_of
from polyak.learn.race.history import SUMS, RaceHistory
from polyak.learn.race.lanes.constant import ConstantLane
from polyak.learn.race.lanes.lane import Lane, Problem
from polyak.learn.race.lanes.newton import NewtonRacer
from polyak.learn.race.lanes.sgd import SgdLane
from polyak.learn.race.race import Race
from polyak.learn.recipes import (
    AlphaCandidate,
    AnyCandidate,
    Candidate,
    ConstantCandidate,
    NewtonCandidate,
    Recipe,
)
from polyak.learn.schedules import Polynomial
from polyak.losses import get_loss

Page = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

_NAMES: dict[type, str] = {NewtonRacer: "newton", ConstantLane: "constant"}
"""What the lanes are stored as that there is at most one of."""


def race_state(race: Race) -> tuple[Page, Arrays]:
    """Read out the candidates and all they have learned: what JSON holds, and arrays."""
    banks = [lane.state() for lane in race.lanes if isinstance(lane, SgdLane)]
    page: Page = {
        "candidates": [asdict(candidate) for candidate in race.candidates],
        "running": race.running,
        "outputs": race.problem.outputs,
        "one_vs_rest": race.problem.one_vs_rest,
        "clock": race.clock,
        "scored": race.scored,
        "looked": [lane["looked"] for lane, _ in banks],
        "marks": list(race.history.milestones),
        "histograms": [lane["histogram"] for lane, _ in banks],
    }
    centre = race.problem.centre
    intervals = np.array(race.history.intervals).reshape(-1, len(race.candidates), SUMS)
    arrays: Arrays = {"history": intervals}
    if centre:
        arrays |= {"centre.features": centre.features, "centre.means": centre.means}
    for number, (_, of_lane) in enumerate(banks):
        arrays |= {f"bank{number}.{name}": array for name, array in of_lane.items()}
    for lane in race.lanes:
        name = _NAMES.get(type(lane))
        if name is not None:
            page[name], of_lane = lane.state()
            arrays |= {f"{name}.{key}": array for key, array in of_lane.items()}
    if "newton" in page:
        page["newton"]["dtype"] = np.dtype(race.problem.dtype).name
    return page, arrays


def race_from_state(page: Page, arrays: Arrays, recipe: Recipe, n_features: int | None) -> Race:
    """Undo ``race_state``: the race goes on as if it had never stopped."""
    problem = Problem(
        outputs=page["outputs"],
        one_vs_rest=page["one_vs_rest"],
        classifies=get_loss(recipe.loss).classifies,
        n_features=n_features,
        width=0,
        dtype=np.dtype(page["newton"]["dtype"])
        if "newton" in page
        else arrays["bank0.lines"].dtype,
        centre=Centre(arrays["centre.features"], arrays["centre.means"])
        if "centre.features" in arrays
        else NOTHING,
    )
    race = Race([_candidate(fields) for fields in page["candidates"]], recipe, problem)
    race.drop_all_but(set(page["running"]))
    as_now = race.lanes
    if sum(isinstance(lane, SgdLane) for lane in as_now) != len(page["looked"]):
        # Candidates had fewer models, or it was stored before those of many had two banks.
        race.lanes = lanes_of(race.candidates, recipe, problem, halves=False)
        race.drop_all_but(set(page["running"]))
    race.scored = page["scored"]
    race.history = RaceHistory.of(len(race.candidates), page["marks"], list(arrays["history"]))
    for number, lane in enumerate(race.lanes):
        name = _NAMES.get(type(lane))
        if name is not None:
            lane.set_state(page[name], _of(f"{name}.", arrays), page["clock"])
            continue
        lane.set_state(
            {"looked": page["looked"][number], "histogram": page["histograms"][number]},
            _of(f"bank{number}.", arrays),
            page["clock"],
        )
    race.lanes = [_with(lane.numbers, race.lanes) for lane in as_now]
    return race


def _with(numbers: list[int], lanes: list[Lane]) -> Lane:
    """Give the lane that has these candidates, without the others."""
    lane = next(lane for lane in lanes if set(numbers) <= set(lane.numbers))
    return lane.select([lane.numbers.index(number) for number in numbers])


def _of(prefix: str, arrays: Arrays) -> Arrays:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def merge_races(race: Race, others: list[Race], base: Race | None = None) -> None:
    """Let a race become what it and others learned together, each from rows of its own.

    Candidates correspond by their numbers, whatever rates each race's first rows gave them. Only
    those that are still in every race go on. Where all went on from the same race, ``base``, what
    was known there counts once.
    """
    takes_newton = [_takes_newton_steps(one) for one in (race, *others)]
    if len(set(takes_newton)) == 1 and any(other.entered != race.entered for other in others):
        raise ValueError("only races of as many candidates can be merged")
    common = set(race.running).intersection(*(other.running for other in others))
    if not all(takes_newton):  # the first rows of some had too many features for it
        for one in (race, *others):
            common = {n for n in common & set(one.running_sgd) if _alike(one, race, n)}
    common -= {number for one in (race, *others) if (number := one.constant) is not None}
    if not common:
        raise ValueError("the races have no candidate in common any more")
    then = 0 if base is None else base.scored
    scored = then + sum(one.scored - then for one in (race, *others))
    if base is None:
        history = _halves([race, *others], common, scored)
    else:
        history = _continued([race, *others], base, scored)
        base = copy.copy(base)  # whose lanes are replaced, not changed
    for one in (race, *others, *([] if base is None else [base])):
        one.drop_all_but(_with_constant(one, common))
    for number, lane in enumerate(race.lanes):
        theirs = [other.lanes[number] for other in others]
        lane.merge(theirs, None if base is None else base.lanes[number])
        lane.start_interval()
    race.drop_who_left()
    race.scored, race.history = scored, history


def _alike(one: Race, other: Race, number: int) -> bool:
    """Tell whether the candidates of this number learn in the same way."""
    mine, theirs = one.candidates[number], other.candidates[number]
    if not (isinstance(mine, Candidate) and isinstance(theirs, Candidate)):
        return False
    return (mine.adagrad is None) == (theirs.adagrad is None)


def _halves(races: list[Race], common: set[int], scored: int) -> RaceHistory:
    """Return a history of two intervals, the halves of all races: later losses tell more."""
    history = RaceHistory(len(races[0].candidates))
    rows, halves = 0, np.zeros((2, len(races[0].candidates), SUMS))
    numbers = sorted(_with_constant(races[0], common))
    for race in races:
        place = race.history.place(race.scored / 2)
        rows += race.history.milestones[place]
        theirs = sorted(_with_constant(race, common))  # the constant is the last of each
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


def _with_constant(race: Race, numbers: set[int]) -> set[int]:
    return numbers if race.constant is None else numbers | {race.constant}


def _takes_newton_steps(race: Race) -> bool:
    return any(isinstance(candidate, NewtonCandidate) for candidate in race.candidates)


def _candidate(fields: dict[str, Any]) -> AnyCandidate:
    if "penalty" in fields:
        return AlphaCandidate(**fields) if "of_mean" in fields else NewtonCandidate(**fields)
    if "constant" in fields:
        return ConstantCandidate(**fields)
    nested = {
        "schedule": Polynomial(**fields["schedule"]),
        "averaging": Averaging(**fields["averaging"]),
    }
    return Candidate(**fields | nested)

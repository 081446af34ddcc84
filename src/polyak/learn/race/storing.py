"""How a race is stored, and how races that learned different rows become one."""

from __future__ import annotations

import copy
from dataclasses import asdict
from typing import Any

import numpy as np

from polyak.learn.centring import Centre
from polyak.learn.race.history import SUMS, RaceHistory
from polyak.learn.race.lanes import CANDIDATES, lane_of
from polyak.learn.race.lanes.protocol import Problem
from polyak.learn.race.race import Race
from polyak.learn.recipes import AnyCandidate, Recipe
from polyak.learn.stored_state import FLOATS, Arrays, Page, StoredState
from polyak.losses import get_loss
from polyak.storage.records import read


def race_state(race: Race) -> tuple[Page, Arrays]:
    """Return the candidates and all they have learned as a JSON-serialisable dict and arrays."""
    lanes = [lane.state() for lane in race.lanes]
    centre = race.problem.centre
    page: Page = {
        "candidates": [
            {"kind": type(candidate).__name__} | asdict(candidate) for candidate in race.candidates
        ],
        "outputs": race.problem.outputs,
        "one_vs_rest": race.problem.one_vs_rest,
        "dtype": np.dtype(race.problem.dtype).name,
        "clock": race.clock,
        "scored": race.scored,
        "milestones": list(race.history.milestones),
        "lanes": [
            own | {"numbers": lane.numbers}
            for lane, (own, _) in zip(race.lanes, lanes, strict=True)
        ],
    }
    intervals = np.array(race.history.intervals).reshape(-1, len(race.candidates), SUMS)
    arrays: Arrays = {
        "history": intervals,
        "centre.features": centre.features,
        "centre.means": centre.means,
    }
    for number, (_, own) in enumerate(lanes):
        arrays |= {f"lane{number}.{name}": array for name, array in own.items()}
    return page, arrays


def race_from_state(stored: StoredState, recipe: Recipe, n_features: int | None) -> Race:
    """Return the race that `race_state` was of: it goes on as if it had never stopped."""
    dtype = stored.field("dtype")
    stored.require(dtype in FLOATS, "dtype", f"cannot be {dtype!r}")
    problem = Problem(
        outputs=stored.whole("outputs", least=1),
        one_vs_rest=stored.flag("one_vs_rest"),
        classifies=get_loss(recipe.loss).classifies,
        n_features=n_features,
        width=0,
        dtype=np.dtype(dtype),
        centre=Centre.from_state(stored.part("centre"), n_features),
    )
    candidates = [_candidate(stored, fields) for fields in stored.field("candidates")]
    race = Race(candidates, recipe, problem)
    clock = stored.whole("clock")
    race.scored = stored.whole("scored", most=clock)
    race.history = _history(stored, len(candidates), race.scored)
    race.lanes = []
    numbers = [number for own in stored.field("lanes") for number in own["numbers"]]
    known = len(set(numbers)) == len(numbers) and set(numbers) <= set(range(len(candidates)))
    stored.require(known and bool(numbers), "lanes", "have numbers of no candidates")
    for place, own in enumerate(stored.field("lanes")):
        lane = lane_of(own["numbers"], candidates, recipe, problem)
        lane.set_state(stored.part(f"lane{place}", own), clock)
        race.lanes.append(lane)
    return race


def _history(stored: StoredState, candidates: int, scored: int) -> RaceHistory:
    milestones = stored.field("milestones")
    rise = milestones[:1] == [0] and all(np.diff(milestones) >= 0) and milestones[-1] <= scored
    stored.require(rise, "milestones", f"must rise from 0 to at most {scored} rows")
    intervals = stored.array("history", (len(milestones) - 1, candidates, SUMS))
    return RaceHistory.of(candidates, milestones, list(intervals))


def merge_races(race: Race, others: list[Race], base: Race | None = None) -> None:
    """Make a race what it and others learned together, each from rows of its own.

    Candidates correspond by their numbers, whatever rates each race's first rows gave them. Only
    those that are still in every race go on. Where all went on from the same race, ``base``, what
    was known there counts once.
    """
    takes_newton = [
        any(candidate.method == "newton" for candidate in one.candidates) for one in (race, *others)
    ]
    if len(set(takes_newton)) == 1 and any(other.entered != race.entered for other in others):
        raise ValueError("only races with the same number of candidates can be merged")
    common = set(race.running).intersection(*(other.running for other in others))
    if not all(takes_newton):  # the first rows of some had too many features for it
        for one in (race, *others):
            common &= set(one.running_sgd)
            pairs = {n: (one.candidates[n].method, race.candidates[n].method) for n in common}
            common = {n for n, (mine, other) in pairs.items() if mine == other}
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
    race.drop_lanes_that_left()
    race.scored, race.history = scored, history


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


def _candidate(stored: StoredState, fields: dict[str, Any]) -> AnyCandidate:
    kind = CANDIDATES.get(fields["kind"])
    stored.require(kind is not None, "candidates", f"cannot be of kind {fields['kind']!r}")
    found: AnyCandidate = read(kind, fields, "candidates")
    return found

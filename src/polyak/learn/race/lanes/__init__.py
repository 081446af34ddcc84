"""The lanes there are, and which candidates share one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from polyak.learn.race.lanes.constant import ConstantLane
from polyak.learn.race.lanes.dense import DenseLane
from polyak.learn.race.lanes.newton import NewtonRacer
from polyak.learn.race.lanes.protocol import Lane, Problem
from polyak.learn.race.lanes.proximal import ProximalLane
from polyak.learn.race.lanes.sgd import SgdLane
from polyak.learn.race.lanes.terms import TermsLane
from polyak.learn.recipes import AnyCandidate, Recipe

LANES: tuple[type[Lane], ...] = (
    SgdLane,
    ProximalLane,
    NewtonRacer,
    TermsLane,
    DenseLane,
    ConstantLane,
)
"""All kinds of lanes, in the order in which they stand in a race: what takes longest comes after
what takes less, and the baseline last."""


CANDIDATES: dict[str, type[Any]] = {kind.__name__: kind for lane in LANES for kind in lane.kinds}
"""The classes of candidates by name, as they are stored."""


def lane_numbers(
    candidates: Sequence[AnyCandidate], recipe: Recipe, problem: Problem
) -> list[list[int]]:
    """Return the numbers of the candidates that share each lane of a race."""
    found: list[list[int]] = []
    for kind in LANES:
        groups: dict[Hashable, list[int]] = {}
        for number, candidate in enumerate(candidates):
            if kind.takes(candidate):
                groups.setdefault(candidate.lane_settings(), []).append(number)
        found += [part for own in groups.values() for part in kind.split(own, recipe, problem)]
    return found


def lane_of(
    numbers: list[int], candidates: Sequence[AnyCandidate], recipe: Recipe, problem: Problem
) -> Lane:
    """Make the lane of candidates that share one."""
    kind = next(kind for kind in LANES if kind.takes(candidates[numbers[0]]))
    return kind(numbers, [candidates[number] for number in numbers], recipe, problem)

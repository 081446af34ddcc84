"""Who enters a race: candidates, in the lanes that they share."""

from __future__ import annotations

from polyak.learn.race.lanes.constant import ConstantLane
from polyak.learn.race.lanes.lane import Lane, Problem
from polyak.learn.race.lanes.newton import NewtonRacer
from polyak.learn.race.lanes.proximal import ProximalLane
from polyak.learn.race.lanes.sgd import SgdLane
from polyak.learn.recipes import (
    AnyCandidate,
    Candidate,
    ConstantCandidate,
    NewtonCandidate,
    Recipe,
)

MANY_MODELS = 8
"""Candidates of so many models gain little by sharing a bank with more than a few others."""


def lanes_of(
    candidates: list[AnyCandidate], recipe: Recipe, problem: Problem, *, halves: bool = True
) -> list[Lane]:
    """Put those who share a bank into one lane, then all Newton steps, and the constant last.

    Where candidates have many models, half of them have another bank: whoever is left of both in
    the end can then be driven by two threads.
    """
    averaged = {n: c for n, c in enumerate(candidates) if isinstance(c, Candidate)}
    newton = {n: c for n, c in enumerate(candidates) if isinstance(c, NewtonCandidate)}
    banks: list[list[int]] = []
    for number, candidate in averaged.items():
        for bank in banks:
            if candidate.shares_bank_with(averaged[bank[0]]):
                bank.append(number)
                break
        else:
            banks.append([number])
    how = recipe.for_averaged_sgd(problem.outputs, problem.n_features)
    if halves and problem.outputs * (1 + how.replicas) >= MANY_MODELS:
        banks = [half for bank in banks for half in (bank[::2], bank[1::2]) if half]
    lanes: list[Lane] = []
    for numbers in banks:
        kind = ProximalLane if averaged[numbers[0]].step == "proximal" else SgdLane
        lanes.append(kind.of(numbers, averaged, how, problem))
    if newton:
        lanes.append(NewtonRacer.of(list(newton), list(newton.values()), recipe, problem))
    with_intercept = recipe.fit_intercept
    together = problem.one_vs_rest and recipe.takes_softmax
    return lanes + [
        ConstantLane(number, recipe.loss, problem, fit_intercept=with_intercept, together=together)
        for number, one in enumerate(candidates)
        if isinstance(one, ConstantCandidate)
    ]

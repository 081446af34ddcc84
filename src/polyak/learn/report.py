"""From a race to the report of it: what was found, and how well it did on rows not yet learned."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.race import Race
from polyak.learn.race.leader import Leader
from polyak.learn.recipes import AnyCandidate, NewtonCandidate, Recipe
from polyak.model.training_report import (
    AveragingReport,
    CandidateReport,
    Measure,
    Rate,
    Reliability,
    Theory,
    TrainingReport,
)


def training_report(
    race: Race,
    recipe: Recipe,
    leader: Leader,
    sigmoids: NDArray[np.float64] | None,
    needed: Theory | None,
) -> TrainingReport:
    """Tell of a race whose leader is the model."""
    count, loss, _, errors = race.sums()[leader.number]
    std_err = race.measure(leader.number)["loss_std_err"]
    recent, bins = race.recent(leader.number), leader.reliability(sigmoids)
    return TrainingReport(
        rows=race.clock,
        recipe=asdict(recipe),
        average_start=tuple(None if np.isnan(t0) else int(t0) for t0 in leader.average_start()),
        progressive_loss=_finite(float(loss / count)) if count > 0 else None,
        progressive_loss_std_err=_finite(std_err),
        progressive_error=_finite(float(errors / count)) if count > 0 else None,
        recent=Measure(**{name: _finite(value) for name, value in recent.items()}),
        calibration=None
        if bins is None
        else Reliability(**{name: tuple(values) for name, values in bins.items()}),
        best_candidate=leader.number,
        candidates=_candidates(race),
        rows_needed=needed,
    )


def _candidates(race: Race) -> tuple[CandidateReport, ...]:
    running = set(race.running)
    told = race.past.curves(race.sums(), race.scored)
    return tuple(
        CandidateReport(
            **_settings(candidate),
            number=number,
            running=number in running,
            rows=one["rows"],
            progressive_loss=_finite(one["progressive_loss"]),
            curve=tuple((row, _finite(loss)) for row, loss in one["curve"]),
        )
        for number, (candidate, one) in enumerate(zip(race.candidates, told, strict=True))
    )


def _settings(candidate: AnyCandidate) -> dict[str, Any]:
    if isinstance(candidate, NewtonCandidate):
        return {"penalty": candidate.penalty}
    found = {name: getattr(candidate, name) for name in candidate.__slots__}
    schedule, averaging = candidate.schedule, candidate.averaging
    return found | {
        "schedule": Rate(gamma0=schedule.gamma0, a=schedule.a, c=schedule.c),
        "averaging": AveragingReport(start=averaging.start, power=averaging.power),
    }


def _finite(value: float | None) -> Any:
    return value if value is not None and math.isfinite(value) else None

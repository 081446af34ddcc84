"""A race as it was before a batch, for when learning it fails halfway.

What can be checked is checked before anything is learned. What is left is weights that overflow,
memory that runs out, and Ctrl-C. Keeping a copy of all weights for that costs as much as the
weights are large, however small the batch. So it is kept where weights can be expected to
overflow, which takes explicit steps of a length that somebody set and that nothing caps; and
anywhere else where it is small beside the batch, as it is while a file is learned. Otherwise a
race whose weights overflowed stays as it is, and its model says so.
"""

from __future__ import annotations

from typing import Protocol

from polyak.learn.race.history import RaceHistory
from polyak.learn.race.lanes.lane import Lane
from polyak.learn.recipes import AnyCandidate, Candidate
from polyak.rows.sparse import Rows, bytes_of

SMALL = 0.25
"""Beside a batch, a copy of all weights is small if it takes at most this share of its bytes."""


class Race(Protocol):
    """What is asked of a race here."""

    candidates: list[AnyCandidate]
    lanes: list[Lane]
    scored: int
    history: RaceHistory


class Before:
    """A race as it stands, kept to go back to."""

    def __init__(self, race: Race) -> None:
        # The race replaces this list when somebody drops out, and changes what is in it.
        self._lanes = race.lanes
        self._states = [(*lane.state(), lane.clock) for lane in race.lanes]
        self._scored, self._milestones = race.scored, len(race.history.milestones)

    def put_back(self, race: Race) -> None:
        """Make the race what it was."""
        race.lanes = self._lanes
        for lane, state in zip(self._lanes, self._states, strict=True):
            lane.set_state(*state)
        race.scored = self._scored
        race.history.forget(self._milestones)


def before(race: Race, rows: Rows) -> Before | None:
    """Keep the race as it stands, if it is worth the copy."""
    averaged = [c for c in race.candidates if isinstance(c, Candidate)]
    uncapped = any(c.step == "explicit" and not c.capped for c in averaged)
    of_weights = sum(lane.nbytes for lane in race.lanes)
    return Before(race) if uncapped or of_weights <= SMALL * bytes_of(rows) else None

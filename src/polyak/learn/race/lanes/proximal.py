"""The lane of proximal steps: weights that are exactly zero, where rows are wide.

Its last iterate has the zeros. The other weights still fluctuate a little with every row, so their
values are means over the latest milestones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polyak.learn.race.elimination import FIRST_DECISION, fewest_after
from polyak.learn.race.lanes.protocol import NewOutput
from polyak.learn.race.lanes.sgd import SgdLane
from polyak.learn.recipes import AnyCandidate, Candidate
from polyak.learn.stored_state import FLOATS, Arrays, Page, StoredState
from polyak.learn.sums import SUMS
from polyak.learn.training_rows import TrainingRows

Floats = NDArray[np.float64]

LATEST = 0.4
"""The weight of the latest iterate in the mean, beside the mean of those before it."""


class ProximalLane(SgdLane):
    """A bank of proximal steps, and beside each weight its mean at the latest milestones.

    There is none before the first elimination, nor while rows are learned again or after a merge.
    """

    means: NDArray[Any] | None = None
    """A row for the intercept and one per feature; a column per model."""

    @classmethod
    def takes(cls, candidate: AnyCandidate) -> bool:
        """Whether its steps are proximal."""
        return isinstance(candidate, Candidate) and candidate.step == "proximal"

    @property
    def fewest(self) -> int:
        return fewest_after(self.clock)

    def learn(
        self, given: TrainingRows, *, again: bool, stops: NDArray[np.int64], threads: int
    ) -> Floats:
        if again:
            self.means = None
            return super().learn(given, again=True, stops=stops, threads=threads)
        notes: list[Floats] = []
        done = 0
        for stop in [*stops.tolist(), given.total]:
            if stop > done:
                some = given.part(done, stop)
                super().learn(some, again=False, stops=stops[:0], threads=threads)
            done = stop
            if len(notes) < len(stops):
                self._note()
                notes.append(self.sums())
                self.start_interval()
        return np.array(notes).reshape(-1, len(self.numbers), SUMS)

    def _note(self) -> None:
        if self.clock < FIRST_DECISION:  # there are many milestones, and none will count
            return
        latest = np.vstack([self.bank.intercept, self.bank.coef.T])
        self.means = latest if self.means is None else self._moved(latest)

    def _moved(self, latest: NDArray[Any]) -> NDArray[Any]:
        """Return the means with the latest iterate among them; new features had no weight."""
        assert self.means is not None
        before = np.pad(self.means, ((0, len(latest) - len(self.means)), (0, 0)))
        return np.asarray(before + LATEST * (latest - before))

    def weights(self, place: int, *, last: bool = False) -> tuple[NDArray[Any], Floats]:
        if self.means is None or last:
            coef, intercept = super().weights(place, last=last)
            return coef + coef.dtype.type(0), intercept  # which makes a plain zero of minus zero
        models = self._models(place)
        latest = np.vstack([self.bank.intercept, self.bank.coef.T])
        mean = self._moved(latest)[:, models]
        zero = self.bank.coef_of(models) == 0
        coef = np.where(zero, 0.0, mean[1:].T).astype(self.bank.dtype)
        return coef, self.centre.undone(coef, mean[0].astype(np.float64))

    # -- dropping out, and learning in parts ---------------------------------------------------

    def select(self, places: Sequence[int]) -> Self:
        chosen = super().select(places)
        if chosen is not self and self.means is not None:
            models = [np.arange(len(self.bank))[self._models(place)] for place in places]
            chosen.means = self.means[:, np.concatenate(models)]
        return chosen

    def merge(self, others: Sequence[SgdLane], base: SgdLane | None) -> None:
        super().merge(others, base)
        self.means = None

    def _mirrored(
        self, lines: NDArray[Any], models: Floats, new: NewOutput
    ) -> tuple[NDArray[Any], Floats]:
        """Return two models for each; the second half of the lines are square roots, not signed."""
        lines, models = super()._mirrored(lines, models, new)
        roots = slice(lines.shape[1] // 2, None)
        lines[:, roots] = np.abs(lines[:, roots])
        return lines, models

    def state(self) -> tuple[Page, Arrays]:
        page, arrays = super().state()
        if self.means is not None:
            arrays["means"] = self.means.copy()
        return page | {"has_means": self.means is not None}, arrays

    def set_state(self, stored: StoredState, clock: int) -> None:
        super().set_state(stored, clock)
        self.means = None
        if stored.flag("has_means"):
            self.means = stored.array("means", (None, len(self.bank)), FLOATS)
            most = 1 + self.bank.n_features
            stored.require(0 < len(self.means) <= most, "means", f"has more than {most} rows")

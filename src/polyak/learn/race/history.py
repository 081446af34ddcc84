"""The progressive sums of every candidate, kept per interval from one milestone to the next.

Intervals are added up when they are asked for, and never subtracted from a running sum: there, one
loss of 1e70 would hide all that follow it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.learn.stored_state import StoredState
from polyak.learn.sums import LOSS, RATED, SUMS

Floats = NDArray[np.float64]


def measure(sums: Floats, rows: int, losses_per_row: int) -> dict[str, float]:
    """Return the mean loss of a candidate, its standard error and the mean error, from its sums.

    With several losses a row the standard error is an upper bound, since their covariance is not
    known. What is not finite is NaN; ``capped`` is the number of capped losses.
    """
    weight, loss, squares, errors, _, capped = (float(value) for value in sums)
    if not (weight > 0 and math.isfinite(squares)):
        unknown = dict.fromkeys(("loss", "loss_std_err", "error"), math.nan)
        return {"rows": 0, **unknown, "capped": int(capped)}
    mean = loss / weight
    variance = max(losses_per_row * squares / weight - mean * mean, 0.0)
    return {
        "rows": rows,
        "loss": mean,
        "loss_std_err": math.sqrt(variance / weight),
        "error": errors / weight,
        "capped": int(capped),
    }


class RaceHistory:
    """The sums of all candidates over each interval; zero where a candidate did not run.

    Attributes
    ----------
    milestones : list of int
        The ends of the intervals, in rows, after a first one of zero.
    intervals : list of arrays of shape (candidates, SUMS)
    """

    def __init__(self, candidates: int) -> None:
        self.candidates = candidates
        self.milestones: list[int] = [0]
        self.intervals: list[Floats] = []

    @classmethod
    def from_state(cls, stored: StoredState, candidates: int, scored: int) -> RaceHistory:
        """Return the history that a race has stored, after ``scored`` rows."""
        milestones = stored.field("milestones")
        rise = milestones[:1] == [0] and all(np.diff(milestones) >= 0) and milestones[-1] <= scored
        stored.require(rise, "milestones", f"must rise from 0 to at most {scored} rows")
        intervals = stored.array("history", (len(milestones) - 1, candidates, SUMS))
        return cls.of(candidates, milestones, list(intervals))

    @classmethod
    def of(cls, candidates: int, milestones: list[int], intervals: list[Floats]) -> RaceHistory:
        """Return a history of intervals that are known already."""
        history = cls(candidates)
        history.milestones, history.intervals = list(milestones), list(intervals)
        return history

    def add(self, milestones: list[int], intervals: Floats) -> None:
        """Append the sums of the intervals that end at some milestones."""
        self.milestones.extend(milestones)
        self.intervals.extend(intervals)

    def forget(self, milestones: int) -> None:
        """Go back to when there were ``milestones`` of them."""
        del self.milestones[milestones:], self.intervals[milestones - 1 :]

    def place(self, rows: float) -> int:
        """Return the place of the last milestone that is not after ``rows``."""
        return max(place for place, end in enumerate(self.milestones) if end <= rows)

    def total(self, begin: int, end: int | None = None, now: Floats | None = None) -> Floats:
        """Sum the intervals from one place to another, and ``now``, those of the open interval."""
        parts = [*self.intervals[begin:end], *([] if now is None else [now])]
        with np.errstate(over="ignore", invalid="ignore"):  # checked where the sums are used
            return np.asarray(np.sum([np.zeros((self.candidates, SUMS)), *parts], axis=0))

    def since(self, rows: float, now: Floats) -> Floats:
        """Return the sums since the last milestone that is not after ``rows``."""
        return self.total(self.place(rows), now=now)

    def rated(self, rows: float, now: Floats) -> Floats:
        """Return the mean rated loss since ``rows``; infinite where a candidate did not run."""
        sums = self.since(rows, now)
        losses = np.full(len(sums), np.inf)
        np.divide(sums[:, RATED], sums[:, 0], out=losses, where=sums[:, 0] > 0)
        losses[np.isnan(losses)] = np.inf
        return losses

    def curves(self, now: Floats, rows: int) -> list[dict[str, Any]]:
        """Return each candidate's rows, mean loss, and mean losses from milestone to milestone."""
        intervals = np.stack([*self.intervals, now])
        ends = np.array([*self.milestones[1:], rows])
        found = []
        for number, (weight, loss, *_) in enumerate(self.total(0, now=now)):
            own = intervals[:, number]
            ran = own[:, 0] > 0
            means = own[ran, LOSS] / own[ran, 0]
            found.append(
                {
                    "rows": int(ends[ran].max(initial=0)),
                    "progressive_loss": float(loss / weight) if weight > 0 else None,
                    "curve": [
                        [end, float(f"{mean:.6g}")]
                        for end, mean in zip(ends[ran].tolist(), means, strict=True)
                    ],
                }
            )
        return found

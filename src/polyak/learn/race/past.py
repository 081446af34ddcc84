"""What is kept of the past: where every candidate stood at each milestone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SUMS = 4
"""What adds up for a candidate: its rows, losses, squared losses and errors."""


class Past:
    """The sums of all candidates at the milestones so far, the first at no row at all.

    Those who have dropped out stay as they stood.
    """

    def __init__(self, entered: int) -> None:
        self.milestones: list[int] = [0]
        self.sums: list[Floats] = [np.zeros((entered, SUMS))]

    @classmethod
    def of(cls, milestones: list[int], sums: list[Floats]) -> Past:
        """Make it of what another has noted."""
        past = cls(0)
        past.milestones, past.sums = list(milestones), list(sums)
        return past

    def note(self, milestones: list[int], sums: Floats) -> None:
        """Keep where everybody stood at some milestones, the sums of one after the other."""
        self.milestones.extend(milestones)
        self.sums.extend(sums)

    def forget(self, since: int) -> None:
        """Go back to when there were only so many milestones."""
        del self.milestones[since:], self.sums[since:]

    def gained(self, now: Floats, since: float) -> tuple[int, Floats]:
        """Give the last milestone until then, and what has been added up since."""
        place = max(place for place, rows in enumerate(self.milestones) if rows <= since)
        with np.errstate(invalid="ignore"):  # what has overflowed is noticed elsewhere
            return self.milestones[place], now - self.sums[place]

    def losses(self, now: Floats, since: float) -> Floats:
        """Give every candidate's mean loss since so many rows; infinite where there is none."""
        gained = self.gained(now, since)[1]
        losses = np.full(len(now), np.inf)
        np.divide(gained[:, 1], gained[:, 0], out=losses, where=gained[:, 0] > 0)
        losses[np.isnan(losses)] = np.inf
        return losses

    def measure(
        self, now: Floats, number: int, rows: int, since: float, outputs: int
    ) -> dict[str, float]:
        """Say how a candidate has done since so many rows, of all the rows there were.

        Gives its mean loss on rows it had not learned, the standard error of that (with several
        outputs a bound on it, since what their losses have in common is not known), and its
        errors.
        """
        then, gained = self.gained(now, since)
        count, loss, squares, errors = gained[number]
        if not (count > 0 and math.isfinite(squares)):
            return {"rows": 0, "loss": math.nan, "loss_std_err": math.nan, "error": math.nan}
        mean = loss / count
        variance = max(outputs * squares / count - mean * mean, 0.0)
        return {
            "rows": rows - then,
            "loss": float(mean),
            "loss_std_err": math.sqrt(variance / count),
            "error": float(errors / count),
        }

    def curves(self, now: Floats, rows: int) -> list[dict[str, Any]]:
        """Give every candidate's rows, mean loss, and mean losses from milestone to milestone."""
        with np.errstate(invalid="ignore"):
            steps = np.diff(np.stack([*self.sums, now]), axis=0)
        milestones = np.array([*self.milestones[1:], rows])
        told = []
        for number, (weight, loss, *_) in enumerate(now):
            ran = steps[:, number, 0] > 0
            means = steps[ran, number, 1] / steps[ran, number, 0]
            told.append(
                {
                    "rows": int(milestones[ran].max(initial=0)),
                    "progressive_loss": float(loss / weight) if weight > 0 else None,
                    "curve": [
                        [milestone, float(f"{mean:.6g}")]
                        for milestone, mean in zip(milestones[ran].tolist(), means, strict=True)
                    ],
                }
            )
        return told

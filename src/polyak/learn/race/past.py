"""What is kept of the past: where every candidate stood at each milestone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SUMS = 4
"""What adds up for a candidate: its rows, losses, squared losses and errors."""


OUT_OF_PROPORTION = 10.0
"""A stretch of rows counts for nothing if its losses are so many times those of all lesser ones."""


def proportionate(losses: Floats) -> NDArray[np.bool_]:
    """Tell which of several losses are in proportion to the others; the lower half always are.

    Examples
    --------
    >>> proportionate(np.array([3.0, 2.0, 9e9, 4.0, 1.0]))
    array([ True,  True, False,  True,  True])
    """
    order = np.argsort(losses, kind="stable")
    with np.errstate(over="ignore", invalid="ignore"):  # what has overflowed is noticed elsewhere
        lesser = np.cumsum(losses[order]) - losses[order]
    place = np.arange(len(order))
    beyond = ~(losses[order] <= OUT_OF_PROPORTION * lesser) & (2 * place > len(order))
    kept = np.zeros(len(order), dtype=bool)
    kept[order] = ~np.logical_or.accumulate(beyond)
    return kept


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

    def losses(self, now: Floats, since: float, contenders: Sequence[int] = ()) -> Floats:
        """Give every candidate's mean loss since so many rows; infinite where there is none.

        What lies between two milestones is left out where no contender was spared a loss out of
        all proportion there, so that an absurd row does not decide who is best. Who is spoilt by
        having learned it shows between later milestones.
        """
        gained = self.gained(now, since)[1]
        if len(contenders):
            place = len([rows for rows in self.milestones if rows <= since]) - 1
            with np.errstate(invalid="ignore"):
                parts = np.diff(np.stack([*self.sums[place:], now]), axis=0)
            parts = parts[(parts[:, list(contenders), 0] > 0).all(axis=1)]
            gained = parts[proportionate(parts[:, list(contenders), 1].min(axis=1))].sum(axis=0)
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
